"""Trees of joins: how many slots there are, and in which order they are worked, changes neither answers nor budgets."""

from __future__ import annotations

import pytest

from ramet import App, Client, Context, CostRefused, Limits
from ramet.testing import drain, fresh_client
from tests.crash import join_tree_app
from tests.crash.join_tree_app import TASKS, answer, ask
from tests.invariants.check import violations
from tests.support.waiting import get, worked_off

MAX_TASKS, MAX_COST, MAX_DEPTH, FAN_OUT = 60, 58, 6, 3


@pytest.fixture
def app() -> App:
    return join_tree_app.app


@pytest.mark.parametrize("slots", [1, 4])
async def test_a_tree_of_1365_questions_ends_with_all_answers(app: App, client: Client, slots: int) -> None:
    root = await client.submit(ask, "r")
    await worked_off(app, client, concurrency=slots)
    assert (await get(client, root.id)).result == answer()
    [counted] = await client.counts()
    assert (counted.state, counted.tasks) == ("success", TASKS)
    runs = await client.read("SELECT outcome, COUNT(*) FROM ramet_attempts GROUP BY outcome ORDER BY outcome")
    assert [tuple(row) for row in runs] == [("snooze", TASKS // 4), ("success", TASKS)], "each that joins runs twice"


def greedy(order: str, *, joins: bool) -> App:
    """A program that asks for ever more and pays for each task, and joins what it asked for, or does not."""
    limits = Limits(max_tasks=MAX_TASKS, max_cost=MAX_COST, max_spawn_depth=MAX_DEPTH)
    app = App(limits=limits, breadth=["default"] if order == "breadth" else [])

    @app.task("node", key=str)
    async def node(ctx: Context, place: str) -> object:
        if ctx.joined is None:
            try:
                await (await ctx.reserve(1)).settle(1)
            except CostRefused:
                return 1
            for number in range(FAN_OUT):
                ctx.spawn("node", f"{place}{number}", priority=len(place) if order == "depth" else 0)
            if joins:
                return ctx.join()
        return 1 + sum(part.result for part in ctx.joined or () if part.ok)

    return app


@pytest.mark.parametrize("joins", [True, False], ids=["joins", "no joins"])
@pytest.mark.parametrize(("order", "deepest"), [("depth", MAX_DEPTH), ("breadth", 4)])
async def test_depth_first_and_breadth_first_end_within_the_same_budgets_as_without_joins(
    order: str, deepest: int, joins: bool
) -> None:
    app = greedy(order, joins=joins)
    async with fresh_client(app) as client:
        root = await client.submit("node", "r")
        await drain(app, client)
        assert await violations(client.store) == []
        lineage = await client.lineage(root.tracking_id)
        assert lineage is not None
        assert (lineage.tasks, lineage.live, lineage.spent, lineage.reserved) == (MAX_TASKS, 0, MAX_COST, 0)
        tasks = [task async for task in client.all_tasks()]
        assert {task.state for task in tasks} == {"success"}
        assert max(task.spawn_depth for task in tasks) == deepest
        if joins:
            assert (await get(client, root.id)).result == MAX_TASKS, "each is counted once, on its way up"
