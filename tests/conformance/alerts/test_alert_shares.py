"""Alerts about many lineages at once: each fires one over its threshold and not at it, and is over with its cause."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ramet.engine.client.schedules import Schedules
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.loops import tick
from ramet.model.alerts.rules import Alert, MonitorLimits
from ramet.model.lineage.limits import Limits
from ramet.model.task import events as ev
from tests.conformance.alerts.test_alerts import look
from tests.support.world import LEASE_SECONDS, World, failing

LIMITS = MonitorLimits()
EVERY_SECONDS = 300.0


async def alert(world: World) -> Alert:
    [found] = await world.store.alerts()
    return found


async def entries(world: World) -> dict[str, tuple[int, float]]:
    """By name what was counted, and the limit."""
    worst = (await alert(world)).evidence["worst"]
    return {entry["name"]: (entry["weight"], entry["limit"]) for entry in worst}


# --- chains at their limit, and invocations


async def scheduled(world: World) -> None:
    await Schedules(Registry(Limits()), world.store, Limits()).add("page", every_seconds=EVERY_SECONDS)


async def invocation(world: World, end: Callable[[int], ev.Event], claims: int = 1) -> None:
    """The next slot's run, of so many claims that all end like this."""
    world.clock.advance(EVERY_SECONDS)
    for _ in range(3):
        await tick(world.store, 300.0, Limits())
    for _ in range(claims):
        claimed = await world.claim_one()
        await world.settle(claimed, end(claimed.standing.fence))


def goes_on(fence: int) -> ev.Event:
    return ev.Continue(fence, True)


def fails(fence: int) -> ev.Event:
    return ev.Fail(fence, "down")


async def test_a_schedule_whose_chains_end_at_their_limit_is_told_at_the_third_of_twelve(world: World) -> None:
    await scheduled(world)
    for _ in range(2):
        await invocation(world, goes_on, claims=3)
    for _ in range(9):
        await invocation(world, ev.Complete)
    assert await look(world) == ([], [])
    await invocation(world, goes_on, claims=3)
    assert await look(world) == (["chain_limit"], [])
    found = await alert(world)
    assert (found.tracking_id, found.severity, await entries(world)) == (None, "warning", {"page": (3, 2)})
    assert found.subject == (
        "3 of the last 12 runs of schedule page stopped at their chain's limit with work left: let it run more often, "
        "or raise max_chain_depth"
    )
    await invocation(world, ev.Complete)
    assert await look(world) == ([], ["chain_limit"]), "the first of them is the thirteenth now"


async def test_a_chain_that_ends_with_its_work_is_no_alarm(world: World) -> None:
    await scheduled(world)
    for _ in range(12):
        await invocation(world, goes_on, claims=2)
        await world.settle(await world.claim_one())
    assert await look(world) == ([], [])


async def test_the_third_run_of_a_schedule_that_fails_in_a_row_is_told_and_a_good_one_ends_it(world: World) -> None:
    await scheduled(world)
    for end in (fails, fails, ev.Complete, fails, fails):
        await invocation(world, end)
    assert await look(world) == ([], [])
    await invocation(world, fails)
    assert await look(world) == (["failed_runs"], [])
    newest = (await world.store.lineage_page(limit=1)).lineages[0].tracking_id
    found = await alert(world)
    assert (found.tracking_id, found.severity, await entries(world)) == (None, "warning", {"page": (3, 2)})
    assert found.subject == f"the last 3 runs of schedule page failed, the newest is lineage {newest}"
    assert found.evidence["worst"][0]["newest"] == newest
    world.clock.advance(EVERY_SECONDS)
    await tick(world.store, 300.0, Limits())
    await tick(world.store, 300.0, Limits())
    assert await look(world) == ([], []), "one that runs says nothing yet"
    await world.settle(await world.claim_one())
    assert await look(world) == ([], ["failed_runs"])


async def test_a_failed_task_below_a_good_root_fails_a_run_and_a_cancelled_run_is_none(world: World) -> None:
    await scheduled(world)
    for _ in range(3):
        await invocation(world, ev.Complete, claims=0)
        await world.grow(await world.claim_one(), world.task("part"))
        part = await world.claim_one()
        await world.settle(part, fails(part.standing.fence))
        await invocation(world, ev.Complete, claims=0)
        running = (await world.store.lineage_page(states=["running"])).lineages[0]
        await world.store.cancel_lineage(running.tracking_id, by="ann")
        await world.sweep()
    assert await look(world) == (["failed_runs"], [])


async def test_errors_of_invocations_are_told_over_a_twentieth_of_twenty(world: World) -> None:
    limits = LIMITS._replace(failed_of_min=1_000)
    await scheduled(world)
    for end in [fails, fails, *[ev.Complete] * 17]:
        await invocation(world, end)
    assert await look(world, limits) == ([], []), "19 are too few to tell"
    await invocation(world, ev.Complete)
    assert await look(world, limits) == (["invocation_errors"], [])
    assert await entries(world) == {"page": (2, 1.0)}
    assert "2 of 20 invocations by schedule page" in (await alert(world)).subject
    for _ in range(20):
        await invocation(world, ev.Complete)
    assert await look(world, limits) == ([], ["invocation_errors"]), "2 of 40 are a twentieth"


