"""The worker and time: retries with their backoff, snoozes, continuations and deadlines."""

from __future__ import annotations

from typing import Any

from ramet import (
    App,
    Client,
    Context,
    Limits,
    Permanent,
    Transient,
)
from tests.support.fakes import Held, always
from tests.support.waiting import HANG_SECONDS, get, history, until, worked_off, working

# --- retries, snoozes, continuations ----------------------------------------------------------------------------


async def test_a_transient_error_is_retried_after_its_backoff_until_attempts_are_used_up(
    app: App, client: Client
) -> None:
    @app.task("fails", limits=Limits(max_attempts=3))
    async def fails(ctx: Context) -> None:
        raise Transient(f"busy on attempt {ctx.attempt}")

    submitted = await client.submit(fails)
    await worked_off(app, client, rng=always(0.05))
    told = await history(client, submitted.id)
    assert [a.outcome for a in told.attempts] == ["error"] * 3
    assert [a.reason for a in told.attempts] == ["retry_in: 0.050 s", "retry_in: 0.100 s", "attempts_exhausted: 3"]
    for attempt, following, backoff in zip(told.attempts, told.attempts[1:], (0.05, 0.1), strict=False):
        assert attempt.ended_at + backoff <= following.claimed_at
    assert (told.task.state, told.task.retry_count, told.task.fence) == ("failed", 2, 3)
    assert told.task.error == "Transient: busy on attempt 3"


async def test_a_permanent_error_is_not_tried_again(app: App, client: Client) -> None:
    @app.task("fails")
    async def fails(ctx: Context) -> None:
        raise Permanent("no such page")

    submitted = await client.submit(fails)
    await worked_off(app, client)
    told = await history(client, submitted.id)
    assert (told.task.state, told.task.reason, len(told.attempts)) == ("failed", "permanent_error", 1)


async def test_a_snoozed_task_comes_back_later_with_its_attempt(app: App, client: Client) -> None:
    attempts: list[tuple[int, int]] = []

    @app.task("poll")
    async def poll(ctx: Context) -> Any:
        attempts.append((ctx.attempt, ctx.snoozes))
        return ctx.snooze(0.01, "not ready") if ctx.snoozes == 0 else "ready"

    submitted = await client.submit(poll)
    await worked_off(app, client)
    told = await history(client, submitted.id)
    assert attempts == [(1, 0), (1, 1)]
    assert [(a.outcome, a.reason) for a in told.attempts] == [("snooze", "not ready"), ("success", None)]
    assert told.attempts[0].ended_at + 1.0 <= told.attempts[1].claimed_at, "a snooze is at least a second"
    assert (told.task.attempts, told.task.snoozes) == (1, 1)


async def test_a_task_continues_itself_after_progress_until_its_chain_is_used_up(app: App, client: Client) -> None:
    chain: list[int] = []

    @app.task("long")
    async def long(ctx: Context) -> Any:
        chain.append(ctx.chain_depth)
        await ctx.checkpoint(state={"done": len(chain)})
        return ctx.continue_later()

    @app.task("idle")
    async def idle(ctx: Context) -> Any:
        return ctx.continue_later()

    ended = [await client.submit(kind) for kind in ("long", "idle")]
    await worked_off(app, client)
    assert chain == [0, 1, 2]
    tasks = [await get(client, item.id) for item in ended]
    assert [(task.state, task.reason, task.fence) for task in tasks] == [
        ("success", "chain_depth: 2", 3),
        ("success", "no_progress", 1),
    ]


# --- deadlines --------------------------------------------------------------------------------------------------


async def test_a_task_past_its_deadline_fails_instead_of_being_retried(app: App, client: Client) -> None:
    @app.task("fails", limits=Limits(task_seconds=0.2))
    async def fails(ctx: Context) -> None:
        raise Transient("busy")

    submitted = await client.submit(fails)
    await worked_off(app, client, rng=always(0.999))
    told = await history(client, submitted.id)
    assert (told.task.state, told.task.reason, len(told.attempts)) == ("failed", "task_deadline", 1)
    # Ended by the settlement of an attempt that took longer than that, or by maintenance: only the latter is recorded.
    assert told.task.finished_at is not None
    assert told.task.finished_at >= told.attempts[0].claimed_at + 0.2


async def test_a_handler_of_a_lineage_past_its_deadline_is_told_and_its_tasks_fail(app: App, client: Client) -> None:
    held = Held(app)
    submitted = await client.submit_many(
        [("held", 1), ("held", 2)], one_lineage=True, limits=Limits(lineage_seconds=0.3)
    )
    other = await client.submit("held", 3)
    async with working(app, client, heartbeat_seconds=0.05, concurrency=3):
        await until(lambda: held.running == {1, 2, 3}, "all run")
        await until(lambda: held.running == {3}, "the handlers of the ended lineage are stopped")
        for item in submitted:
            task = await client.wait(item.id, timeout_seconds=HANG_SECONDS)
            assert (task.state, task.reason) == ("failed", "lineage_deadline")
        held.go_on.set()
        assert await client.result(other.id, timeout_seconds=HANG_SECONDS) == 3
    lineage = await client.lineage(submitted[0].tracking_id)
    assert lineage is not None
    assert (lineage.state, lineage.reason, lineage.live) == ("failed", "lineage_deadline", 0)


async def test_a_delayed_task_does_not_run_after_its_lineage_was_cancelled(app: App, client: Client) -> None:
    held = Held(app)
    submitted = await client.submit("held", 1, delay_seconds=0.2)
    assert await client.cancel_lineage(submitted.tracking_id, reason="changed my mind")
    await worked_off(app, client)
    task = await get(client, submitted.id)
    assert (task.state, task.reason) == ("cancelled", "cancelled by client: changed my mind")
    assert held.began == []
