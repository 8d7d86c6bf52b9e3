"""A worker that is stopped past its lease and then goes on as if nothing had happened changes nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ramet import Client, SubmitResult
from tests.crash.crash_app import Meeting, app
from tests.crash.past_lease_app import LATE, LATE_SECONDS, LEASE_SECONDS
from tests.crash.process import WorkerProcess
from tests.invariants.check import violations
from tests.support.comparable_rows import comparable
from tests.support.waiting import HANG_SECONDS, until

WORDS = ("return", "checkpoint", "progress", "spawn_now")
"""What the late handlers do: end, and each call that commits at once."""

late_for = pytest.mark.parametrize("late", [pytest.param("late", marks=pytest.mark.nightly), "late-for-others"])
"""A worker that wakes may know that its leases are over, or be the only one that does not."""

REFUSED_LATE = {"stale", "ended"}
"""Why a late worker's spawns are refused; each refusal is kept, and counted (promise I8). In these runs no other is."""

Dump = dict[str, list[dict[str, Any]]]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


@pytest.fixture
def meetings(tmp_path: Path) -> list[Meeting]:
    return [Meeting(folder=str(tmp_path), name=word) for word in WORDS]


@contextmanager
def worker(tmp_path: Path, late: str = "never") -> Iterator[WorkerProcess]:
    """Its own clock is past its leases when there is a file ``late``."""
    process = WorkerProcess(
        tmp_path / "ramet.db", "--lease-seconds", str(LEASE_SECONDS), app="tests.crash.past_lease_app:app",
        environment={LATE: str(tmp_path / late)},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.end_whatever_it_does()


async def dump(client: Client) -> Dump:
    """Every row of every table, but for what a late worker may leave: its own registration, how long its commits took
    and what it was refused.

    The monitor's notes of when it looked are nobody's work: every worker that has run for a minute leaves some. Nor is
    it anybody's when a minute's tallies become part of all time.
    """
    tables = await client.read("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    rows = {name: await rows_of(client, name) for (name,) in tables}
    for name in ("ramet_workers", "ramet_monitor", "ramet_commit_times"):
        del rows[name]
    late = [row for row in rows["ramet_blocks"] if row["reason"] in REFUSED_LATE]
    assert refusals(late) == refusals([row for row in rows["ramet_tally_reasons"] if row["what"] == "blocked"])
    rows["ramet_blocks"] = [row for row in rows["ramet_blocks"] if row not in late]
    rows["ramet_tally_reasons"] = [row for row in rows["ramet_tally_reasons"] if row["what"] != "blocked"]
    for lineage in rows["ramet_lineages"]:
        del lineage["blocks"]
    assert len(rows) > 10
    return rows


async def rows_of(client: Client, table: str) -> list[dict[str, Any]]:
    names = [name for _, name, *_ in await client.read(f"PRAGMA table_info({table})")]
    columns, rows = comparable(table, names, await client.read(f"SELECT * FROM {table}"))
    return [dict(zip(columns, row, strict=True)) for row in rows]


def refusals(rows: Iterable[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """How many there are of all time, by kind and reason."""
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if not row.get("seconds"):
            found[row["kind"], row["reason"]] += row["count"]
    return found


async def begun(meetings: list[Meeting], claim: int) -> None:
    for meeting in meetings:
        await until(partial(meeting.read, f"began-{claim}"), f"{meeting.name} begins")


async def stopped(process: WorkerProcess, database: Path) -> list[int]:
    """Stop worker and handler process, but not while they hold the file's write lock: that would stop everybody."""
    pids = [process.pid, process.child_pid()]

    def between_transactions() -> bool:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        if writable(database):
            return True
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        return False

    await until(between_transactions, "a moment without a transaction")
    return pids


def writable(database: Path) -> bool:
    """Whether nobody holds the write lock."""
    connection = sqlite3.connect(database, timeout=0.2, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True


async def stopped_past_its_lease(process: WorkerProcess, folder: Path, late: str) -> list[int]:
    """Stop worker and handler process; when they go on, the leases of all that they hold are over."""
    pids = await stopped(process, folder / "ramet.db")
    with closing(sqlite3.connect(folder / "ramet.db", timeout=HANG_SECONDS, isolation_level=None)) as connection:
        over = "UPDATE ramet_live SET lease_until = lease_until - ? WHERE state = 'processing' AND lease_until > ?"
        assert connection.execute(over, (LATE_SECONDS, time.time())).rowcount == len(WORDS)
    (folder / late).touch()
    return pids


async def finished(client: Client, submitted: list[SubmitResult], second: WorkerProcess) -> None:
    """The second worker ends everything and then itself."""
    results = [await client.result(item.id, timeout_seconds=HANG_SECONDS) for item in submitted]
    assert results == ["by claim 2"] * len(submitted)
    await until(lambda: client.store.idle(["held", "async"]), "the children end too")
    second.send(signal.SIGTERM)
    assert second.code() == 0, second.log


async def goes_on(process: WorkerProcess, pids: list[int], meetings: list[Meeting]) -> list[str]:
    """Let it go on, its handlers first, and wait until each of them has ended; how they did."""
    for meeting in meetings:
        meeting.put("go-1", meeting.name)
    for pid in reversed(pids):
        os.kill(pid, signal.SIGCONT)
    ended = [await until(partial(meeting.read, "ended-1"), f"{meeting.name} ends") for meeting in meetings]
    process.send(signal.SIGTERM)
    assert process.code() == 0, process.log
    return [str(how) for how in ended]


@late_for
async def test_a_worker_that_wakes_after_another_has_finished_its_work_changes_nothing(
    client: Client, meetings: list[Meeting], tmp_path: Path, late: str
) -> None:
    submitted = await client.submit_many([("held", meeting) for meeting in meetings], one_lineage=True)
    with worker(tmp_path, "late") as first:
        await begun(meetings, 1)
        pids = await stopped_past_its_lease(first, tmp_path, late)
        for meeting in meetings:
            meeting.put("go-2", "return")
        with worker(tmp_path) as second:
            await finished(client, submitted, second)
        before = await dump(client)
        endings = await goes_on(first, pids, meetings)
        assert await dump(client) == before
    assert set(endings) <= {"returned", "ClaimLost", "CancelledError"}
    assert "ClaimLost" in endings or "CancelledError" in endings, "a late call is refused or its handler stopped"


@late_for
async def test_a_worker_that_wakes_while_another_holds_its_work_takes_nothing_from_it(
    client: Client, meetings: list[Meeting], tmp_path: Path, late: str
) -> None:
    submitted = await client.submit_many([("held", meeting) for meeting in meetings], one_lineage=True)
    with worker(tmp_path, "late") as first:
        await begun(meetings, 1)
        pids = await stopped_past_its_lease(first, tmp_path, late)
        with worker(tmp_path) as second:
            await begun(meetings, 2)
            halted = await stopped(second, tmp_path / "ramet.db")
            before = await dump(client)
            await goes_on(first, pids, meetings)
            assert await dump(client) == before, "leases and fences of the second stand as they stood"
            for meeting in meetings:
                meeting.put("go-2", meeting.name)
            for pid in halted:
                os.kill(pid, signal.SIGCONT)
            await finished(client, submitted, second)
    effects = await client.read("SELECT COUNT(*), COUNT(DISTINCT task) FROM crash_log WHERE effect = 'held'")
    assert effects == [(len(meetings), len(meetings))]
    for item in submitted:
        history = await client.history(item.id)
        assert history is not None
        assert [attempt.outcome for attempt in history.attempts] == ["lost", "success"]
