"""Tasks that are created after others: claimed when these have ended, skipped or run where one did not succeed."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.lineage import guard
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import After, NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.errors import StoreError
from ramet.store.requests import NewLineage
from ramet.store.rows import waits
from tests.support.world import World, failing


def after(*names: tuple[str, ...], skips: bool = True) -> After:
    return After(names, skips)


def named(new: NewTask) -> tuple[str, str]:
    return (new.kind, new.key)


async def diamond(world: World, **options: Any) -> list[str]:
    """Submit a task, two after it, and one after these two; return their ids."""
    top = world.task("top")
    left, right = (world.task(key, after=after(named(top), **options)) for key in ("left", "right"))
    bottom = world.task("bottom", after=after(named(left), named(right), **options))
    return await world.submit(bottom, right, left, top)  # In whatever order.


async def claimed_keys(world: World) -> dict[str, ClaimedTask]:
    return {claimed.key: claimed for claimed in await world.claim(10)}


async def test_a_diamond_runs_in_its_order_and_finds_what_it_came_after(world: World) -> None:
    bottom, right, left, top = await diamond(world)
    assert [(await world.get(each)).wait for each in (bottom, right, left, top)] == ["tasks", "tasks", "tasks", None]
    first = await world.claim_one()
    assert (first.id, first.after) == (top, 0)
    await world.settle(first, result='"t"')
    both = await claimed_keys(world)
    assert {key: claimed.after for key, claimed in both.items()} == {"left": 1, "right": 1}
    await world.settle(both["left"], result='"l"')
    assert await world.claim() == []
    await world.settle(both["right"], result='"r"')
    last = await world.claim_one()
    page = await world.store.join_page(last.standing.seq, 0)
    assert (last.id, last.after, last.round) == (bottom, 2, 0)
    assert [(row.key, row.result) for row in page.rows] == [("left", "l"), ("right", "r")]
    await world.settle(last)
    assert set(await world.states(bottom, right, left, top)) == {"success"}


async def test_what_comes_after_a_failure_is_skipped_in_turn(world: World) -> None:
    bottom, right, left, top = await diamond(world)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    await world.sweep()
    assert await world.states(bottom, right, left, top) == ["skipped", "skipped", "skipped", "failed"]
    reason = (await world.get(bottom)).reason
    assert (await world.get(left)).reason == f"dependency_failed: {top}"
    assert reason in (f"dependency_failed: {left}", f"dependency_failed: {right}")


async def test_it_runs_all_the_same_where_it_asks_for_that(world: World) -> None:
    bottom, right, left, top = await diamond(world, skips=False)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    await world.run_all()
    assert await world.states(bottom, right, left, top) == ["success", "success", "success", "failed"]


async def test_a_revive_brings_back_what_was_skipped_for_it_and_that_waits_again(world: World) -> None:
    bottom, right, left, top = await diamond(world)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    await world.sweep()
    assert await world.store.revive([top], by="me") == [top]
    await world.sweep()
    assert [(await world.get(each)).wait for each in (bottom, right, left)] == ["tasks"] * 3
    again = await world.claim_one()
    assert again.id == top
    await world.settle(again)
    await world.run_all()
    assert set(await world.states(bottom, right, left, top)) == {"success"}


async def test_a_revived_task_that_was_cancelled_while_it_waited_waits_for_the_rest(world: World) -> None:
    bottom, *_, top = await diamond(world)
    assert await world.store.cancel(bottom, by="me")
    assert await world.store.revive([bottom], by="me") == [bottom]
    assert (await world.get(bottom)).wait == "tasks"
    only = await claimed_keys(world)
    assert [*only] == ["top"]
    await world.settle(only["top"])
    await world.run_all()
    assert await world.states(bottom, top) == ["success", "success"]


@pytest.mark.parametrize("how", ["by name", "by id"])
async def test_a_spawn_comes_after_tasks_of_its_lineage(world: World, how: str) -> None:
    other = world.task("other")
    [_, other_id] = await world.submit(world.task("root"), other)
    claimed = await world.claim_one()
    first = world.task("first")
    name = (other_id,) if how == "by id" else named(other)
    answer = await world.settle(claimed, spawns=[first, world.task("second", after=after(named(first), name))])
    assert [told.reason for told in answer.spawns] == [None, None]
    both = await claimed_keys(world)
    assert {*both} == {"other", "first"}
    await world.settle(both["first"])
    await world.settle(both["other"])
    assert [*await claimed_keys(world)] == ["second"]


async def test_one_after_tasks_that_have_ended_runs_at_once(world: World) -> None:
    [_, done] = await world.submit(world.task("root"), world.task("done"))
    taken = await claimed_keys(world)
    await world.settle(taken["done"])
    await world.settle(taken["root"], spawns=[world.task("late", after=after((done,)))])
    assert [*await claimed_keys(world)] == ["late"]


async def test_one_after_a_task_that_failed_before_is_skipped(world: World) -> None:
    [_, bad] = await world.submit(world.task("root"), world.task("bad"))
    taken = await claimed_keys(world)
    await world.settle(taken["bad"], failing(taken["bad"]))
    answer = await world.settle(taken["root"], spawns=[world.task("late", after=after((bad,)))])
    await world.sweep()
    assert await world.state(str(answer.spawns[0].id)) == "skipped"


async def test_a_spawn_after_a_task_that_is_not_there_is_refused(world: World) -> None:
    await world.submit()
    [far] = await world.submit(world.task("far"), tracking_id="far")
    claimed = await world.claim_task("t1")
    assert await world.spawn(
        claimed, world.task(after=after(("page", "nowhere"))), world.task(after=after((far,)))
    ) == ["dependency", "dependency"]
    [block, _] = await world.store.blocks("line")
    assert "which is not a task of this lineage" in block.detail


async def test_what_was_refused_for_that_can_be_offered_again_when_it_is_there(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    late = world.task("late", after=after(("page", "first")))
    assert await world.spawn(claimed, late, world.task("first")) == ["dependency", None]
    result = await world.store.reoffer("line", by="me")
    assert len(result.created) == 1
    assert (await world.get(result.created[0])).wait == "tasks"


async def test_an_ancestor_cannot_be_waited_for(world: World) -> None:
    [root] = await world.submit()
    claimed = await world.claim_one()
    assert await world.spawn(claimed, world.task("child", after=after((root,)))) == ["wait_cycle"]
    [child] = await world.grow(claimed, world.task("a"))
    below = await world.claim_one()
    assert below.id == child
    assert await world.spawn(below, world.task("deep", after=after((root,)))) == ["wait_cycle"]


async def test_a_spawn_cannot_come_after_one_that_waits_for_its_branch(world: World) -> None:
    """The root waits for all below it, and a task for the root: a child of the branch would wait for itself."""
    [root, other] = await world.submit(world.task("root"), world.task("other"))
    taken = await claimed_keys(world)
    fence = taken["root"].standing.fence
    await world.settle(taken["root"], ev.Join(fence, branch=True), spawns=[world.task("a")])
    answer = await world.settle(taken["other"], spawns=[world.task("behind", after=after((root,)))])
    behind = str(answer.spawns[0].id)
    claimed = await world.claim_one()
    assert claimed.key == "a"
    assert await world.spawn(claimed, world.task("deep", after=after((behind,)))) == ["wait_cycle"]
    await world.settle(claimed)
    await world.run_all()
    assert await world.states(root, other, behind) == ["success"] * 3


async def test_a_join_that_would_wait_for_itself_ends_the_task(world: World) -> None:
    """The root waits for a, a task for the root, and a's child for that task: then a cannot join."""
    [root, _] = await world.submit(world.task("root"), world.task("other"))
    taken = await claimed_keys(world)
    await world.settle(taken["root"], ev.Join(taken["root"].standing.fence), spawns=[world.task("a")])
    answer = await world.settle(taken["other"], spawns=[world.task("behind", after=after((root,)))])
    behind = str(answer.spawns[0].id)
    claimed = await world.claim_one()
    child = world.task("child", after=after((behind,)))
    told = await world.settle(claimed, ev.Join(claimed.standing.fence), spawns=[child])
    assert (told.state, told.spawns[0].reason) == ("failed", None)
    assert str(told.reason) == f"wait_cycle: task {told.spawns[0].id} waits for this one"
    await world.run_all()
    assert await world.states(root, behind, str(told.spawns[0].id)) == ["success"] * 3


