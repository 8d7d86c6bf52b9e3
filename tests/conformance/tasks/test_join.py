"""Joins: a task waits for its children, and is claimed again when they have ended."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from tests.support.world import World, failing


async def joined(world: World, claimed: ClaimedTask, *children: str, **join: Any) -> list[str]:
    """Join with children of these keys, which are all granted; returns their ids."""
    answer = await world.settle(
        claimed, ev.Join(claimed.standing.fence, **join), spawns=[world.task(key) for key in children]
    )
    assert answer.refused is None
    return [str(told.id) for told in answer.spawns]


async def page(world: World, claimed: ClaimedTask) -> list[tuple[str, str | None, object]]:
    """What the handler finds: key, state and result of each."""
    found = await world.store.join_page(claimed.standing.seq, claimed.round)
    return [(row.key, row.state, row.result) for row in found.rows]


async def test_a_task_waits_until_its_last_child_has_ended(world: World) -> None:
    [root] = await world.submit()
    first = await world.claim_one()
    assert first.round == 0
    ids = await joined(world, first, "a", "b", "c")
    task = await world.get(root)
    assert (task.state, task.wait, task.attempts, task.deadline_at) == ("pending", "tasks", 0, None)
    for at in range(3):
        claimed = await world.claim_one()
        assert claimed.id in ids
        await world.settle(claimed, result=str(at))
    again = await world.claim_one()
    assert (again.id, again.round, again.standing.attempts) == (root, 1, 1)
    assert await page(world, again) == [("a", "success", 0), ("b", "success", 1), ("c", "success", 2)]
    totals = await world.store.join_totals(again.standing.seq, 1)
    assert (totals.states, totals.refused) == ({"success": 3}, 0)
    await world.settle(again)
    assert await world.state(root) == "success"


async def test_children_of_an_earlier_attempt_are_waited_for(world: World) -> None:
    [root] = await world.submit()
    claimed = await world.claim_one()
    assert await world.spawn(claimed, world.task("early")) == [None]
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1.0))
    world.clock.advance(1.0)
    claimed = await world.claim_task(root)
    await joined(world, claimed, "late")
    await world.settle(await world.claim_one())
    await world.settle(await world.claim_one())
    assert [key for key, _, _ in await page(world, await world.claim_one())] == ["early", "late"]


async def test_each_round_has_its_own_set(world: World) -> None:
    await world.submit()
    await joined(world, await world.claim_one(), "a")
    await world.settle(await world.claim_one())
    again = await world.claim_one()
    await joined(world, again, "b", "c")
    await world.settle(await world.claim_one())
    await world.settle(await world.claim_one())
    last = await world.claim_one()
    assert (last.round, [key for key, _, _ in await page(world, last)]) == (2, ["b", "c"])


@pytest.mark.parametrize("how", ["failed", "cancelled", "excluded"])
async def test_every_end_is_an_end(world: World, how: str) -> None:
    [root] = await world.submit()
    [child] = await joined(world, await world.claim_one(), "a")
    if how == "failed":
        claimed = await world.claim_one()
        await world.settle(claimed, failing(claimed))
    elif how == "cancelled":
        await world.store.cancel(child, by="me")
    else:
        await world.store.exclude([child], by="me")
    again = await world.claim_one()
    assert again.id == root
    states = {"failed": "failed", "cancelled": "cancelled", "excluded": "skipped"}
    assert [state for _, state, _ in await page(world, again)] == [states[how]]


async def test_who_asked_to_be_skipped_is_skipped_at_the_first_failure(world: World) -> None:
    [root] = await world.submit()
    await joined(world, await world.claim_one(), "a", "b", skip_on_failure=True)
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    await world.settle(await world.claim_one())
    task = await world.get(root)
    assert (task.state, task.reason_code) == ("skipped", "dependency_failed")


async def test_a_join_with_nothing_to_wait_for_goes_on_at_once_and_a_second_one_fails(world: World) -> None:
    [root] = await world.submit()
    await joined(world, await world.claim_one())
    again = await world.claim_one()
    assert (again.round, await page(world, again)) == (1, [])
    answer = await world.settle(again, ev.Join(again.standing.fence))
    assert (answer.state, str(answer.reason)) == ("failed", "no_progress")
    assert await world.state(root) == "failed"


async def test_a_branch_is_waited_for_with_all_that_grows_in_it(world: World) -> None:
    [root] = await world.submit()
    await joined(world, await world.claim_one(), "a", branch=True)
    [below] = await world.grow(await world.claim_one(), world.task("below"))
    claimed = await world.claim_one()
    assert claimed.id == below
    [deep] = await world.grow(claimed, world.task("deep"))
    claimed = await world.claim_one()
    assert claimed.id == deep
    await world.settle(claimed)
    again = await world.claim_one()
    assert again.id == root
    assert [key for key, _, _ in await page(world, again)] == ["a", "below", "deep"]


async def test_joins_nest(world: World) -> None:
    [root] = await world.submit()
    [child] = await joined(world, await world.claim_one(), "a")
    inner = await world.claim_one()
    await joined(world, inner, "b")
    await world.settle(await world.claim_one(), result='"leaf"')
    again = await world.claim_one()
    assert (again.id, await page(world, again)) == (child, [("b", "success", "leaf")])
    await world.settle(again, result='"inner"')
    last = await world.claim_one()
    assert (last.id, await page(world, last)) == (root, [("a", "success", "inner")])


async def test_a_refused_spawn_is_listed_where_it_was_asked_for(world: World) -> None:
    [_, other] = await world.submit(world.task("root"), world.task("other"))
    claimed = await world.claim_one()
    await joined(world, claimed, "a", "other", "b")
    everything = await world.claim(10)
    for each in everything:
        await world.settle(each, result=f'"{each.key}"')
    again = await world.claim_one()
    found = (await world.store.join_page(again.standing.seq, 1)).rows
    assert [(row.key, row.id == other, row.refused_code, row.result) for row in found] == [
        ("a", False, None, "a"),
        ("other", True, "in_flight", "other"),
        ("b", False, None, "b"),
    ]
    assert (await world.store.join_totals(again.standing.seq, 1)).refused == 1


async def test_its_own_time_stands_still_while_it_waits(world: World) -> None:
    [root] = await world.submit(world.task(task_seconds=100.0))
    claimed = await world.claim_one()
    world.clock.advance(40.0)
    await joined(world, claimed, "a")
    world.clock.advance(500.0)
    await world.sweep()
    await world.settle(await world.claim_one())
    again = await world.claim_one()
    assert (again.id, again.standing.deadline_at) == (root, world.clock.now + 60.0)


async def test_one_who_waits_ends_with_its_lineage(world: World) -> None:
    [root] = await world.submit(lineage_seconds=100.0)
    await joined(world, await world.claim_one(), "a")
    world.clock.advance(101.0)
    await world.sweep()
    assert await world.state(root) == "failed"


async def test_one_who_waits_can_be_cancelled_and_its_children_go_on(world: World) -> None:
    [root] = await world.submit()
    [child] = await joined(world, await world.claim_one(), "a")
    assert await world.store.cancel(root, by="me")
    await world.settle(await world.claim_one())
    assert (await world.states(root, child), await world.claim()) == (["cancelled", "success"], [])


async def test_a_revived_child_is_waited_for_again_by_who_has_not_gone_on(world: World) -> None:
    [root] = await world.submit()
    [first, second] = await joined(world, await world.claim_one(), "a", "b")
    claimed = await world.claim_task(first)
    await world.settle(claimed, failing(claimed))
    assert await world.store.revive([first], by="me") == [first]
    revived, other = sorted(await world.claim(3), key=lambda claimed: claimed.id == second)
    assert (revived.id, other.id) == (first, second)
    await world.settle(other)
    assert await world.claim(3) == []
    assert (await world.get(root)).wait == "tasks"
    await world.settle(revived)
    await world.settle(await world.claim_task(root))
    task = await world.get(root)
    assert (task.state, task.attempts) == ("success", 1)


async def test_a_revived_child_of_a_round_that_is_over_is_nobodys_matter(world: World) -> None:
    [root] = await world.submit()
    [child] = await joined(world, await world.claim_one(), "a")
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed))
    again = await world.claim_one()
    await world.store.revive([child], by="me")
    await world.settle(await world.claim_one())
    await world.settle(again)
    assert await world.states(root, child) == ["success", "success"]


async def test_a_lost_claim_of_one_that_joined_has_its_round_again(world: World) -> None:
    [root] = await world.submit()
    await joined(world, await world.claim_one(), "a")
    await world.settle(await world.claim_one())
    await world.claim_one()
    world.clock.advance(1_000.0)
    await world.sweep()
    again = await world.claim_one()
    assert (again.id, again.round, len(await page(world, again))) == (root, 1, 1)


async def test_pages_of_a_round_go_on_where_the_last_one_ended(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    await joined(world, claimed, *(f"k{at}" for at in range(7)))
    seen, after = list[str](), None
    while True:
        found = await world.store.join_page(claimed.standing.seq, 1, after, limit=3)
        seen += [row.key for row in found.rows]
        if (after := found.next) is None:
            break
    assert seen == [f"k{at}" for at in range(7)]


async def test_who_waits_leaves_its_path_to_others_and_stands_in_line_again_afterwards(world: World) -> None:
    rule = PathRule(("doc",))
    [root] = await world.submit(world.task("root", path=rule))
    [behind] = await world.submit(world.task("behind", path=rule), tracking_id="other")
    await joined(world, await world.claim_one(), "a")
    everything = {claimed.id: claimed for claimed in await world.claim(10)}
    assert behind in everything
    child = next(claimed for name, claimed in everything.items() if name != behind)
    await world.settle(child)
    await world.sweep()
    assert await world.claim() == []  # The other one is on the path now.
    await world.settle(everything[behind])
    await world.sweep()
    again = await world.claim_one()
    assert (again.id, again.round) == (root, 1)
    await world.settle(again)


async def test_of_two_that_failed_the_revive_of_one_leaves_the_other(world: World) -> None:
    [root] = await world.submit()
    ids = await joined(world, await world.claim_one(), "a", "b", "c", skip_on_failure=True)
    taken = {claimed.id: claimed for claimed in await world.claim(3)}
    for name in ids[:2]:
        await world.settle(taken[name], failing(taken[name]))
    await world.store.revive([ids[0]], by="me")
    await world.settle(taken[ids[2]])
    await world.run_all()
    task = await world.get(root)
    assert (task.state, task.reason) == ("skipped", f"dependency_failed: {ids[1]}")


async def test_a_stage_that_went_on_before_the_join_is_waited_for_in_its_next_one(world: World) -> None:
    await world.submit(world.task("root"))
    root = await world.claim_one()
    first = world.task("doc", kind="book.read", base="book", places=2)
    stages = ("book.read", "book.note")
    assert await world.spawn(root, first) == [None]
    reading = await world.claim_one(kinds=stages)
    await world.grow(reading, world.task("doc", kind="book.note", base="book", places=0))
    await world.settle(root, ev.Join(root.standing.fence))
    writing = await world.claim_one(kinds=stages)
    assert await world.claim() == []
    await world.settle(writing, result='"written"')
    again = await world.claim_one()
    page = await world.store.join_page(again.standing.seq, again.round)
    assert [(row.key, row.result) for row in page.rows] == [("doc", "written")]
