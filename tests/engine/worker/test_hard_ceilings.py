"""A hard ceiling that is passed while workers run: calls in flight end and are cancelled at the provider."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Limits, Outcome, Task
from tests.invariants.check import violations
from tests.support.waiting import until, working

TABLE = "CREATE TABLE IF NOT EXISTS effects (what TEXT)"
WRITE = "INSERT INTO effects (what) VALUES (?)"


async def the_task(client: Client, task_id: str) -> Task:
    task = await client.get(task_id)
    assert task is not None
    return task


async def ended(client: Client, task_id: str) -> bool:
    return (await the_task(client, task_id)).state.terminal


async def reserved(client: Client) -> int:
    lineage = await client.lineage("line")
    return 0 if lineage is None else lineage.reserved


def spending(limits: Limits, cut_short: asyncio.Event, go: asyncio.Event) -> App:
    """Calls in flight that wait for a provider and in a handler, and one that spends too much."""
    app = App(tables=[TABLE], limits=limits)

    @app.task("batch")
    async def batch(ctx: Context, n: int) -> Outcome:
        call = await ctx.reserve(20)
        await ctx.checkpoint("asked", {"call": call.id, "amount": call.amount})
        return ctx.snooze(3_600)

    @app.on_end("batch")
    async def abandon(ctx: Context, n: int) -> None:
        call = ctx.reservation(ctx.state["call"], ctx.state["amount"])
        await call.settle(7)
        ctx.write(WRITE, (f"{n}: {ctx.ending}",))

    @app.task("holds")
    async def holds(ctx: Context) -> None:
        await ctx.reserve(20)
        try:
            await asyncio.Event().wait()
        finally:
            cut_short.set()

    @app.task("dear")
    async def dear(ctx: Context) -> str:
        call = await ctx.reserve(20)
        await go.wait()
        await call.settle(101)
        return "told the price"

    return app


@pytest.mark.parametrize("scope", ["lineage", "day", "global"])
async def test_calls_in_flight_are_cancelled_when_more_was_spent_than_a_hard_ceiling_allows(
    tmp_path: Path, scope: str
) -> None:
    cut_short, go = asyncio.Event(), asyncio.Event()
    app = spending(Limits(max_cost=100 if scope == "lineage" else None), cut_short, go)
    async with app.client(tmp_path / "ramet.db") as client:
        if scope != "lineage":
            await client.settings.set(f"cost.{scope}_max", 100)
        roots: list[tuple[str, Any]] = [("batch", 1), ("batch", 2), ("holds", None), ("dear", None)]
        submitted = await client.submit_many(roots, one_lineage=True, tracking_id="line")

        async def in_flight() -> bool:
            waiting = [await client.get(one.id) for one in submitted[:2]]
            return await reserved(client) == 80 and all(task is not None and task.snoozes for task in waiting)

        async with working(app, client, sweep_seconds=0.02):
            await until(in_flight, "four calls in flight")
            go.set()
            for one in submitted:
                await until(partial(ended, client, one.id), "the end")
            await until(cut_short.is_set, "the handler that waits is told")
        tasks = [await the_task(client, one.id) for one in submitted]
        assert [task.state for task in tasks] == ["failed"] * 3 + ["success"]
        reason = f"cost: the ceiling of the {scope} is $0.0000001, $0.000000101 spent"
        assert [task.reason for task in tasks[:3]] == [reason] * 3
        assert sorted(await client.read("SELECT what FROM effects")) == [("1: failed",), ("2: failed",)]
        costs = await client.costs("line")
        assert (costs.lineages[0].spent, costs.lineages[0].reserved) == (101 + 20 + 2 * 7, 0)
        assert await violations(client.store) == []
