"""A program that pulls is killed for real: its claims do not wait for their leases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ramet import App
from ramet.store.sqlite.store import SqliteStore

PULLER = """
import asyncio, sys
from ramet import App

async def main():
    async with App().client(sys.argv[1]) as client:
        claims = await client.claim("page", n=2)
        print(len(claims), flush=True)
        if sys.argv[2] == "close":
            return
        await asyncio.Event().wait()

asyncio.run(main())
"""


def pull(database: Path, then: str) -> subprocess.Popen[str]:
    """A process that has two tasks in hand, and says so."""
    command = [sys.executable, "-c", PULLER, str(database), then]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "2\n"
    return process


async def test_claims_of_a_killed_program_are_reclaimed_at_once(tmp_path: Path) -> None:
    database = tmp_path / "ramet.db"
    async with App().client(database) as client:
        await client.submit_many([("page", 1), ("page", 2)])
        process = pull(database, "wait")
        try:
            assert await client.reclaim() == 0, "it lives"
        finally:
            process.kill()
            process.communicate()
        assert await client.reclaim() == 2
        assert len(await client.claim("page", n=5)) == 2
        [task, _] = (await client.tasks()).tasks
        history = await client.history(task.id)
        assert history is not None
        assert [attempt.outcome for attempt in history.attempts] == ["lost"]


async def test_a_client_that_was_closed_leaves_its_claims_to_their_leases(tmp_path: Path) -> None:
    database = tmp_path / "ramet.db"
    async with App().client(database) as client:
        await client.submit_many([("page", 1), ("page", 2)])
        pull(database, "close").communicate()
        assert await client.reclaim() == 0


async def test_who_pulls_beside_a_worker_leaves_the_workers_name(tmp_path: Path) -> None:
    async with App().client(tmp_path / "ramet.db") as client:
        assert isinstance(client.store, SqliteStore)
        client.store.join("worker")
        await client.claim("page")
        assert [path.stem for path in (tmp_path / "ramet.db-ramet").glob("*.lock")] == ["worker"]
