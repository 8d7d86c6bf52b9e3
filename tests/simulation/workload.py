"""Handlers that do everything a handler can do, as the seed says, and write down every effect that was accepted."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Sequence
from typing import Any

from ramet import App, Context, Limits, Permanent, RetryAfter, Transient
from ramet.engine.context.outcome import Outcome
from tests.simulation.workload_parts import EFFECT, Item, add_parts

TABLES = ("CREATE TABLE IF NOT EXISTS effects (task_id TEXT NOT NULL, token TEXT NOT NULL, name TEXT NOT NULL)",)

KINDS = ("walk", "look", "only", "tidy")
PLACES = {"walk", "only"}
"""Declare ``cycle_on="key"``."""

WALKS_MAX = 3
"""Tasks of kind ``walk`` at once."""
HOST_CALLS_MAX = 2
"""Tasks of each host at once."""
HOST_FAILURES, HOST_COOLDOWN_SECONDS = 2, 30.0
"""Of the breaker of each host."""

LIMITS = Limits(
    max_shape=6,
    max_tasks=60,
    max_fan_out=6,
    max_spawn_depth=4,
    max_attempts=3,
    max_chain_depth=2,
    task_seconds=3_000.0,
    lineage_seconds=20_000.0,
    invocation_seconds=200.0,
)


def make_app(seed: int, parts: frozenset[str] = frozenset()) -> tuple[App, tuple[str, ...]]:
    """An app whose handlers behave as ``seed`` says, differently on every attempt; and the kinds that people submit."""
    app = App(limits=LIMITS, tables=TABLES)
    more: list[str] = []
    app.resource(
        "host*", concurrency=HOST_CALLS_MAX, rate_per_second=0.5, burst=3.0, breaker_failures=HOST_FAILURES,
        cooldown_seconds=HOST_COOLDOWN_SECONDS,
    )  # fmt: skip

    def chance(ctx: Context) -> random.Random:
        claim = ctx.token.rpartition(":")[2]
        digest = hashlib.sha256(f"{seed}:{ctx.kind}:{ctx.key}:{claim}".encode()).digest()
        return random.Random(digest)

    async def act(ctx: Context, item: Item, rng: random.Random, other: str) -> Any:
        return await _act(ctx, item, rng, (ctx.kind, other, *more))

    @app.task("walk", key=lambda item: f"n{item.number}", cycle_on="key", concurrency=WALKS_MAX)
    async def walk(ctx: Context, item: Item) -> Any:
        return await act(ctx, item, chance(ctx), "look")

    @app.task("look", key=lambda item: f"n{item.number}", trap=True)
    async def look(ctx: Context, item: Item) -> Any:
        return await act(ctx, item, chance(ctx), "only")

    @app.task(
        "only", key=lambda item: f"n{item.number}", cycle_on="key", unique="global", unique_seconds=900.0,
        resource=_host,
    )  # fmt: skip
    async def only(ctx: Context, item: Item) -> Any:
        await _pay(ctx, chance(ctx))
        return await act(ctx, item, chance(ctx), "tidy")

    @app.task("tidy", key=lambda item: f"n{item.number}")
    async def tidy(ctx: Context, item: Item) -> Any:
        return await act(ctx, item, chance(ctx), "walk")

    @app.on_end(tidy)
    async def tidy_up(ctx: Context, item: Item) -> None:
        ctx.write(EFFECT, (ctx.id, ctx.token, "end"))
        if chance(ctx).random() < 0.3:
            raise Transient("no broom")

    more += add_parts(app, parts, act, chance, _host)
    return app, (*KINDS, *more)


def _host(item: Item) -> str:
    return f"host {item.number % 2}"


async def _pay(ctx: Context, rng: random.Random) -> None:
    """Some calls are never settled by the handler that made them, some cost more than was reserved."""
    kept = await ctx.reserve(rng.randrange(50))
    if rng.random() < 0.7:
        await kept.settle(rng.randrange(60))
    if rng.random() < 0.3:
        ctx.charge(rng.randrange(20))


async def _act(ctx: Context, item: Item, rng: random.Random, kinds: Sequence[str]) -> Any:
    if rng.random() < 0.5:
        await asyncio.sleep(rng.choice((0.1, 3.0, 60.0, 250.0)))
    for _ in range(rng.randrange(5)):
        child = Item(number=rng.randrange(item.spread), spread=item.spread)
        kind = rng.choice(kinds)
        if rng.random() < 0.2:
            await ctx.spawn_now(kind, child)
        else:
            ctx.spawn(kind, child, delay_seconds=rng.choice((0.0, 0.0, 30.0)))
    if rng.random() < 0.3:
        ctx.write(EFFECT, (ctx.id, ctx.token, f"checkpoint-{rng.randrange(1_000_000)}"))
        await ctx.checkpoint("half", {"attempt": ctx.attempt})
    if rng.random() < 0.2:
        await ctx.progress(1, 2, "half")
    _fail_sometimes(rng, 0.6 if item.number % 7 == 1 else 0.08)
    ctx.write(EFFECT, (ctx.id, ctx.token, "end"))
    return _end(ctx, rng)


def _fail_sometimes(rng: random.Random, transient: float) -> None:
    if rng.random() < transient:
        raise Transient(f"busy {rng.randrange(100)}")
    draw = rng.random()
    if draw < 0.04:
        raise Permanent("not found")
    if draw < 0.08:
        raise RuntimeError(f"odd {rng.randrange(100)}")
    if draw < 0.12:
        raise RetryAfter(rng.random() * 100, rng.choice(("", "host", "host 0")))


def _end(ctx: Context, rng: random.Random) -> Outcome | dict[str, int]:
    draw = rng.random()
    if draw < 0.05:
        return ctx.filter("not wanted")
    if draw < 0.1:
        return ctx.skip("need not be")
    if draw < 0.15:
        return ctx.fail("declared")
    if draw < 0.25:
        return ctx.snooze(rng.random() * 50)
    if draw < 0.3:
        return ctx.continue_later()
    return {"attempt": ctx.attempt}