@pytest.mark.parametrize("length", [1, 2, 3])
async def test_a_circle_of_one_submit_is_refused_by_name(world: World, length: int) -> None:
    keys = [f"k{at}" for at in range(length)]
    roots = [world.task(key, after=after(("page", keys[at - 1]))) for at, key in enumerate(keys)]
    with pytest.raises(StoreError, match="wait for each other: page 'k") as error:
        await world.submit(*roots, world.task("free"))
    assert all(f"'{key}'" in str(error.value) for key in keys)
    assert await world.store.lineage("line") is None


async def test_a_root_after_a_task_that_is_not_among_them_is_refused(world: World) -> None:
    with pytest.raises(StoreError, match="comes after page 'nowhere', which is not a task of this lineage"):
        await world.submit(world.task(after=after(("page", "nowhere"))))


async def test_a_delay_counts_from_creation_and_a_path_is_taken_afterwards(world: World) -> None:
    first = world.task("first")
    late = world.task("late", after=after(named(first)), delay_seconds=100.0)
    pathed = world.task("pathed", after=after(named(first)), path=PathRule(("doc",)))
    await world.submit(first, late, pathed)
    await world.settle(await world.claim_one())
    await world.sweep()
    only = await claimed_keys(world)
    assert [*only] == ["pathed"]
    await world.settle(only["pathed"])
    world.clock.advance(100.0)
    await world.sweep()
    assert [*await claimed_keys(world)] == ["late"]


