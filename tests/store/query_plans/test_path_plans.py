"""However many wait in line, no statement about paths reads all of them, and tasks without a path pay for none."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet.store.sqlite.store import SqliteStore
from ramet.store.state.lanes import SETTLING
from tests.store.query_plans.test_query_plans import Recorded, findings
from tests.store.scenarios.paths import crowd, run_paths, written
from tests.support.world import SettableClock, World, settlement

NOT_HERE = {"SELECT slot FROM ramet_paths WHERE seq "}
"""What is asked only where several write at a time."""
SQL = ("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")


@pytest.fixture
async def recorded(tmp_path: Path) -> AsyncIterator[Recorded]:
    """Every distinct statement of the scenario, on a database where thousands stand in line."""
    statements: dict[str, None] = {}
    clock = SettableClock()
    path = tmp_path / "ramet.db"
    store = SqliteStore(path, clock=clock, inline=True, hook=lambda when, sql: statements.setdefault(sql))
    world = World(store, clock)
    await crowd(world, 3_000)
    await run_paths(world)
    await store.close()
    connection = sqlite3.connect(path)
    connection.execute(SETTLING)
    yield Recorded(connection, [sql for sql in statements if sql.split()[0] in SQL])
    connection.close()


async def test_no_statement_about_paths_reads_all_who_wait(recorded: Recorded) -> None:
    about = [sql for sql in recorded.statements if "ramet_path" in sql or "ramet_live" in sql]
    assert [line for sql in about for line in findings(recorded, sql)] == []


async def test_every_statement_about_paths_is_looked_at(recorded: Recorded) -> None:
    left = {sql for _, sql in written() if not any(told.startswith(sql) for told in recorded.statements)}
    # What did not run in this scenario is looked at by itself.
    assert [line for sql in left - NOT_HERE for line in findings(recorded, sql)] == []


async def test_those_who_wait_on_one_are_not_sorted(recorded: Recorded) -> None:
    sorted_ = {sql for sql in recorded.statements if "waits_on" in sql.partition(" WHERE ")[2]
               and any("TEMP B-TREE" in step for step in recorded.plan(sql))}  # fmt: skip
    assert sorted_ == set()


async def test_without_a_path_no_table_of_paths_is_touched(tmp_path: Path) -> None:
    told: list[str] = []
    clock = SettableClock()
    store = SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True, hook=lambda when, sql: told.append(sql))
    world = World(store, clock)
    told.clear()
    await world.submit(*(world.task() for _ in range(5)))
    claimed = await world.claim(5)
    await world.grow(claimed[0], world.task())
    await store.settle([settlement(one) for one in claimed[1:]])
    await world.run_all()
    assert len(told) > 50
    assert [sql for sql in told if "ramet_path" in sql] == []
    await store.close()
