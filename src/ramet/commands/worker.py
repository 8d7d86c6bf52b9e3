"""Work on tasks in this process, while its progress is shown.

The first signal lets a worker end its tasks, the second stops it at once; neither loses anything.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import click

from ramet import Worker
from ramet.commands.terminal import stopping_words

Seen = TypeVar("Seen")

LOOK_SHARE = 30.0
"""Least ratio of the pause after a look to the duration of the look."""


class StopListener(Protocol):
    """A listener for stop signals."""

    def __call__(self, in_hand: int, /, *, again: bool) -> None:
        """Report the number of claimed tasks; `again`: they are not awaited any more."""


def tell_stopping(in_hand: int, /, *, again: bool) -> None:
    """Say on standard error that a signal was heard; a `StopListener`."""
    click.echo("stopping now" if again else stopping_words(in_hand, "task"), err=True)


async def run_worker(worker: Worker, stopping: StopListener = tell_stopping) -> list[int]:
    """Run a worker; the first SIGINT or SIGTERM drains it, a second stops it. The signals that came."""
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
    try:
        await worker.run()
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
    return heard


async def run_watched(worker: Worker, watching: Coroutine[Any, Any, object], stopping: StopListener) -> int:
    """Run a worker beside `watching`, which ends with it; the signal that stopped it, or 0."""
    watcher = asyncio.create_task(watching)
    try:
        heard = await run_worker(worker, stopping)
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
    return heard[0] if heard else 0


async def run_until(worker: Worker, over: Coroutine[Any, Any, object], stopping: StopListener = tell_stopping) -> int:
    """Run a worker until `over` has ended; return the signal that stopped it before, or 0. An error of `over` is
    raised.
    """
    waiting = asyncio.create_task(over)
    waiting.add_done_callback(lambda _: worker.drain())
    try:
        heard = await run_worker(worker, stopping)
    finally:
        waiting.cancel()
        [ended] = await asyncio.gather(waiting, return_exceptions=True)
    if isinstance(ended, Exception):
        raise ended
    return heard[0] if heard else 0


async def look_on(
    look: Callable[[], Awaitable[Seen]], seconds: float, *, is_over: Callable[[Seen], bool] | None = None
) -> Seen:
    """Look at once and then every `seconds`, until what was seen `is_over`; the last that was seen.

    A growing number takes ever longer to count; looking takes at most a fraction (`LOOK_SHARE`) of the time.
    """
    while True:
        began_at = time.monotonic()
        seen = await look()
        if is_over is not None and is_over(seen):
            return seen
        await asyncio.sleep(max(seconds, LOOK_SHARE * (time.monotonic() - began_at)))


@contextmanager
def quiet_guard() -> Iterator[None]:
    """Leave the refusals of the spawn guard and the failures of single tasks out of the log.

    Every run ends with some tasks that exist already, are over a cap or could not be fetched; its status counts them,
    with their reasons, and `ramet explain` has the tracebacks.
    """
    quiet = {logging.getLogger("ramet.guard"): logging.ERROR, logging.getLogger("ramet.tasks"): logging.CRITICAL}
    before = {log: log.level for log in quiet}
    for log, level in quiet.items():
        log.setLevel(level)
    try:
        yield
    finally:
        for log, level in before.items():
            log.setLevel(level)
