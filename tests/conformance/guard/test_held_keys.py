"""A handler says how long its unique key stays held: never longer than its kind does, and only after a good end."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from tests.conformance.guard.test_uniqueness import DAY, WINDOW, holder_of, unique, wanted_by
from tests.support.world import World, effect, settlement, with_fence


async def settled(world: World, event: ev.Event | None = None, **more: Any) -> str:
    """A unique task that was claimed and settled once; returns its id."""
    [task_id] = await world.submit(unique(world))
    await world.settle(await world.claim_one(), event, **more)
    return task_id


NOT_ENDED_WELL: dict[str, tuple[ev.Event, float | None]] = {
    "failed": (ev.Fail(1, "no"), DAY),
    "permanent error": (ev.Error(1, "broken", "permanent", "broken", 1.0), DAY),
    "failed over its budget": (ev.Fail(1, Reason("cost", ceiling="day", limit=5, spent=6)), None),
}


@pytest.mark.parametrize("end", NOT_ENDED_WELL)
async def test_after_a_failure_the_usual_rule_holds(world: World, end: str) -> None:
    event, seconds = NOT_ENDED_WELL[end]
    await settled(world, event, hold_seconds=5.0)
    state, until = await holder_of(world)
    assert (state, until) == (("free", None) if seconds is None else ("failed", world.clock.now + seconds))


GOOD_ENDS: dict[str, ev.Event] = {
    "success": ev.Complete(1),
    "filtered": ev.Filter(1, "no"),
    "skipped": ev.Skip(1, "no need"),
}


@pytest.mark.parametrize("end", GOOD_ENDS)
async def test_held_for_nothing_it_is_free_at_once(world: World, end: str) -> None:
    await settled(world, GOOD_ENDS[end], hold_seconds=0.0)
    assert await holder_of(world) == ("free", None)
    assert (await wanted_by(world, "two", unique(world))).id


@pytest.mark.parametrize(("wanted", "held"), [(60.0, 60.0), (WINDOW, WINDOW), (1e12, WINDOW)])
@pytest.mark.parametrize("end", GOOD_ENDS)
async def test_held_for_a_time_it_is_free_after_it_and_no_later_than_its_kind_says(
    world: World, end: str, wanted: float, held: float
) -> None:
    task_id = await settled(world, GOOD_ENDS[end], hold_seconds=wanted)
    assert await holder_of(world) == (end, world.clock.now + held)
    world.clock.advance(held - 0.001)
    refused = await wanted_by(world, "two", unique(world))
    assert (refused.reason, refused.winner) == ("elsewhere", task_id)
    world.clock.advance(0.001)
    assert (await wanted_by(world, "three", unique(world))).id


async def test_thirty_days_of_a_kind_that_holds_for_good(world: World) -> None:
    await world.submit(world.task("a", unique_seconds=1e10))
    await world.settle(await world.claim_one(), hold_seconds=30 * DAY)
    world.clock.advance(30 * DAY - 1.0)
    assert (await wanted_by(world, "two", unique(world))).reason == "elsewhere"
    world.clock.advance(1.0)
    assert (await wanted_by(world, "three", unique(world))).id


async def test_a_claim_that_was_lost_holds_and_frees_nothing(world: World) -> None:
    await world.submit(unique(world))
    lost = await world.claim_one()
    world.clock.advance(301.0)
    await world.sweep()
    assert (await world.settle(lost, hold_seconds=0.0)).refused == "stale"
    current = await world.claim_one()
    assert (await world.settle(with_fence(current, 1), hold_seconds=0.0)).refused == "stale"
    assert (await wanted_by(world, "two", unique(world))).reason == "elsewhere"
    await world.settle(current)
    assert await holder_of(world) == ("success", world.clock.now + WINDOW)


async def test_what_a_snoozed_run_wanted_is_not_the_next_ones_word(world: World) -> None:
    await settled(world, ev.Snooze(1, 1.0), hold_seconds=0.0)
    assert await holder_of(world) == (None, None)
    world.clock.advance(1.0)
    await world.settle(await world.claim_one())
    assert await holder_of(world) == ("success", world.clock.now + WINDOW)


async def test_an_end_whose_write_is_refused_keeps_the_key_as_a_failure_does(world: World) -> None:
    await world.submit(unique(world, max_attempts=1))
    answer = await world.settle(await world.claim_one(), hold_seconds=0.0, writes=[effect("bad", -1)])
    assert answer.state == "failed"
    assert await holder_of(world) == ("failed", world.clock.now + DAY)


async def test_a_task_that_holds_no_key_ends_as_ever(world: World) -> None:
    await world.submit(world.task("a"))
    assert (await world.settle(await world.claim_one(), hold_seconds=0.0)).state == "success"
    assert await holder_of(world) == ("free", None)


async def test_revived_it_holds_its_key_again_until_its_next_end(world: World) -> None:
    task_id = await settled(world, ev.Skip(1, "no need"), hold_seconds=0.0)
    assert await world.store.revive([task_id], by="ada") == [task_id]
    assert (await wanted_by(world, "two", unique(world))).winner == task_id
    await world.settle(await world.claim_one())
    assert await holder_of(world) == ("success", world.clock.now + WINDOW)


async def test_excluded_by_a_person_it_is_held_for_all_of_its_window(world: World) -> None:
    task_id = await settled(world, NOT_ENDED_WELL["permanent error"][0], hold_seconds=0.0)
    await world.store.exclude([task_id], by="ada")
    assert await holder_of(world) == ("skipped", world.clock.now + WINDOW)


async def test_of_several_settled_together_each_holds_as_it_said(world: World) -> None:
    await world.submit(*(unique(world, f"k{number}") for number in range(3)))
    asked = dict(zip((0.0, 60.0, None), await world.claim(3), strict=True))
    await world.store.settle([settlement(claimed, hold_seconds=seconds) for seconds, claimed in asked.items()])
    rows = await world.store.read("SELECT key, held_until FROM ramet_uniques")
    now = world.clock.now
    assert dict(rows) == {asked[60.0].key: now + 60.0, asked[None].key: now + WINDOW}
