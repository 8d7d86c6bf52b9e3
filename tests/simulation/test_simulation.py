"""Seeded runs of the whole engine keep every promise, and the checks notice when one of its guards is taken away."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ramet.model.guard import Facts, Verdict, check_spawn
from ramet.store import settling, spawning
from ramet.store.sqlite import SqliteStore
from tests import invariants
from tests.simulation import checks
from tests.simulation.faults import Faults
from tests.simulation.simulate import Plan, simulate

ONE = os.environ.get("RAMET_SIM_SEED", "")
QUICK = [int(ONE)] if ONE else range(40)
FULL = [] if ONE else range(40, 1_040)


def _failures(seed: int, folder: Path, prepare: Callable[[SqliteStore], None] | None = None) -> list[str]:
    path = simulate(Plan(seed), folder, prepare).path

    async def rows() -> list[str]:
        store = SqliteStore(path, inline=True)
        try:
            return await invariants.violations(store, loose_kinds={"look"}, clock_set_back=True)
        finally:
            store.close_now()

    return [*asyncio.run(rows()), *checks.violations(path)]


@pytest.mark.parametrize("seed", QUICK)
def test_every_promise_holds_in_a_seeded_run(seed: int, tmp_path: Path) -> None:
    assert _failures(seed, tmp_path) == [], f"repeat with: make sim SEED={seed}"


@pytest.mark.full
@pytest.mark.parametrize("seed", FULL)
def test_every_promise_holds_in_many_seeded_runs(seed: int, tmp_path: Path) -> None:
    assert _failures(seed, tmp_path) == [], f"repeat with: make sim SEED={seed}"


def test_a_seed_tells_the_whole_run(tmp_path: Path) -> None:
    dumps = []
    for name in ("once", "again"):
        folder = tmp_path / name
        folder.mkdir()
        dumps.append(_dump(simulate(Plan(7), folder).path))
    assert dumps[0] == dumps[1]
    assert len(dumps[0]) > 100


def _dump(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def _some_seed_fails(folder: Path, prepare: Callable[[SqliteStore], None] | None = None) -> bool:
    """True when breaking the engine is noticed within a few seeds: by a check, or by an assertion or constraint."""
    for seed in range(8):
        where = folder / str(seed)
        where.mkdir()
        try:
            if _failures(seed, where, prepare):
                return True
        except Exception:
            return True
    return False


def test_without_the_fence_the_simulation_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "_current", lambda standing, fence, now: standing.state == "processing")
    assert _some_seed_fails(tmp_path)


def test_without_the_identities_the_simulation_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the guard's look nor the unique index: duplicates and cycles come up."""

    def no_index(store: SqliteStore) -> None:
        connection: Any = store._connection
        connection.execute("DROP TABLE ramet_identities")
        connection.execute("CREATE TABLE ramet_identities (key TEXT, tracking_id TEXT, kind TEXT, seq INTEGER)")

    def blind(facts: Facts) -> Verdict:
        return check_spawn(facts._replace(holders=()))

    monkeypatch.setattr(spawning, "check_spawn", blind)
    assert _some_seed_fails(tmp_path, no_index)


def test_without_the_budget_decrement_the_simulation_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawning, "add_tasks", lambda session, tracking_id, count: None)
    assert _some_seed_fails(tmp_path)


def test_the_unbroken_engine_passes_those_seeds(tmp_path: Path) -> None:
    assert not _some_seed_fails(tmp_path)


def test_faults_really_happen(tmp_path: Path) -> None:
    path = simulate(Plan(3, crashes=6, faults=Faults(stall=0.05)), tmp_path).path
    connection = sqlite3.connect(path)
    outcomes = dict(connection.execute("SELECT outcome, COUNT(*) FROM ramet_attempts GROUP BY outcome"))
    connection.close()
    assert outcomes["lost"] > 0
    assert outcomes["error"] > 0
