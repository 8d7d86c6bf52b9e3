"""A kind that only time ends is claimed once more after its deadline, and that claim's outcome decides (DESIGN §4)."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.model.task.binding import ItemSettlement
from ramet.store.answers import ClaimedTask
from tests.support.world import LEASE_SECONDS, World, checkpoint, failing, hand_back, settlement

SECONDS = 100.0
DAY = 86_400.0


async def item(world: World, **fields: Any) -> str:
    """A task that only time ends, with 100 s from its first claim, in a lineage of two days."""
    new = world.task(max_attempts=None, task_seconds=SECONDS, **fields)
    [task_id] = await world.submit(new, max_cost=1, lineage_seconds=2 * DAY)
    return task_id


async def snoozed(world: World, seconds: float = 1_000.0, **fields: Any) -> str:
    """One that was polled at once, and wants to be polled next after so long."""
    task_id = await item(world, **fields)
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, seconds))
    return task_id


async def told(world: World, task_id: str) -> tuple[str, str | None]:
    """The state of a task and why it is in it."""
    task = await world.get(task_id)
    return task.state.value, task.reason


async def test_a_snooze_beyond_the_deadline_ends_at_it_and_the_poll_then_decides(world: World) -> None:
    task_id = await snoozed(world)
    assert (await world.get(task_id)).available_at == world.clock.now + SECONDS
    world.clock.advance(SECONDS - 0.1)
    assert await world.claim() == []
    world.clock.advance(0.1)
    await world.sweep()
    assert await world.state(task_id) == "pending"
    claimed = await world.claim_one()
    answer = await world.settle(claimed, ev.Snooze(claimed.standing.fence, 5.0, "in_progress"))
    assert (answer.state, answer.reason) == ("failed", "task_deadline: in_progress")


async def test_what_came_between_the_last_poll_and_the_deadline_is_not_lost(world: World) -> None:
    task_id = await snoozed(world)
    world.clock.advance(10 * SECONDS)
    await world.sweep()
    claimed = await world.claim_one()
    assert claimed.id == task_id
    await world.settle(claimed, ev.Complete(claimed.standing.fence), result='"late"')
    assert await told(world, task_id) == ("success", None)
    assert (await world.get(task_id)).result == "late"


@pytest.mark.parametrize("how", ["snooze", "transient", "continue"])
async def test_every_outcome_that_asks_for_more_is_the_last_after_the_deadline(world: World, how: str) -> None:
    task_id = await snoozed(world)
    world.clock.advance(SECONDS)
    claimed = await world.claim_one()
    events: dict[str, ev.Event] = {
        "snooze": ev.Snooze(claimed.standing.fence, 1.0),
        "transient": failing(claimed, error_class="transient"),
        "continue": ev.Continue(claimed.standing.fence, True),
    }
    await world.settle(claimed, events[how])
    assert await told(world, task_id) == ("failed", "task_deadline")


@pytest.mark.parametrize("how", ["snooze", "transient", "lost", "handed back"])
async def test_a_claim_from_before_the_deadline_decides_nothing(world: World, how: str) -> None:
    """Whatever it asked for, the next claim is at once; of that one the outcome counts."""
    task_id = await item(world)
    claimed = await world.claim_one()
    world.clock.advance(SECONDS + 1.0)
    if how == "lost":
        world.clock.advance(LEASE_SECONDS)
        await world.sweep()
    elif how == "snooze":
        await world.settle(claimed, ev.Snooze(claimed.standing.fence, 500.0))
    elif how == "transient":
        await world.settle(claimed, failing(claimed, error_class="transient"))
    else:
        await world.settle(claimed, hand_back(claimed))
    await world.sweep()
    assert await world.state(task_id) == "pending"
    again = await world.claim_one()
    await world.settle(again, ev.Snooze(again.standing.fence, 1.0))
    assert await told(world, task_id) == ("failed", "task_deadline")


async def test_claims_that_are_lost_after_the_deadline_are_bounded(world: World) -> None:
    task_id = await snoozed(world)
    world.clock.advance(SECONDS)
    for _ in range(10):
        assert await world.state(task_id) == "pending"
        await world.claim_one()
        world.clock.advance(LEASE_SECONDS)
        await world.sweep()
    assert await told(world, task_id) == ("failed", "poison: 10 claims lost, 0 of them alone")


async def test_one_that_nobody_polls_again_lives_until_its_lineages_deadline(world: World) -> None:
    task_id = await snoozed(world)
    never = world.task(max_attempts=None, task_seconds=SECONDS)
    [never_begun] = await world.submit(never, tracking_id="queued", max_cost=1, lineage_seconds=2 * DAY)
    world.clock.advance(2 * DAY - 1.0)
    await world.sweep()
    assert await world.states(task_id, never_begun) == ["pending"] * 2
    world.clock.advance(1.0)
    await world.sweep()
    assert await told(world, task_id) == ("failed", "lineage_deadline")
    assert await told(world, never_begun) == ("failed", "lineage_deadline")


async def test_its_on_end_handler_runs_after_the_last_poll(world: World) -> None:
    task_id = await snoozed(world, on_end=1)
    world.clock.advance(SECONDS)
    await world.sweep()
    polled = await world.claim_one()
    assert polled.standing.ending is None
    await world.settle(polled, ev.Snooze(polled.standing.fence, 1.0))
    [last] = await world.claim()
    assert (last.standing.ending, await world.state(task_id)) == ("failed", "processing")
    await world.settle(last)
    assert await told(world, task_id) == ("failed", "task_deadline")


async def test_nobody_runs_its_on_end_handler_for_ever(world: World) -> None:
    task_id = await snoozed(world, on_end=1)
    await world.store.cancel(task_id, tree=False, by="ann")
    world.clock.advance(3_600.0)
    await world.sweep()
    assert (await world.get(task_id)).state == "cancelled"


async def test_a_paused_queue_stops_the_clock_of_the_last_poll(world: World) -> None:
    task_id = await snoozed(world)
    await world.store.pause_queue("default", by="ann", reason=None)
    world.clock.advance(10 * SECONDS)
    await world.store.resume_queue("default", by="ann", reason=None)
    await world.sweep()
    early = await world.claim_one()
    await world.settle(early, ev.Snooze(early.standing.fence, 5_000.0))
    task = await world.get(task_id)
    assert task.state == "pending"
    assert task.available_at == pytest.approx(world.clock.now + SECONDS)
    world.clock.advance(SECONDS + 0.01)
    last = await world.claim_one()
    await world.settle(last, ev.Snooze(last.standing.fence, 1.0))
    assert await told(world, task_id) == ("failed", "task_deadline")


async def test_a_retry_that_a_storm_put_off_stays_put_off(world: World) -> None:
    """The bound on retries a minute holds: such a poll comes after the deadline, and decides as any."""
    first = world.task(max_attempts=None, task_seconds=30.0)
    other = world.task(max_attempts=None, task_seconds=30.0)
    ids = await world.submit(first, other, max_cost=1, retries_per_minute=1)
    for claimed in await world.claim(2):
        await world.settle(claimed, failing(claimed, error_class="transient", jitter=0.0))
    tasks = [await world.get(name) for name in ids]
    # The fill of this minute is one: the other waits for the next, which begins after both deadlines.
    assert sorted(task.available_at or 0.0 for task in tasks) == [world.clock.now, world.clock.now + 60.0]


# --- bound tasks


async def lane(world: World, count: int) -> tuple[ClaimedTask, list[str]]:
    """A claim that is to settle so many bound tasks, which only time ends."""
    await world.submit(world.task(kind="page"), tracking_id="lane", lineage_seconds=2 * DAY)
    claimed = await world.claim_one(kinds=("page",))
    items = [world.task(kind="image", max_attempts=None, task_seconds=SECONDS) for _ in range(count)]
    ids = await world.submit(*items, tracking_id="items", max_cost=1, lineage_seconds=2 * DAY)
    bound = await world.store.bind(claimed.standing.seq, claimed.standing.fence, ids)
    assert [one.refused for one in bound] == [None] * count
    return claimed, ids


async def test_a_bound_one_is_judged_when_its_settler_has_run_since(world: World) -> None:
    claimed, [late, silent] = await lane(world, 2)
    [first, _] = await world.store.bound(claimed.id)
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 90.0))
    world.clock.advance(2 * SECONDS)
    await world.sweep()
    assert await world.states(late, silent) == ["pending"] * 2
    again = await world.claim_one(kinds=("page",))
    letting_go = ItemSettlement(late, first.number, "pending", reason="expired")
    await world.store.settle([settlement(again, checkpoint(again), items=[letting_go])])
    await world.sweep()
    assert await told(world, late) == ("failed", "task_deadline: expired")
    assert await world.state(silent) == "pending", "its settler is still looking"
    await world.settle(again, ev.Snooze(again.standing.fence, 90.0))
    await world.sweep()
    assert await told(world, silent) == ("failed", "task_deadline")


async def test_one_whose_settler_ended_without_a_word_is_claimed_once_more_and_not_bound(world: World) -> None:
    claimed, [task_id] = await lane(world, 1)
    world.clock.advance(2 * SECONDS)
    await world.settle(claimed)
    await world.sweep()
    assert await world.state(task_id) == "pending"
    assert await world.store.claimable("image", "default") == []
    await world.submit(world.task(kind="page"), tracking_id="next")
    settler = await world.claim_one(kinds=("page",))
    [refused] = await world.store.bind(settler.standing.seq, settler.standing.fence, [task_id])
    assert (refused.number, refused.refused) == (None, "overdue")
    polled = await world.claim_one(kinds=("image",))
    await world.settle(polled, ev.Snooze(polled.standing.fence, 5.0))
    assert await told(world, task_id) == ("failed", "task_deadline")
