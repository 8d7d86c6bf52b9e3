"""Joins for people: how many tasks one waits for, a round page by page, and no waiting parent counts as queued."""

from __future__ import annotations

from typing import Any

from ramet.model.task import events as ev
from ramet.model.task.task import Wait
from ramet.model.views import BoundedCount
from tests.support.world import World


async def joined(world: World, *children: str, **limits: Any) -> str:
    """A root that waits for children of these keys."""
    [root] = await world.submit(**limits)
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Join(claimed.standing.fence), spawns=[world.task(key) for key in children])
    return root


async def test_who_never_joined_and_who_does_not_exist_have_no_round(world: World) -> None:
    [root] = await world.submit()
    assert await world.store.waiting_for([root, "nobody"]) == {}
    assert [await world.store.join_round(task) for task in (root, "nobody")] == [None, None]
    assert (await world.store.present()).joined == {}


async def test_a_waiting_parent_is_counted_by_kind_and_its_tasks_fall_with_each_end(world: World) -> None:
    root = await joined(world, "a", "b")
    present = await world.store.present()
    assert (present.joined, present.waits[Wait.TASKS], present.waits[""]) == (
        {"page": 1}, BoundedCount(1), BoundedCount(2),
    )  # fmt: skip
    assert await world.store.waiting_for([root]) == {root: 2}
    [twig] = (await world.store.twigs(tracking_id="line", kind="page", state="pending")).twigs
    assert (twig.task.id, twig.waits_for) == (root, 2)
    await world.settle(await world.claim_one())
    assert await world.store.waiting_for([root]) == {root: 1}
    await world.settle(await world.claim_one())
    assert (await world.claim_one()).id == root
    assert await world.store.waiting_for([root]) == {}
    [twig] = (await world.store.twigs(tracking_id="line", kind="page", state="processing")).twigs
    assert twig.waits_for is None


async def test_a_round_is_read_a_page_at_a_time_with_what_was_refused(world: World) -> None:
    root = await joined(world, "a", "b", "c", max_tasks=3)
    first = await world.store.join_round(root, limit=2)
    assert first is not None
    assert (first.round, first.rounds, first.waiting, first.remaining, first.total) == (1, 1, True, 2, BoundedCount(2))
    assert [(row.key, row.refused_code) for row in first.rows] == [("a", None), ("b", None)]
    second = await world.store.join_round(root, after=first.next, limit=2)
    assert second is not None
    assert [(row.key, row.refused_code) for row in second.rows] == [("c", "budget")]
    assert second.next is None
    assert [await world.store.join_round(root, round_=number) for number in (0, 2)] == [None, None]


async def test_an_earlier_round_says_that_nothing_of_it_is_waited_for(world: World) -> None:
    root = await joined(world, "a")
    await world.settle(await world.claim_one(), result="1")
    again = await world.claim_task(root)
    await world.settle(again, ev.Join(again.standing.fence), spawns=[world.task("b")])
    early = await world.store.join_round(root, round_=1)
    assert early is not None
    assert (early.waiting, early.remaining, early.since, early.rounds) == (False, 0, None, 2)
    assert [(row.key, row.result) for row in early.rows] == [("a", 1)]
