"""Every statement walks an index: none reads a whole table that grows, no claim sorts a backlog."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ramet.model.task.task import NewTask
from ramet.store.requests import NewLineage
from ramet.store.rows.lineages import LINEAGE_LIST
from ramet.store.schema.columns import LIVE_LIST
from ramet.store.schema.flow import SCHEDULE_LIST
from ramet.store.sqlite.store import SqliteStore
from ramet.store.state.lanes import SETTLING
from ramet.store.verbs.resources import POLICY_LIST, RESOURCE_LIST
from tests.store.scenarios.every_verb import run_everything
from tests.support.world import SettableClock, World

IDLE = "SELECT 1 FROM ramet_live WHERE state = 'processing' AND kind IN"
WHOLE: dict[str, str] = {
    "SELECT kind, state, CASE WHEN": "the distribution over a whole database (or lineage) counts every live task",
    "SELECT CASE WHEN kind = ? THEN stage": "the distribution over the stages of a kind, of all lineages or one",
    "SELECT kind, state, NULL, COUNT(*)": "and every ended one",
    IDLE: "stops at the first live task that this worker serves: it reads on only "
    "when there is none, which ends a worker that runs until idle",
    "SELECT day, spent, reserved FROM ramet_spend WHERE spent": "has one row for each day",
    "SELECT name, position, statement, untyped, next_number FROM ramet_own_tables": "has one row for each table and "
    "index of apps",
    "SELECT key, value, value_type FROM ramet_settings": "all settings are asked for, and there are a few",
    f"SELECT {LIVE_LIST} FROM ramet_live WHERE state = 'processing' AND lease_until": "looks at every claim in "
    "hand, which the workers' slots bound, not the backlog",
    "SELECT entry_type, value, reason, added_by, added_at FROM ramet_stop_list ORDER BY entry_type": "a person "
    "asks for the whole list",
    "SELECT seq, at, by, act, subject, tracking_id, reason, detail FROM ramet_acts WHERE seq <": "walks from the "
    "newest act backwards and stops at its limit",
    f"SELECT {SCHEDULE_LIST} FROM ramet_schedules ORDER BY name": "all schedules are asked for, and there are a few",
    "SELECT c.seq FROM (SELECT seq, lease_until FROM ramet_live INDEXED BY": "lists the stale among the claims in "
    "hand, which the workers' slots bound",
    "SELECT DISTINCT reason FROM ramet_tally_reasons": "a few thousand rows, read when a connection meets a "
    "new reason, at most fifty times",
    "SELECT name, at, number FROM ramet_monitor": "has one row for each source of the monitor",
    "SELECT kind, demands FROM ramet_alert_thresholds": "has one row for each kind that set its own",
    "SELECT name, target, seen_at FROM ramet_alert_channels": "has a row for each way to people",
    "SELECT id, alert_id, tracking_id, event": "walks from the newest notice backwards and stops at its limit",
    "SELECT t.id, l.kind, l.lease_until, l.worker": "looks at every claim in hand, once a look",
    "SELECT id, pattern, tracking_id, subject, evidence, severity, first_at, last_at, resolved_at, state, count, "
    "notified_at, notified_state, acknowledged_at, acknowledged_by FROM ramet_alerts": "walks from the newest alert "
    "backwards, or those that fire: one per lineage and pattern",
    "SELECT seq FROM ramet_live INDEXED BY ramet_live_by_depth WHERE state = 'processing'": "looks at every claim in "
    "hand, which the workers' slots bound",
    "SELECT t.id, t.kind, h.since, l.worker": "looks at every claim in hand, which the workers' slots bound",
    "SELECT name, concurrency FROM ramet_": "has a row for each queue or kind that is limited",
    "SELECT 1 FROM ramet_queues q WHERE q.on_drained": "stops at the first live task of a queue that is draining: it "
    "reads on only when there is none, which is once for each such queue",
    "SELECT q.name, q.on_drained FROM ramet_queues q": "the same",
    "SELECT path, queue, tracking_id, paused_at": "all paused paths are asked for, and there are a few",
    "SELECT name, concurrency, explicit, paused_at": "all queues are asked for, and there are a few",
    "SELECT name, state, rows, created, history, started_at, closed_at, by FROM ramet_imports ORDER BY": "all imports "
    "are asked for, and there are a few",
    "SELECT CASE WHEN ? = 1 THEN TRUE": "stops at the first row of each; it may look at all queues and kinds that are "
    "limited",
    "SELECT 'queue', name, CASE WHEN paused_at IS NULL": "has a row for each queue and kind that is limited or paused",
    "SELECT name, concurrency, explicit FROM ramet_kinds": "has a row for each kind that is limited",
    f"SELECT {POLICY_LIST} FROM ramet_policies": "has a row for each resource or prefix that somebody limited",
    f"SELECT {RESOURCE_LIST} FROM ramet_resources ORDER BY name LIMIT": "walks the names and stops at its limit",
    "SELECT queue, kind, COUNT(*) FROM (SELECT queue, kind FROM ramet_live INDEXED BY ramet_live_by_depth": "looks at "
    "claims in hand, up to a bound",
    "SELECT queue, kind, resource, COUNT(*) FROM ramet_live": "counts the claims in hand, which the workers' slots "
    "bound, and only where something is limited",
    "SELECT name FROM ramet_schedules WHERE state": "all schedules are looked at by the monitor, and there are a few",
    "SELECT name, host, pid": "has a row for each worker of the last day",
    "SELECT verb, bucket, commits, seconds FROM ramet_commit_times": "has a row for each verb and bucket",
    "DELETE FROM ramet_workers WHERE seen_at": "has a row for each worker of the last day",
    "SELECT t.seq FROM (SELECT node FROM ramet_path_holders WHERE holders = 1": "walks from the first on and stops at "
    "its limit: a person asks who holds a path",
    "SELECT MAX(t.spawn_depth)": "is one look at the end of an index",
    "SELECT MAX(u.spawn_depth)": "is one look at the end of an index",
    "SELECT t.seq FROM ramet_live t WHERE t.state || '' = 'pending' AND t.seq ": "walks from one number on until the "
    "page is full: nearly all that live are pending",
    "SELECT t.seq FROM (SELECT seq, tracking_id, kind, spawn_depth FROM ramet_live INDEXED BY": "sorts the claims in "
    "hand, which the workers' slots bound",
    "SELECT t.seq FROM ramet_tasks t WHERE t.state || '' = 'success' AND t.seq ": "walks from one number "
    "on until the page is full: nearly all that ended succeeded",
    "SELECT COUNT(*), COALESCE(SUM(CASE WHEN lease_until": "looks at claims in hand, up to a bound",
    "SELECT t.id, t.tracking_id, t.kind, t.key, t.queue, l.worker": "looks at claims in hand, up to a bound",
    "SELECT COALESCE(worker, ''), COUNT(*) FROM": "looks at claims in hand, up to a bound",
    "SELECT CASE WHEN max_cost > 0": "compares the newest lineages of a state, up to a bound",
    "SELECT COUNT(*) FROM (SELECT 1 FROM ramet_alerts WHERE state = 'firing' LIMIT": "counts up to a bound",
    "SELECT COUNT(*) FROM (SELECT 1 FROM ramet_lineages WHERE state = ? LIMIT": "counts up to a bound",
    "SELECT tracking_id, blocks FROM ramet_lineages WHERE state = ? ORDER BY created_at": "walks the index from the "
    "newest lineage of a state and stops at a thousand: a person asks about a kind and key",
    f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE state = ? ORDER BY created_at": "walks the index from the newest "
    "lineage of a state and stops at its limit",
}
"""Beginning of a statement that may read a whole table -> the reason."""


class Recorded(NamedTuple):
    """A database and the statements that ran on it."""

    connection: sqlite3.Connection
    statements: list[str]

    def plan(self, sql: str) -> list[str]:
        rows = self.connection.execute(f"EXPLAIN QUERY PLAN {sql}", (None,) * sql.count("?"))
        return [str(row[3]) for row in rows]


async def ran(path: Path) -> list[str]:
    """Run through all verbs, on a database that was not empty before; every distinct statement."""
    statements: dict[str, None] = {}
    clock = SettableClock()
    store = SqliteStore(path, clock=clock, inline=True, hook=lambda when, sql: statements.setdefault(sql))
    names = [f"fill{n}" for n in range(20)]
    await store.submit(
        [NewLineage(name, [NewTask(f"{name}-{at}", "image", f"f{at}", "null", "full") for at in range(50)])
         for name in names]
    )  # fmt: skip
    await run_everything(World(store, clock))
    await store.close()
    return [sql for sql in statements if sql.split()[0] in ("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The database after that run, and its statements."""
    path = tmp_path_factory.mktemp("whole") / "ramet.db"
    return path, asyncio.run(ran(path))


