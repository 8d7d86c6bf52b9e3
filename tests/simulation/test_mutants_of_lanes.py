"""The simulation notices when a lane leaves out the fence, or counts an end twice.

Workers stop by themselves what they know to be over, so it takes a stall at the right moment to need the others: the
random histories of the plain model need the lease, and the test of the lanes themselves needs every one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ramet.store.session import Session
from ramet.store.state import apply, lanes
from tests.simulation.broken_engines import found
from tests.simulation.faults import Faults
from tests.simulation.simulate import Plan

LEAVES = frozenset({"leaves", "trees"})


def must_be_found(folder: Path, saying: str, first: int) -> None:
    """Within a few seeds from ``first`` on, one that is known to find it soon."""
    faults = Faults(stall=0.1, answered_twice=0.2)
    for seed in range(first, first + 3):
        lines = found(Plan(seed, crashes=6, jumps=8, faults=faults, parts=LEAVES), folder)
        if lines:
            assert any(saying in line for line in lines), lines
            return
    raise AssertionError("no seed notices")


def test_without_the_fence_the_simulation_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "PLAIN_ROW", [condition for condition in lanes.PLAIN_ROW if "fence" not in condition])
    must_be_found(tmp_path, "not current", 6)


def test_ends_that_are_counted_twice_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count_ends = apply.count_ends

    def twice(session: Session, deltas: Mapping[str, Mapping[str, int]], *rest: Any) -> None:
        count_ends(session, {name: {of: 2 * by for of, by in counts.items()} for name, counts in deltas.items()}, *rest)

    monkeypatch.setattr(lanes, "count_ends", twice)
    must_be_found(tmp_path, "", 0)
