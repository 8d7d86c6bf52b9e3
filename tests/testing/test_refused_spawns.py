"""What users' tests see of refused spawns: the same as a worker would meet, in both ways to test a handler."""

from __future__ import annotations

import pytest

from ramet import App, Context, SyncContext
from ramet.model.lineage.lineage import LineageOutcome
from ramet.testing import drain, fresh_client, run_task

EFFECTS = "CREATE TABLE IF NOT EXISTS effects (name TEXT)"


@pytest.fixture
def orders() -> App:
    """Three kinds about one order number, as in any shop."""
    app = App()

    @app.task("place_order")
    async def place_order(ctx: Context, order_id: int) -> None:
        ctx.spawn("charge_card", order_id)
        ctx.spawn("send_receipt", order_id)

    @app.task("charge_card")
    async def charge_card(ctx: Context, order_id: int) -> str:
        return f"charged {order_id}"

    @app.task("send_receipt")
    def send_receipt(ctx: SyncContext, order_id: int) -> str:
        return f"mailed {order_id}"

    return app


async def test_kinds_about_one_number_spawn_each_other_and_both_ways_to_test_it_agree(orders: App) -> None:
    alone = await run_task(orders, "place_order", 7)
    assert [(spawn.kind, spawn.payload) for spawn in alone.spawns] == [("charge_card", 7), ("send_receipt", 7)]
    assert alone.refused == []
    async with fresh_client(orders) as client:
        order = await client.submit("place_order", 7)
        drained = await drain(orders, client)
        assert (drained.ran, drained.left, drained.refused, drained.outcome.clean) == (3, 0, {}, True)
        page = await client.tasks(tracking_id=order.tracking_id)
        assert {task.result for task in page.tasks} == {None, "charged 7", "mailed 7"}


async def test_what_the_guard_refuses_is_refused_and_counted_in_tests_too() -> None:
    app = App()

    @app.task("walk", key=str)
    async def walk(ctx: Context, place: str) -> None:
        for wanted in ("a", "b", "b"):
            ctx.spawn("walk", wanted)
        await ctx.checkpoint()
        ctx.spawn("walk", "b")
        ctx.spawn("look", place, key=place)

    @app.task("look", cycle_on="key")
    async def look(ctx: Context, place: str) -> None: ...

    alone = await run_task(app, "walk", "a")
    assert [(spawn.kind, spawn.key) for spawn in alone.spawns] == [("walk", "b")]
    assert [(one.kind, one.key, one.reason) for one in alone.refused] == [
        ("walk", "a", "cycle"), ("walk", "b", "in_flight"), ("walk", "b", "in_flight"), ("look", "a", "cycle"),
    ]  # fmt: skip
    async with fresh_client(app) as client:
        await client.submit("walk", "a")
        first, second = await drain(app, client), await drain(app, client)
    assert first.refused == {"cycle": 7, "in_flight": 2}
    assert second.refused == {}
    # A walk that wants itself is cut short; a link back of a kind about a place is not.
    assert first.outcome == second.outcome == LineageOutcome(0, {"cycle": 2})


@pytest.mark.parametrize("early", [False, True])
async def test_a_refused_required_spawn_fails_the_handler_that_runs_by_itself(early: bool) -> None:
    app = App(tables=[EFFECTS])

    @app.task("walk", key=str)
    async def walk(ctx: Context, place: str) -> None:
        ctx.spawn("walk", "b")
        ctx.spawn("walk", place, required=True)
        if early:
            await ctx.checkpoint()
            raise AssertionError("the claim is over")

    run = await run_task(app, "walk", "a")
    assert (run.outcome, run.error_class, run.reason) == ("error", "permanent", "spawn_refused: cycle")
    assert str(run.error).startswith("spawn_refused: required spawn of walk 'a' refused, cycle: ")
    assert (run.spawns, run.checkpoints) == ([], [])
    async with fresh_client(app) as client:
        task = await client.submit("walk", "a")
        await drain(app, client)
        stored = await client.get(task.id)
        assert stored is not None
        assert (stored.state, stored.reason) == ("failed", "spawn_refused: cycle")
        drained = await drain(app, client)
        assert str(drained.outcome) == "with failures: 1"
