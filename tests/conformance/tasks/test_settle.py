"""Settling: what every event makes of a task, and what is stored about the attempt."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ramet.model.task import events as ev
from ramet.store.reads.history import TRACEBACKS_MAX
from tests.support.world import World, checkpoint, failing

EventOf = Callable[[int], ev.Event]
ENDS: list[tuple[EventOf, str, str | None, str]] = [
    (ev.Complete, "success", None, "success"),
    (lambda f: ev.Complete(f, "cached"), "success", "cached", "success"),
    (lambda f: ev.Filter(f, "not ours"), "filtered", "not ours", "filtered"),
    (lambda f: ev.Skip(f, "seen"), "skipped", "seen", "skipped"),
    (lambda f: ev.Fail(f, "bad page"), "failed", "bad page", "error"),
    (lambda f: ev.Error(f, "no", "permanent", "x", 0.5), "failed", "permanent_error", "error"),
    (lambda f: ev.Continue(f, progressed=False), "success", "no_progress", "success"),
]


@pytest.mark.parametrize(("event", "state", "reason", "outcome"), ENDS, ids=[f"{e[1]}-{e[2]}" for e in ENDS])
async def test_an_end_is_stored_with_reason_outcome_and_result(
    world: World, event: EventOf, state: str, reason: str | None, outcome: str
) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    world.clock.advance(3.0)
    answer = await world.settle(claimed, event(1), result='{"found": [1, 2]}')
    assert (answer.state, answer.refused, answer.reason) == (state, None, reason)
    task = await world.get(task_id)
    assert (task.state, task.reason, task.result) == (state, reason, {"found": [1, 2]})
    assert (task.finished_at, task.fence, task.attempts) == (world.clock.now, 1, 1)
    history = await world.store.history(task_id)
    assert history is not None
    [attempt] = history.attempts
    assert (attempt.fence, attempt.worker, attempt.outcome, attempt.reason) == (1, "w", outcome, reason)
    assert (attempt.claimed_at, attempt.ended_at) == (world.clock.now - 3.0, world.clock.now)
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.live, getattr(lineage, state)) == ("finished", 0, 1)


BACK: list[tuple[EventOf, float, int, str]] = [
    (lambda f: ev.Error(f, "busy", "transient", "x", 1.0), 1.0, 1, "error"),
    (lambda f: ev.Error(f, "odd", "unclassified", "x", 0.5), 0.75, 1, "error"),
    (lambda f: ev.Error(f, "storm", "transient", "x", 0.5, not_before_at=1_800_000_060.0), 60.0, 1, "error"),
    (lambda f: ev.Snooze(f, 20.0, "later"), 20.0, 0, "snooze"),
    (lambda f: ev.Snooze(f, 0.01), 1.0, 0, "snooze"),
    (lambda f: ev.Continue(f, progressed=True), 0.0, 0, "continue"),
    (ev.HandBack, 0.0, 0, "returned"),
]


@pytest.mark.parametrize(
    ("event", "delay_seconds", "attempts", "outcome"), BACK, ids=[f"{e[3]}-{e[1]}-{e[2]}" for e in BACK]
)
async def test_a_task_that_comes_back_is_due_after_its_delay(
    world: World, event: EventOf, delay_seconds: float, attempts: int, outcome: str
) -> None:
    [task_id] = await world.submit()
    answer = await world.settle(await world.claim_one(), event(1))
    assert answer.state == "pending"
    task = await world.get(task_id)
    assert (task.attempts, task.available_at, task.worker) == (attempts, world.clock.now + delay_seconds, None)
    assert await world.outcomes(task_id) == [outcome]
    if delay_seconds:
        assert await world.claim() == []
        world.clock.advance(delay_seconds)
    again = await world.claim_one()
    assert (again.standing.fence, again.standing.attempts) == (2, attempts + 1)


async def test_attempts_are_bounded(world: World) -> None:
    [task_id] = await world.submit(world.task(max_attempts=3))
    for _ in range(3):
        claimed = await world.claim_one()
        await world.settle(claimed, failing(claimed, "busy", "transient"))
        world.clock.advance(10.0)
    task = await world.get(task_id)
    assert (task.state, task.reason, task.error) == ("failed", "attempts_exhausted: 3", "busy")


async def test_each_failed_attempt_keeps_its_traceback_until_its_lineage_is_pruned(world: World) -> None:
    [task_id] = await world.submit(world.task(max_attempts=3))
    traces = ["one\n", "zwei é \u0001", None]
    for trace in traces:
        claimed = await world.claim_one()
        await world.settle(claimed, failing(claimed, "busy", "transient", traceback=trace))
        world.clock.advance(100.0)
    found = await world.store.history(task_id)
    assert found is not None
    assert [attempt.traceback for attempt in found.attempts] == traces
    assert await world.store.prune(world.clock.now + 1.0) == 1
    assert await world.store.read("SELECT COUNT(*) FROM ramet_attempts") == [(0,)]


async def test_of_many_failed_attempts_the_newest_are_told_with_their_tracebacks(world: World) -> None:
    [task_id] = await world.submit(world.task(max_attempts=None, task_seconds=None), max_cost=1)
    for number in range(TRACEBACKS_MAX + 2):
        claimed = await world.claim_one()
        await world.settle(claimed, failing(claimed, "busy", "transient", traceback=f"trace {number}"))
        world.clock.advance(3_600.0)
    found = await world.store.history(task_id)
    assert found is not None
    told = [attempt.traceback for attempt in found.attempts]
    assert told == [None, None, *(f"trace {number}" for number in range(2, TRACEBACKS_MAX + 2))]
    assert found.cut == ("tracebacks",)


async def test_the_same_unclassified_error_as_an_ancestors_is_not_tried_again(world: World) -> None:
    [root] = await world.submit()
    first = await world.claim_one()
    await world.spawn(first, world.task("child"))
    await world.settle(first, failing(first, "odd"))
    child = await world.claim_one()
    answer = await world.settle(child, failing(child, "odd", "unclassified"))
    assert (answer.state, answer.reason) == ("failed", f"repeated_error: as task {root}")


async def test_an_ancestor_of_another_kind_counts_and_a_transient_error_never(world: World) -> None:
    [root] = await world.submit()
    first = await world.claim_one()
    await world.spawn(first, world.task("child", kind="image"), world.task("other", kind="image"))
    await world.settle(first, failing(first, "odd"))
    child, other = await world.claim(2)
    answer = await world.settle(child, failing(child, "odd", "unclassified"))
    assert (answer.state, answer.reason) == ("failed", f"repeated_error: as task {root}")
    assert (await world.settle(other, failing(other, "odd", "transient"))).state == "pending"


async def test_what_failed_in_another_lineage_takes_no_attempt_away(world: World) -> None:
    for tracking_id in ("monday", "tuesday", "wednesday"):
        await world.submit(world.task("nightly", max_attempts=4), tracking_id=tracking_id)
        reasons = []
        for _ in range(4):
            claimed = await world.claim_one()
            reasons.append((await world.settle(claimed, failing(claimed, "odd", "unclassified"))).reason)
            world.clock.advance(60.0)
        assert reasons == ["retry_in: 1.000 s", "retry_in: 2.000 s", "retry_in: 4.000 s", "attempts_exhausted: 4"]


async def test_a_task_continues_itself_at_most_max_chain_depth_times(world: World) -> None:
    [task_id] = await world.submit(world.task(max_chain_depth=2))
    told = []
    for _ in range(3):
        claimed = await world.claim_one()
        await world.settle(claimed, checkpoint(claimed))
        told.append(await world.settle(claimed, ev.Continue(claimed.standing.fence, progressed=False)))
    assert [answer.state for answer in told] == ["pending", "pending", "success"]
    assert told[-1].reason == "chain_depth: 2"
    assert (await world.get(task_id)).chain_depth == 2
