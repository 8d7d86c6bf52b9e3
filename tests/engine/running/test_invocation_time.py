"""Invocations and time: when claiming stops, what becomes of what still runs, what waiting is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, InvokeResult, Limits, Outcome, RetryAfter, Task, item_settlement
from ramet.testing import FakeClock, drain
from tests.invariants.check import violations
from tests.support.backends import BACKENDS, Backend

SECONDS = 200.0
"""Shorter than a lease, which nobody keeps here for the poll itself."""
Work = Callable[[Context, int], Any]


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    backend = BACKENDS[request.param](tmp_path)
    yield backend
    backend.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def app() -> App:
    return App(limits=Limits(invocation_seconds=SECONDS))


@pytest.fixture
async def client(backend: Backend, app: App, clock: FakeClock) -> AsyncIterator[Client]:
    async with Client(app.registry, backend.open(clock=clock.now, inline=True), app.limits, clock=clock) as client:
        yield client
        assert await violations(client.store) == []


def polling(app: App, work: Work, *, wait: bool = False, concurrency: int = 1) -> list[InvokeResult]:
    """Register an item that does this, and a poll that takes items; returns what the invocations tell."""
    told: list[InvokeResult] = []

    @app.task("item", pulled=True, limits=Limits(task_seconds=36_000, call_seconds=60))
    async def one(ctx: Context, n: int) -> Any:
        return await work(ctx, n)

    @app.task("poll")
    async def poll(ctx: Context) -> None:
        told.append(await ctx.invoke([one], concurrency=concurrency, wait=wait))

    return told


async def submit(client: Client, count: int) -> list[str]:
    told = await client.submit_many([("item", n) for n in range(count)], one_lineage=True)
    await client.submit("poll")
    return [each.id for each in told]


async def task(client: Client, task_id: str) -> Task:
    found = await client.get(task_id)
    assert found is not None
    return found


@asynccontextmanager
async def passing(clock: FakeClock) -> AsyncIterator[None]:
    """While this lasts, a second passes whenever nothing else can go on."""

    async def pass_on() -> None:
        while True:
            await asyncio.sleep(0.001)
            clock.advance(1)

    going = asyncio.create_task(pass_on())
    try:
        yield
    finally:
        going.cancel()


async def test_nothing_is_claimed_after_four_fifths_of_the_time(app: App, client: Client, clock: FakeClock) -> None:
    began, at = clock.now(), []

    async def work(ctx: Context, n: int) -> None:
        at.append(clock.now() - began)
        clock.advance(32)

    told = polling(app, work)
    ids = await submit(client, 9)
    await drain(app, client, advance=False)
    assert at == [0, 32, 64, 96, 128]
    assert told == [InvokeResult(5, 5, left=True)]
    assert [(await task(client, task_id)).state for task_id in ids[5:]] == ["pending"] * 4


async def test_what_still_runs_at_the_end_goes_back_with_its_attempt(
    app: App, client: Client, clock: FakeClock
) -> None:
    stuck = asyncio.Event()

    async def work(ctx: Context, n: int) -> None:
        if n == 0:
            await stuck.wait()

    told = polling(app, work, concurrency=2)
    ids = await submit(client, 2)
    async with passing(clock):
        await drain(app, client, advance=False)
    assert told == [InvokeResult(2, 1, left=True)]
    cut_short = await task(client, ids[0])
    assert (cut_short.state, cut_short.attempts) == ("pending", 0)
    history = await client.history(ids[0])
    assert history is not None
    assert [(attempt.outcome, attempt.ended_at - attempt.claimed_at < SECONDS) for attempt in history.attempts] == [
        ("returned", True)
    ]


async def test_a_handler_is_told_what_is_left_of_the_invocation(app: App, client: Client, clock: FakeClock) -> None:
    seen = []

    async def work(ctx: Context, n: int) -> None:
        seen.append((ctx.remaining_seconds, ctx.call_seconds))
        clock.advance([150, 30][n])
        seen.append((ctx.remaining_seconds, ctx.call_seconds))

    polling(app, work)
    await submit(client, 2)
    await drain(app, client, advance=False)
    assert seen == [(195, 60), (45, 45), (45, 45), (15, 15)]


async def test_the_last_poll_of_a_task_that_time_ends_has_the_time_of_any(
    app: App, client: Client, clock: FakeClock
) -> None:
    """It begins after the task's deadline, which leaves its calls the invocation's time nevertheless."""
    seen = []

    @app.task("slow", pulled=True, limits=Limits(task_seconds=7_200, max_attempts=None, call_seconds=60))
    async def slow(ctx: Context) -> Outcome:
        seen.append((ctx.remaining_seconds, ctx.call_seconds))
        return ctx.snooze(10_000)

    @app.task("poll")
    async def poll(ctx: Context) -> None:
        await ctx.invoke([slow], wait=False)

    asked = await client.submit(slow, limits=Limits(max_cost=1))
    for seconds in (0.0, 7_100.0, 100.0):
        clock.advance(seconds)
        await client.submit("poll")
        await drain(app, client, advance=False)
    assert seen == [(195, 60), (195, 60)]
    found = await task(client, asked.id)
    assert (found.state, found.reason, found.finished_at) == ("failed", "task_deadline", clock.now())


async def test_an_invocation_that_waits_takes_what_comes_due_meanwhile(
    app: App, client: Client, clock: FakeClock
) -> None:
    async def work(ctx: Context, n: int) -> Any:
        return ctx.snooze(30) if ctx.snoozes < 3 else None

    told = polling(app, work, wait=True, concurrency=2)
    ids = await submit(client, 2)
    async with passing(clock):
        await drain(app, client, advance=False)
    assert told == [InvokeResult(8, 2, left=False)]
    assert [(await task(client, task_id)).state for task_id in ids] == ["success"] * 2


async def test_it_waits_no_longer_than_it_may_claim(app: App, client: Client, clock: FakeClock) -> None:
    async def work(ctx: Context, n: int) -> Outcome:
        return ctx.snooze(10_000)

    told = polling(app, work, wait=True)
    await submit(client, 1)
    began = clock.now()
    async with passing(clock):
        await drain(app, client, advance=False)
    assert told == [InvokeResult(1, 0, left=True)]
    assert SECONDS * 0.8 <= clock.now() - began < SECONDS


async def test_moving_to_another_stage_and_settling_bound_tasks_are_changes(
    app: App, client: Client, clock: FakeClock
) -> None:
    @app.task("bound")
    async def bound(ctx: Context, n: int) -> None: ...

    async def work(ctx: Context, n: int) -> Outcome:
        if n == 0:
            await ctx.checkpoint("submitted", {"id": 1})
        if n == 1 and ctx.snoozes == 0:
            [binding] = await ctx.bind([waiting.id])
            assert binding.number is not None
            await ctx.settle_items([item_settlement(waiting.id, binding.number, "success")])
        return ctx.snooze(60)

    told = polling(app, work)
    waiting = await client.submit("bound", 1, delay_seconds=0)
    await submit(client, 3)
    await drain(app, client, kinds=["poll"], advance=False)
    assert told == [InvokeResult(3, 2, left=True)]
    clock.advance(60)
    await client.submit("poll", key="again")
    await drain(app, client, kinds=["poll"], advance=False)
    assert told[1] == InvokeResult(3, 0, left=True)


async def test_a_named_time_is_waited_for_whatever_its_size(app: App, client: Client, clock: FakeClock) -> None:
    async def work(ctx: Context, n: int) -> None:
        raise RetryAfter(5_000, "provider")

    polling(app, work)
    [only] = await submit(client, 1)
    await drain(app, client, advance=False)
    put_off = await task(client, only)
    assert (put_off.state, put_off.attempts, put_off.available_at) == ("pending", 0, clock.now() + 5_000)
