"""What the end of a task means to those behind it, and what people do (DESIGN §7), on every database."""

from __future__ import annotations

import pytest

from ramet.model.task import events as ev
from ramet.store.session import LOOKS_MAX
from tests.paths.histories import batches
from tests.paths.named_tasks import Desk, on
from tests.support.world import LEASE_SECONDS

SKIPPED = ("skipped", "dependency_failed: first")


@pytest.mark.parametrize("how", ["failed", "cancelled", "attempts", "deadline"])
async def test_tasks_below_one_that_fails_are_skipped_in_turn_and_nobody_else(desk: Desk, how: str) -> None:
    await desk.submit(
        on("first", "d", "e", max_attempts=1, task_seconds=10.0),
        on("below", "d", "e", "f"),
        on("deep", "d", "e", "f", "g"),
        on("same", "d", "e"),
        on("above", "d"),
        on("beside", "d", "x"),
        on("late", "d", "e", "f", delay_seconds=600.0),
    )
    assert await desk.start() == ["first"]
    match how:
        case "failed":
            await desk.fail("first")
        case "cancelled":
            await desk.cancel("first")
            await desk.acknowledge("first")
        case "attempts":
            assert (
                await desk.told("first", ev.Error(desk.fence("first"), "x", "transient", "x", 1.0))
            ).state == "failed"
        case _:
            await desk.wait(LEASE_SECONDS)
    await desk.submit(on("after", "d", "e", "f"))
    await desk.rest()
    assert await desk.told_of("below") == await desk.told_of("deep") == SKIPPED
    assert await desk.order() == [["same"], ["above"], ["after", "beside"], ["late"]]


@pytest.mark.parametrize("end", ["success", "filtered", "skipped", "excluded"])
async def test_after_any_other_end_nobody_is_skipped(desk: Desk, end: str) -> None:
    await desk.submit(on("zero", "doc1"), on("first", "doc1"), on("below", "doc1", "a"))
    await desk.start()
    if end == "excluded":
        assert await desk.store.exclude(["first"], by="ada") == ["first"]
        await desk.end("zero")
    else:
        await desk.end("zero")
        await desk.start()
        fence = desk.fence("first")
        events: dict[str, ev.Event] = {
            "success": ev.Complete(fence),
            "filtered": ev.Filter(fence, "x"),
            "skipped": ev.Skip(fence, "x"),
        }
        await desk.told("first", events[end])
    await desk.rest()
    assert await desk.start() == ["below"]


async def test_run_waits_and_runs_all_the_same(desk: Desk) -> None:
    await desk.submit(
        on("first", "doc1"),
        on("run", "doc1", "a", on_dependency_failure="run"),
        on("deep", "doc1", "a", "b"),
        on("deep run", "doc1", "a", "c", on_dependency_failure="run"),
    )
    await desk.start()
    await desk.fail("first")
    await desk.rest()
    assert await desk.told_of("deep") == SKIPPED
    assert await desk.order() == [["run"], ["deep run"]]


