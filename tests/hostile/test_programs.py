"""The server and the crawler as processes of their own, as other tests use them."""

from __future__ import annotations

import asyncio
import sys

import pytest

from ramet import Limits, Worker
from tests.hostile.crawler import KIND, MAPPING
from tests.hostile.site import TRAPS
from tests.support.backends import Backend

pytest.importorskip("httpcore2", reason="the extra [jobs] is not installed")


@pytest.mark.nightly
async def test_a_worker_with_child_processes_crawls_what_the_servers_program_has(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.hostile.site", stdin=pipe, stdout=pipe)
    assert server.stdin is not None
    assert server.stdout is not None
    monkeypatch.setenv(MAPPING, (await server.stdout.readline()).decode().strip())
    from tests.hostile.crawler_app import app

    async with app.client(backend.address) as client:
        site = TRAPS["calendar"]
        root = await client.submit(KIND, site.seed, limits=Limits(max_shape=10))
        await Worker(app, client, target="tests.hostile.crawler_app:app", until_idle=True, poll_seconds=0.05).run()
        lineage = await client.lineage(root.tracking_id)
        assert lineage is not None
        assert (lineage.state, lineage.success, lineage.tasks) == ("finished", 11, 11)
    server.stdin.close()
    assert await server.wait() == 0
