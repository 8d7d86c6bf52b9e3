"""Working on a run in this process until it has ended, telling how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from ramet import Client, Worker
from ramet.commands.worker import look_on, quiet_guard, run_watched
from ramet.wiki.pipeline import TARGET, app
from ramet.wiki.runs import Run, find_run
from ramet.wiki.status import RunStatus, status_of

CONCURRENCY = 32
"""Handlers at once."""
LOOK_SECONDS = 0.25
"""Between two looks at how far the run is."""

Begin = Callable[[Client, Run], Awaitable[bool]]
"""Begins another pass of a run that has ended; False when there is nothing for one."""


class View(Protocol):
    """Who is told how far a run is."""

    def begin(self, status: RunStatus, *, resumed: bool) -> None:
        """Work begins."""

    def look(self, status: RunStatus) -> None:
        """A moment later."""

    def stopping(self, articles: int, /, *, again: bool) -> None:
        """A signal asked to stop; `articles` are in hand. `again`: without waiting for them."""

    def close(self) -> None:
        """Work has ended, well or not."""


async def work_through(
    client: Client, run_id: str, view: View, *, begin: Begin, resumed: bool = True, concurrency: int = CONCURRENCY
) -> tuple[RunStatus, int]:
    """Work off what is live of a run, then begin a pass more, and work that off as well.

    What is live ends under the limits that it began with; other ones are another pass.

    Returns:
        Its status, and the signal that stopped the work before the end (0 when none did).
    """
    run = await find_run(client, run_id)
    live = run.live
    if not live:
        await begin(client, run)
        run = await find_run(client, run_id)
    view.begin(await status_of(client, run), resumed=resumed)
    try:
        stopped = await _work_off(client, run, view, concurrency)
        run = await find_run(client, run_id)
        if live and not stopped and not run.live and await begin(client, run):
            run = await find_run(client, run_id)
            stopped = await _work_off(client, run, view, concurrency)
            run = await find_run(client, run_id)
        return await status_of(client, run), stopped
    finally:
        view.close()


async def _work_off(client: Client, run: Run, view: View, concurrency: int) -> int:
    """Work on each live pass until it has ended; the signal that stopped it, or 0."""
    for one in run.live:
        worker = Worker(app, client, target=TARGET, concurrency=concurrency, until_ended=one.tracking_id)
        with quiet_guard():
            stopped = await run_watched(worker, _watch(client, run, view), view.stopping)
        if stopped:
            return stopped
    return 0


async def _watch(client: Client, run: Run, view: View) -> None:
    async def look() -> None:
        view.look(await status_of(client, run))

    await asyncio.sleep(LOOK_SECONDS)
    await look_on(look, LOOK_SECONDS)
