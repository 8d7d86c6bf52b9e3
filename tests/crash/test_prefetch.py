"""What a worker had only fetched when it was killed has lost nothing, however often that happens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ramet import Client
from tests.crash.prefetching import CONCURRENCY, FETCHED, app
from tests.invariants.check import violations
from tests.support.waiting import until

PROJECT = Path(__file__).parents[2]
AT_ONCE_MAX = CONCURRENCY + 2
"""Slots, and places on probation."""


def start(database: Path, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.crash.prefetching", str(database), str(folder)]
    return subprocess.Popen(command, cwd=PROJECT)


async def counts(client: Client, state: str) -> int:
    return sum(row.tasks for row in await client.counts() if row.state == state)


async def test_three_kills_of_a_worker_with_a_thousand_fetched_tasks_fail_none(tmp_path: Path) -> None:
    database = tmp_path / "ramet.db"
    async with app.client(database) as client:
        submitted = await client.submit_many([("held", n) for n in range(FETCHED)], one_lineage=True)
        for kills in range(3):
            worker = start(database, tmp_path)

            async def all_fetched() -> bool:
                return await counts(client, "processing") == FETCHED

            async def all_returned() -> bool:
                await client.store.sweep()
                return await counts(client, "pending") == FETCHED

            await until(all_fetched, "everything is in its hands")
            worker.kill()
            worker.wait()
            await until(all_returned, "everything is free again, without waiting for leases")
            lost = [task.losses async for task in client.all_tasks() if task.losses]
            assert sum(lost) <= (kills + 1) * AT_ONCE_MAX, "nobody lost a claim whose handler had not begun"
        (tmp_path / "go").touch()
        assert start(database, tmp_path).wait() == 0
        assert await counts(client, "success") == FETCHED
        assert {task.attempts async for task in client.all_tasks()} == {1}
        assert len(submitted) == FETCHED
        assert await violations(client.store) == []
