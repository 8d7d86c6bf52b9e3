"""The work of the crash tests: lineages that grow to a known size, and leave each of their effects exactly once.

A lineage is the numbers 1 to its size. Every number asks for its two children and for one of its neighbour's, so
that most are asked for twice. It commits its first effect at a checkpoint and its second with its end, every fifth
fails once in between, and odd numbers run in threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ramet import App, Client, Context, Limits, Retry, SyncContext, Transient
from tests.crash.pids import say_who_runs

LOG = "INSERT INTO crash_log (task, effect) VALUES (?, ?)"
UNIQUE = "INSERT INTO crash_effects (task, effect) VALUES (?, ?)"
TABLES = (
    "CREATE TABLE IF NOT EXISTS crash_log (number INTEGER PRIMARY KEY, task TEXT NOT NULL, effect TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS crash_effects (task TEXT, effect TEXT, UNIQUE (task, effect))",
)
SIZE = 30
STEP_SECONDS = 0.003

app = App(retry=Retry.SEED, tables=TABLES)


class Number(BaseModel):
    n: int
    size: int = SIZE


class Meeting(BaseModel):
    """A folder in which handler and test put signs."""

    folder: str
    name: str

    def put(self, sign: str, text: str = "yes") -> None:
        early = Path(self.folder) / f"{self.name}.{sign}.early"
        early.write_text(text)
        early.rename(Path(self.folder) / f"{self.name}.{sign}")

    def read(self, sign: str) -> str | None:
        path = Path(self.folder) / f"{self.name}.{sign}"
        return path.read_text() if path.exists() else None


def kind_of(n: int) -> str:
    return "thread" if n % 2 else "async"


def record(ctx: Any, effect: str) -> None:
    ctx.write(LOG, (ctx.id, effect))
    ctx.write(UNIQUE, (ctx.id, effect))


def ask_for(ctx: Any, number: Number, *children: int) -> None:
    for n in children:
        if n <= number.size:
            ctx.spawn(kind_of(n), Number(n=n, size=number.size))


def end(ctx: Any, number: Number) -> Any:
    n = number.n
    if n % 5 == 0 and ctx.attempt == 1:
        raise Transient(f"number {n} fails once")
    record(ctx, "second")
    ask_for(ctx, number, 2 * n + 1, 2 * n + 2)
    return ctx.filter("every sixth") if n % 6 == 0 else {"n": n}


@app.task("async", key=lambda number: str(number.n))
async def in_the_loop(ctx: Context, number: Number) -> Any:
    if ctx.stage is None:
        record(ctx, "first")
        ask_for(ctx, number, 2 * number.n)
        await ctx.checkpoint("half", {"n": number.n})
    await asyncio.sleep(STEP_SECONDS)
    return end(ctx, number)


@app.task("thread", key=lambda number: str(number.n))
def in_a_thread(ctx: SyncContext, number: Number) -> Any:
    if ctx.stage is None:
        record(ctx, "first")
        ask_for(ctx, number, 2 * number.n)
        ctx.checkpoint("half", {"n": number.n})
    time.sleep(STEP_SECONDS)
    return end(ctx, number)


@app.task("held", key=lambda meeting: meeting.name)
async def held(ctx: Context, meeting: Meeting) -> str:
    """Wait for the test's word, then do what it says. Each claim has signs of its own."""
    claim = ctx.token.rpartition(":")[2]
    record(ctx, "held")
    ctx.spawn("async", Number(n=SIZE - 2), key=f"child of {meeting.name}")
    meeting.put(f"began-{claim}")
    try:
        word = await _word(meeting, f"go-{claim}")
        calls: dict[str, Awaitable[Any]] = {}
        if word == "checkpoint":
            calls[word] = ctx.checkpoint("late", {"claim": claim})
        elif word == "progress":
            calls[word] = ctx.progress(1, 1, claim)
        elif word == "spawn_now":
            calls[word] = ctx.spawn_now("async", Number(n=SIZE - 2), key=f"late child of {meeting.name}")
        for call in calls.values():
            await call
        meeting.put(f"ended-{claim}", "returned")
    except BaseException as error:
        meeting.put(f"ended-{claim}", type(error).__name__)
        raise
    return f"by claim {claim}"


async def _word(meeting: Meeting, sign: str) -> str:
    while True:
        word = meeting.read(sign)
        if word is not None:
            return word
        await asyncio.sleep(0.005)


async def submit_lineage(client: Client, tracking_id: str, *, max_tasks: int | None = None) -> str:
    """Acknowledged when it returns; the id of its root."""
    limits = None if max_tasks is None else Limits(max_tasks=max_tasks)
    submitted = await client.submit(kind_of(1), Number(n=1), tracking_id=tracking_id, limits=limits)
    return submitted.id


say_who_runs()
