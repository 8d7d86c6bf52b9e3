"""An end by a deadline names the one that passed (promise I8): the task's own, or its lineage's."""

from __future__ import annotations

import pytest

from ramet.model.task import events as ev
from ramet.model.task.binding import ItemSettlement
from ramet.store.answers import ClaimedTask
from tests.support.world import World, failing


def event_of(how: str, claimed: ClaimedTask) -> ev.Event:
    fence = claimed.standing.fence
    events: dict[str, ev.Event] = {
        "error": failing(claimed, error_class="transient"),
        "snooze": ev.Snooze(fence, 5.0),
        "continue": ev.Continue(fence, progressed=True),
    }
    return events[how]


async def lineage_state(world: World) -> tuple[str, str | None]:
    lineage = await world.store.lineage("line")
    assert lineage is not None
    return lineage.state, lineage.reason


BY_LINEAGE = ("failed", "lineage_deadline")
HOWS = ["error", "snooze", "continue"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("own", [None, 500.0])
async def test_an_attempt_that_ends_after_the_lineages_deadline_is_told_of_it(
    world: World, how: str, own: float | None
) -> None:
    [task_id] = await world.submit(world.task("a", task_seconds=own), lineage_seconds=200.0)
    claimed = await world.claim_one()
    world.clock.advance(200.0)
    answer = await world.settle(claimed, event_of(how, claimed))
    assert (answer.state, answer.reason) == BY_LINEAGE
    assert ((await world.get(task_id)).reason, await lineage_state(world)) == ("lineage_deadline", BY_LINEAGE)
    await world.sweep()


@pytest.mark.parametrize("how", HOWS[:2])
async def test_a_task_that_had_its_own_time_is_told_of_that(world: World, how: str) -> None:
    [task_id] = await world.submit(world.task("a", task_seconds=100.0), lineage_seconds=200.0)
    claimed = await world.claim_one()
    world.clock.advance(100.0)
    assert (await world.settle(claimed, event_of(how, claimed))).reason == "task_deadline"
    world.clock.advance(100.0)
    await world.sweep()
    assert ((await world.get(task_id)).reason, await lineage_state(world)) == ("task_deadline", ("finished", None))


async def test_a_pending_task_found_overdue_before_its_lineage_is_told_of_the_lineage(world: World) -> None:
    waiting, own, fresh = await world.submit(
        world.task("a"),
        world.task("b", task_seconds=100.0),
        world.task("c", delay_seconds=150.0),
        lineage_seconds=200.0,
    )
    for claimed in await world.claim(2):
        await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1_000.0))
    world.clock.advance(200.0)
    await world.sweep()
    told = [(await world.get(task_id)).reason for task_id in (waiting, own, fresh)]
    assert (told, await lineage_state(world)) == (["lineage_deadline", "task_deadline", "lineage_deadline"], BY_LINEAGE)
    history = await world.store.history(waiting)
    assert history is not None
    assert [(row.name, row.reason) for row in history.transitions] == [("lineage_ended", "lineage_deadline")]


async def test_a_lease_that_lapsed_over_the_lineages_deadline_is_told_of_it(world: World) -> None:
    [task_id] = await world.submit(lineage_seconds=200.0)
    await world.claim_one()
    world.clock.advance(400.0)
    await world.sweep()
    assert ((await world.get(task_id)).reason, await lineage_state(world)) == ("lineage_deadline", BY_LINEAGE)


async def test_the_last_handler_of_a_task_hears_of_the_lineages_deadline(world: World) -> None:
    [task_id] = await world.submit(world.task("a", on_end=1), lineage_seconds=200.0)
    claimed = await world.claim_one()
    world.clock.advance(200.0)
    await world.settle(claimed, failing(claimed, error_class="transient"))
    last = await world.claim_one()
    assert (last.standing.ending, last.standing.ending_reason) == BY_LINEAGE
    await world.settle(last)
    assert ((await world.get(task_id)).reason, await lineage_state(world)) == ("lineage_deadline", BY_LINEAGE)


async def test_a_queue_that_stood_still_changes_nothing_about_whose_deadline_it_was(world: World) -> None:
    [task_id] = await world.submit(world.task("a", task_seconds=190.0), lineage_seconds=100.0)
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 10.0))
    await world.store.pause_queue("default", by="ann")
    world.clock.advance(1_000.3)
    await world.store.resume_queue("default", by="ann")
    await world.sweep()
    assert await world.state(task_id) == "pending"
    world.clock.advance(100.0)
    await world.sweep()
    assert ((await world.get(task_id)).reason, await lineage_state(world)) == ("lineage_deadline", BY_LINEAGE)


async def test_a_bound_task_that_is_let_go_too_late_is_told_of_its_lineage(world: World) -> None:
    [bound] = await world.submit(lineage_seconds=100.0)
    await world.submit(world.task("settler", priority=5), tracking_id="other")
    settler = await world.claim_one()
    [told] = await world.store.bind(settler.standing.seq, settler.standing.fence, [bound])
    assert told.number is not None
    world.clock.advance(100.0)
    item = ItemSettlement(bound, told.number, "pending")
    await world.settle(settler, items=[item])
    assert ((await world.get(bound)).reason, await lineage_state(world)) == ("lineage_deadline", BY_LINEAGE)
