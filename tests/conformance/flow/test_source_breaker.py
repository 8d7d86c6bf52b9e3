"""The breaker of a resource without a cool-down is its health: it counts runs, and a handler can open it."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.flow.resources import Resource, ResourcePolicy
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask
from tests.support.world import World, checkpoint, effect, failing, settlement, with_fence

SOURCE = "source:acme"
OFF = "the board is gone (404)"


async def run_of(world: World, name: str, resource: str | None = SOURCE, **fields: Any) -> ClaimedTask:
    """A run of the source, in a lineage of its own, that was claimed."""
    new: NewTask = world.task(f"run {name}", resource=resource, **fields)
    await world.submit(new, tracking_id=f"lineage {name}")
    return await world.claim_task(new.id)


async def failed_run(world: World, name: str) -> None:
    """All attempts of a run fail."""
    claimed = await run_of(world, name, max_attempts=2)
    await world.settle(claimed, failing(claimed, "503", "transient"))
    world.clock.advance(10.0)
    again = await world.claim_task(claimed.id)
    assert (await world.settle(again, failing(again, "503", "transient"))).state == "failed"


async def source(world: World, name: str = SOURCE) -> Resource:
    found = await world.store.resources(name)
    return found[0] if found else Resource(name)


async def count(world: World) -> int:
    """Failures in a row."""
    return (await source(world)).failures


# --- what counts


async def test_the_fifth_failed_run_opens_it_in_the_transaction_that_settles(world: World) -> None:
    for number in range(4):
        await failed_run(world, str(number))
    assert (await count(world), (await source(world)).opened_at) == (4, None)
    waiting = world.task("waiting", resource=SOURCE)
    fifth = await run_of(world, "fifth")
    await world.submit(waiting, tracking_id="later")
    await world.settle(fifth, failing(fifth, "no such path", "permanent"))
    opened = await source(world)
    assert (opened.opened_at, opened.opened_by) == (world.clock.now, "engine")
    assert opened.opened_reason == "5 failures in a row, the last: no such path"
    assert await world.claim(10) == []
    await world.sweep()
    assert (await world.get(waiting.id)).reason == f"source_disabled: {SOURCE}, {opened.opened_reason}"


async def test_a_fifth_failure_that_is_not_accepted_opens_nothing(world: World) -> None:
    for number in range(4):
        await failed_run(world, str(number))
    fifth = await run_of(world, "fifth")
    stale = with_fence(fifth, fifth.standing.fence + 1)
    assert (await world.settle(stale, failing(stale, "503", "permanent"))).refused == "stale"
    assert (await count(world), (await source(world)).opened_at) == (4, None)


@pytest.mark.parametrize("max_attempts", [1, 2, 4])
async def test_a_run_counts_once_however_often_it_was_tried(world: World, max_attempts: int) -> None:
    claimed = await run_of(world, "one", max_attempts=max_attempts)
    for attempt in range(1, max_attempts + 1):
        assert await count(world) == 0
        answer = await world.settle(claimed, failing(claimed, f"try {attempt}", "transient"))
        if answer.state == "pending":
            world.clock.advance(60.0)
            claimed = await world.claim_task(claimed.id)
    assert (await world.state(claimed.id), await count(world)) == ("failed", 1)


async def test_a_permanent_failure_and_one_of_the_handlers_own_count_once(world: World) -> None:
    claimed = await run_of(world, "permanent")
    await world.settle(claimed, failing(claimed, "404", "permanent"))
    assert await count(world) == 1
    claimed = await run_of(world, "own")
    await world.settle(claimed, ev.Fail(claimed.standing.fence, "the shape is wrong"))
    assert await count(world) == 2


async def test_a_success_begins_anew(world: World) -> None:
    for number in range(4):
        await failed_run(world, str(number))
    await world.settle(await run_of(world, "good"))
    for number in range(4, 8):
        await failed_run(world, str(number))
    assert (await count(world), (await source(world)).opened_at) == (4, None)


@pytest.mark.parametrize("event", [ev.Filter(1, "no"), ev.Skip(1, "suspect: it had listings")])
async def test_a_run_that_was_filtered_or_skipped_neither_counts_nor_begins_anew(world: World, event: ev.Event) -> None:
    await failed_run(world, "bad")
    await world.settle(await run_of(world, "skipped"), event)
    assert await count(world) == 1


async def test_a_server_that_asks_to_wait_is_no_failure_also_when_the_run_ends_by_its_deadline(world: World) -> None:
    """As often as it is asked, however the run ends, and whatever is left of its attempts."""
    for number in range(6):
        claimed = await run_of(world, str(number), task_seconds=100.0, max_attempts=1)
        for _ in range(3):
            busy = ev.Snooze(claimed.standing.fence, 20.0, "429", "")
            assert (await world.settle(claimed, busy)).state == "pending"
            world.clock.advance(20.0)
            claimed = await world.claim_task(claimed.id)
        await world.settle(claimed, ev.Snooze(claimed.standing.fence, 500.0, "429", ""))
        world.clock.advance(100.0)
        await world.sweep()
        assert (await world.get(claimed.id)).state == "failed"
        assert (await world.get(claimed.id)).reason == "task_deadline"
        world.clock.advance(500.0)
    assert (await count(world), (await source(world)).opened_at) == (0, None)


async def test_a_wait_at_the_deadline_of_a_run_that_only_time_ends_is_no_failure(world: World) -> None:
    new = world.task("polled", resource=SOURCE, task_seconds=50.0, max_attempts=None)
    await world.submit(new, max_cost=1)
    first = await world.claim_one()
    await world.settle(first, ev.Snooze(first.standing.fence, 500.0, "429", "api"))
    world.clock.advance(50.0)
    await world.sweep()
    last = await world.claim_one()
    answer = await world.settle(last, ev.Snooze(last.standing.fence, 500.0, "429", ""))
    assert (answer.state, answer.reason, await count(world)) == ("failed", "task_deadline: 429", 0)


async def test_ends_from_outside_say_nothing_of_the_source(world: World) -> None:
    await world.store.cancel((await run_of(world, "cancelled")).id, tree=False, by="ada")
    lost = await run_of(world, "lost")
    world.clock.advance(301.0)
    await world.sweep()
    assert await world.state(lost.id) == "pending"
    assert await count(world) == 0


# --- opened again by a person


async def test_a_person_closes_it_and_that_is_recorded_and_counts_begin_anew(world: World) -> None:
    for number in range(5):
        await failed_run(world, str(number))
    assert (await source(world)).opened_at is not None
    assert await world.store.close_breaker(SOURCE, by="ada", reason="the board is back")
    closed = await source(world)
    assert (closed.failures, closed.opened_at, closed.opened_by, closed.opened_reason) == (0, None, None, None)
    [act] = await world.store.acts()
    assert (act.act, act.subject, act.by, act.reason) == ("close_breaker", SOURCE, "ada", "the board is back")
    await failed_run(world, "after")
    assert (await count(world), (await source(world)).opened_at) == (1, None)


# --- switched off by a handler


async def test_a_stale_claim_switches_nothing_off(world: World) -> None:
    claimed = await run_of(world, "one")
    world.clock.advance(301.0)
    assert (await world.settle(claimed, switch_off=OFF)).refused == "stale"
    assert (await source(world)).opened_at is None


async def test_a_claim_of_an_ended_lineage_switches_nothing_off(world: World) -> None:
    claimed = await run_of(world, "one")
    await world.store.cancel_lineage("lineage one", by="ada")
    assert (await world.settle(claimed, switch_off=OFF)).refused is not None
    assert (await source(world)).opened_at is None


async def test_a_settlement_whose_write_is_refused_switches_nothing_off(world: World) -> None:
    claimed = await run_of(world, "one")
    await world.settle(claimed, switch_off=OFF, writes=[effect("bad", -1)])
    assert (await source(world)).opened_at is None


@pytest.mark.parametrize("event", [None, ev.Fail(1, "gone"), ev.Skip(1, "gone"), ev.Filter(1, "gone")])
async def test_it_opens_with_the_end_and_what_waits_is_skipped(world: World, event: ev.Event | None) -> None:
    claimed = await run_of(world, "one")
    waiting = world.task("waiting", resource=SOURCE)
    other = world.task("other", resource="source:other")
    await world.submit(waiting, other, tracking_id="later")
    await world.settle(claimed, event, switch_off=OFF, writes=[effect("disabled")])
    opened = await source(world)
    assert (opened.opened_at, opened.opened_by, opened.opened_reason) == (world.clock.now, "engine", OFF)
    assert await world.effects() == ["disabled"]
    assert [taken.id for taken in await world.claim(10)] == [other.id]
    await world.sweep()
    task = await world.get(waiting.id)
    assert (task.state, task.reason) == ("skipped", f"source_disabled: {SOURCE}, {OFF}")


async def test_it_opens_with_a_checkpoint_and_a_later_success_does_not_close_it(world: World) -> None:
    claimed, beside = await run_of(world, "one"), await run_of(world, "beside")
    await world.settle(claimed, checkpoint(claimed), switch_off=OFF)
    assert (await source(world)).opened_reason == OFF
    await world.settle(claimed)
    await world.settle(beside)
    assert (await source(world)).opened_reason == OFF


async def test_in_one_batch_with_successes_it_stays_open(world: World) -> None:
    first, gone, last = [await run_of(world, name) for name in ("first", "gone", "last")]
    await world.store.settle([settlement(first), settlement(gone, switch_off=OFF), settlement(last)])
    assert (await source(world)).opened_reason == OFF


async def test_what_is_open_keeps_its_first_reason(world: World) -> None:
    first, second = await run_of(world, "first"), await run_of(world, "second")
    await world.store.open_breaker(SOURCE, by="ada", reason="asked us to stop")
    await world.settle(first, switch_off=OFF)
    opened = await source(world)
    assert (opened.opened_by, opened.opened_reason) == ("ada", "asked us to stop")
    await world.store.close_breaker(SOURCE, by="ada")
    await world.settle(second, switch_off=OFF)
    assert (await source(world)).opened_by == "engine"


async def test_with_a_cool_down_it_lets_one_task_through_after_it(world: World) -> None:
    await world.store.limit_resource(ResourcePolicy(SOURCE, cooldown_seconds=60.0), by="ada")
    claimed = await run_of(world, "one")
    await world.settle(claimed, ev.Fail(1, "gone"), switch_off=OFF)
    await world.submit(world.task(resource=SOURCE), world.task(resource=SOURCE), tracking_id="later")
    await world.sweep()
    assert await world.claim(10) == []
    world.clock.advance(60.0)
    probe = await world.claim_one()
    await world.settle(probe, ev.Fail(1, "gone"), switch_off="still gone")
    opened = await source(world)
    assert (opened.opened_at, opened.opened_reason) == (world.clock.now, "still gone")


async def test_a_policy_without_a_breaker_can_be_switched_off_all_the_same(world: World) -> None:
    await world.store.limit_resource(ResourcePolicy(SOURCE, breaker_failures=0), by="ada")
    await world.settle(await run_of(world, "one"), switch_off=OFF)
    assert (await source(world)).opened_reason == OFF


async def test_a_task_without_a_resource_switches_nothing_off(world: World) -> None:
    claimed = await run_of(world, "one", resource=None)
    assert (await world.settle(claimed, switch_off=OFF)).state == "success"
    assert await world.store.resources() == []
