"""The work of the fault tests: trees of a known size, whose tasks do all that a handler can and note what they did.

A tree is the numbers 1 to its size; number n wants the children 2n and 2n + 1, and one child of its neighbour's. Every
number keeps its first effect at a checkpoint and its second with its end. By its number it also fails once, sleeps for
a second, spends money, asks for a child at once, or ends as filtered.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ramet import App, Client, Context, CostRefused, Limits, Retry, SyncContext, Transient
from tests.crash.pids import say_who_runs
from tests.faults.effects import given, note

SIZE = 30
BUDGET = 20
MONEY = 9
"""Nano-dollars that a lineage with a ceiling may spend; a tree would spend more."""
PRICE_MAX, PRICE = 3, 2
TABLES = ("CREATE TABLE IF NOT EXISTS fault_effects (task TEXT NOT NULL, step TEXT NOT NULL, fence INTEGER NOT NULL)",)
EFFECT = "INSERT INTO fault_effects (task, step, fence) VALUES (?, ?, ?)"
START_SECONDS_MAX = 1e6
"""Nothing here ends by its time."""

app = App(
    retry=Retry.SEED, tables=TABLES, limits=Limits(lineage_seconds=START_SECONDS_MAX, task_seconds=None, max_attempts=4)
)

FAILS_ONCE, SLEEPS_ONCE, SPENDS, ASKS_AT_ONCE, IS_FILTERED = 5, 7, 4, 9, 6
"""Every so-manieth number does that."""


class Number(BaseModel):
    n: int
    size: int = SIZE


def kind_of(n: int) -> str:
    """Odd numbers run in threads."""
    return "thread" if n % 2 else "async"


def key_of(number: Number) -> str:
    return str(number.n)


def begin(ctx: Any, number: Number) -> bool:
    """Whether this claim is to keep the first effect."""
    note(ctx.token, "began")
    if ctx.stage is not None:
        return False
    keep(ctx, "first")
    want(ctx, number, 2 * number.n)
    return True


def keep(ctx: Any, step: str) -> None:
    ctx.write(EFFECT, (ctx.id, step, given(ctx.token)))


def want(ctx: Any, number: Number, *children: int) -> None:
    for n in children:
        if n <= number.size:
            ctx.spawn(kind_of(n), Number(n=n, size=number.size))


def at_once(number: Number) -> Number | None:
    """The child that is asked for with ``spawn_now``."""
    child = 2 * number.n + 1
    if number.n % ASKS_AT_ONCE or child > number.size:
        return None
    return Number(n=child, size=number.size)


def told(ctx: Any, answer: Any) -> None:
    """What the guard said about a child."""
    if answer.id is not None:
        note(ctx.token, "spawned", answer.id)


def end(ctx: Any, number: Number) -> Any:
    n = number.n
    if n % SLEEPS_ONCE == 0 and not ctx.snoozes:
        return ctx.snooze(1)
    if n % FAILS_ONCE == 0 and ctx.attempt == 1:
        raise Transient(f"number {n} fails once")
    keep(ctx, "second")
    want(ctx, number, 2 * n + 1, 2 * n + 2)
    return ctx.filter("every sixth") if n % IS_FILTERED == 0 else {"n": n}


@app.task("async", key=key_of)
async def in_the_loop(ctx: Context, number: Number) -> Any:
    if begin(ctx, number):
        await ctx.checkpoint("half", {"n": number.n})
        note(ctx.token, "kept", "first")
    if number.n % SPENDS == 0:
        await spend(ctx)
    if (child := at_once(number)) is not None:
        told(ctx, await ctx.spawn_now(kind_of(child.n), child))
    return end(ctx, number)


@app.task("thread", key=key_of)
def in_a_thread(ctx: SyncContext, number: Number) -> Any:
    if begin(ctx, number):
        ctx.checkpoint("half", {"n": number.n})
        note(ctx.token, "kept", "first")
    if (child := at_once(number)) is not None:
        told(ctx, ctx.spawn_now(kind_of(child.n), child))
    return end(ctx, number)


async def spend(ctx: Context) -> None:
    """Buy something, where there is money left for it."""
    try:
        kept = await ctx.reserve(PRICE_MAX)
    except CostRefused:
        return
    note(ctx.token, "reserved", kept.id, kept.amount)
    await kept.settle(PRICE)
    note(ctx.token, "booked", kept.id, PRICE)


async def submit_tree(client: Client, tracking_id: str, limits: Limits | None) -> str:
    """Acknowledged when it returns; the id of its root."""
    submitted = await client.submit(kind_of(1), Number(n=1), tracking_id=tracking_id, limits=limits)
    return submitted.id


say_who_runs()
