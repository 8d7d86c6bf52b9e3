"""An app for worker processes: its tasks fetch one page each of a host that leads to the server of the test."""

from __future__ import annotations

import os
import time

from ramet import App, Context, Limits, SyncContext
from ramet.fetch import FetchSettings, HostMap, declare_fetching, fetch, fetch_sync

MAPPING = "RAMET_FETCH_TEST_SITES"
"""The environment variable that says where the server is."""
RATE, BURST, CONCURRENCY = 4.0, 3.0, 2
SETTINGS = FetchSettings(user_agent="pace-test", turn_seconds_max=30, answer_seconds=30)

app = App(limits=Limits(invocation_seconds=300.0))
declare_fetching(
    app, SETTINGS, mapped=HostMap.parse(os.environ.get(MAPPING, ""), MAPPING), requests_per_second=RATE, burst=BURST,
    concurrency=CONCURRENCY,
)  # fmt: skip


@app.task("page")
async def page(ctx: Context, url: str) -> tuple[float, int]:
    """Fetch in a coroutine; return when it was asked for, by the clock of all processes, and the status."""
    return time.monotonic(), (await fetch(ctx, url)).status


@app.task("plain_page")
def plain_page(ctx: SyncContext, url: str) -> tuple[float, int]:
    """Fetch in a thread."""
    return time.monotonic(), fetch_sync(ctx, url).status


@app.task("own_process", process=True)
def own_process(ctx: SyncContext, url: str) -> tuple[float, int]:
    """Fetch in a process that runs nothing else meanwhile."""
    return time.monotonic(), fetch_sync(ctx, url).status
