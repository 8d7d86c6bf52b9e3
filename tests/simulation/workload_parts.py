"""What a run may have besides the plain tasks of :mod:`tests.simulation.workload`, each part for itself.

A seed draws its parts, so that many pairs of them meet. A run without parts is what it was before there were any: its
chance is drawn in the same order.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from ramet import App, Budget, Context, Limits, LineageTotals, Permanent
from ramet.engine.context.outcome import Outcome

PARTS = (
    "paths",
    "schedules",
    "stages",
    "binding",
    "source",
    "lineage end",
    "prune",
    "upgrade",
    "restore",
    "at once",
    "chains",
    "money",
    "trees",
    "leaves",
    "joins",
    "after",
    "branches",
    "steered",
)
"""``source``: a breaker that only people close. ``restore``: a copy of the database takes the place of the database.
``at once``: what people do takes time, and they do other things meanwhile. ``trees``: they cancel more tasks with all
below. ``leaves``: tasks that only return, which go by the lanes. ``after``: tasks that come after others, roots that
are added among them. ``steered``: people change priorities, moments and ceilings, pause paths, and the clock jumps to a
deadline. New parts go to the end: those that a seed drew before stay."""
WAITS = frozenset({"joins", "after"})
"""Parts in which tasks wait for others."""
ALL_PARTS = frozenset(PARTS)
EFFECT = "INSERT INTO effects (task_id, token, name) VALUES (?, ?, ?)"

LEAF = "leaf"
"""A kind whose handler leaves no effect."""
MILL = "mill"
MILL_FAILURES, MILLERS_MAX = 2, 2
BELL_SECONDS, GONG_SECONDS = 90.0, 200.0
SHORT_RUN = Limits(max_tasks=8, max_fan_out=3, max_spawn_depth=2, max_attempts=2, task_seconds=900.0,
                   lineage_seconds=1_500.0, invocation_seconds=200.0)  # fmt: skip
"""Of the lineages that schedules start."""


class Item(BaseModel):
    """What a task is about: one of few numbers, so that branches meet again and again."""

    number: int
    spread: int


Act = Callable[[Context, Item, random.Random, str], Awaitable[Any]]
Chance = Callable[[Context], random.Random]


def parts_of(seed: int, on: str = "sqlite") -> frozenset[str]:
    """The parts that a seed has: none at all, or about a half of them.

    Nobody puts a copy of a server's files in the place of a database that others use.
    """
    rng = random.Random(f"parts of {seed}")
    if rng.random() < 0.1:
        return frozenset()
    drawn = {part for part in PARTS if rng.random() < 0.5}
    return frozenset(drawn - {"restore"} if on == "postgres" else drawn)


def key_of(item: Item) -> str:
    return f"n{item.number}"


def path_of(item: Item) -> list[str]:
    """Of few places, some above others."""
    return [f"p{item.number % 2}", f"q{item.number % 3}", f"r{item.number % 5}"][: 1 + item.number % 3]


def add_parts(app: App, parts: frozenset[str], act: Act, chance: Chance, host_of: Callable[[Item], str]) -> list[str]:
    """Register what the parts need; returns the kinds that anybody may spawn."""
    wanted: list[str] = []
    if "paths" in parts:
        _paths(app, act, chance, host_of)
        wanted += ["desk", "drawer"]
    if "stages" in parts:
        _stages(app, chance)
        wanted += ["book"]
    if "binding" in parts:
        _binding(app, act, chance)
        wanted += ["parcel", "courier"]
    if "source" in parts:
        _source(app, chance)
        wanted += ["grain"]
    if "chains" in parts:
        _chains(app, chance)
        wanted += ["relay"]
    if "money" in parts:
        _money(app, act, chance)
        wanted += ["shop"]
    if "leaves" in parts:
        _leaves(app, chance)
        wanted += [LEAF] * 5  # Most tasks, as in most programs.
    if "joins" in parts:
        _joins(app, act, chance)
        wanted += ["elder"] * 2
    if "after" in parts:
        _after(app, act, chance, wanted)
        wanted += ["guild"] * 2
    if "branches" in parts:
        _branches(app, act, chance, wanted)
        wanted += ["grove"] * 2
    if "schedules" in parts:
        _schedules(app, act, chance)
    if "lineage end" in parts:
        _lineage_end(app)
    return wanted


def _paths(app: App, act: Act, chance: Chance, host_of: Callable[[Item], str]) -> None:
    @app.task("desk", key=key_of, path=path_of)
    async def desk(ctx: Context, item: Item) -> Any:
        """One that fails takes those with it that wait below its path."""
        rng = chance(ctx)
        if rng.random() < 0.4:
            later = Item(number=rng.randrange(item.spread), spread=item.spread)
            ctx.spawn("desk", later, delay_seconds=rng.random() * 100, reserve_path=True)
        if rng.random() < 0.05:
            ctx.write(EFFECT, (ctx.id, ctx.token, "end"))
            return ctx.snooze(1_000.0)  # Longer than a place in line is kept.
        return await act(ctx, item, rng, "drawer")

    @app.task("drawer", key=key_of, path=path_of, path_scope="lineage", on_dependency_failure="run", resource=host_of)
    async def drawer(ctx: Context, item: Item) -> Any:
        """Gives its place up while its host's breaker is open."""
        return await act(ctx, item, chance(ctx), "desk")


