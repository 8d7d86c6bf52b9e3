"""Priority and due time of a pending task, changed by a person: recorded, and refused with words for any other task."""

from __future__ import annotations

import pytest

from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.ordering import BY_DUE
from ramet.store.errors import StoreError
from tests.support.world import World


async def test_what_is_not_pending_or_waits_for_others_is_refused_and_stays(world: World) -> None:
    first, _, pulled = await world.submit(
        world.task(path=PathRule(("a",))), world.task("second", path=PathRule(("a",))), world.task(breadth=BY_DUE)
    )
    [waits] = [task.id for task in await world.store.roots("line") if task.key == "second"]
    parent = (await world.submit(world.task("parent"), tracking_id="joins"))[0]
    joining = await world.claim_task(parent)
    await world.settle(joining, ev.Join(joining.standing.fence), spawns=[world.task("child")])
    running = await world.claim_task(first)
    for task, why in (
        (first, "is processing: only a pending task can be rescheduled"),
        (
            waits,
            "cannot be rescheduled: it waits for other tasks, for the task that settles it, or in line on its path",
        ),
        (parent, "cannot be rescheduled: it waits for other tasks"),
        ("nobody", "no task nobody"),
    ):
        with pytest.raises(StoreError, match=why):
            await world.store.reschedule(task, at=0.0, by="ada")
    with pytest.raises(StoreError, match="its kind is pulled: the task that has been due the longest comes first"):
        await world.store.reprioritise(pulled, priority=5, by="ada")
    await world.settle(running)
    with pytest.raises(StoreError, match="has ended: only a pending task can be reprioritised"):
        await world.store.reprioritise(first, priority=5, by="ada")
    assert await world.store.acts() == []


async def test_a_larger_priority_goes_first_and_the_act_says_what_it_was(world: World) -> None:
    _, second = await world.submit(world.task("first"), world.task("second", priority=-3))
    assert await world.store.reprioritise(second, priority=7, by="ada", reason="a customer waits") == -3
    assert (await world.get(second)).priority == 7
    assert (await world.claim_one()).id == second
    [act] = await world.store.acts("line")
    assert (act.by, act.act, act.subject, act.reason, act.detail) == (
        "ada", "reprioritise", second, "a customer waits", {"was": -3, "priority": 7},
    )  # fmt: skip
    history = await world.store.history(second)
    assert history is not None
    assert [(row.name, row.by, row.reason) for row in history.transitions] == [
        ("reprioritise", "ada", "a customer waits")
    ]


async def test_a_task_that_comes_into_a_busy_class_takes_the_turn_of_a_newcomer(world: World) -> None:
    """Without it an old task would pass everybody of its new priority, who came in turn."""
    [late] = await world.submit(world.task("late", priority=-1), tracking_id="other")
    await world.submit(*(world.task(f"busy {number}") for number in range(4)), tracking_id="busy")
    for _ in range(3):
        await world.settle(await world.claim_one())
    await world.store.reprioritise(late, priority=0, by="ada")
    assert (await world.claim_one()).id == late
    assert (await world.claim_one()).key == "busy 3"


async def test_a_task_runs_later_or_sooner(world: World) -> None:
    [task] = await world.submit(world.task(delay_seconds=90.0))
    assert await world.store.reschedule(task, delay_seconds=30.0, by="ada") == world.clock.now + 30.0
    assert await world.claim() == []
    world.clock.advance(30.0)
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 900.0))
    assert await world.store.reschedule(task, at=0.0, by="ada", reason="now") == world.clock.now
    assert (await world.claim_one()).id == task
    assert [act.detail for act in await world.store.acts("line")] == [
        {"was_at": claimed.standing.available_at + 900.0, "at": world.clock.now},
        {"was_at": world.clock.now + 60.0, "at": world.clock.now},
    ]


async def test_a_due_task_that_is_put_off_waits_and_lets_those_behind_it_on_its_path_go(world: World) -> None:
    first, second = await world.submit(world.task(path=PathRule(("a",))), world.task(path=PathRule(("a",))))
    await world.store.reschedule(first, delay_seconds=3_600.0, by="ada")
    assert [claimed.id for claimed in await world.claim(5)] == [second]
    world.clock.advance(3_600.0)
    await world.sweep()
    assert (await world.get(first)).wait == "path"


async def test_a_task_of_a_paused_lineage_may_be_moved_and_runs_at_its_new_time(world: World) -> None:
    [task] = await world.submit()
    await world.store.pause_lineage("line", by="ada")
    assert await world.claim() == []
    await world.store.reschedule(task, delay_seconds=50.0, by="ada")
    await world.store.resume_lineage("line", by="ada")
    assert await world.claim() == []
    world.clock.advance(50.0)
    assert (await world.claim_one()).id == task
