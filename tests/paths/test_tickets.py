"""Tickets: who comes first, who keeps its place and who loses it (DESIGN §7). Every test runs on every database."""

from __future__ import annotations

import pytest

from ramet.model.flow.resources import ResourcePolicy
from ramet.model.lineage.limits import PAUSE_SECONDS_MAX
from ramet.model.task import events as ev
from tests.paths.named_tasks import Desk, on
from tests.paths.reference import HOLD_SECONDS
from tests.support.world import LEASE_SECONDS, hand_back

HOST = "host:a"
LONG = HOLD_SECONDS + 60.0


async def recorded(desk: Desk, name: str) -> list[str]:
    """What is stored of a task beside its attempts."""
    history = await desk.store.history(name)
    assert history is not None
    return [record.name for record in history.transitions]


# --- the order of tickets


async def test_a_parent_submitted_after_its_children_waits_for_all_of_them(desk: Desk) -> None:
    await desk.submit(*(on(f"child{number}", "doc1", f"{number}") for number in range(4)), on("parent", "doc1"))
    assert await desk.start() == ["child0", "child1", "child2", "child3"]
    await desk.end("child3", "child0", "child2")
    assert await desk.start() == []
    await desk.end("child1")
    assert await desk.start() == ["parent"]


async def test_nobody_overtakes_a_waiting_parent(desk: Desk) -> None:
    await desk.submit(
        on("before", "doc1", "a"), on("parent", "doc1"), on("after", "doc1", "b"), on("same", "doc1", "a")
    )
    assert await desk.order() == [["before"], ["parent"], ["after", "same"]]


