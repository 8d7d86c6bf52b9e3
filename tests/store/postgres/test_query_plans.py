"""PostgreSQL's plans: whatever its statistics say, no verb reads a whole table that grows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
import pytest

from ramet.model.task.task import NewTask
from ramet.store.postgres.bulk import translated
from ramet.store.postgres.session import connect
from ramet.store.postgres.store import PostgresStore
from ramet.store.reads.tasks import counts
from ramet.store.requests import NewLineage
from ramet.store.session import Session
from tests.postgres.servers import databases
from tests.store.query_plans.test_query_plans import IDLE, WHOLE
from tests.store.scenarios.every_verb import run_everything
from tests.support.world import SettableClock, World

FEW = {
    "ramet_counters", "ramet_queues", "ramet_kinds", "ramet_policies", "ramet_workers", "ramet_commit_times",
    "ramet_schedules",
    "ramet_settings", "ramet_stop_list", "ramet_monitor", "ramet_alert_thresholds", "ramet_imports", "ramet_writers",
    "ramet_alert_channels", "ramet_own_tables", "ramet_turns", "ramet_spend", "ramet_task_numbers",
}  # fmt: skip
"""Tables with a row for each queue, kind, worker, day: reading them is no more than looking one up."""
VERBS = ("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")


class Recorded(NamedTuple):
    """A database and the statements that ran on it."""

    connection: psycopg.Connection[Any]
    statements: list[str]

    def scans(self, sql: str) -> Iterator[dict[str, Any]]:
        """The nodes of the plan that a prepared statement gets for any parameters."""
        told = self.connection.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {translated(sql)}".encode()).fetchall()
        plan = told[0][0]
        nodes = [(json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]]
        while nodes:
            node = nodes.pop()
            nodes += node.get("Plans", ())
            yield node

    def whole_tables(self, sql: str) -> list[str]:
        """Growing tables of which this statement reads every row, or every entry of an index."""
        return [
            node["Relation Name"]
            for node in self.scans(sql)
            if node["Node Type"] == "Seq Scan" and node["Relation Name"].startswith("ramet_")
            and node["Relation Name"] not in FEW
        ]  # fmt: skip

    def found(self) -> dict[str, list[str]]:
        """Statements without an excuse, and the growing tables that they read."""
        excused = (*WHOLE, IDLE.replace(" IN", " = ANY"))
        checked = [sql for sql in self.statements if not sql.startswith(excused)]
        return {sql: tables for sql in checked if (tables := self.whole_tables(sql))}


@contextmanager
def recording() -> Iterator[Recorded]:
    url = databases().create()
    try:
        statements = asyncio.run(ran(url))
        with connect(url) as connection:
            yield Recorded(
                connection, [sql for sql in statements if sql.split()[0] in VERBS and ("?" in sql or "$1" in sql)]
            )
    finally:
        databases().drop(url)


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorded]:
    """Every distinct statement of a run through all verbs; the statistics are those of empty tables."""
    with recording() as recorded:
        yield recorded


@pytest.fixture
def analyzed() -> Iterator[Recorded]:
    """The same with the statistics of what is there."""
    with recording() as recorded:
        recorded.connection.execute("ANALYZE")
        yield recorded


async def ran(url: str) -> dict[str, None]:
    """Run through all verbs."""
    statements: dict[str, None] = {}
    clock = SettableClock()
    store = PostgresStore(url, clock=clock, inline=True, hook=lambda when, sql: statements.setdefault(sql))
    with connect(url) as connection:
        if connection.info.server_version < 160_000:
            pytest.skip("PostgreSQL explains statements without their parameters from version 16 on")
        connection.execute("ANALYZE")
    names = [f"fill{n}" for n in range(20)]
    await store.submit(
        [NewLineage(name, [NewTask(f"{name}-{at}", "image", f"f{at}", "null", "full") for at in range(50)])
         for name in names]
    )  # fmt: skip
    await run_everything(World(store, clock))
    await store.close()
    return statements


async def test_no_statement_reads_a_whole_table_that_grows(recorded: Recorded) -> None:
    assert len(recorded.statements) > 150
    assert recorded.found() == {}


@pytest.mark.nightly
async def test_nor_does_one_that_knows_that_tables_are_small(analyzed: Recorded) -> None:
    assert analyzed.found() == {}


async def test_a_statement_that_reads_a_whole_table_is_found(recorded: Recorded) -> None:
    assert recorded.whole_tables("SELECT seq FROM ramet_live WHERE worker = ?") == ["ramet_live"]


async def test_what_looks_goes_by_an_index_and_only_what_reads_everything_is_planned_freely(postgres_url: str) -> None:
    store = PostgresStore(postgres_url, inline=True)
    planned = "SELECT current_setting('enable_seqscan'), current_setting('enable_hashjoin'), current_setting('jit')"
    seen: list[Any] = []
    looked = await store._read(lambda session: session.rows(planned))

    def counted(session: Session) -> None:
        counts(session, None)
        seen.extend(session.rows(planned))

    await store._read(counted)
    free, again = await store.read(planned), await store._read(lambda session: session.rows(planned))
    await store.close()
    assert looked == again == [("off", "off", "off")]
    assert seen == free == [("on", "on", "off")]


async def test_claims_are_not_sorted_and_rows_are_found_by_their_numbers(recorded: Recorded) -> None:
    claims = [sql for sql in recorded.statements if "wait IS NULL" in sql and "ORDER BY rank, turn, seq" in sql]
    assert claims
    for sql in claims:
        assert "Sort" not in {node["Node Type"] for node in recorded.scans(sql)}
    moves = [
        sql for sql in recorded.statements if sql.startswith("UPDATE ramet_live SET state") and "WHERE seq = ANY" in sql
    ]
    assert moves
    for sql in moves:
        assert [node.get("Index Name") for node in recorded.scans(sql) if "Index Name" in node] == ["ramet_live_pkey"]
