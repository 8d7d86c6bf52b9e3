"""Waiting for the thing itself: a condition is polled until it holds, and a deadline only guards against hanging."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any, TypeVar, overload

from ramet import App, Client, Worker
from tests.support.patience import HANG_SECONDS

Found = TypeVar("Found")

LOOK_SECONDS = 0.005


@overload
async def until(look: Callable[[], Awaitable[Found]], what: str, give_up_seconds: float = ...) -> Found: ...
@overload
async def until(look: Callable[[], Found], what: str, give_up_seconds: float = ...) -> Found: ...
async def until(look: Callable[[], Any], what: str, give_up_seconds: float = HANG_SECONDS) -> Any:
    """The first true answer of ``look``."""
    give_up_at = time.monotonic() + give_up_seconds
    while True:
        answer = look()
        if isawaitable(answer):
            answer = await answer
        if answer:
            return answer
        if time.monotonic() > give_up_at:
            raise AssertionError(f"{what}: not in {give_up_seconds:g} s")
        await asyncio.sleep(LOOK_SECONDS)


def until_now(look: Callable[[], Found], what: str, give_up_seconds: float = HANG_SECONDS) -> Found:
    """:func:`until` outside of an event loop."""

    give_up_at = time.monotonic() + give_up_seconds
    while not (answer := look()):
        assert time.monotonic() < give_up_at, f"{what}: not in {give_up_seconds:g} s"
        time.sleep(LOOK_SECONDS)
    return answer


@asynccontextmanager
async def working(app: App, client: Client, **options: Any) -> AsyncIterator[Worker]:
    """A worker beside the test, with quick loops. It is stopped at the end, and what it raised is raised."""
    quick = {"poll_seconds": 0.05, "sweep_seconds": 0.05, "concurrency": 4}
    worker = Worker(app, client, **{**quick, **options})
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


async def worked_off(app: App, client: Client, **options: Any) -> Worker:
    """Work until nothing that the app serves is live; returns the worker."""
    quick = {"poll_seconds": 0.05, "sweep_seconds": 0.05, "concurrency": 4, "until_idle": True}
    worker = Worker(app, client, **{**quick, **options})
    async with asyncio.timeout(HANG_SECONDS):
        await worker.run()
    return worker
