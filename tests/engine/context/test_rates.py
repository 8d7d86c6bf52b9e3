"""Rates in a handler's hands: in the loop, in a thread, in a child process, under a pulled claim."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import App, ClaimLost, Client, Context, Outcome, ResourcePolicy, SyncContext
from ramet.model.flow.resources import RATE_MIN
from tests.support.waiting import until, worked_off, working

API = "api:requests"
TARGET = "tests.engine.apps.rates_app:app"


@pytest.fixture
def app() -> App:
    app = App()
    app.resource("api:*", rate_per_second=0.001, burst=3)
    return app


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client


async def test_handlers_take_in_the_loop_and_in_a_thread(app: App, client: Client) -> None:
    told: list[float] = []

    @app.task("ask")
    async def ask(ctx: Context) -> None:
        told.append(await ctx.take({API: 2, "other": 5}))
        await ctx.adapt(API, limit_per_minute=600, remaining=500, reset_seconds=1.5)

    @app.task("plain")
    def plain(ctx: SyncContext) -> None:
        told.append(ctx.take({API: 2}))
        ctx.adapt("other", remaining=0, reset_seconds=600)

    for kind in (ask, plain):
        await client.submit(kind)
        await worked_off(app, client)
    assert told == [0.0, pytest.approx(1_000.0, rel=0.01)]
    [api], [other] = await client.resources(API), await client.resources("other")
    assert api.told_rate == 10.0
    assert other.paused_reason == "its limit is used up, as its server says"


async def test_a_handler_in_a_child_process_takes_too(tmp_path: Path) -> None:
    from tests.engine.apps.rates_app import app

    async with app.client(tmp_path / "ramet.db") as client:
        tasks = [await client.submit("ask", amount) for amount in (2, 2)]
        await client.open_breaker("off")
        tasks.append(await client.submit("ask", 0))
        await worked_off(app, client, target=TARGET)
        results = [str((await client.wait(item.id)).result).strip('"') for item in tasks]
        assert results[2] == "300"
        assert sorted(map(float, results[:2])) == [0.0, pytest.approx(1_000.0, rel=0.01)]
        [api] = await client.resources(API)
        assert api.told_rate == 1.0


async def test_a_claim_takes_and_a_lost_one_does_not(app: App, client: Client) -> None:
    await client.limit_resource(ResourcePolicy(API, rate_per_second=1.0, burst=5.0))
    await client.submit("page")
    [claim] = await client.claim("page")
    assert await claim.take({API: 4}) == 0.0
    await claim.release()
    with pytest.raises(ClaimLost, match="stale"):
        await claim.take({API: 1})
    assert await client.resources(API) != []


@pytest.mark.parametrize(
    ("name", "amount"), [("", 1.0), ("a\0b", 1.0), ("x" * 301, 1.0), ("a", -1.0), ("a", math.nan), ("a", math.inf)]
)
async def test_what_cannot_be_taken_is_refused(client: Client, name: str, amount: float) -> None:
    await client.submit("page")
    [claim] = await client.claim("page")
    with pytest.raises(ValueError, match="give a n"):
        await claim.take({name: amount})
    await claim.release()


@pytest.mark.parametrize("told", [{"limit_per_minute": 0.0}, {"remaining": -1.0}, {"reset_seconds": math.nan}])
async def test_what_no_header_says_is_refused(client: Client, told: dict[str, float]) -> None:
    await client.submit("page")
    [claim] = await client.claim("page")
    with pytest.raises(ValueError, match="give a number"):
        await claim.adapt(API, **told)
    await claim.release()


async def test_explain_tells_of_the_rate_that_a_task_waits_for(app: App, client: Client) -> None:
    @app.task("ask")
    async def ask(ctx: Context) -> Outcome:
        seconds = await ctx.take({API: 3}) or await ctx.take({API: 1})
        return ctx.snooze(seconds, f"rate of {API}")

    submitted = await client.submit(ask)

    async def why() -> str:
        explanation = await client.explain(submitted.id)
        assert explanation is not None
        return explanation.headline

    async with working(app, client):
        await until(lambda: snoozed(client, submitted.id), "the handler was refused")
    assert f"after snooze (rate of {API})" in await why()


async def snoozed(client: Client, task_id: str) -> bool:
    task = await client.get(task_id)
    assert task is not None
    return task.snoozes > 0


async def test_a_told_rate_of_next_to_nothing_ends_no_worker_and_can_be_explained(app: App, client: Client) -> None:
    @app.task("tell")
    async def tell(ctx: Context) -> None:
        await ctx.adapt(API, limit_per_minute=1e-300, remaining=0, reset_seconds=3e9)

    @app.task("slow", resource=API)
    async def slow(ctx: Context) -> None: ...

    @app.task("other")
    async def other(ctx: Context) -> None: ...

    async with working(app, client):
        await client.submit(tell)
        await until(lambda: told_rate(client), "the rate is told")
        waiting = [await client.submit(slow, key=str(n)) for n in range(3)]
        others = [await client.submit(other, key=str(n)) for n in range(3)]

        async def done() -> bool:
            return all([(await client.get(each.id)).state == "success" for each in others])  # type: ignore[union-attr]

        await until(done, "other work goes on")
        for each in waiting:
            assert await client.explain(each.id) is not None
    [api] = await client.resources(API)
    assert api.told_rate == RATE_MIN


async def told_rate(client: Client) -> bool:
    return [resource.told_rate is not None for resource in await client.resources(API)] == [True]