async def test_errors_that_retries_dilute_are_told_by_their_number(world: World) -> None:
    limits = LIMITS._replace(errors_share_max=1.0, errors_max=3, failed_of_min=1_000, failed_runs=1_000)
    await scheduled(world)
    for _ in range(3):
        await invocation(world, fails)
    assert await look(world, limits) == ([], [])
    world.clock.advance(EVERY_SECONDS)
    await tick(world.store, 300.0, Limits())
    await world.claim_one()
    world.clock.advance(LEASE_SECONDS)
    await world.sweep()
    assert await look(world, limits) == (["invocation_errors"], []), "a lost claim is an error too"
    assert await entries(world) == {"page": (4, 3)}


# --- tasks at their deadline


@pytest.mark.parametrize("on_end", [0, 1])
async def test_tasks_that_time_out_are_told_over_the_threshold_in_an_hour(world: World, on_end: int) -> None:
    """While they wait and by an attempt's outcome; those whose on_end handler runs count once."""
    limits = LIMITS._replace(timeouts_max=4, failed_of_min=1_000)

    async def some(name: str, count: int) -> None:
        await world.submit(*(world.task(task_seconds=100.0, on_end=on_end) for _ in range(count)), tracking_id=name)
        first, *others = await world.claim(count)
        for claimed in others:
            await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1_000.0))
        world.clock.advance(100.0)
        await world.settle(first, ev.Snooze(first.standing.fence, 1.0))
        await world.sweep()
        await world.run_all()

    await some("four", 4)
    assert await look(world, limits) == ([], [])
    world.clock.advance(60.0)
    await some("five", 1)
    assert await look(world, limits) == (["task_timeouts"], [])
    assert await entries(world) == {"page": (5, 4)}
    assert (await alert(world)).subject.startswith("5 tasks of kind page ended at their own deadline within 3600 s")
    world.clock.advance(3_600.0 - 159.0)
    assert await look(world, limits) == ([], ["task_timeouts"]), "the first four are an hour old"


async def test_tasks_that_time_out_are_told_that_are_few_of_every_kind(world: World) -> None:
    limits = LIMITS._replace(timeouts_max=3, failed_of_min=1_000)
    kinds = ("page", "page", "image", "image")
    await world.submit(*(world.task(kind=kind, task_seconds=100.0) for kind in kinds))
    for claimed in await world.claim(4):
        await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1_000.0))
    world.clock.advance(100.0)
    await world.sweep()
    assert await look(world, limits) == (["task_timeouts"], [])
    assert await entries(world) == {"all kinds": (4, 3)}
    assert (await alert(world)).subject.startswith("4 tasks of all kinds ended at their own deadline within 3600 s")
    assert await look(world, limits._replace(timeouts_max=4)) == ([], ["task_timeouts"])


async def test_a_lineages_own_deadline_is_no_time_out_of_its_tasks(world: World) -> None:
    limits = LIMITS._replace(timeouts_max=0, failed_of_min=1_000)
    await world.submit(world.task(task_seconds=None), lineage_seconds=50.0)
    claimed = await world.claim_one()
    world.clock.advance(60.0)
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1.0))
    await world.sweep()
    assert await look(world, limits) == ([], [])


# --- lineages that failed


async def end_lineages(world: World, good: int, bad: int, kind: str = "page", cancelled: int = 0) -> None:
    """So many lineages of one task each."""
    names = [f"{kind}{at} {world.clock.now}" for at in range(good + bad + cancelled)]
    for name in names:
        await world.submit(world.task(kind=kind), tracking_id=name)
    for at, name in enumerate(names):
        if at >= good + bad:
            await world.store.cancel_lineage(name, by="ann")
            continue
        claimed = await world.claim_one(kinds=(kind,))
        await world.settle(claimed, failing(claimed) if at < bad else None)
    await world.sweep()
    world.clock.advance(1.0)


async def test_failed_lineages_are_told_over_a_tenth_of_ten(world: World) -> None:
    await end_lineages(world, good=7, bad=2, cancelled=5)
    assert await look(world) == ([], []), "nine are too few to tell, and who cancels knows"
    await end_lineages(world, good=1, bad=0)
    assert await look(world) == (["failed_lineages"], [])
    assert await entries(world) == {"page": (2, 1.0)}
    await end_lineages(world, good=10, bad=0)
    assert await look(world) == ([], ["failed_lineages"]), "2 of 20 are a tenth"


async def test_a_kind_of_lineages_is_told_that_the_others_would_hide(world: World) -> None:
    await end_lineages(world, good=8, bad=2, kind="image")
    await end_lineages(world, good=60, bad=0)
    assert await look(world) == (["failed_lineages"], [])
    assert await entries(world) == {"image": (2, 1.0)}


async def test_lineages_of_many_kinds_are_told_together(world: World) -> None:
    await end_lineages(world, good=4, bad=1, kind="image")
    await end_lineages(world, good=4, bad=1)
    assert await look(world) == (["failed_lineages"], [])
    assert await entries(world) == {"all kinds": (2, 1.0)}


async def test_failed_lineages_are_told_by_their_number_too_and_by_their_deadline(world: World) -> None:
    limits = LIMITS._replace(failed_share_max=1.0, failed_max=2)
    await end_lineages(world, good=20, bad=2)
    assert await look(world, limits) == ([], [])
    await world.submit(tracking_id="slow", lineage_seconds=10.0)
    world.clock.advance(10.0)
    await world.sweep()
    assert await look(world, limits) == (["failed_lineages"], [])
    assert await entries(world) == {"page": (3, 2)}
    world.clock.advance(3_600.0)
    assert await look(world, limits) == ([], ["failed_lineages"])
