"""What a lineage may do is decided where it is created: by its root's kind, whoever starts it (DESIGN §8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet import App, Client, Context, Limits
from ramet.engine.worker.loops import declare_limits, tick
from ramet.model.lineage.lineage import Lineage
from ramet.store.store import Store
from tests.support.world import World

DOLLAR = 1_000_000_000
CEILING = Limits(max_cost=2 * DOLLAR, lineage_seconds=300)


def agents(**options: Any) -> App:
    """An app whose kind `agent` says what its lineages may do."""
    app = App(**options)

    @app.task("agent", key=str, limits=CEILING)
    async def agent(ctx: Context, question: str) -> None:
        """Nothing here runs."""

    @app.task("note", key=str)
    async def note(ctx: Context, text: str) -> None:
        """A kind that says nothing."""

    return app


def client_of(app: App, store: Store) -> Client:
    return Client(app.registry, store, app.limits)


async def lineage_of(store: Store, tracking_id: str | None) -> Lineage:
    assert tracking_id is not None
    found = await store.lineage(tracking_id)
    assert found is not None
    return found


def bounds(lineage: Lineage) -> tuple[int | None, float]:
    return lineage.max_cost, round(lineage.deadline_at - lineage.created_at)


async def test_the_limits_of_a_kind_hold_for_every_lineage_whose_root_it_is(store: Store) -> None:
    client = client_of(agents(limits=Limits(max_tasks=50, max_cost=9 * DOLLAR)), store)
    alone = await client.submit("agent", "why")
    [many] = await client.submit_many([("agent", "how")])
    together = await client.submit_many([("note", "a"), ("agent", "who")], one_lineage=True)
    for tracking_id in (alone.tracking_id, many.tracking_id, together[0].tracking_id):
        found = await lineage_of(store, tracking_id)
        assert (*bounds(found), found.max_tasks) == (2 * DOLLAR, 300, 50)
    other = await lineage_of(store, (await client.submit("note", "b")).tracking_id)
    assert bounds(other) == (9 * DOLLAR, 172_800)


async def test_a_submit_lowers_what_was_declared_and_raises_nothing_of_it(store: Store) -> None:
    client = client_of(agents(), store)
    lower = await client.submit("agent", "a", limits=Limits(max_cost=DOLLAR, max_tasks=200_000))
    higher = await client.submit("agent", "b", limits=Limits(max_cost=3 * DOLLAR, lineage_seconds=600.0))
    exact = await client.submit("agent", "c", limits={"lineage_seconds": 172_800.0, "max_cost": None})
    found = await lineage_of(store, lower.tracking_id)
    assert (*bounds(found), found.max_tasks) == (DOLLAR, 300, 200_000)
    for one in (higher, exact):
        assert bounds(await lineage_of(store, one.tracking_id)) == (2 * DOLLAR, 300)


async def test_who_operates_the_database_may_raise_what_was_declared(store: Store) -> None:
    client = client_of(agents(), store)
    wide = {"lineage_seconds": 172_800.0, "max_cost": None}
    raised = await client.submit("agent", "a", limits=wide, may_raise=True)
    assert bounds(await lineage_of(store, raised.tracking_id)) == (None, 172_800)
    many = await client.submit_many([("agent", "b")], limits=Limits(max_cost=3 * DOLLAR), may_raise=True)
    assert bounds(await lineage_of(store, many[0].tracking_id)) == (3 * DOLLAR, 300)
    await client.settings.set("limits.max_cost", DOLLAR)
    await client.settings.refresh(0.0)
    late = await client.submit("agent", "c", limits=wide, may_raise=True)
    assert bounds(await lineage_of(store, late.tracking_id)) == (DOLLAR, 172_800)


async def test_a_limit_that_does_not_exist_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="max_taks"):
        await client_of(agents(), store).submit("agent", "a", limits={"max_taks": 3})


async def test_a_program_that_knows_only_the_name_of_a_kind_gets_the_limits_that_its_app_declared(
    store: Store,
) -> None:
    stranger = client_of(App(limits=Limits(max_tasks=9)), store)
    early = await stranger.submit("agent", "early")
    await declare_limits(agents(), store)
    late = await stranger.submit("agent", "late")
    assert bounds(await lineage_of(store, early.tracking_id)) == (None, 172_800)
    found = await lineage_of(store, late.tracking_id)
    assert (*bounds(found), found.max_tasks) == (2 * DOLLAR, 300, 9)


async def test_what_an_app_no_longer_declares_no_longer_holds(store: Store) -> None:
    await declare_limits(agents(), store)
    free = App()

    @free.task("agent", key=str)
    async def agent(ctx: Context, question: str) -> None:
        """The same kind, whose limits were taken out of the code."""

    await declare_limits(free, store)
    told = await client_of(App(), store).submit("agent", "a")
    assert bounds(await lineage_of(store, told.tracking_id)) == (None, 172_800)


async def test_the_runs_of_a_schedule_have_its_own_limits_whichever_worker_starts_them(world: World) -> None:
    app = App(limits=Limits(max_cost=DOLLAR, max_tasks=50, lineage_seconds=300))

    @app.schedule(every_seconds=5)
    @app.task("ask")
    async def ask(ctx: Context) -> None:
        """Nothing here runs."""

    await client_of(app, world.store).schedules.declare(app.schedules[0])
    runs = []
    for limits in (App().limits, app.limits, Limits(max_cost=9 * DOLLAR)):
        world.clock.advance(5.0)
        await tick(world.store, 300.0, limits)
        await world.run_all()
        [slot, *_] = await world.store.slots("ask")
        runs.append(await lineage_of(world.store, slot.tracking_id))
    assert [(*bounds(run), run.max_tasks) for run in runs] == [(DOLLAR, 300, 50)] * 3


async def test_a_schedule_stores_the_limits_of_its_kind_and_only_an_operator_raises_them(store: Store) -> None:
    schedules = client_of(agents(limits=Limits(max_tasks=50)), store).schedules
    made = await schedules.add("agent", "a", every_seconds=300.0)
    lowered = await schedules.add("agent", "b", every_seconds=300.0, name="low", limits=Limits(max_cost=7 * DOLLAR))
    raised = await schedules.add(
        "agent", "c", every_seconds=300.0, name="high", limits={"max_cost": 7 * DOLLAR}, may_raise=True
    )
    stored = [json.loads(row.limits or "{}") for row in (made, lowered, raised)]
    assert [row["max_cost"] for row in stored] == [2 * DOLLAR, 2 * DOLLAR, 7 * DOLLAR]
    assert {(row["lineage_seconds"], row["max_tasks"]) for row in stored} == {(300, 50)}


async def test_limits_of_a_kind_may_follow_settings(store: Store) -> None:
    app = App()

    def bounded(stored: Any) -> Limits:
        return Limits(max_tasks=int(stored.get("maintenance.retention_days", 3)))

    @app.task("page", lineage_limits=bounded)
    async def page(ctx: Context) -> None:
        """Nothing here runs."""

    client = client_of(app, store)
    first = await client.submit("page")
    await client.settings.set("maintenance.retention_days", 8)
    await client.settings.refresh(0.0)
    second = await client.submit("page")
    found = [await lineage_of(store, one.tracking_id) for one in (first, second)]
    assert [one.max_tasks for one in found] == [3, 8]