def _stages(app: App, chance: Chance) -> None:
    book = app.pipeline("book", task_per_stage=True, key=key_of)

    @book.stage()
    async def read(ctx: Context, item: Item) -> dict[str, int]:
        return await _turn(ctx, chance(ctx))

    @book.stage()
    async def note(ctx: Context, item: Item) -> dict[str, int]:
        return await _turn(ctx, chance(ctx))


async def _turn(ctx: Context, rng: random.Random) -> dict[str, int]:
    await asyncio.sleep(rng.choice((0.1, 3.0, 60.0)))
    if rng.random() < 0.15:
        raise Permanent("torn")
    ctx.write(EFFECT, (ctx.id, ctx.token, "end"))
    return {"attempt": ctx.attempt}


def _binding(app: App, act: Act, chance: Chance) -> None:
    @app.task("parcel", key=key_of, concurrency=1, priority=-1)
    async def parcel(ctx: Context, item: Item) -> Any:
        return await act(ctx, item, chance(ctx), "walk")

    @app.task("courier", key=key_of, priority=1)
    async def courier(ctx: Context, item: Item) -> Outcome | None:
        """Takes all parcels that wait, and settles some of them at its second call; the others are free again."""
        rng = chance(ctx)
        if ctx.stage is None:
            found = await ctx.client.tasks(kind="parcel", limit=1_000)
            answers = await ctx.bind([task.id for task in found.tasks if not task.state.terminal])
            if any(answer.refused is None for answer in answers):
                await ctx.checkpoint("bound")
                ctx.write(EFFECT, (ctx.id, ctx.token, "end"))
                return ctx.snooze(5 + rng.random() * 50)
        for told in await ctx.bound():
            state = rng.choice(("success", "failed", "pending", "left"))
            if state != "left":
                ctx.settle_item(told.task_id, told.number, state, reason="as it came")
        if rng.random() < 0.1:
            raise Permanent("no way through")
        ctx.write(EFFECT, (ctx.id, ctx.token, "end"))
        return None


def _source(app: App, chance: Chance) -> None:
    app.resource(MILL, concurrency=MILLERS_MAX, breaker_failures=MILL_FAILURES)

    @app.task("grain", key=key_of, resource=MILL)
    async def grain(ctx: Context, item: Item) -> Outcome | None:
        """Two tasks that fail one after the other switch the mill off."""
        rng = chance(ctx)
        await asyncio.sleep(rng.choice((0.1, 30.0)))
        if rng.random() < 0.4:
            raise Permanent("stones")
        ctx.write(EFFECT, (ctx.id, ctx.token, "end"))
        return ctx.fail("husks") if rng.random() < 0.3 else None


def _chains(app: App, chance: Chance) -> None:
    @app.task("relay", key=key_of)
    async def relay(ctx: Context, item: Item) -> Outcome:
        """Would go on for ever; now and then without having done anything since."""
        rng = chance(ctx)
        await asyncio.sleep(rng.choice((0.1, 30.0)))
        if rng.random() < 0.9:
            await ctx.checkpoint("passed on", {"attempt": ctx.attempt})
        ctx.write(EFFECT, (ctx.id, ctx.token, "end"))
        return ctx.continue_later()


def _leaves(app: App, chance: Chance) -> None:
    @app.task(LEAF, key=key_of)
    async def leaf(ctx: Context, item: Item) -> dict[str, int] | None:
        rng = chance(ctx)
        await asyncio.sleep(rng.choice((0.1, 3.0, 60.0, 250.0)))
        if rng.random() < 0.1:
            raise Permanent("fallen")
        return {"attempt": ctx.attempt} if rng.random() < 0.5 else None


