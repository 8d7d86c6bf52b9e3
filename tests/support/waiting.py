"""How long a test waits for what must happen: until pytest's own guard against hanging, whatever the machine's speed.

No test has a shorter limit of its own (``tests/gate/test_patience.py``): a limit that nine busy programs can exceed
says nothing about the code under test.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any, TypeVar, overload

from ramet import App, Client, Task, TaskHistory, Worker

HANG_SECONDS = 290.0
"""A little less than the time-out of a test in ``pyproject.toml``, so that the error names what was waited for."""


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


async def history(client: Client, task_id: str) -> TaskHistory:
    found = await client.history(task_id)
    assert found is not None
    return found


async def get(client: Client, task_id: str) -> Task:
    return (await history(client, task_id)).task


async def outcomes(client: Client, task_id: str) -> list[str]:
    return [attempt.outcome for attempt in (await history(client, task_id)).attempts]