async def test_priority_does_not_overtake_on_a_path(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"), on("urgent", "doc1", priority=100), on("other", "doc2", priority=-1))
    assert await desk.start() == ["first", "other"]
    await desk.end("first")
    assert await desk.start() == ["urgent"]


async def test_a_delayed_task_takes_its_ticket_when_it_is_due(desk: Desk) -> None:
    await desk.submit(on("late", "doc1", delay_seconds=100.0), on("first", "doc1"), on("second", "doc1"))
    assert await desk.start() == ["first"]
    await desk.wait(100.0)
    await desk.submit(on("third", "doc1"))
    await desk.end("first")
    assert await desk.order() == [["second"], ["late"], ["third"]]


async def test_delayed_tasks_stand_in_the_order_of_their_times(desk: Desk) -> None:
    await desk.submit(
        on("second", "doc1", delay_seconds=20.0),
        on("third", "doc1", delay_seconds=20.0),
        on("first", "doc1", delay_seconds=10.0),
    )
    assert await desk.start() == []
    await desk.wait(30.0)
    assert await desk.order() == [["first"], ["second"], ["third"]]


async def test_a_worker_with_nothing_to_claim_does_what_is_due(desk: Desk) -> None:
    await desk.submit(on("late", "doc1", delay_seconds=10.0))
    assert await desk.start() == []
    desk.world.clock.advance(10.0)
    await desk.store.tend_paths()
    assert await desk.start() == ["late"]


async def test_a_reserved_path_has_its_ticket_from_submission(desk: Desk) -> None:
    await desk.submit(
        on("late", "doc1", delay_seconds=100.0, reserved=True), on("after", "doc1", "a"), on("free", "doc2")
    )
    assert await desk.start() == ["free"]
    await desk.wait(99.0)
    assert await desk.start() == []
    await desk.wait(1.0)
    assert await desk.start() == ["late"]
    await desk.end("late")
    assert await desk.start() == ["after"]


# --- what keeps a ticket


@pytest.mark.parametrize("how", ["retry", "snooze", "continue", "hand_back", "delayed_hand_back", "reclaim"])
async def test_a_task_that_comes_back_keeps_its_place(desk: Desk, how: str) -> None:
    await desk.submit(on("first", "doc1"), on("second", "doc1"), on("below", "doc1", "a"))
    await desk.start()
    match how:
        case "retry":
            await desk.retry("first", 60.0)
        case "snooze":
            await desk.snooze("first", 60.0)
        case "continue":
            await desk.told("first", ev.Continue(desk.fence("first"), True))
        case "hand_back":
            await desk.told("first", hand_back(desk.claims["first"]))
        case "delayed_hand_back":
            await desk.told("first", ev.HandBack(desk.fence("first"), 60.0))
        case _:
            await desk.wait(LEASE_SECONDS)
    await desk.submit(on("third", "doc1"))
    if how in ("retry", "snooze", "delayed_hand_back"):
        assert await desk.start() == []
        await desk.wait(60.0)
    assert await desk.order() == [["first"], ["second"], ["below"], ["third"]]


async def test_a_paused_lineage_keeps_its_tickets(desk: Desk) -> None:
    line = await desk.submit(on("first", "doc1"), on("second", "doc1", "a"))
    await desk.submit(on("foreign", "doc1", "a"), on("free", "doc2"))
    assert await desk.store.pause_lineage(line, by="ada")
    assert await desk.start() == ["free"]
    await desk.wait(PAUSE_SECONDS_MAX / 100)
    assert await desk.start() == []
    assert await desk.store.resume_lineage(line, by="ada")
    assert await desk.order() == [["first"], ["second"], ["foreign"]]


async def test_a_paused_queue_keeps_its_tickets(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"), on("second", "doc1"))
    assert await desk.store.pause_queue("default", by="ada")
    await desk.wait(2 * LONG)
    assert await desk.start() == []
    assert await desk.store.resume_queue("default", by="ada")
    assert await desk.order() == [["first"], ["second"]]


# --- what loses it


@pytest.mark.parametrize("how", ["retry", "snooze"])
async def test_held_back_for_too_long_a_task_gives_its_place_up(desk: Desk, how: str) -> None:
    await desk.submit(on("first", "doc1"), on("a", "doc1", "a"), on("b", "doc1", "a"), on("same", "doc1"))
    await desk.start()
    await (desk.retry if how == "retry" else desk.snooze)("first", LONG)
    await desk.rest()
    # What stood behind it at its own path goes on; what is below waits for it, and keeps its order.
    assert await desk.start() == ["same"]
    await desk.submit(on("new", "doc1", "z"))
    await desk.end("same")
    assert await desk.start() == ["new"]
    await desk.end("new")
    await desk.wait(LONG)
    assert await desk.order() == [["first"], ["a"], ["b"]]
    assert await recorded(desk, "first") == ["path_given_up", "path_ticket"]


async def test_exactly_as_long_as_a_place_may_be_held_is_not_too_long(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"), on("same", "doc1"))
    await desk.start()
    await desk.snooze("first", HOLD_SECONDS)
    await desk.rest()
    assert await desk.start() == []
    await desk.wait(HOLD_SECONDS)
    assert await desk.order() == [["first"], ["same"]]
    assert await recorded(desk, "first") == []


async def test_the_time_that_a_place_is_held_counts_from_the_first_return(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"), on("same", "doc1"))
    for seconds in (400.0, 400.0):
        assert await desk.start() == ["first"]
        await desk.snooze("first", seconds)
        await desk.wait(seconds)
    assert await desk.start() == ["first"]
    await desk.snooze("first", 150.0)
    await desk.rest()
    assert await desk.start() == ["same"]


async def test_a_new_ticket_may_be_held_as_long_as_the_first(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"))
    await desk.start()
    await desk.snooze("first", LONG)
    await desk.wait(LONG)
    await desk.submit(on("same", "doc1"))
    assert await desk.start() == ["first"]
    await desk.snooze("first", HOLD_SECONDS)
    await desk.rest()
    assert await desk.start() == []


async def test_one_lost_for_long_comes_back_with_a_new_ticket(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"), on("same", "doc1"), on("below", "doc1", "a"))
    await desk.start()
    await desk.retry("first", 1.0)
    await desk.wait(1.0)
    assert await desk.start() == ["first"]
    await desk.wait(LONG)
    assert await desk.order() == [["same"], ["first"], ["below"]]


async def test_a_task_that_waits_for_a_breaker_gives_its_place_up(desk: Desk) -> None:
    await desk.store.limit_resource(ResourcePolicy(HOST, cooldown_seconds=600.0), by="ada")
    await desk.submit(on("first", "doc1", resource=HOST), on("below", "doc1", "a"), on("same", "doc1"))
    await desk.store.open_breaker(HOST, by="ada")
    assert await desk.start() == []
    await desk.rest()
    assert await desk.start() == ["same"]
    await desk.end("same")
    await desk.wait(120.0)
    assert await desk.start() == []
    await desk.submit(on("new", "doc1"))
    assert await desk.start() == ["new"]
    await desk.store.close_breaker(HOST, by="ada")
    await desk.wait(60.0)
    await desk.end("new")
    assert await desk.order() == [["first"], ["below"]]
    assert await recorded(desk, "first") == ["path_given_up", "path_ticket"]


async def test_who_gave_its_place_up_tries_a_resource_when_its_cool_down_is_over(desk: Desk) -> None:
    """Nobody stands at the breaker any more: a claim that finds that out leaves the resource to whoever comes."""
    await desk.store.limit_resource(ResourcePolicy(HOST, cooldown_seconds=600.0), by="ada")
    await desk.submit(on("first", "doc1", resource=HOST))
    await desk.store.open_breaker(HOST, by="ada")
    assert await desk.start() == []
    await desk.rest()
    desk.world.clock.advance(600.0)
    assert await desk.start() == []
    await desk.wait(30.0)
    assert await desk.start() == ["first"]


async def test_a_task_with_a_path_is_skipped_for_a_source_that_only_people_switch_on(desk: Desk) -> None:
    """Whether it holds its path already, or is to take its place later."""
    await desk.submit(on("first", "doc1", resource=HOST), on("later", "doc2", resource=HOST, delay_seconds=60.0))
    await desk.store.open_breaker(HOST, by="ada", reason="it is gone")
    await desk.rest()
    assert await desk.told_of("first") == ("skipped", f"source_disabled: {HOST}, it is gone")
    await desk.wait(60.0)
    assert await desk.told_of("later") == ("skipped", f"source_disabled: {HOST}, it is gone")


async def test_those_behind_a_place_given_up_wait_for_who_gave_it_up_whatever_ends_first(desk: Desk) -> None:
    """Between them stands a foreign task: what is below is looked at only when that has ended."""
    await desk.submit(
        on("first", "d", "e"), on("above", "d"), on("below", "d", "e", "f"), on("deep", "d", "e", "f", "g")
    )
    await desk.start()
    await desk.snooze("first", LONG)
    await desk.rest()
    assert await desk.start() == ["above"]
    await desk.end("above")
    await desk.rest()
    assert await desk.start() == []
    await desk.wait(LONG)
    assert await desk.order() == [["first"], ["below"], ["deep"]]


async def test_who_gave_its_place_up_and_fails_skips_those_behind_it(desk: Desk) -> None:
    await desk.submit(
        on("first", "doc1"), on("below", "doc1", "a"), on("run", "doc1", "b", on_dependency_failure="run")
    )
    await desk.start()
    await desk.snooze("first", LONG)
    await desk.rest()
    await desk.cancel("first")
    await desk.rest()
    assert await desk.told_of("below") == ("skipped", "dependency_failed: first")
    assert await desk.order() == [["run"]]


async def starts_after(desk: Desk, children: int, at_once: int) -> int:
    """How many children have ended when the parent starts that stands between two such crowds."""
    await desk.submit(*(on(f"before{number}", "doc1", f"{number}") for number in range(children)))
    await desk.submit(on("parent", "doc1"))
    await desk.submit(*(on(f"after{number}", "doc1", f"{number % 7}") for number in range(children)))
    ended = 0
    while names := await desk.start(at_once):
        if "parent" in names:
            assert names == ["parent"]
            return ended
        assert all(name.startswith("before") for name in names)
        await desk.store.settle([desk.asked(name) for name in names])
        ended += len(names)
    raise AssertionError(f"the parent did not start after {ended} children")


async def drain(desk: Desk, at_once: int) -> int:
    """Complete whatever is left."""
    await desk.store.settle([desk.asked("parent")])
    ended = 0
    while not await desk.store.idle(["page"]):
        await desk.rest()
        names = await desk.start(at_once)
        assert names, "somebody is stuck"
        await desk.store.settle([desk.asked(name) for name in names])
        ended += len(names)
    return ended


async def test_a_parent_starts_after_exactly_those_before_it(desk: Desk) -> None:
    assert await starts_after(desk, 60, 7) == 60
    assert await drain(desk, 7) == 60


@pytest.mark.nightly
@pytest.mark.timeout(600)
async def test_a_parent_between_two_thousand_and_two_thousand_children_starts_after_the_first_ones(desk: Desk) -> None:
    assert await starts_after(desk, 2_000, 50) == 2_000
    assert await drain(desk, 50) == 2_000
