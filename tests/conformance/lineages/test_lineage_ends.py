"""The task of a lineage's end: once for every time that it ends, however it does, after its last task."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.model.lineage.lineage import END_SECONDS
from ramet.model.money import Charge
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask, Task
from ramet.store.errors import StoreError
from ramet.store.requests import TaskQuery
from tests.support.world import World, failing


def report(world: World) -> NewTask:
    return world.task("end", kind="loose", id="report")


async def ends(world: World, tracking_id: str = "line") -> list[Task]:
    """The tasks of the lineage's ends so far."""
    names = [f"{tracking_id}#end{number}" for number in range(1, 5)]
    return [task for name in names for task in (await world.store.tasks(TaskQuery(tracking_id=name))).tasks]


async def totals(world: World, number: int = 1) -> dict[str, Any]:
    return dict((await ends(world))[number - 1].payload)


async def test_a_lineage_that_finishes_is_followed_by_one_task_with_its_totals(world: World) -> None:
    await world.submit(world.task("a"), world.task("b"), on_end=report(world), max_fan_out=1, max_cost=100)
    [a, b] = await world.claim(2)
    started_at = world.clock.now
    world.clock.advance(10.0)
    await world.spawn(a, world.task("c"), world.task("d"), world.task("b"))
    await world.settle(a, charge=Charge("c", 7))
    assert await ends(world) == []
    await world.settle(b, failing(b))
    await world.run_all()
    assert await totals(world) == {
        "tracking_id": "line", "number": 1, "state": "finished", "reason": None, "started_at": started_at,
        "ended_at": world.clock.now, "tasks": 3, "success": 2, "filtered": 0, "skipped": 0, "failed": 1,
        "cancelled": 0, "blocks": {"fan_out": 1, "in_flight": 1}, "spent": 7, "under_reserved": 0,
    }  # fmt: skip
    await world.sweep()
    [task] = await ends(world)
    assert (task.id, task.kind, task.key, task.state) == ("report", "loose", "line#end1", "success")
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.live, lineage.tasks, lineage.ends) == ("finished", 0, 4, 1)
    assert lineage.created == 3


async def test_its_place_is_kept_in_the_budget_from_the_start(world: World) -> None:
    with pytest.raises(StoreError, match="2 roots and the task of its end are over the lineage's max_tasks of 2"):
        await world.submit(world.task("a"), world.task("b"), on_end=report(world), max_tasks=2)
    assert await world.store.lineage("line") is None
    await world.submit(world.task("a"), on_end=report(world), max_tasks=3)
    a = await world.claim_one()
    assert await world.spawn(a, world.task("b"), world.task("c")) == [None, "budget"]
    await world.settle(a)
    await world.run_all()
    [task] = await ends(world)
    assert (task.state, (await totals(world))["tasks"]) == ("success", 2)


@pytest.mark.parametrize("end", ["deadline", "cancelled", "paused and cancelled"])
async def test_a_lineage_that_is_ended_is_followed_once_its_last_task_is_over(world: World, end: str) -> None:
    await world.submit(*(world.task() for _ in range(7)), on_end=report(world), lineage_seconds=200.0)
    if end == "deadline":
        world.clock.advance(200.0)
    else:
        if end != "cancelled":
            assert await world.store.pause_lineage("line", by="ann")
        await world.store.cancel_lineage("line", by="ann")
    await world.store.sweep(limit=3)
    assert await ends(world) == [], "some of its tasks are not over yet"
    await world.sweep()
    told = await totals(world)
    assert told["state"] == ("failed" if end == "deadline" else "cancelled")
    assert told["reason"] == ("lineage_deadline" if end == "deadline" else "cancelled by ann")
    assert told["failed"] + told["cancelled"] == 7


async def test_it_waits_for_the_last_word_of_tasks_that_are_ending(world: World) -> None:
    await world.submit(world.task("a", on_end=1), on_end=report(world))
    await world.claim_one()
    await world.store.cancel_lineage("line", by="ann")
    await world.sweep()
    assert await ends(world) == []
    await world.settle(await world.claim_one())
    assert (await totals(world))["cancelled"] == 1


async def test_a_revive_leads_to_another_one_and_sweeping_to_none(world: World) -> None:
    [task_id] = await world.submit(on_end=report(world))
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    for _ in range(3):
        await world.sweep()
    assert len(await ends(world)) == 1
    await world.store.revive([task_id], by="ann")
    assert len(await ends(world)) == 1
    await world.run_all()
    await world.sweep()
    first, second = await ends(world)
    assert (first.id, second.id, second.key) == ("report", "report-2", "line#end2")
    assert ((await totals(world, 2))["success"], (await totals(world, 2))["failed"]) == (1, 0)


async def test_a_revive_before_it_was_made_leaves_one(world: World) -> None:
    ids = await world.submit(world.task("a"), world.task("b"), on_end=report(world))
    await world.store.cancel_lineage("line", by="ann")
    await world.store.sweep(limit=1)
    await world.store.revive(ids, by="ann")
    await world.sweep()
    assert await ends(world) == []
    await world.run_all()
    assert len(await ends(world)) == 1


async def test_it_spawns_nothing_and_has_its_own_time_and_retries(world: World) -> None:
    await world.submit(on_end=report(world), lineage_seconds=50.0)
    world.clock.advance(50.0)
    await world.sweep()
    claimed = await world.claim_one()
    assert await world.spawn(claimed, world.task("more")) == ["depth"]
    answer = await world.settle(claimed, failing(claimed, error_class="transient"))
    assert answer.state == "pending"
    world.clock.advance(END_SECONDS)
    await world.sweep()
    assert [task.state for task in await ends(world)] == ["failed"]


async def test_a_lineage_is_not_pruned_before_its_end_was_made(world: World) -> None:
    await world.submit(on_end=report(world))
    await world.store.cancel_lineage("line", by="ann")
    await world.store.sweep(limit=100)
    world.clock.advance(10.0)
    await world.sweep()
    assert json.loads(json.dumps((await ends(world))[0].payload))["state"] == "cancelled"
    assert await world.store.prune(world.clock.now) >= 1
    assert await world.store.lineage("line") is None
    await world.run_all()


async def test_a_name_that_comes_again_after_pruning_has_its_end_too(world: World) -> None:
    """Also where the kind of the end is unique: the key of the first is held for longer than its rows are kept."""
    for number in range(2):
        end = report(world)._replace(id=f"report{number}", unique_seconds=86_400.0)
        await world.submit(world.task("a"), on_end=end)
        await world.run_all()
        [task] = await ends(world)
        assert (task.id, task.state) == (f"report{number}", "success")
        world.clock.advance(3_600.0)
        while any(await world.store.prunable(world.clock.now, limit=1)):
            await world.store.prune(world.clock.now)


async def test_a_database_with_an_end_to_come_is_not_idle(world: World) -> None:
    await world.submit(on_end=report(world))
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Complete(claimed.standing.fence))
    assert not await world.store.idle(["loose"])
    await world.run_all()
    assert await world.store.idle(["loose"])


async def test_a_lineage_that_has_the_name_of_the_end_already_is_not_started_again(world: World) -> None:
    await world.submit(world.task("mine", id="mine"), tracking_id="line#end1")
    await world.submit(world.task("a"), on_end=report(world))
    await world.run_all()
    await world.sweep()
    assert [task.id for task in await ends(world)] == ["mine"]
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.ends) == ("finished", 1)
