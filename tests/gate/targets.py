"""Which target of the Makefile runs a test case: exactly one, found from the case's folder and its marks.

Marks say what a case needs; ``tests/gate/needs.py`` fails a case that uses what its marks do not name.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath
from typing import NamedTuple

TARGETS = ("test", "postgres", "web", "fetch", "wiki", "llm", "jobs", "proofs", "nightly")
"""``make test`` runs the first, ``make test-NAME`` each of the others."""

SERVER, BROWSER, PROCESS, NETWORK = "server", "browser", "process", "network"
PROOF, NIGHTLY = "proof", "nightly"


class Area(NamedTuple):
    """The targets of the cases in one folder."""

    target: str
    special_target: str
    """Of cases that have one of the marks in ``special``."""
    special: frozenset[str]


def _whole(target: str) -> Area:
    return Area(target, target, frozenset())


def _inner(target: str) -> Area:
    """Only what stays inside of the test's own process, and does not take long, is run by ``make test``."""
    return Area("test", target, frozenset({SERVER, BROWSER, PROCESS, NETWORK, PROOF}))


AREAS = {
    "tests": Area("test", "postgres", frozenset({SERVER})),
    "tests/benchmarks": _inner("proofs"),
    "tests/chaos": _whole("proofs"),
    "tests/crash": _whole("proofs"),
    "tests/docs": _whole("proofs"),
    "tests/examples": _inner("proofs"),
    "tests/faults": _whole("proofs"),
    "tests/fetch": _inner("fetch"),
    "tests/hostile": _inner("proofs"),
    "tests/jobs": _inner("jobs"),
    "tests/llm": _inner("llm"),
    "tests/models": _whole("proofs"),
    "tests/mutation": _whole("proofs"),
    "tests/packaging": _inner("proofs"),
    "tests/postgres": _whole("postgres"),
    "tests/pullers": _whole("proofs"),
    "tests/security": _whole("proofs"),
    "tests/simulation": Area("test", "proofs", frozenset({SERVER, PROOF})),
    "tests/store/postgres": _whole("postgres"),
    "tests/telemetry": _whole("web"),
    "tests/testing/postgres_server": _whole("postgres"),
    "tests/upgrade": _whole("proofs"),
    "tests/web": _whole("web"),
    "tests/wiki": _inner("wiki"),
}
"""The rule for a folder and what is below it, unless a longer name has its own."""


def area_of(path: str) -> Area:
    """The area of a file or folder, named from the project's folder."""
    names = map(str, (PurePath(path), *PurePath(path).parents))
    return next((AREAS[name] for name in names if name in AREAS), AREAS["tests"])


def target_of(path: str, marks: Collection[str]) -> str:
    """The one target that runs a case of this file with these marks."""
    area = area_of(path)
    if NIGHTLY in marks:
        return NIGHTLY
    return area.target if area.special.isdisjoint(marks) else area.special_target


def may_hold(path: str, target: str) -> bool:
    """Whether a file or folder may contain cases of the target; what may not is not imported."""
    below = [area for name, area in AREAS.items() if PurePath(name).is_relative_to(path)]
    return any(target in {area.target, area.special_target, NIGHTLY} for area in [area_of(path), *below])
