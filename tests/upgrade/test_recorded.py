"""Databases as every released version left them: today's program takes them up, loses nothing and goes on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.store import open_store
from ramet.store.opening import migrate
from ramet.store.requests import ClaimRequest, Settlement
from ramet.store.schema import versions
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.backends import BACKENDS
from tests.upgrade.plans import NEXT
from tests.upgrade.recorded import (
    Recorded,
    decoded,
    make_postgres,
    make_sqlite,
    path_of,
    recorded,
    schema_now,
)

VERSIONS = range(1, versions.PLAN.version + 1)


def test_what_is_recorded_of_the_present_version_is_its_schema() -> None:
    now, held = schema_now(), recorded(versions.PLAN.version)
    assert {name: held[name] for name in now} == now, (
        f"the schema differs from {path_of(versions.PLAN.version).name}: where that version was released, add a step "
        "to MIGRATIONS instead; where it was not, write the file again: python -m tests.upgrade.recorded"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_recorded_has_rows_in_every_table(version: int) -> None:
    empty = {table for table, held in recorded(version)["rows"].items() if not held["rows"]}
    assert empty == {"ramet_block_counts"}


HINTS_OF_V1 = {
    "ramet_live_by_depth": ("state = 'processing'", "state = ?", "state = ? AND lease_until <= ?"),
    "ramet_live_claimable": ("state = 'pending' AND wait IS NULL", "state = 'pending' AND wait IS NULL AND queue = ?"),
    "ramet_live_by_resource": ("wait = 'resource' AND state = 'pending'",),
    "ramet_live_overdue": ("state = 'pending' AND deadline_at IS NOT NULL",),
}
"""Index of the hot table -> the conditions beside which a program of version 1 names it. SQLite refuses a statement
whose index is missing or cannot serve it."""


@pytest.mark.parametrize("index", HINTS_OF_V1)
def test_the_indexes_that_programs_of_version_1_name_serve_them_still(tmp_path: Path, index: str) -> None:
    path = tmp_path / "old.db"
    make_sqlite(path, recorded(1))
    migrate(path)
    with closing(sqlite3.connect(path)) as connection:
        for where in HINTS_OF_V1[index]:
            sql = f"EXPLAIN QUERY PLAN SELECT lease_until FROM ramet_live INDEXED BY {index} WHERE {where}"
            [(*_, step)] = connection.execute(sql, (0,) * sql.count("?"))
            assert f"USING INDEX {index}" in step
            assert ("(state=?)" in step) == where.startswith(("state = 'processing'", "state = ?"))


def test_the_hot_table_has_the_same_indexes_whatever_version_a_database_began_with(made: Any, tmp_path: Path) -> None:
    address = made(recorded(1))
    assert migrate(address, check=True).before == 1
    migrate(address)
    assert asyncio.run(_entries(address)) == {
        "ramet_live_by_depth", "ramet_live_claimable", "ramet_live_due", "ramet_live_to_line_up", "ramet_live_overdue",
        "ramet_live_set_aside", "ramet_live_by_resource", "ramet_live_holding", "ramet_live_bound",
        "ramet_live_paused",
    }  # fmt: skip


async def _entries(address: str) -> set[str]:
    """Indexes of the hot table beside its key."""
    store = open_store(address, create=False)
    try:
        if address.startswith("postgresql"):
            asked = "SELECT indexname FROM pg_indexes WHERE tablename = 'ramet_live' AND indexname LIKE 'ramet_live_%'"
        else:
            asked = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'ramet_live'"
        return {name for (name,) in await store.read(asked) if name != "ramet_live_pkey"}
    finally:
        await store.close()


@pytest.fixture(params=sorted(BACKENDS))
def made(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Any:
    """Makes a recorded database; its address."""

    def make(of: Recorded) -> str:
        if request.param == "sqlite":
            make_sqlite(tmp_path / "old.db", of)
            return str(tmp_path / "old.db")
        make_postgres(postgres_url, of)
        return postgres_url

    return make


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("to_tomorrow", [False, True])
def test_a_released_database_is_taken_up_whole_and_goes_on(
    made: Any, version: int, to_tomorrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = recorded(version)
    address = made(of)
    with monkeypatch.context() as tomorrow:
        if to_tomorrow:
            tomorrow.setattr(versions, "PLAN", NEXT)
        migrate(address)
    asyncio.run(_taken_up(address, of))


async def _taken_up(address: str, of: Recorded) -> None:
    clock = Later()
    store = open_store(address, create=False, clock=clock)
    try:
        for table, held in of["rows"].items():
            if table == "ramet_counters":
                continue
            columns = ", ".join(held["columns"])
            found = await store.read(f"SELECT {columns} FROM {table}")
            assert ordered(found) == ordered(decoded(row) for row in held["rows"]), table
        assert set(await violations(store)) <= set(of["violations"])
        assert await _drained(store, clock)
        assert set(await violations(store)) <= set(of["violations"])
    finally:
        await store.close()


def ordered(rows: Any) -> list[str]:
    """Rows as texts, whatever order a database gives them in."""
    return sorted(json.dumps([value.hex() if isinstance(value, bytes) else value for value in row]) for row in rows)


class Later:
    """A clock a little after the last thing in the database."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def _drained(store: Store, clock: Later) -> int:
    """Work on until nothing can be claimed; how many tasks that were."""
    done = 0
    kinds = tuple(sorted({kind for (kind,) in await store.read("SELECT DISTINCT kind FROM ramet_live")}))
    queues = tuple(sorted({queue for (queue,) in await store.read("SELECT DISTINCT queue FROM ramet_live")}))
    for _ in range(20):
        clock.now += 1_000.0
        await store.sweep()
        claimed = await store.claim(ClaimRequest("w", queues, kinds, 100, 300.0))
        found = [
            Settlement(each.standing.seq, each.standing.fence, ev.Complete(each.standing.fence)) for each in claimed
        ]
        done += sum(answer.state == "success" for answer in await store.settle(found))
    return done
