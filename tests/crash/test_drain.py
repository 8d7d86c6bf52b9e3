"""SIGTERM and Ctrl-C in the middle of a run lose nothing; the second one ends at once and hands claims back."""

from __future__ import annotations

import random
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from ramet import Client
from tests.crash.crash_app import Meeting, app, submit_lineage
from tests.crash.process import WorkerProcess
from tests.crash.promises import assert_promises_hold
from tests.invariants.check import violations
from tests.support.waiting import until

WAYS = ((signal.SIGTERM, False), (signal.SIGINT, True), (signal.SIGHUP, True), (signal.SIGTERM, True))
"""What ends a worker in good order, and whether its whole group hears it."""


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client


async def count(client: Client, sql: str) -> int:
    [(number,)] = await client.read(sql)
    return int(number)


async def held_claims(client: Client) -> int:
    return await count(client, "SELECT COUNT(*) FROM ramet_live WHERE state = 'processing'")


async def lost_claims(client: Client) -> int:
    return await count(client, "SELECT COUNT(*) FROM ramet_attempts WHERE outcome = 'lost'")


async def test_a_run_that_is_drained_again_and_again_loses_nothing(client: Client, tmp_path: Path) -> None:
    rng = random.Random(7)
    database = tmp_path / "ramet.db"
    roots = {name: await submit_lineage(client, name) for name in ("a", "b", "c")}
    for number, group in WAYS:
        target = await count(client, "SELECT COUNT(*) FROM crash_log") + rng.randint(5, 25)
        process = WorkerProcess(database, "--concurrency", "4")
        try:

            async def far_enough(process: WorkerProcess = process, target: int = target) -> bool:
                assert not process.ended, process.log
                return await count(client, "SELECT COUNT(*) FROM crash_log") >= target

            await until(far_enough, "some effects")
            process.send(number, group=group)
            assert process.code() == 0, process.log
        finally:
            process.end_whatever_it_does()
        assert await held_claims(client) == 0
        assert await violations(client.store) == []
    process = WorkerProcess(database, "--concurrency", "4", "--until-idle")
    try:
        assert process.code() == 0, process.log
    finally:
        process.end_whatever_it_does()
    assert await lost_claims(client) == 0, "every claim ended in good order"
    await assert_promises_hold(client, roots, {})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_second_signal_ends_at_once_and_every_claim_goes_back(
    client: Client, tmp_path: Path, number: signal.Signals
) -> None:
    meetings = [Meeting(folder=str(tmp_path), name=f"m{n}") for n in range(6)]
    submitted = await client.submit_many([("held", meeting) for meeting in meetings])
    process = WorkerProcess(tmp_path / "ramet.db", "--concurrency", "3")
    try:
        for meeting in meetings[:3]:
            await until(partial(meeting.read, "began-1"), "it runs")
        process.send(number, group=number == signal.SIGINT)
        await until(lambda: "draining" in process.log, "the drain")
        assert await held_claims(client) >= 3, "it waits for what runs"

        def once_more() -> bool:
            if "stopping" not in process.log:
                process.send(number, group=number == signal.SIGINT)
            return "stopping" in process.log

        await until(once_more, "the second signal is heard: one that comes too soon counts as the first")
        assert process.code() == 128 + number, process.log
    finally:
        process.end_whatever_it_does()
    assert await held_claims(client) == 0
    assert await lost_claims(client) == 0
    tasks = [await client.get(item.id) for item in submitted]
    assert [(task.state, task.attempts) for task in tasks if task is not None] == [("pending", 0)] * 6
    assert await count(client, "SELECT COUNT(*) FROM crash_log") == 0, "nothing of what ran was kept"
    assert await violations(client.store) == []
