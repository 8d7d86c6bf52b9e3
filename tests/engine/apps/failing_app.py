"""An app whose handlers fail two calls deep, in every way in which a handler can run."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

from ramet import App, BatchContext, Context, Limits, Permanent, SyncContext

app = App(limits=Limits(max_attempts=1))
LIMIT = Limits(max_attempts=1, invocation_seconds=0.2)


def parse(order: dict[str, str]) -> int:
    return int(order["amount"])


def total(orders: list[dict[str, str]]) -> int:
    return sum(parse(order) for order in orders)


def refused(orders: list[dict[str, str]]) -> None:
    try:
        total(orders)
    except KeyError as error:
        raise Permanent("no\ntotal") from error


@app.task("coroutine", key=str)
async def coroutine(ctx: Context, n: int) -> None:
    refused([{}])


@app.task("thread", key=str)
def thread(ctx: SyncContext, n: int) -> None:
    refused([{}])


@app.task("process", key=str, process=True)
def process(ctx: SyncContext, n: int) -> None:
    refused([{}])


@app.task("batch", key=str, batch=10)
async def batch(ctx: BatchContext, several: list[int]) -> None:
    refused([{}])


@app.task("member", key=str, batch=10)
async def member(ctx: BatchContext, several: list[int]) -> list[BaseException]:
    try:
        refused([{}])
    except Permanent as error:
        return [error] * len(several)
    return []


@app.task("pulled", key=str, pulled=True)
async def pulled(ctx: Context, n: int) -> None:
    refused([{}])


async def wait_for_nothing() -> None:
    await asyncio.Event().wait()


@app.task("waits", limits=LIMIT)
async def waits(ctx: Context) -> None:
    await wait_for_nothing()


def wait_in_vain() -> None:
    threading.Event().wait()


@app.task("blocks", limits=LIMIT)
def blocks(ctx: SyncContext) -> None:
    wait_in_vain()


@app.task("dies", process=True)
def dies(ctx: SyncContext) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@app.task("writes")
async def writes(ctx: Context) -> None:
    ctx.write("INSERT INTO nowhere VALUES (1)")


@app.task("busy", key=str, limits=Limits(max_attempts=2))
async def busy(ctx: Context, n: int) -> None:
    raise TimeoutError("come back")


@app.task("asks")
async def asks(ctx: Context, question: str) -> None:
    """Does nothing; its key is its payload's."""