def _money(app: App, act: Act, chance: Chance) -> None:
    @app.task("shop", key=key_of)
    async def shop(ctx: Context, item: Item) -> Any:
        """A few calls are as much as a cheap lineage may cost."""
        rng = chance(ctx)
        for _ in range(3):
            kept = await ctx.reserve(rng.randrange(20, 150))
            await asyncio.sleep(rng.choice((0.1, 10.0)))
            if rng.random() < 0.7:
                await kept.settle(rng.randrange(150))
        return await act(ctx, item, rng, "shop")


def _joins(app: App, act: Act, chance: Chance) -> None:
    @app.task("elder", key=key_of)
    async def elder(ctx: Context, item: Item) -> Any:
        """Waits for its children instead of ending, up to three times; at the end of each round it says how many."""
        rng = chance(ctx)
        ended = await act(ctx, item, rng, "elder")
        if isinstance(ended, Outcome):
            return ended
        number = 0 if ctx.joined is None else ctx.joined.round
        granted = 0 if ctx.joined is None else sum(ctx.joined.states.values())
        ctx.write(EFFECT, (ctx.id, ctx.token, f"round {number} of {granted}"))
        if number < 3 and rng.random() < (0.9 if number == 0 else 0.4):
            return ctx.join(branch=rng.random() < 0.3, on_dependency_failure=rng.choice(("run", "run", "skip")))
        return ended


def _after(app: App, act: Act, chance: Chance, kinds: list[str]) -> None:
    @app.task("guild", key=key_of)
    async def guild(ctx: Context, item: Item) -> Any:
        """Asks for tasks that come after each other, and after some that there may not be."""
        rng = chance(ctx)
        known: list[Any] = [ctx.id, ("walk", f"n{rng.randrange(item.spread)}")] if rng.random() < 0.1 else []
        for _ in range(rng.randrange(4)):
            kind, child = rng.choice(kinds), Item(number=rng.randrange(item.spread), spread=item.spread)
            others = [of for of in known if tuple(of) != (kind, key_of(child))]
            after = rng.sample(others, min(len(others), rng.randrange(3)))
            known.append(ctx.spawn(kind, child, after=after, on_dependency_failure=rng.choice(("skip", "run"))))
        return await act(ctx, item, rng, "guild")


def _branches(app: App, act: Act, chance: Chance, kinds: list[str]) -> None:
    @app.task("grove", key=key_of)
    async def grove(ctx: Context, item: Item) -> Any:
        """Gives its children parts of what there is, and pays for calls from its own."""
        rng = chance(ctx)
        for _ in range(rng.randrange(3)):
            child = Item(number=rng.randrange(item.spread), spread=item.spread)
            ctx.spawn(rng.choice(kinds), child, budget=a_part(rng))
        if rng.random() < 0.6:
            kept = await ctx.reserve(rng.randrange(1, 30))
            await asyncio.sleep(rng.choice((0.1, 10.0)))
            if rng.random() < 0.7:
                await kept.settle(rng.randrange(40))
        if rng.random() < 0.2:
            ctx.charge(rng.randrange(1, 10))
        return await act(ctx, item, rng, "grove")


def a_part(rng: random.Random) -> Budget:
    """A part of a lineage: of its tasks, of its money, or of both; sometimes flat or short."""
    most = rng.choice((None, 20, 60))
    tasks = rng.choice((2, 4, 10) if most is None else (None, 2, 4, 10))
    return Budget(
        max_tasks=tasks, max_cost=most, keep_cost=0 if most is None else rng.choice((0, 10)),
        max_spawn_depth=rng.choice((None, None, 1)), seconds=rng.choice((None, None, 500.0)),
    )  # fmt: skip


def _schedules(app: App, act: Act, chance: Chance) -> None:
    @app.task("chime", key=key_of)
    async def chime(ctx: Context, item: Item) -> Any:
        """Often longer than until the next slot."""
        rng = chance(ctx)
        await asyncio.sleep(rng.choice((1.0, 50.0, 150.0)))
        return await act(ctx, item, rng, "walk")

    once = Item(number=3, spread=3)
    app.schedule(every_seconds=BELL_SECONDS, kind="chime", payload=once, key="bell", name="bell", limits=SHORT_RUN)
    app.schedule(
        every_seconds=GONG_SECONDS, kind="chime", payload=once, key="gong", name="gong", limits=SHORT_RUN,
        overlap="allow", catch_up=3,
    )  # fmt: skip


def _lineage_end(app: App) -> None:
    @app.task("report")
    async def report(ctx: Context, totals: LineageTotals) -> int:
        ctx.write(EFFECT, (ctx.id, ctx.token, "end"))
        return totals.success
