"""Runs of an engine that is broken on purpose: a few seeds must notice."""

from __future__ import annotations

from pathlib import Path

from ramet.store.schema import versions
from tests.simulation.faults import Faults
from tests.simulation.simulate import Plan, Prepare, simulate
from tests.upgrade.plans import NEXT

SEEDS = 8
SHORT = 6
"""The one of them that takes least."""
NO_PARTS: frozenset[str] = frozenset()


def found(plan: Plan, folder: Path) -> list[str]:
    """Broken promises, or the error by which the engine stopped itself."""
    try:
        return simulate(plan, folder).violations
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def rough(seed: int, on: str = "sqlite", prepare: Prepare | None = None) -> Plan:
    """Plain tasks, and much that goes wrong."""
    return Plan(seed, on, crashes=6, jumps=8, faults=Faults(stall=0.03), prepare=prepare, parts=NO_PARTS)


def must_be_found(on: str, folder: Path, saying: str = "", prepare: Prepare | None = None, first: int = 0) -> None:
    """Within a few seeds on SQLite; and the seed that finds it there finds it on PostgreSQL.

    Args:
        first: the seed to begin with, one that is known to find it soon.
    """
    for seed in sorted(range(SEEDS), key=lambda seed: (seed - first) % SEEDS):
        lines = found(rough(seed, "sqlite", prepare), folder)
        if lines:
            assert any(saying in line for line in lines), lines
            if on != "sqlite":
                lines = found(rough(seed, on, prepare), folder)
                assert any(saying in line for line in lines), lines
            return
    raise AssertionError("no seed notices")


def must_be_found_with(
    parts: set[str],
    folder: Path,
    saying: str,
    *,
    later: versions.SchemaPlan = NEXT,
    first: int = 0,
    prepare: Prepare | None = None,
) -> None:
    """The same, where it takes certain parts of the workload to notice.

    Args:
        first: the seed to begin with, one that is known to find it soon.
    """
    for seed in range(first, first + SEEDS):
        lines = found(Plan(seed, parts=frozenset(parts), later=later, prepare=prepare), folder)
        if any(saying in line for line in lines):
            return
    raise AssertionError("no seed notices")
