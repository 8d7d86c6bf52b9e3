"""A worker whose database is away: it keeps trying, stops its handlers when leases lapse, and goes on after it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from ramet import App, Client, Context, StoreUncertain, StoreUnreachable, Worker
from ramet.store.store import Store
from tests.invariants.check import violations
from tests.support.fakes import AwayStore, Held, LeapingClock
from tests.support.waiting import HANG_SECONDS, outcomes, until, working

TABLE = "CREATE TABLE IF NOT EXISTS effects (task TEXT, effect TEXT)"
WRITE = "INSERT INTO effects (task, effect) VALUES (?, ?)"
QUICK = {"heartbeat_seconds": 0.05, "ends_seconds": 0.05}


@pytest.fixture
def app() -> App:
    return App(tables=[TABLE])


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    """Of the worker; its database can be away."""
    async with app.client(tmp_path / "ramet.db") as client:
        client.store = cast(Store, AwayStore(client.store))
        yield client


@pytest.fixture
async def near(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    """Of somebody who reaches the database all the time."""
    async with app.client(tmp_path / "ramet.db") as near:
        yield near
        assert await violations(near.store) == []


@pytest.fixture
def database(client: Client) -> AwayStore:
    assert isinstance(client.store, AwayStore)
    return client.store


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="ramet")
    return caplog


async def get(client: Client, task_id: str) -> Any:
    task = await client.get(task_id)
    assert task is not None
    return task


async def effects(client: Client) -> list[Any]:
    return [tuple(row) for row in await client.store.read("SELECT task, effect FROM effects")]


async def test_past_its_lease_it_stops_its_handlers_settles_nothing_of_them_and_goes_on_when_the_database_is_back(
    app: App, client: Client, near: Client, database: AwayStore, told: pytest.LogCaptureFixture
) -> None:
    held, clock = Held(app), LeapingClock()
    submitted = await near.submit("held", 1)
    async with working(app, client, clock=clock, lease_seconds=300.0, **QUICK) as worker:
        await until(lambda: held.running, "it runs")
        database.away = True
        await until(lambda: database.missed["heartbeat"] > 2, "it tries to keep its claim")
        clock.ahead += 200.0
        missed = database.missed["heartbeat"]
        await until(lambda: database.missed["heartbeat"] > missed, "it tries on")
        assert (held.running, worker.in_hand) == ({1}, 1), "its lease runs"
        clock.ahead += 200.0
        await until(lambda: not held.running, "the handler stopped")
        await until(lambda: worker.in_hand == 0, "the claim is not its any more")
        assert (await get(near, submitted.id)).fence == 1
        database.away = False
        await until(lambda: held.began == [1, 1], "it is claimed again")
        held.go_on.set()
        assert await near.result(submitted.id, timeout_seconds=HANG_SECONDS) == 1
    assert await outcomes(near, submitted.id) == ["returned", "success"]
    assert (await get(near, submitted.id)).fence == 2
    for line in ("database is away", "database is back", "claims lapsed"):
        assert sum(line in message for message in told.messages) == 1, line
    assert sum(record.levelno >= logging.WARNING for record in told.records) == 2, "and nothing else is loud"


async def test_an_idle_worker_outlives_the_absence_of_its_database(
    app: App, client: Client, near: Client, database: AwayStore
) -> None:
    @app.task("page")
    async def page(ctx: Context) -> str:
        return "done"

    async with working(app, client):
        await until(lambda: database.asked["next_due_at"], "it has nothing to do")
        database.away = True
        await until(lambda: database.missed["claim"] > 2, "it tries")
        submitted = await near.submit(page)
        database.away = False
        assert await near.result(submitted.id, timeout_seconds=HANG_SECONDS) == "done"


@pytest.mark.parametrize("verb", ["idle", "next_due_at"])
async def test_a_question_that_fails_ends_no_worker(
    app: App, client: Client, near: Client, database: AwayStore, verb: str
) -> None:
    @app.task("page")
    async def page(ctx: Context) -> str:
        return "done"

    database.unanswered[verb] = StoreUnreachable("lost")
    submitted = await near.submit(page, delay_seconds=0.2)
    worker = Worker(app, client, until_idle=True, poll_seconds=0.05)
    async with asyncio.timeout(HANG_SECONDS):
        await worker.run()
    assert (await get(near, submitted.id)).state == "success"
    assert database.unanswered == {}


async def test_a_handler_that_calls_while_the_database_is_away_waits_and_notices_nothing(
    app: App, client: Client, near: Client, database: AwayStore
) -> None:
    began = list[int]()

    @app.task("page")
    async def page(ctx: Context) -> str:
        began.append(ctx.attempt)
        database.away = True
        ctx.write(WRITE, (ctx.id, "once"))
        await ctx.checkpoint(state={"step": 1})
        return "done"

    submitted = await near.submit(page)
    async with working(app, client, **QUICK):
        await until(lambda: database.missed["settle"] > 2, "it tries")
        database.away = False
        assert await near.result(submitted.id, timeout_seconds=HANG_SECONDS) == "done"
    assert began == [1]
    assert await outcomes(near, submitted.id) == ["success"]
    assert await effects(near) == [(submitted.id, "once")]


async def test_a_checkpoint_that_may_have_taken_effect_is_not_made_twice(
    app: App, client: Client, near: Client, database: AwayStore
) -> None:
    began = list[Any]()

    @app.task("page")
    async def page(ctx: Context) -> str:
        began.append(dict(ctx.state))
        if "step" not in ctx.state:
            database.unanswered["settle"] = StoreUncertain("the database went away during a commit")
            ctx.write(WRITE, (ctx.id, "once"))
            await ctx.checkpoint(state={"step": 1})
        return "done"

    submitted = await near.submit(page)
    async with working(app, client, **QUICK):
        assert await near.result(submitted.id, timeout_seconds=HANG_SECONDS) == "done"
    assert began == [{}, {"step": 1}], "the next claim goes on from what the database has"
    assert await effects(near) == [(submitted.id, "once")]
    assert await outcomes(near, submitted.id) == ["returned", "success"]


async def test_a_settlement_whose_answer_is_lost_takes_effect_once(
    app: App, client: Client, near: Client, database: AwayStore
) -> None:
    @app.task("page")
    async def page(ctx: Context) -> str:
        database.unanswered["settle"] = StoreUncertain("lost")
        ctx.write(WRITE, (ctx.id, "once"))
        ctx.spawn("child")
        return "done"

    @app.task("child")
    async def child(ctx: Context) -> None: ...

    submitted = await near.submit(page)
    async with working(app, client, until_idle=True, **QUICK) as worker:
        assert await near.result(submitted.id, timeout_seconds=HANG_SECONDS) == "done"
        await until(lambda: worker.settled >= 2, "the child ended too")
    assert await effects(near) == [(submitted.id, "once")]
    assert await outcomes(near, submitted.id) == ["success"]
    assert database.unanswered == {}


async def test_a_claim_whose_answer_comes_after_its_lease_is_not_begun(
    app: App, client: Client, near: Client, database: AwayStore
) -> None:
    held, clock = Held(app), LeapingClock()
    claim, late = client.store.claim, list[int]()

    async def slow(request: Any) -> Any:
        claimed = await claim(request)
        if claimed and not late:
            late.append(claimed[0].standing.fence)
            clock.ahead += 400.0
        return claimed

    database.claim = slow  # type: ignore[attr-defined]
    submitted = await near.submit("held", 1)
    async with working(app, client, clock=clock, lease_seconds=300.0, **QUICK):
        await until(lambda: held.running, "it runs")
        assert held.began == [1]
        assert ((await get(near, submitted.id)).fence, late) == (2, [1])
        held.go_on.set()
        assert await near.result(submitted.id, timeout_seconds=HANG_SECONDS) == 1
    assert await outcomes(near, submitted.id) == ["returned", "success"]


async def test_it_ends_when_told_to_though_the_database_is_away(
    app: App, client: Client, near: Client, database: AwayStore, told: pytest.LogCaptureFixture
) -> None:
    held = Held(app)
    submitted = await near.submit("held", 1)
    worker = Worker(app, client, poll_seconds=0.05, lease_seconds=300.0)
    run = asyncio.create_task(worker.run())
    await until(lambda: held.running, "it runs")
    database.away = True
    worker.stop()
    async with asyncio.timeout(HANG_SECONDS):
        await run
    assert "they return when their leases lapse" in told.text
    assert (await get(near, submitted.id)).state == "processing"


async def test_it_ends_when_told_to_though_the_database_never_answers(
    app: App, client: Client, database: AwayStore, told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ramet.engine.worker.worker.END_SECONDS_MAX", 0.05)
    monkeypatch.setattr("ramet.engine.worker.loops.LAST_WORD_SECONDS_MAX", 0.05)
    held = Held(app)
    await client.submit("held", 1)
    worker = Worker(app, client, poll_seconds=0.05, lease_seconds=300.0)
    run = asyncio.create_task(worker.run())
    await until(lambda: held.running, "it runs")
    database.silent = {"claim", "settle", "forget_worker"}
    await until(lambda: database.missed["claim"], "it asks and gets no answer")
    worker.stop()
    async with asyncio.timeout(HANG_SECONDS):
        await run
    assert {"claim", "settle", "forget_worker"} <= {*database.missed}
    assert "1 claims could not be handed back (no answer): they return when their leases lapse" in told.text


async def test_what_ended_before_the_lease_did_is_settled_when_the_database_is_back(
    app: App, client: Client, near: Client, database: AwayStore
) -> None:
    held = Held(app)
    submitted = await near.submit("held", 1)
    async with working(app, client, lease_seconds=300.0, **QUICK) as worker:
        await until(lambda: held.running, "it runs")
        database.away = True
        held.go_on.set()
        await until(lambda: database.missed["settle"] > 2, "it tries to settle")
        assert worker.in_hand == 1, "a slot is free once its settlement is durable"
        database.away = False
        assert await near.result(submitted.id, timeout_seconds=HANG_SECONDS) == 1
    assert await outcomes(near, submitted.id) == ["success"]
