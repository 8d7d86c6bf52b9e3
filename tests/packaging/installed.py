"""ramet as a stranger gets it: the files of a release, and an environment that has nothing but the core."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from email.parser import Parser
from importlib.metadata import PackagePath, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.waiting import HANG_SECONDS

PROJECT = Path(__file__).parents[2]


class Release(NamedTuple):
    """What would be uploaded."""

    sdist: Path
    wheel: Path
    """Built from the sdist, as a packager would."""
    wheel_of_tree: Path
    """Built from this checkout."""


def names_in(archive: Path) -> list[str]:
    """The files of a wheel, or of an sdist without the folder that all of them are in."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return sorted(wheel.namelist())
    with tarfile.open(archive) as sdist:
        return sorted(member.name.partition("/")[2] for member in sdist if member.isfile())


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A program to its end, whatever its exit status."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RAMET_", "COV"))}
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=outside, capture_output=True, text=True, check=False, timeout=HANG_SECONDS
    )


def good(*command: str | Path, cwd: Path) -> str:
    """What a program says that must succeed."""
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


@contextmanager
def once(folder: Path) -> Iterator[bool]:
    """Whether this process is the first of all that run tests; the others wait until it is through."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not (folder / "done").exists()
        (folder / "done").touch()


def build(folder: Path) -> None:
    """Both wheels and the sdist, without a network: what a build needs is in the lock of the developers."""
    good(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "release", PROJECT, cwd=folder)
    good(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "tree", cwd=PROJECT)


def release_in(folder: Path) -> Release:
    """What :func:`build` wrote."""
    [sdist], [wheel] = (folder / "release").glob("*.tar.gz"), (folder / "release").glob("*.whl")
    [of_tree] = (folder / "tree").glob("*.whl")
    return Release(sdist, wheel, of_tree)


def metadata(wheel: Path) -> dict[str, list[str]]:
    """What an index shows of a wheel: the values of each field."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        told = Parser().parsestr(archive.read(name).decode())
    return {key: told.get_all(key) or [] for key in set(told.keys())}


def closure(wheel: Path, extra: str = "") -> set[str]:
    """Names of the distributions that a wheel needs here with one of its extras, and of those that they need."""
    found: set[tuple[str, str]] = set()
    waiting = [(line, extra) for line in metadata(wheel)["Requires-Dist"]]
    while waiting:
        line, asked = waiting.pop()
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": asked}):
            new = {(canonicalize_name(requirement.name), more) for more in ("", *requirement.extras)} - found
            found |= new
            waiting += [(line, more) for name, more in new for line in distribution(name).requires or ()]
    return {name for name, _ in found}


def files_of(name: str) -> Iterator[PackagePath]:
    """What a distribution has beside its programs."""
    return (file for file in distribution(name).files or () if ".." not in file.parts and file.suffix != ".pyc")


def link_packages(names: Collection[str], folder: Path) -> Path:
    """A folder to import distributions from that the environment of the tests has."""
    folder.mkdir()
    for name in names:
        for top in {Path(file.parts[0]) for file in files_of(name)}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return folder


def make_environment(folder: Path, wheel: Path) -> None:
    """An environment with the wheel and the core's dependencies, taken from the one that runs the tests."""
    good(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = Environment(folder).python
    good(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel, cwd=folder)
    site = Path(good(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    for name in closure(wheel):
        for file in files_of(name):
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), target)


class Environment(NamedTuple):
    """The environment that has only the core."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def ramet(self) -> Path:
        """Its command."""
        return self.folder / "bin" / "ramet"

    def modules_after(self, statement: str, cwd: Path) -> set[str]:
        """Names of the modules that an interpreter holds after one statement."""
        said = good(
            self.python, "-c", f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))", cwd=cwd
        )
        return set(json.loads(said.splitlines()[-1]))
