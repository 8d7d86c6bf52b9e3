"""An app whose handlers leave something behind: in their loop, in their process, or instead of it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ramet import App, BatchContext, Context, Limits, SyncContext
from tests.engine.apps.raised_objects import raising

app = App(limits=Limits(max_attempts=1))


@app.task("good")
async def good(ctx: Context, n: int) -> int:
    return n


@app.task("good-process", process=True)
async def good_process(ctx: Context, n: int) -> int:
    return n


# --- whatever can be raised, in every way of running --------------------------------------------------------------


@app.task("raise-async")
async def raise_async(ctx: Context, seed: int) -> Any:
    raise raising(seed)


@app.task("raise-thread")
def raise_thread(ctx: SyncContext, seed: int) -> Any:
    raise raising(seed)


@app.task("raise-process", process=True)
async def raise_process(ctx: Context, seed: int) -> Any:
    raise raising(seed)


@app.task("raise-batch", batch=4, batch_seconds=0.01)
async def raise_batch(batch: BatchContext, seeds: list[int]) -> list[Any]:
    if seeds[0] % 2:
        raise raising(seeds[0])
    return [raising(seed) for seed in seeds]


# --- left behind --------------------------------------------------------------------------------------------------


def blocks_later() -> None:
    asyncio.get_running_loop().call_later(0.01, time.sleep, 1e6)


def cancels_all() -> None:
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.cancel()


def stops_the_loop() -> None:
    asyncio.get_running_loop().stop()


def dies_before_its_outcome_leaves() -> None:
    asyncio.get_running_loop().call_soon(os._exit, 1)


async def _interrupts() -> None:
    raise KeyboardInterrupt


async def _exits() -> None:
    sys.exit(3)


_kept: list[asyncio.Task[None]] = []


def has_a_task_that_interrupts() -> None:
    _kept.append(asyncio.create_task(_interrupts()))


def has_a_task_that_exits() -> None:
    _kept.append(asyncio.create_task(_exits()))


def forks_and_goes_on() -> None:
    os.fork()


def forks_and_exits() -> None:
    if not os.fork():
        sys.exit(0)


LEFT: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        blocks_later,
        cancels_all,
        stops_the_loop,
        has_a_task_that_interrupts,
        has_a_task_that_exits,
        forks_and_goes_on,
        forks_and_exits,
        dies_before_its_outcome_leaves,
    )
}


@app.task("leaves")
async def leaves(ctx: Context, name: str) -> str:
    LEFT[name]()
    return name


@app.task("leaves-process", process=True)
async def leaves_process(ctx: Context, name: str) -> str:
    LEFT[name]()
    return name


@app.task("awaits")
async def awaits(ctx: Context, name: str) -> str:
    """As ``leaves``, and lets the loop run before it ends."""
    LEFT[name]()
    await asyncio.sleep(0.01)
    return name


@app.task("thread")
def thread(ctx: SyncContext, name: str) -> str:
    LEFT[name]()
    return name


@app.task("grows")
async def grows(ctx: Context, megabytes: int) -> None:
    """Asks for more than a frame can hold: the process cannot even say so."""
    ctx._writes = [Unsendable()]  # type: ignore[list-item]


class Unsendable:
    """What cannot be written as JSON, and takes long to say so."""

    @property
    def sql(self) -> str:
        raise MemoryError
