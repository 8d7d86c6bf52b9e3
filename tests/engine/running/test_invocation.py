"""Invocations: what a handler may take and run inside of itself, and for how long."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, InvokeResult, Limits, Outcome, Retry, Task, Transient
from ramet.testing import FakeClock, drain
from tests.invariants.check import violations
from tests.support.backends import BACKENDS, Backend

SECONDS = Limits().invocation_seconds


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    backend = BACKENDS[request.param](tmp_path)
    yield backend
    backend.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class Cycle:
    """An app with a poll that invokes items, and what both did."""

    def __init__(self, *, items: int = 10, concurrency: int = 4, wait: bool = False, **limits: Any) -> None:
        self.app = app = App(retry=Retry.SEED)
        self.told: list[InvokeResult] = []
        self.ran: list[str] = []
        self.again = True
        self.outcome: Any = None

        @app.task("item", pulled=True, limits=Limits(max_attempts=3))
        async def item(ctx: Context, name: str) -> Any:
            self.ran.append(name)
            return await self.work(ctx, name)

        @app.task("poll", limits=Limits(invocation_items=items, **limits))
        async def poll(ctx: Context) -> Any:
            told = await ctx.invoke(["item"], concurrency=concurrency, wait=wait)
            self.told.append(told)
            return ctx.continue_later() if told.left and self.again else None

    async def work(self, ctx: Context, name: str) -> Any:
        return self.outcome


async def submit(client: Client, count: int) -> list[str]:
    names = [f"{number:03}" for number in range(count)]
    told = await client.submit_many([("item", name) for name in names], one_lineage=True, tracking_id="job")
    return [each.id for each in told]


async def submit_more(client: Client, count: int) -> None:
    await client.submit_many([("item", f"more {number}") for number in range(count)], one_lineage=True)


async def task(client: Client, task_id: str) -> Task:
    found = await client.get(task_id)
    assert found is not None
    return found


async def poll(client: Client) -> Task:
    [found] = (await client.tasks(kind="poll")).tasks
    return found


@pytest.fixture
def cycle() -> Cycle:
    return Cycle()


@pytest.fixture
async def client(backend: Backend, cycle: Cycle, clock: FakeClock) -> AsyncIterator[Client]:
    app = cycle.app
    async with Client(app.registry, backend.open(clock=clock.now, inline=True), app.limits, clock=clock) as client:
        yield client
        assert await violations(client.store) == []


async def test_a_worker_leaves_pulled_tasks_alone_and_an_invocation_takes_them(cycle: Cycle, client: Client) -> None:
    ids = await submit(client, 7)
    drained = await drain(cycle.app, client)
    assert (drained.ran, drained.left) == (0, 7)
    await client.submit("poll")
    assert (await drain(cycle.app, client)).left == 0
    assert cycle.told == [InvokeResult(7, 7, left=False)]
    assert [(await task(client, task_id)).state for task_id in ids] == ["success"] * 7


async def test_the_task_that_has_been_due_the_longest_comes_first(
    cycle: Cycle, client: Client, clock: FakeClock
) -> None:
    await submit(client, 4)
    waits = {"000": 40, "001": 30, "002": 10, "003": 20}

    async def work(ctx: Context, name: str) -> Any:
        return ctx.snooze(waits[name]) if ctx.snoozes == 0 else None

    cycle.work = work  # type: ignore[method-assign]
    cycle.again = False
    await client.submit("poll", key="first")
    await drain(cycle.app, client, advance=False)
    assert cycle.told == [InvokeResult(4, 0, left=True)]
    clock.advance(60)
    await client.submit("poll", key="second")
    await drain(cycle.app, client, advance=False)
    assert cycle.ran == ["000", "001", "002", "003", "002", "003", "001", "000"]


async def test_a_large_lineage_leaves_room_for_a_later_one_and_for_what_is_due(
    cycle: Cycle, client: Client, clock: FakeClock
) -> None:
    await submit(client, 200)
    clock.advance(5)
    await client.submit_many([("item", "late"), ("item", "later")], one_lineage=True)
    claims = await client.claim("item", n=100)
    assert [claim.payload for claim in claims[49:54]] == ["049", "050", "late", "051", "later"]
    await claims[0].snooze(1)
    clock.advance(1)
    [again] = await client.claim("item")
    assert again.payload == "000"
    for claim in [*claims[1:], again]:
        await claim.release()


async def test_no_link_of_a_chain_claims_more_than_its_items(cycle: Cycle, client: Client) -> None:
    await submit(client, 40)
    submitted = await client.submit("poll")
    drained = await drain(cycle.app, client)
    assert [told.claimed for told in cycle.told] == [10, 10, 10]
    assert drained.left == 10
    done = await task(client, submitted.id)
    assert (done.state, done.reason) == ("success", "chain_depth: 2")


async def test_without_a_change_nothing_continues(cycle: Cycle, client: Client) -> None:
    await submit(client, 20)
    cycle.outcome = Outcome.snooze(60)
    submitted = await client.submit("poll")
    await drain(cycle.app, client, advance=False)
    assert cycle.told == [InvokeResult(10, 0, left=True)]
    assert (await task(client, submitted.id)).reason == "no_progress"


async def test_two_invocations_of_one_call_share_its_items(cycle: Cycle, client: Client) -> None:
    await submit(client, 20)
    told = []

    @cycle.app.task("twice", limits=Limits(invocation_items=10))
    async def twice(ctx: Context) -> None:
        cycle.outcome = Outcome.snooze(600)
        told.append(await ctx.invoke(["item"], wait=False))
        await ctx.checkpoint("between", {"mine": 1})
        assert ctx.state == {"mine": 1}
        told.append(await ctx.invoke(["item"], wait=False))

    await client.submit("twice")
    await drain(cycle.app, client, advance=False)
    assert [each.claimed for each in told] == [10, 0]


async def test_a_retry_claims_only_what_the_attempt_before_left(client: Client, cycle: Cycle) -> None:
    await submit(client, 40)
    cycle.outcome = Outcome.snooze(3_000)
    told = []

    @cycle.app.task("dying", limits=Limits(invocation_items=130))
    async def dying(ctx: Context) -> None:
        told.append((await ctx.invoke(["item"], wait=False)).claimed)
        if ctx.attempt == 1:
            raise Transient("the rest of it failed")

    await client.submit("dying")
    await drain(cycle.app, client, advance=False)
    await submit_more(client, 60)
    await drain(cycle.app, client)
    # A hundred claims were noted by the first attempt, of which forty were made.
    assert told == [40, 30]


async def test_an_ending_task_is_any_workers(cycle: Cycle, client: Client) -> None:
    ended = []

    @cycle.app.on_end("item")
    async def stop(ctx: Context, name: str) -> None:
        ended.append((name, ctx.ending))

    ids = await submit(client, 2)
    cycle.outcome = Outcome.snooze(600)
    await client.submit("poll")
    await drain(cycle.app, client, advance=False)
    await client.cancel(ids[0])
    await drain(cycle.app, client, advance=False)
    assert ended == [("000", "cancelled")]
    assert (await task(client, ids[0])).state == "cancelled"


@pytest.mark.parametrize("wrong", [{"kinds": ["poll"]}, {"kinds": []}, {"concurrency": 0}])
async def test_an_invocation_that_makes_no_sense_is_refused(
    cycle: Cycle, client: Client, wrong: dict[str, Any]
) -> None:
    @cycle.app.task("wrong")
    async def wrongly(ctx: Context) -> None:
        with pytest.raises(ValueError, match=r"pulled=True|at least"):
            await ctx.invoke(**{"kinds": ["item"], **wrong})

    submitted = await client.submit("wrong")
    await drain(cycle.app, client)
    assert (await task(client, submitted.id)).state == "success"


@pytest.mark.parametrize("option", [{"process": True}, {"batch": 2}, {"process": True, "memory_bytes_max": 1}])
def test_options_that_make_no_sense_with_pulled_are_refused(option: dict[str, Any]) -> None:
    async def handler(ctx: Context) -> None: ...

    async def many(ctx: Context, payloads: list[int]) -> None: ...

    with pytest.raises(ValueError, match="one task at a time"):
        App().task("item", pulled=True, **option)(many if "batch" in option else handler)