async def test_skips_go_through_lineages(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"))
    line = await desk.submit(on("foreign", "doc1", "a"))
    await desk.start()
    await desk.fail("first")
    await desk.rest()
    assert await desk.told_of("foreign") == SKIPPED
    lineage = await desk.store.lineage(line)
    assert lineage is not None
    assert (lineage.state, lineage.skipped) == ("finished", 1)


async def test_a_lineage_that_is_cancelled_cancels_its_own_and_skips_others(desk: Desk) -> None:
    line = await desk.submit(on("first", "doc1"), on("own", "doc1", "a"))
    await desk.submit(on("foreign", "doc1", "a", "b"), on("same", "doc1"))
    await desk.store.cancel_lineage(line, by="ada")
    await desk.rest()
    assert [(await desk.told_of(name))[0] for name in ("first", "own", "foreign")] == [
        "cancelled",
        "cancelled",
        "skipped",
    ]
    assert await desk.start() == ["same"]


async def test_a_waiting_task_that_is_cancelled_holds_back_nobody(desk: Desk) -> None:
    await desk.submit(on("before", "doc1", "b"), on("first", "doc1"), on("same", "doc1"), on("below", "doc1", "a"))
    assert await desk.start() == ["before"]
    await desk.cancel("first")
    await desk.rest()
    assert await desk.start() == []
    assert await desk.told_of("below") == SKIPPED
    await desk.end("before")
    assert await desk.start() == ["same"]


# --- a task ended from outside while a worker runs it


@pytest.mark.parametrize("how", ["acknowledged", "settled", "lapsed"])
@pytest.mark.parametrize("end", ["task", "lineage"])
async def test_it_keeps_its_path_until_its_worker_let_go(desk: Desk, how: str, end: str) -> None:
    line = await desk.submit(on("first", "doc1"))
    await desk.submit(on("same", "doc1"), on("run", "doc1", "a", on_dependency_failure="run"))
    assert await desk.start() == ["first"]
    if end == "task":
        await desk.cancel("first")
    else:
        await desk.store.cancel_lineage(line, by="ada")
    await desk.rest()
    assert await desk.world.state("first") == "cancelled"
    assert await desk.start() == []
    if how == "acknowledged":
        await desk.acknowledge("first")
    elif how == "settled":
        assert (await desk.told("first", ev.Complete(desk.fence("first")))).refused is not None
    else:
        await desk.wait(LEASE_SECONDS)
    await desk.rest()
    assert await desk.order() == [["same"], ["run"]]
    assert await desk.rows("ramet_path_tickets") == 0


async def test_it_keeps_its_path_from_itself_too(desk: Desk) -> None:
    """Revived while its old worker may still run it, it waits for that one."""
    await desk.submit(on("first", "doc1"))
    await desk.start()
    await desk.cancel("first")
    await desk.revive("first")
    await desk.rest()
    assert await desk.start() == []
    await desk.wait(LEASE_SECONDS)
    assert await desk.start() == ["first"]


# --- revive


async def test_revive_brings_the_skipped_back_in_their_old_order(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"))
    await desk.submit(on("a1", "doc1", "a"), on("b", "doc1", "b"), on("a2", "doc1", "a"), on("deep", "doc1", "a", "x"))
    await desk.submit(on("a3", "doc1", "a"))
    await desk.start()
    await desk.fail("first")
    await desk.rest()
    assert await desk.start() == []
    await desk.submit(on("new", "doc1", "a"))
    await desk.revive("first")
    await desk.rest()
    assert await desk.order() == [["new"], ["first"], ["a1", "b"], ["a2"], ["deep"], ["a3"]]


async def test_who_was_excluded_or_revived_alone_does_not_come_back_twice(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"), on("a", "doc1", "a"), on("b", "doc1", "b"))
    await desk.start()
    await desk.fail("first")
    await desk.rest()
    await desk.revive("a")
    assert await desk.start() == ["a"]
    await desk.end("a")
    await desk.revive("first")
    await desk.rest()
    assert await desk.order() == [["first"], ["b"]]
    assert await desk.told_of("a") == ("success", None)


async def test_those_of_a_lineage_that_is_over_its_time_stay_skipped(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"))
    await desk.world.submit(on("short", "doc1", "a"), tracking_id="short", lineage_seconds=1_000.0)
    await desk.submit(on("long", "doc1", "b"))
    await desk.start()
    await desk.fail("first")
    await desk.wait(2_000.0)
    await desk.revive("first")
    await desk.rest()
    assert await desk.told_of("short") == SKIPPED
    assert await desk.order() == [["first"], ["long"]]


async def test_a_revived_task_that_fails_again_skips_again(desk: Desk) -> None:
    await desk.submit(on("first", "doc1"), on("below", "doc1", "a"))
    for _ in range(2):
        assert await desk.start() == ["first"]
        await desk.fail("first")
        await desk.rest()
        assert await desk.told_of("below") == SKIPPED
        await desk.revive("first")
        await desk.rest()
    assert await desk.order() == [["first"], ["below"]]


# --- more than one transaction can take


async def test_a_path_with_many_behind_it_is_freed_in_batches(desk: Desk) -> None:
    names = [f"child{number:04}" for number in range(1_201)]
    await desk.submit(on("parent", "doc1"), *(on(name, "doc1", name) for name in names))
    assert await desk.start() == ["parent"]
    await desk.end("parent")
    let_in = len(await desk.start())
    assert 0 < let_in <= LOOKS_MAX
    await desk.rest()
    assert let_in + len(await desk.start()) == len(names)
    assert await desk.rows("ramet_path_waves") == 0


@pytest.mark.parametrize(("looks", "many"), [(40, 97), pytest.param(LOOKS_MAX, 1_201, marks=pytest.mark.nightly)])
async def test_many_are_skipped_and_revived_in_batches(desk: Desk, looks: int, many: int) -> None:
    names = [f"child{number:04}" for number in range(many)]
    with batches(looks):
        await desk.submit(on("parent", "doc1"), *(on(name, "doc1", name) for name in names))
        await desk.start()
        await desk.fail("parent")
        await desk.rest()
        [(skipped,)] = await desk.store.read("SELECT COUNT(*) FROM ramet_tasks WHERE state = 'skipped'")
        assert skipped == many
        await desk.revive("parent")
        await desk.rest()
        assert await desk.order() == [["parent"], names]


async def test_a_task_that_ends_already_is_not_skipped(desk: Desk) -> None:
    """Its ``on_end`` handler is still to come, after the one above."""
    await desk.submit(on("below", "d", "a", on_end=1))
    await desk.start()
    await desk.snooze("below", 5_000.0)
    await desk.submit(on("first", "d"))
    assert await desk.start() == ["first"]
    await desk.cancel("below")
    await desk.rest()
    assert await desk.start() == []
    await desk.fail("first")
    await desk.rest()
    assert await desk.start() == ["below"]
    assert (await desk.told("below", ev.Complete(desk.fence("below")))).state == "cancelled"
    assert await desk.told_of("below") == ("cancelled", "cancelled by ada")


async def test_who_comes_after_a_task_without_a_ticket_goes_on_when_that_one_is_excluded(desk: Desk) -> None:
    await desk.submit(on("first", "d"), on("a", "d", "a"), on("b", "d", "b"), on("again", "d", "a"))
    await desk.start()
    await desk.snooze("first", 5_000.0)
    await desk.rest()
    assert await desk.start() == []
    assert await desk.store.exclude(["first"], by="ada") == ["first"]
    await desk.rest()
    assert await desk.order() == [["a", "b"], ["again"]]
    assert await desk.rows("ramet_path_waves") == 0


@pytest.mark.parametrize("taken", [False, True])
async def test_a_revive_brings_a_unique_task_back_unless_another_has_its_key(desk: Desk, *, taken: bool) -> None:
    await desk.submit(on("first", "d"), on("below", "d", "a", unique_seconds=100.0))
    await desk.start()
    await desk.fail("first")
    await desk.rest()
    assert await desk.told_of("below") == SKIPPED
    desk.world.clock.advance(200.0)
    if taken:
        await desk.submit(on("below", "x", unique_seconds=100.0)._replace(id="other"))
    await desk.revive("first")
    await desk.rest()
    assert await desk.order() == ([["first", "other"]] if taken else [["first"], ["below"]])
    assert (await desk.told_of("below"))[0] == ("skipped" if taken else "success")
