"""Two worker processes on one database: together they ask a host no faster than one may, and no more at once."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ramet import TaskState
from tests.fetch.hostile_server import Hostile, Request, answers
from tests.fetch.pace_app import BURST, CONCURRENCY, MAPPING, RATE, app
from tests.support.backends import BACKENDS

pytestmark = [pytest.mark.network, pytest.mark.process]

pytest.importorskip("httpcore2", reason="the extra [fetch] is not installed")

PAGES = 16
KINDS = ("page", "plain_page", "own_process")


class Journal:
    """A server that notes when each page was asked for, and how many requests were under way."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.came_at: list[float] = []
        self.most = self._under_way = 0

    async def play(self, request: Request, writer: Any) -> None:
        if request.path != "/robots.txt":
            self.pages.append(request.path)
            self.came_at.append(time.monotonic())
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        for _ in range(20):  # Others get to be there at the same time, if they are let.
            await asyncio.sleep(0)
        self._under_way -= 1
        await answers("there", 404 if request.path == "/robots.txt" else 200, Content_Type="text/html")(request, writer)


@asynccontextmanager
async def workers(database: str, mapping: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[Any]]:
    monkeypatch.setenv(MAPPING, mapping)
    command = [
        sys.executable, "-m", "ramet.cli", "worker", "tests.fetch.pace_app:app", "--db", database, "--until-idle",
        "--concurrency", "6",
    ]  # fmt: skip
    running = [await asyncio.create_subprocess_exec(*command) for _ in range(2)]
    try:
        yield running
    finally:
        for process in running:
            if process.returncode is None:
                process.kill()
            await process.wait()


@pytest.mark.parametrize("kind", sorted(BACKENDS))
async def test_two_processes_together_keep_the_pace_of_a_host(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's journal: of the pages that it was asked for by any moment, no more than the burst and the rate.

    Both count from the moment at which the first task asked for its page, by the clock that all processes of a machine
    share. A turn is taken before its request is sent, so that a slow machine only makes the requests later.
    """
    backend, journal = BACKENDS[kind](tmp_path), Journal()
    async with Hostile(journal.play) as server, app.client(backend.address) as client:
        pages = [(KINDS[number % 3], f"http://acme.example/{number}") for number in range(PAGES)]
        await client.submit_many(pages, one_lineage=True)
        async with workers(backend.address, f"*=127.0.0.1:{server.port}", monkeypatch) as running:
            assert [await process.wait() for process in running] == [0, 0]
        tasks = (await client.tasks()).tasks
    assert {(task.state, task.result[1], task.attempts) for task in tasks} == {(TaskState.SUCCESS, 200, 1)}
    assert sorted(journal.pages) == sorted(f"/{number}" for number in range(PAGES))
    began_at = min(task.result[0] for task in tasks)
    for count, came_at in enumerate(journal.came_at, 1):
        assert count <= BURST + RATE * (came_at - began_at), f"page {count} was asked for too early"
    assert journal.most <= CONCURRENCY
    backend.close()
