"""A handler's own client cannot widen what its lineage may do, and lineages that begin lineages come to an end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from ramet import App, BatchContext, Client, Context, Limits, LineageTotals, OwnLineageRefused, Task
from ramet.model.lineage.limits import GENERATIONS_MAX
from ramet.testing import drain, fresh_client

Act = Callable[[Context], Awaitable[Any]]

WIDENING: dict[str, Act] = {
    "raise_limits": lambda ctx: ctx.client.raise_limits(ctx.tracking_id, max_tasks=1_000),
    "extend": lambda ctx: ctx.client.raise_limits(ctx.tracking_id, extend_seconds=1e6),
    "reoffer": lambda ctx: ctx.client.reoffer(ctx.tracking_id),
    "revive": lambda ctx: ctx.client.revive([ctx.id], extend_seconds=60.0),
    "resume": lambda ctx: ctx.client.resume_lineage(ctx.tracking_id),
    "submit": lambda ctx: ctx.client.submit("look", limits={"max_tasks": 9}, may_raise=True),
    "submit_many": lambda ctx: ctx.client.submit_many([("look", None)], limits={"max_tasks": 9}, may_raise=True),
}


@pytest.fixture
def app() -> App:
    return App(limits=Limits(max_tasks=5, max_attempts=1))


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with fresh_client(app) as client:
        yield client


async def ran(app: App, client: Client, kind: str) -> Task:
    told = await client.submit(kind)
    await drain(app, client)
    task = await client.get(told.id)
    assert task is not None
    return task


@pytest.mark.parametrize("name", sorted(WIDENING))
async def test_a_handler_cannot_widen_its_own_lineage_through_its_client(app: App, client: Client, name: str) -> None:
    @app.task("look")
    async def look(ctx: Context) -> str:
        with pytest.raises(OwnLineageRefused, match="operator"):
            await WIDENING[name](ctx)
        return "refused"

    task = await ran(app, client, "look")
    assert task.result == "refused"
    lineage = await client.lineage(task.tracking_id)
    assert lineage is not None
    assert lineage.max_tasks == 5


async def test_a_handler_of_many_tasks_cannot_either(app: App, client: Client) -> None:
    @app.task("look", batch=3)
    async def look(batch: BatchContext, payloads: list[None]) -> list[str]:
        for ctx in batch:
            with pytest.raises(OwnLineageRefused):
                await ctx.client.raise_limits(ctx.tracking_id, max_tasks=1_000)
        return ["refused"] * len(payloads)

    task = await ran(app, client, "look")
    assert task.result == "refused"


async def test_a_handler_may_narrow_its_own_lineage_and_act_on_others(app: App, client: Client) -> None:
    @app.task("other")
    async def other(ctx: Context) -> None:
        """Nothing to do."""

    @app.task("look")
    async def look(ctx: Context) -> int:
        told = await ctx.client.submit(other)
        row = await ctx.client.raise_limits(told.tracking_id, max_tasks=50)
        await ctx.client.pause_lineage(ctx.tracking_id)
        return row.max_tasks

    task = await ran(app, client, "look")
    lineage = await client.lineage(task.tracking_id)
    assert lineage is not None
    assert (task.result, lineage.max_tasks) == (50, 5)


async def test_ends_of_lineages_that_begin_lineages_with_an_end_come_to_an_end(app: App, client: Client) -> None:
    @app.task("work")
    async def work(ctx: Context) -> None:
        """Nothing to do."""

    @app.task("again")
    async def again(ctx: Context, totals: LineageTotals) -> None:
        await ctx.client.submit(work, on_lineage_end="again")

    await client.submit(work, on_lineage_end="again")
    await drain(app, client)
    roots = [task async for task in client.all_tasks(kind="work")]
    ends = [task async for task in client.all_tasks(kind="again")]
    assert [task.state for task in roots] == ["success"] * (GENERATIONS_MAX // 2 + 1)
    assert [task.state for task in ends] == ["success"] * (GENERATIONS_MAX // 2) + ["failed"]
    assert "generation" in (ends[-1].error or "")


async def test_handlers_that_submit_one_lineage_after_the_other_come_to_an_end(app: App, client: Client) -> None:
    @app.task("work")
    async def work(ctx: Context, number: int) -> None:
        await ctx.client.submit(work, number + 1)

    await client.submit(work, 0)
    await drain(app, client)
    states = [task.state async for task in client.all_tasks(kind="work")]
    assert states == ["success"] * GENERATIONS_MAX + ["failed"]