@pytest.fixture
def recorded(whole: tuple[Path, list[str]]) -> Iterator[Recorded]:
    """What a test does to the database is undone."""
    path, statements = whole
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute(SETTLING)
    yield Recorded(connection, statements)
    connection.execute("ROLLBACK")
    connection.close()


def partial_indexes(connection: sqlite3.Connection) -> set[str]:
    """Indexes that hold only the rows that wait for something: walking one of them from end to end is the point."""
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {row[1] for table in tables for row in connection.execute(f"PRAGMA index_list({table})") if row[4]}


def findings(recorded: Recorded, sql: str) -> Iterator[str]:
    """What is wrong with the plan of one statement."""
    if any(sql.startswith(beginning) for beginning in WHOLE):
        return
    waiting = partial_indexes(recorded.connection)
    aliases = dict(re.findall(r"(?:FROM|JOIN) (ramet_\w+)(?: AS)? ([a-z]+)\b", sql))
    tables = set(re.findall(r"ramet_\w+", sql)) | set(aliases.values())
    batch = {"ramet_settling", aliases.get("ramet_settling")}
    for step in recorded.plan(sql):
        scan = re.match(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", step)
        if scan and scan[1] in tables - batch and scan[2] not in waiting:
            yield f"{step}: {sql}"
        # A search that only says where to begin reads from there to the end of the table.
        # One that gives a state and nothing else reads everything in it.
        if re.search(r"\((?:rowid[<>]|state[<>=])\?\)", step):
            yield f"{step}: {sql}"
        if "AUTOMATIC" in step:
            yield f"{step}: {sql}"


async def test_no_statement_reads_a_whole_table(recorded: Recorded) -> None:
    assert len(recorded.statements) > 100
    found = [line for sql in recorded.statements for line in findings(recorded, sql)]
    assert found == [], "\n".join(found)


async def test_every_exception_is_still_needed(recorded: Recorded) -> None:
    for beginning in WHOLE:
        assert any(sql.startswith(beginning) for sql in recorded.statements), beginning


CLAIM = re.compile(r"wait IS NULL (AND rank < \d+ )?ORDER BY")


async def test_no_claim_sorts(recorded: Recorded) -> None:
    claims = [sql for sql in recorded.statements if CLAIM.search(sql)]
    assert len(claims) == 2  # of workers, and of programs that pull
    for sql in claims:
        [step] = recorded.plan(sql)
        assert re.fullmatch(r"SEARCH ramet_live USING INDEX ramet_live_claimable \(.*\)", step)


async def test_what_is_overdue_is_found_by_what_becomes_of_it(recorded: Recorded) -> None:
    """Tasks that wait for their last poll, or for their settler, are not read to find those that end by themselves."""
    looks = [sql for sql in recorded.statements if "ELSE 0 END) = " in sql and "ORDER BY" not in sql]
    assert len(looks) >= 3
    for sql in looks:
        steps = [step for step in recorded.plan(sql) if "ramet_live_overdue" in step]
        assert any("ramet_live_overdue (<expr>=? AND deadline_at" in step for step in steps), (sql, steps)


async def test_a_page_of_tasks_is_not_sorted(recorded: Recorded) -> None:
    pages = [sql for sql in recorded.statements if sql.startswith("SELECT t.seq FROM ramet_live t")]
    pages += [sql for sql in recorded.statements if sql.startswith("SELECT t.seq FROM ramet_tasks t WHERE t.")]
    pages += [sql for sql in recorded.statements if sql.startswith("SELECT t.seq FROM ramet_unsuccessful u")]
    assert len(pages) > 10
    assert [step for sql in pages for step in recorded.plan(sql) if "TEMP B-TREE" in step] == []


DEPTH_AND_SEQ = r"\(state=\? AND spawn_depth=\? AND seq>\?\)"
ACCESS_PATHS = {
    "(tracking_id, state)": r"SEARCH u USING COVERING INDEX ramet_unsuccessful_by_lineage "
    r"\(tracking_id=\? AND state=\? AND seq>\?\)",
    "(tracking_id, spawn_depth, seq)": r"SEARCH t USING INDEX ramet_tasks_by_lineage "
    r"\(tracking_id=\? AND spawn_depth=\? AND seq>\?\)",
    "(live state, tracking_id)": r"SEARCH ramet_live USING INDEX ramet_live_by_depth \(state=\? AND tracking_id=\?\)",
    "(live state, tracking_id, seq)": r"SEARCH t USING COVERING INDEX ramet_live_by_depth "
    r"\(state=\? AND tracking_id=\? AND rowid>\?\)",
    "(kind, key, state)": r"SEARCH i USING (COVERING INDEX \w+|PRIMARY KEY) \(key=\? AND tracking_id=\? AND kind=\?\)",
    "(state, spawn_depth, seq)": rf"SEARCH u USING COVERING INDEX ramet_unsuccessful_by_depth {DEPTH_AND_SEQ}",
}


@pytest.mark.parametrize("path", ACCESS_PATHS)
async def test_the_access_paths_of_the_design_are_used(recorded: Recorded, path: str) -> None:
    steps = [step for sql in recorded.statements for step in recorded.plan(sql)]
    assert [step for step in steps if re.match(ACCESS_PATHS[path], step)]


BAD = [
    "SELECT id FROM ramet_tasks WHERE payload = ?",
    "SELECT t.seq FROM ramet_tasks t WHERE t.kind = ? AND t.seq > ? ORDER BY t.seq LIMIT ?",
    "UPDATE ramet_live SET wait = NULL WHERE worker = ?",
    "DELETE FROM ramet_attempts WHERE worker = ?",
    "SELECT COUNT(*) FROM ramet_tasks",
    "SELECT seq FROM ramet_tasks WHERE state IS NOT NULL AND kind = ?",
    "SELECT 1 FROM ramet_blocks b JOIN ramet_live l ON l.kind = b.kind WHERE b.tracking_id = ?",
]


@pytest.mark.parametrize("sql", BAD)
async def test_a_statement_that_reads_a_whole_table_is_found(recorded: Recorded, sql: str) -> None:
    assert list(findings(recorded, sql)) != []


@pytest.mark.parametrize(
    "index", ["ramet_live_claimable", "ramet_live_by_depth", "ramet_tasks_by_lineage", "ramet_live_due",
              "ramet_lineages_ended", "ramet_lineages_swept", "ramet_tasks_children",
              "ramet_transitions_revives", "ramet_attempts_storms",
              "ramet_blocks_unseen"],
)  # fmt: skip
async def test_without_its_index_something_reads_a_whole_table(recorded: Recorded, index: str) -> None:
    recorded.connection.execute(f"DROP INDEX {index}")
    left = [sql for sql in recorded.statements if f"INDEXED BY {index} " not in sql]
    worse = [line for sql in left for line in findings(recorded, sql)]
    sorting = [sql for sql in left if CLAIM.search(sql)
               and any("TEMP B-TREE" in step for step in recorded.plan(sql))]  # fmt: skip
    assert worse or sorting
