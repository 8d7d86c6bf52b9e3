"""Ends from outside: a lineage's deadline, cancelling a task, a tree, a lineage. The row is the truth at once."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.task import events as ev
from tests.support.world import LEASE_SECONDS, World, effect, hand_back


async def family(world: World, **limits: Any) -> dict[str, str]:
    """Ids by key: a root with branches ``a`` and ``b``, leaves ``a1``, ``a2``, ``b1`` below them, and ``a11``."""
    ids = dict.fromkeys(["root"], "")
    [ids["root"]] = await world.submit(world.task("root"), **limits)
    for parent, children in {"root": ("a", "b"), "a": ("a1", "a2"), "b": ("b1",), "a1": ("a11",)}.items():
        granted = await world.grow(await world.claim_task(ids[parent]), *(world.task(key) for key in children))
        ids.update(zip(children, granted, strict=True))
    return ids


async def by_state(world: World, ids: dict[str, str]) -> dict[str, str]:
    """Keys joined by the state that their tasks are in."""
    states: dict[str, str] = {}
    for key, task_id in ids.items():
        state = await world.state(task_id)
        states[state] = f"{states[state]} {key}" if state in states else key
    return states


async def test_at_its_deadline_the_lineages_row_flips_first_and_its_tasks_follow_in_batches(world: World) -> None:
    ids = await world.submit(*(world.task() for _ in range(7)), lineage_seconds=200.0)
    [claimed] = await world.claim()
    world.clock.advance(200.0)
    swept = await world.store.sweep(limit=3)
    assert (swept.lineages_ended, swept.ended) == (1, 3)
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.reason, lineage.ended_at) == ("failed", "lineage_deadline", world.clock.now)
    assert lineage.live == 4
    assert await world.claim(100) == []
    assert [(await world.store.sweep(limit=3)).ended for _ in range(3)] == [3, 1, 0]
    assert await world.states(*ids) == ["failed"] * 7
    assert (await world.get(ids[0])).reason == "lineage_deadline"
    assert await world.outcomes(claimed.id) == ["ended"]


async def test_claimed_and_waiting_tasks_follow_the_end_of_their_lineage_in_the_order_of_their_numbers(
    world: World,
) -> None:
    """They are found in two looks, one for each state: no batch takes more than its share, or leaves out a number."""
    ids = await world.submit(*(world.task(priority=n % 2) for n in range(8)))
    assert sorted(claimed.id for claimed in await world.claim(4)) == sorted(ids[1::2])
    await world.store.cancel_lineage("line", by="test")
    for ended in range(3, 9, 3):
        await world.store.sweep(limit=3)
        assert await world.states(*ids) == ["cancelled"] * ended + [
            ("pending", "processing")[n % 2] for n in range(ended, 8)
        ]
    assert [(await world.store.sweep(limit=3)).ended for _ in range(2)] == [2, 0]
    assert await world.states(*ids) == ["cancelled"] * 8


async def test_the_end_of_a_lineage_touches_its_own_tasks_and_none_that_failed_before(world: World) -> None:
    """A lineage that failed long ago is not looked at again, and what a person revived of it stays revived."""
    old = await world.submit(world.task(), tracking_id="old", lineage_seconds=100.0)
    world.clock.advance(100.0)
    await world.sweep()
    await world.submit(world.task(), world.task(), tracking_id="other", lineage_seconds=10_000.0)
    before = await world.store.lineage("old")
    world.clock.advance(1_000.0)
    late = await world.submit(world.task(), tracking_id="late", lineage_seconds=50.0)
    world.clock.advance(50.0)
    # The claim itself ends it, before any sweep: no new work of a lineage whose time is over.
    assert {claimed.standing.tracking_id for claimed in await world.claim(10)} == {"other"}
    lineage = await world.store.lineage("late")
    assert lineage is not None
    assert (lineage.state, lineage.ended_at) == ("failed", world.clock.now)
    told = [await world.store.sweep() for _ in range(3)]
    assert [(swept.lineages_ended, swept.ended) for swept in told] == [(0, 1), (0, 0), (0, 0)]
    assert await world.store.lineage("old") == before
    assert await world.states(*old, *late) == ["failed"] * 2
    assert (await world.get(old[0])).finished_at == world.clock.now - 1_050.0


async def test_after_the_row_flipped_nothing_is_claimed_settled_or_spawned(world: World) -> None:
    await world.submit(world.task(), world.task(priority=1), lineage_seconds=200.0)
    claimed = await world.claim_one()
    world.clock.advance(200.0)
    assert (await world.store.sweep(limit=1)).ended == 1
    assert await world.state(claimed.id) == "processing"
    answer = await world.settle(claimed, spawns=[world.task("late")], writes=[effect("late")])
    assert (answer.state, answer.refused, answer.reason) == (None, "failed", "lineage_deadline")
    assert await world.claim(10) == []
    assert await world.effects() == []
    assert not await world.store.has_live("page", "late")
    await world.sweep()


async def test_a_finished_lineage_has_no_deadline_to_miss(world: World) -> None:
    await world.submit(lineage_seconds=200.0)
    await world.run_all()
    world.clock.advance(1_000.0)
    await world.sweep()
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert lineage.state == "finished"


async def test_cancelling_a_task_ends_it_and_nobody_else(world: World) -> None:
    ids = await family(world)
    assert await world.store.cancel(ids["a2"], tree=False, by="ann", reason="wrong page")
    assert await by_state(world, ids) == {"success": "root a b a1", "cancelled": "a2", "pending": "b1 a11"}
    task = await world.get(ids["a2"])
    assert task.reason == "cancelled by ann: wrong page"
    history = await world.store.history(task.id)
    assert history is not None
    [record] = history.transitions
    assert (record.name, record.from_state, record.to_state, record.by) == ("cancel", "pending", "cancelled", "ann")
    assert (record.at, record.reason) == (world.clock.now, "cancelled by ann: wrong page")


async def test_cancelling_a_running_task_refuses_what_it_has_done(world: World) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    assert await world.store.cancel(task_id, tree=False, by="ann")
    assert (await world.settle(claimed, writes=[effect("late")])).refused == "stale"
    assert await world.state(task_id) == "cancelled"
    assert await world.outcomes(task_id) == ["ended"]
    assert await world.effects() == []


async def test_cancelling_what_ended_or_never_was_does_nothing(world: World) -> None:
    [task_id] = await world.submit()
    await world.run_all()
    for tree in (False, True):
        assert not await world.store.cancel(task_id, tree=tree, by="ann")
        assert not await world.store.cancel("nobody", tree=tree, by="ann")
    assert not await world.store.cancel_lineage("line", by="ann")
    assert not await world.store.cancel_lineage("nothing", by="ann")
    assert await world.state(task_id) == "success"


async def test_cancelling_a_tree_ends_the_task_and_all_below_and_no_sibling(world: World) -> None:
    ids = await family(world)
    assert await world.store.cancel(ids["a1"], tree=True, by="ann")
    await world.sweep()
    assert await by_state(world, ids) == {"success": "root a b a1", "pending": "a2 b1", "cancelled": "a11"}
    assert (await world.get(ids["a11"])).reason == f"cancel_tree: {ids['a1']}"
    assert {item.key for item in await world.claim(10)} == {"a2", "b1"}


async def test_nothing_under_a_tombstone_is_claimed_even_before_the_sweep(world: World) -> None:
    ids = await family(world)
    await world.store.cancel(ids["a"], tree=True, by="ann")
    assert {item.key for item in await world.claim(10)} == {"b1"}
    await world.sweep()


async def test_descendants_that_still_run_spawn_and_settle_nothing(world: World) -> None:
    ids = await family(world)
    claimed = {item.key: item for item in await world.claim(10)}
    await world.store.cancel(ids["a"], tree=True, by="ann")
    refused = await world.settle(claimed["a11"], spawns=[world.task("late")], writes=[effect("late")])
    assert (refused.refused, refused.reason) == ("cancelled", f"cancel_tree: {ids['a']}")
    assert [told.reason for told in refused.spawns] == ["cancelled"]
    assert await world.spawn(claimed["b1"], world.task("fine")) == [None]
    assert (await world.settle(claimed["b1"], writes=[effect("fine")])).state == "success"
    assert await world.effects() == ["fine"]
    await world.sweep()
    assert await world.states(ids["a2"], ids["a11"]) == ["cancelled", "cancelled"]


async def test_a_tree_is_cancelled_batch_by_batch_and_leaves_the_rest_running(world: World) -> None:
    [root, other] = await world.submit(world.task("root"), world.task("other"))
    await world.grow(await world.claim_task(root), *(world.task() for _ in range(10)))
    await world.store.cancel(root, tree=True, by="ann")
    assert sum([(await world.store.sweep(limit=4)).ended for _ in range(4)]) == 10
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.live, lineage.cancelled, lineage.sweep) == ("running", 1, 10, 0)
    assert await world.state(other) == "pending"


async def test_cancelling_the_only_root_as_a_tree_cancels_the_lineage(world: World) -> None:
    ids = await family(world)
    assert await world.store.cancel(ids["root"], tree=True, by="ann", reason="enough")
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.reason) == ("cancelled", "cancelled by ann: enough")
    await world.sweep()
    assert await by_state(world, ids) == {"success": "root a b a1", "cancelled": "a2 b1 a11"}


async def test_cancelling_a_lineage_is_one_row_and_its_tasks_follow(world: World) -> None:
    ids = await family(world)
    claimed = await world.claim_one()
    assert await world.store.cancel_lineage("line", by="ann")
    assert not await world.store.cancel_lineage("line", by="bob")
    assert await world.claim(10) == []
    assert (await world.settle(claimed, hand_back(claimed))).refused == "cancelled"
    await world.sweep()
    assert await by_state(world, ids) == {"success": "root a b a1", "cancelled": "a2 b1 a11"}
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.live, lineage.cancelled, lineage.reason) == (0, 3, "cancelled by ann")


async def test_other_lineages_are_untouched(world: World) -> None:
    [first] = await world.submit(world.task("a"), tracking_id="one")
    [second] = await world.submit(world.task("a"), tracking_id="two")
    await world.store.cancel_lineage("one", by="ann")
    await world.sweep()
    assert await world.states(first, second) == ["cancelled", "pending"]
    await world.run_all()
    assert await world.state(second) == "success"


@pytest.mark.parametrize("order", [("a", "a1"), ("a1", "a"), ("a", "b")])
async def test_tombstones_add_up(world: World, order: tuple[str, str]) -> None:
    ids = await family(world)
    for key in order:
        assert await world.store.cancel(ids[key], tree=True, by="ann")
        assert not await world.store.cancel(ids[key], tree=True, by="ann")
    await world.sweep()
    alive = "b1" if "b" not in order else None
    assert (await by_state(world, ids)).get("pending") == alive


async def test_a_lease_that_runs_out_in_a_cancelled_lineage_ends_the_task(world: World) -> None:
    [task_id] = await world.submit()
    await world.claim_one()
    await world.store.cancel_lineage("line", by="ann")
    world.clock.advance(LEASE_SECONDS)
    await world.sweep()
    assert await world.state(task_id) == "cancelled"


async def test_a_snoozing_task_under_a_tombstone_is_found_by_the_sweep(world: World) -> None:
    ids = await family(world)
    claimed = await world.claim_task(ids["a11"])
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1_000.0))
    await world.store.cancel(ids["a"], tree=True, by="ann")
    await world.sweep()
    assert await world.state(ids["a11"]) == "cancelled"
