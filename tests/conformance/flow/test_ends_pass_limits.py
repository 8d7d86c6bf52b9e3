"""What ends goes past pauses, rates and breakers, and none of them can hold its end for ever (DESIGN §4, I6)."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.flow.resources import ResourcePolicy
from ramet.model.lineage.limits import ENDING_SECONDS
from ramet.model.task import events as ev
from tests.support.world import World, failing, settlement

DAY = 86_400.0


async def ending(world: World, **fields: Any) -> str:
    """A task that a person cancelled after its handler ran once; its ``on_end`` handler is still to come."""
    [task_id] = await world.submit(world.task(on_end=1, **fields))
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, DAY))
    await world.store.cancel(task_id, tree=False, by="ann")
    assert await world.state(task_id) == "pending"
    return task_id


async def test_in_a_paused_queue_an_end_waits_for_the_resume(world: World) -> None:
    task_id = await ending(world)
    await world.store.pause_queue("default", by="ann")
    world.clock.advance(ENDING_SECONDS - 1.0)
    await world.sweep()
    assert await world.claim(10) == []
    await world.store.resume_queue("default", by="ann")
    await world.settle(await world.claim_one())
    assert ((await world.get(task_id)).reason, await world.state(task_id)) == ("cancelled by ann", "cancelled")
    await world.check()


async def test_no_pause_of_a_queue_holds_an_end_for_longer_than_an_hour(world: World) -> None:
    await world.submit(world.task(), tracking_id="other")
    waiting = await world.claim_one()
    await world.settle(waiting, ev.Snooze(waiting.standing.fence, DAY))
    task_id = await ending(world)
    await world.store.pause_queue("default", by="ann")
    world.clock.advance(ENDING_SECONDS)
    await world.sweep()
    task = await world.get(task_id)
    assert (task.state.value, task.reason) == ("cancelled", "cancelled by ann; on_end: not done within 3600 s")
    assert await world.state(waiting.id) == "pending", "its clock stands still"
    await world.check()


async def test_in_a_paused_lineage_an_end_is_claimed_all_the_same(world: World) -> None:
    task_id = await ending(world)
    await world.submit(world.task(), tracking_id="line 2")
    await world.store.pause_lineage("line", by="ann")
    assert task_id in {claimed.id for claimed in await world.claim(10)}


async def test_an_end_goes_past_its_resource_and_takes_none_of_its_tokens(world: World) -> None:
    await world.store.limit_resource(ResourcePolicy("mill", rate_per_second=0.001, burst=2.0), by="ann")
    await ending(world, resource="mill")
    await world.submit(world.task(resource="mill"), tracking_id="second")
    last, first = sorted(await world.claim(10), key=lambda claimed: claimed.standing.ending is None)
    assert (last.standing.ending, first.standing.ending) == ("cancelled", None)
    await world.check()
    for delay_seconds in (0.0, 5.0):
        event = ev.HandBack(last.standing.fence, delay_seconds)
        await world.store.settle([settlement(last, event)])
        world.clock.advance(delay_seconds)
        await world.submit(world.task(resource="mill"), tracking_id=f"after {delay_seconds}")
        [last] = await world.claim(10)
        assert last.standing.ending == "cancelled", "there is no token left, and it gave none back"
        await world.check()


@pytest.mark.parametrize("resource", [None, "mill"])
async def test_a_retry_after_that_names_no_resource_means_the_tasks_own_if_it_has_one(
    world: World, resource: str | None
) -> None:
    await world.submit(world.task(resource=resource))
    await world.settle(await world.claim_one(), ev.Snooze(1, 60.0, "retry after 60 s", ""))
    assert [row.name for row in await world.store.resources()] == ([] if resource is None else ["mill"])
    assert [row.paused_until > 0 for row in await world.store.resources()] == ([] if resource is None else [True])
    await world.check()


async def test_the_end_of_a_task_says_nothing_about_its_resource(world: World) -> None:
    """Its ``on_end`` handler may not even have asked it."""
    await world.store.limit_resource(ResourcePolicy("host", breaker_failures=2, cooldown_seconds=5.0), by="ann")
    await ending(world, resource="host")
    before = await world.store.resources("host")
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed, error_class="transient"))
    [after] = await world.store.resources("host")
    assert [(after.failures, after.tokens)] == [(row.failures, row.tokens) for row in before]
