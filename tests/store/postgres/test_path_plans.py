"""PostgreSQL's plans for paths: an index leads to what is looked for, however many wait in line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from ramet.store.postgres.bulk import looked_up
from ramet.store.postgres.session import connect
from ramet.store.postgres.store import PostgresStore
from tests.postgres.servers import databases
from tests.store.postgres.test_query_plans import VERBS, Recorded
from tests.store.scenarios.paths import crowd, run_paths, written
from tests.support.world import SettableClock, World, settlement

STATISTICS_KEPT = b"""
    DO $$ DECLARE relation REGCLASS; BEGIN
    FOR relation IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relname LIKE 'ramet%' LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', relation);
    END LOOP; END $$
"""
"""Else autovacuum may look at the tables when the scenario has emptied them, and a sort of nothing is a good plan."""


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorded]:
    """Every distinct statement of the scenario; the statistics are those of thousands who stand in line."""
    url = databases().create()
    try:
        statements = asyncio.run(ran(url))
        with connect(url) as connection:
            yield Recorded(connection, [sql for sql in statements if sql.split()[0] in VERBS])
    finally:
        databases().drop(url)


async def ran(url: str) -> dict[str, None]:
    """Run the scenario."""
    statements: dict[str, None] = {}
    clock = SettableClock()
    store = PostgresStore(url, clock=clock, inline=True, hook=lambda when, sql: statements.setdefault(sql))
    world = World(store, clock)
    await crowd(world, 3_000)
    with connect(url) as connection:
        if connection.info.server_version < 160_000:
            pytest.skip("PostgreSQL explains statements without their parameters from version 16 on")
        connection.execute(STATISTICS_KEPT)
        connection.execute("ANALYZE")
    await run_paths(world)
    await store.close()
    return statements


def about_paths(recorded: Recorded) -> list[str]:
    return [sql for sql in recorded.statements if "ramet_path" in sql or "holds_path" in sql]


async def test_no_statement_about_paths_reads_all_who_wait(recorded: Recorded) -> None:
    found = {sql: recorded.whole_tables(sql) for sql in about_paths(recorded)}
    assert {sql: tables for sql, tables in found.items() if tables} == {}


async def test_every_statement_about_paths_is_looked_at(recorded: Recorded) -> None:
    left = {sql for _, sql in written() if not any(told.startswith(sql) for told in recorded.statements)}
    assert [table for sql in left for table in recorded.whole_tables(sql)] == []


async def test_a_look_is_one_descent_of_an_index_for_each_row(recorded: Recorded) -> None:
    looks = [sql for sql in about_paths(recorded) if sql.endswith(("DESC LIMIT 1", "ORDER BY ticket LIMIT 501"))]
    assert len(looks) == 2
    for sql in looks:
        told = recorded.connection.execute(f"EXPLAIN (GENERIC_PLAN) {looked_up(sql)}".encode()).fetchall()
        plan = "\n".join(line for (line,) in told)
        assert "Index" in plan
        assert [word for word in ("Seq Scan", "Sort", "Hash", "Bitmap") if word in plan] == [], plan


async def test_without_a_path_nothing_looks_at_paths(postgres_url: str) -> None:
    told: list[str] = []
    clock = SettableClock()
    store = PostgresStore(postgres_url, clock=clock, inline=True, hook=lambda when, sql: told.append(sql))
    world = World(store, clock)
    told.clear()
    await world.submit(*(world.task() for _ in range(5)))
    claimed = await world.claim(5)
    assert [sql for sql in told if "ramet_path" in sql] == []
    await store.settle([settlement(one) for one in claimed])
    looks = {sql for sql in told if "ramet_path" in sql}
    assert looks == set()
    await store.close()
