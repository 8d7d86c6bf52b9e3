"""Working on a run in this process until it has ended, telling how far it is."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from ramet import Client, Worker
from ramet.pipelines.wiki.pipeline import TARGET, app
from ramet.pipelines.wiki.runs import Run, find_run
from ramet.pipelines.wiki.status import RunStatus, status_of

CONCURRENCY = 32
"""Handlers at once."""
LOOK_SECONDS = 0.25
"""Between two looks at how far the run is."""
LOOK_SHARE = 30.0
"""The pause after a look is at least so many times as long as the look took."""

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
        stopped = await _work(client, run, worker, view)
        if stopped:
            return stopped
    return 0


class Stopping(Protocol):
    """Who is told that a signal asked to stop."""

    def __call__(self, in_hand: int, /, *, again: bool) -> None:
        """See `View.stopping`."""


async def run_worker(worker: Worker, stopping: Stopping) -> list[int]:
    """Run a worker, which the first signal drains and a second stops; the signals that came."""
    heard: list[int] = []

    def hear(number: int) -> None:
        heard.append(number)
        stopping(worker.in_hand, again=len(heard) > 1)
        if len(heard) > 1:
            worker.stop()
        else:
            worker.drain()

    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, hear, number)
    quiet = logging.getLogger("ramet.guard")
    level = quiet.level
    # Links to what is there already and links over the cap are what every run ends with; its status counts them.
    quiet.setLevel(logging.ERROR)
    try:
        await worker.run()
    finally:
        quiet.setLevel(level)
        for number in numbers:
            loop.remove_signal_handler(number)
    return heard


async def _work(client: Client, run: Run, worker: Worker, view: View) -> int:
    """Run the worker, showing how far it is; the signal that stopped it, or 0."""
    watching = asyncio.create_task(_watch(client, run, view))
    try:
        heard = await run_worker(worker, view.stopping)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    return heard[0] if heard else 0


async def _watch(client: Client, run: Run, view: View) -> None:
    pause = LOOK_SECONDS
    while True:
        await asyncio.sleep(pause)
        began_at = time.monotonic()
        view.look(await status_of(client, run))
        # A large run takes a while to count; looking must not take more than a fraction of the work.
        pause = max(LOOK_SECONDS, LOOK_SHARE * (time.monotonic() - began_at))
