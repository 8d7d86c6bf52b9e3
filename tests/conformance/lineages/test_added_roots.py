"""Roots that a client adds to a lineage that runs: under its limits and its guard."""

from __future__ import annotations

import pytest

from ramet.model.lineage.branches import Budget
from ramet.model.task.task import After
from ramet.store.answers import SpawnResult
from ramet.store.errors import QueueBlocked, StoreError
from tests.support.world import World


def reasons(answers: list[SpawnResult]) -> list[str | None]:
    return [None if answer.reason is None else answer.reason.value for answer in answers]


async def test_an_added_root_is_a_root_like_any_other(world: World) -> None:
    await world.submit()
    [answer] = await world.store.add("line", [world.task("late")])
    task = await world.get(str(answer.id))
    assert (task.parent_id, task.spawn_depth, task.ancestry_chain, task.state) == (None, 0, (), "pending")
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.tasks, lineage.live) == (2, 2)
    await world.run_all()
    assert await world.state(task.id) == "success"


async def test_it_is_under_the_limits_and_the_guard(world: World) -> None:
    [root] = await world.submit(world.task("root"), max_tasks=3)
    answers = await world.store.add("line", [world.task(key) for key in ("root", "a", "a", "b", "c")])
    assert reasons(answers) == ["in_flight", None, "in_flight", None, "budget"]
    assert answers[0].winner == root
    assert answers[2].winner == answers[1].id
    assert await world.store.blocks("line") == [], "the caller has the answer"


@pytest.mark.parametrize("how", ["finished", "cancelled"])
async def test_one_that_has_ended_takes_no_more(world: World, how: str) -> None:
    [root] = await world.submit()
    if how == "finished":
        await world.run_all()
    else:
        await world.store.cancel_lineage("line", by="me")
    assert reasons(await world.store.add("line", [world.task("late")])) in (["ended"], ["cancelled"])
    await world.sweep()
    assert (await world.get(root)).state.terminal


async def test_there_has_to_be_one(world: World) -> None:
    with pytest.raises(StoreError, match="no lineage nowhere: submit one"):
        await world.store.add("nowhere", [world.task("late")])


async def test_it_may_come_after_tasks_that_are_there_and_have_a_budget(world: World) -> None:
    [root] = await world.submit(max_tasks=5)
    first = world.task("first", after=After(((root,),)), budget=Budget(max_tasks=3))
    second = world.task("second", after=After((("page", "first"),)))
    assert reasons(await world.store.add("line", [first, second, world.task("third")])) == [None, None, "budget"]
    for key in ("key1", "first", "second"):
        claimed = await world.claim_one()
        assert claimed.key == key
        await world.settle(claimed)
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.tasks, lineage.state) == (3, "finished")


async def test_no_root_is_added_to_a_queue_that_is_blocked(world: World) -> None:
    await world.submit()
    assert await world.store.block_queue("default", by="ada", reason="move")
    with pytest.raises(QueueBlocked, match="queue default is blocked for submits by ada: move"):
        await world.store.add("line", [world.task("late")])
