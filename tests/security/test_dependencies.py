"""What is installed with ramet: pinned to its bytes, few, and under licences that go with Apache 2.0.

Whether one of them has a known hole only a server can tell: docs/guides/security.md says how to ask it.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[2]
LOCKS = sorted((PROJECT / "requirements").glob("*.lock"))
DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE_MAX = 6
PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?==(?P<version>[^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
FREE = re.compile(
    r"\bMIT\b|\bBSD\b|0BSD|Apache|\bISC\b|Python Software Foundation|\bPSF\b|PSF-2|MPL|Mozilla|Unlicense|Public Domain"
    r"|\bZlib\b|CC0|PostgreSQL|HPND|\bMIT-0\b|BlueOak",
    re.IGNORECASE,
)
"""Licences that ask for no more than their text, or like the MPL for changes to their own files."""
LESSER = {
    "igraph": "GPL: an extra of its own that no other brings, chosen by who installs it (decision 0110)",
    "psycopg": "LGPL: used as a library, unchanged, by its public interface",
    "psycopg-binary": "LGPL: as psycopg",
    "psycopg-pool": "LGPL: as psycopg",
}
"""Package -> why its other licence goes with ours."""


def entries(lock: Path) -> dict[str, str]:
    """Every requirement of a lock, continued lines joined: by its name, all that stands there."""
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found: dict[str, str] = {}
    for line in lines:
        match = PINNED.match(line)
        assert match is not None, f"{lock.name}: {line[:80]!r} is no pinned requirement"
        found[canonicalize_name(match["name"])] = line
    return found


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_locked_package_is_pinned_to_its_bytes(lock: Path) -> None:
    found = entries(lock)
    assert found
    for name, line in found.items():
        assert HASH.search(line), f"{lock.name}: {name} has no hash"
        assert " @ " not in line, f"{lock.name}: {name} comes from an address"
        assert "git+" not in line, f"{lock.name}: {name} comes from a repository"


def declared() -> dict[str, list[Requirement]]:
    """Requirements by extra; the core's under an empty name."""
    of = {"": DECLARED["dependencies"], **DECLARED["optional-dependencies"]}
    return {extra: [Requirement(line) for line in lines] for extra, lines in of.items()}


def test_the_core_is_small() -> None:
    assert len(declared()[""]) <= CORE_MAX


def test_nothing_is_required_from_an_address() -> None:
    assert [str(one) for ones in declared().values() for one in ones if one.url is not None] == []


def closure() -> set[str]:
    """All that a user may get: what is required, and what that requires, as far as it is installed here."""
    left = [one for extra, ones in declared().items() if extra not in ("dev", "docs", "test") for one in ones]
    seen: set[tuple[str, str]] = set()
    while left:
        one = left.pop()
        for extra in ("", *one.extras):
            name = canonicalize_name(one.name)
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                lines = distribution(name).requires or []
            except PackageNotFoundError:
                continue
            wanted = [Requirement(line) for line in lines]
            left += [more for more in wanted if more.marker is None or more.marker.evaluate({"extra": extra})]
    return {name for name, _ in seen}


def licence_of(name: str) -> str | None:
    """All that a package says of its licence; None if it is not installed."""
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return None
    classifiers = [line for line in told.get_all("Classifier") or [] if line.startswith("License ::")]
    stated = [*(told.get_all("License-Expression") or []), *(text[:300] for text in told.get_all("License") or [])]
    return " ".join([*stated, *classifiers]).strip()


def test_every_licence_is_known_and_goes_with_ours() -> None:
    names = closure()
    assert {"click", "pydantic", "pydantic-core", "starlette", "psycopg"} <= names
    odd = {}
    for name in sorted(names):
        licence = licence_of(name)
        if licence is not None and name not in LESSER and not FREE.search(licence):
            odd[name] = licence or "says nothing of its licence"
    assert odd == {}


def test_each_exception_is_still_needed() -> None:
    for name in LESSER:
        licence = licence_of(name)
        assert licence is None or not FREE.search(licence), f"{name} has another licence now: {licence}"