async def test_its_own_time_begins_when_it_is_claimed(world: World) -> None:
    first = world.task("first")
    await world.submit(first, world.task("late", after=after(named(first)), task_seconds=50.0))
    claimed = await world.claim_one()
    world.clock.advance(200.0)
    await world.settle(claimed)
    late = await world.claim_one()
    assert late.standing.deadline_at == world.clock.now + 50.0


async def test_a_duplicate_of_a_spawn_changes_nothing_of_the_edges_of_the_first(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    first = world.task("first")
    assert await world.spawn(claimed, first, world.task("second", after=after(named(first)))) == [None, None]
    assert await world.spawn(claimed, world.task("second")) == ["in_flight"]
    await world.settle(claimed)
    assert [*await claimed_keys(world)] == ["first"]


async def test_edges_of_a_lineage_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "EDGES_PER_TASK", 1)
    await world.submit(world.task("root"), max_tasks=6)
    claimed = await world.claim_one()
    first, second = world.task("a"), world.task("b")
    third = world.task("c", after=after(named(first), named(second)))
    fourth = world.task("d", after=after(named(first), named(second), named(third)))
    assert await world.spawn(claimed, first, second, third, fourth) == [None] * 4
    assert await world.spawn(claimed, world.task("e", after=after(named(first), named(second)))) == ["budget"]
    [block] = await world.store.blocks("line")
    assert block.detail == "tasks of the lineage come after 5 others, and 6 are its limit"
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.edges, lineage.waits) == (5, 2)


async def test_more_than_one_transaction_writes_go_on_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "TOGETHER_MAX", 3)
    top = world.task("top")
    many = [world.task(f"k{at}", after=after(named(top))) for at in range(10)]
    top_id, *ids = await world.submit(top, *many)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    await world.check()
    await world.sweep()
    assert await world.states(*ids) == ["skipped"] * 10
    assert await world.store.revive([top_id], by="me") == [top_id]
    await world.check()
    counted = "SELECT COUNT(*) FROM ramet_waits WHERE remaining > 0"
    assert await world.store.read(counted) == [(0,)], "so many come back at a time, and are counted then"
    await world.sweep()
    assert await world.store.read(counted) == [(10,)]
    assert {(await world.get(each)).wait for each in ids} == {"tasks"}
    await world.settle(await world.claim_one())
    await world.run_all()
    assert await world.states(*ids) == ["success"] * 10


async def test_one_that_ended_while_an_end_was_still_to_be_told_is_not_skipped_for_what_was_revived(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "TOGETHER_MAX", 1)
    top = world.task("top")
    many = [world.task(f"k{at}", after=after(named(top))) for at in range(2)]
    top_id, first, second = await world.submit(top, *many)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    assert await world.store.cancel(first, by="me")
    assert await world.store.revive([first, top_id], by="me") == [first, top_id]
    again = await world.claim_one()
    assert await world.states(top_id, first, second) == ["processing", "pending", "pending"]
    await world.settle(again)
    await world.run_all()
    await world.run_all()
    assert await world.states(top_id, first, second) == ["success"] * 3


async def test_the_same_submit_again_changes_nothing(world: World) -> None:
    first, second = world.task("first"), world.task("second", after=after(("page", "first")))
    wanted = NewLineage("line", [first, second])
    told = await world.store.submit([wanted])
    again = await world.store.submit([wanted])
    assert [(each.id, each.created) for each in again] == [(each.id, False) for each in told]
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.waits, lineage.edges) == (1, 1)
