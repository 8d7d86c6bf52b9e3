"""What runs once when a limit or a person ends a task, and that the task ends whatever comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Limits, LineageTotals, Outcome, Retry, SyncContext, Task, Transient
from ramet.model.lineage.limits import ENDING_SECONDS
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.support.fakes import always
from tests.support.waiting import HANG_SECONDS, until, worked_off, working
from tests.support.world import SettableClock, World

TABLE = "CREATE TABLE IF NOT EXISTS effects (what TEXT)"
WRITE = "INSERT INTO effects (what) VALUES (?)"


@pytest.fixture
def app() -> App:
    return App(retry=Retry.SEED, tables=[TABLE])


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


async def ended(client: Client, task_id: str) -> Task:
    async def look() -> Task | None:
        task = await client.get(task_id)
        return task if task is not None and task.state.terminal else None

    task = await until(look, "the task ends")
    assert task is not None
    return task


async def effects(client: Client) -> list[str]:
    return sorted(row[0] for row in await client.read("SELECT what FROM effects"))


def polling(app: App, **limits: Any) -> None:
    """A kind that asks a provider again and again, and cancels there when it is ended."""

    @app.task("poll", limits=Limits(**limits))
    async def poll(ctx: Context, n: int) -> Outcome:
        assert ctx.ending is None
        await ctx.checkpoint("asked", {"batch": n})
        return ctx.snooze(3_600)

    @app.on_end("poll")
    async def abandon(ctx: Context, n: int) -> str:
        ctx.write(WRITE, (f"{n}: {ctx.ending}, {ctx.state['batch']}",))
        return "this result is not the task's"


async def asked(client: Client, task_id: str) -> bool:
    task = await client.get(task_id)
    return task is not None and task.snoozes > 0


async def cancel_one(client: Client, task_id: str, tracking_id: str) -> Any:
    return await client.cancel(task_id, by="ann")


async def cancel_tree(client: Client, task_id: str, tracking_id: str) -> Any:
    return await client.cancel(task_id, tree=True, by="ann")


async def cancel_lineage(client: Client, task_id: str, tracking_id: str) -> Any:
    return await client.cancel_lineage(tracking_id, by="ann")


@pytest.mark.parametrize("end", [cancel_one, cancel_tree, cancel_lineage])
async def test_a_cancelled_task_is_claimed_once_more_for_its_on_end_handler(
    app: App, client: Client, end: Callable[[Client, str, str], Awaitable[Any]]
) -> None:
    polling(app)
    mine, other = await client.submit_many([("poll", 1), ("poll", 2)], one_lineage=True)
    async with working(app, client):
        for item in (mine, other):
            await until(lambda item=item: asked(client, item.id), "both have asked")  # type: ignore[misc]
        assert await end(client, mine.id, mine.tracking_id)
        task = await ended(client, mine.id)
        assert (task.state, task.attempts) == ("cancelled", 0)
        assert task.reason is not None
        assert "cancelled by ann" in task.reason or task.reason == f"cancel_tree: {mine.id}"
        if end is cancel_lineage:
            await ended(client, other.id)
    assert await effects(client) == ["1: cancelled, 1"] + (["2: cancelled, 2"] if end is cancel_lineage else [])


async def test_a_task_past_its_deadline_is_too(app: App, client: Client) -> None:
    polling(app, task_seconds=0.0)
    submitted = await client.submit("poll", 1)
    await worked_off(app, client)
    task = await ended(client, submitted.id)
    assert (task.state, task.reason) == ("failed", "task_deadline")
    assert await effects(client) == ["1: failed, 1"]
    history = await client.history(submitted.id)
    assert history is not None
    assert [attempt.outcome for attempt in history.attempts] == ["snooze", "success"]


async def test_a_task_of_a_lineage_past_its_deadline_is_too(app: App, client: Client) -> None:
    polling(app)
    submitted = await client.submit("poll", 1, limits=Limits(lineage_seconds=0.5))
    async with working(app, client):
        task = await ended(client, submitted.id)
    # Its own deadline is the same moment: whichever the sweep looks at first.
    assert (task.state, task.reason) in (("failed", "lineage_deadline"), ("failed", "task_deadline"))
    assert await effects(client) == ["1: failed, 1"]


async def test_a_running_handler_is_stopped_before_the_on_end_handler_runs(app: App, client: Client) -> None:
    said: list[str] = []

    @app.task("long")
    async def long(ctx: Context) -> None:
        said.append("runs")
        try:
            await asyncio.Event().wait()
        finally:
            said.append("stopped")

    @app.on_end(long)
    def tidy(ctx: SyncContext) -> None:
        said.append(f"tidies: {ctx.ending_reason}")

    submitted = await client.submit(long)
    async with working(app, client, heartbeat_seconds=0.05):
        await until(lambda: said == ["runs"], "the handler runs")
        await client.cancel(submitted.id, by="ann")
        assert (await ended(client, submitted.id)).state == "cancelled"
        await until(lambda: "stopped" in said, "the handler is told")
    assert sorted(said) == ["runs", "stopped", "tidies: cancelled by ann"]


async def test_a_handler_is_told_where_its_worker_claims_the_end_before_a_heartbeat_tells(
    app: App, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    @app.task("long")
    async def long(ctx: Context) -> None:
        said.append("runs")
        try:
            await asyncio.Event().wait()
        finally:
            said.append("stopped")

    @app.on_end(long)
    async def tidy(ctx: Context) -> None:
        said.append("tidies")

    async def nothing_is_lost(*_: Any) -> frozenset[int]:
        return frozenset()

    monkeypatch.setattr(client.store, "heartbeat", nothing_is_lost)
    submitted = await client.submit(long)
    async with working(app, client):
        await until(lambda: said == ["runs"], "the handler runs")
        await client.cancel(submitted.id)
        assert (await ended(client, submitted.id)).state == "cancelled"
        await until(lambda: "stopped" in said, "the handler is told")
    assert sorted(said) == ["runs", "stopped", "tidies"]


async def test_a_task_that_never_ran_has_nothing_to_clean_up(app: App, client: Client) -> None:
    polling(app)
    submitted = await client.submit("poll", 1, delay_seconds=3_600.0)
    await client.cancel(submitted.id, by="ann")
    assert (await ended(client, submitted.id)).state == "cancelled"
    assert await effects(client) == []


async def test_an_on_end_handler_that_fails_ends_the_task_with_both_reasons(app: App, client: Client) -> None:
    @app.task("poll", limits=Limits(task_seconds=0.0))
    async def poll(ctx: Context) -> Outcome:
        return ctx.snooze(3_600)

    @app.on_end("poll")
    async def abandon(ctx: Context) -> None:
        ctx.write(WRITE, ("never",))
        raise ConnectionError("the provider is away")

    submitted = await client.submit(poll)
    await worked_off(app, client)
    task = await ended(client, submitted.id)
    assert (task.state, task.reason) == ("failed", "task_deadline; on_end: ConnectionError: the provider is away")
    assert await effects(client) == []


async def test_an_on_end_handler_has_one_call_limit(app: App, client: Client) -> None:
    @app.task("poll", limits=Limits(task_seconds=0.0, call_seconds=0.05))
    async def poll(ctx: Context) -> Outcome:
        return ctx.snooze(3_600)

    @app.on_end("poll")
    async def abandon(ctx: Context) -> None:
        await asyncio.Event().wait()

    submitted = await client.submit(poll)
    await worked_off(app, client)
    task = await ended(client, submitted.id)
    assert task.reason == "task_deadline; on_end: Timeout: the handler ran longer than 0.05 s"


async def test_an_on_end_handler_spawns_nothing(app: App, client: Client) -> None:
    refused: list[str] = []

    @app.task("poll", limits=Limits(task_seconds=0.0))
    async def poll(ctx: Context) -> Outcome:
        return ctx.snooze(3_600)

    @app.on_end("poll")
    async def abandon(ctx: Context) -> None:
        for ask in (lambda: ctx.spawn("poll"), lambda: ctx.spawn_now("poll")):
            try:
                asked = ask()
                if isawaitable(asked):
                    await asked
            except ValueError as error:
                refused.append(str(error))

    submitted = await client.submit(poll)
    await worked_off(app, client)
    assert refused == [f"task {submitted.id} is ending (task_deadline): an on_end handler spawns nothing"] * 2


async def test_a_worker_without_the_handler_leaves_the_task_to_others(app: App, client: Client) -> None:
    polling(app)
    submitted = await client.submit("poll", 1)
    async with working(app, client):
        await until(lambda: asked(client, submitted.id), "it has asked")
    await client.cancel(submitted.id, by="ann")
    old = App(retry=Retry.SEED)

    @old.task("poll")
    async def poll(ctx: Context, n: int) -> None:
        raise AssertionError("the task is over: only an on_end handler may run")

    async def left() -> bool:
        task = await client.get(submitted.id)
        return task is not None and task.wait == "due"

    async with working(old, client):
        await until(left, "it is put off")
    explained = await client.explain(submitted.id)
    assert explained is not None
    assert explained.headline.startswith("it is ending (cancelled by ann): a worker with the on_end handler of 'poll'")


async def test_an_end_that_nobody_serves_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    clock = SettableClock()
    world = World(SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True), clock)
    [task_id] = await world.submit(world.task(on_end=1))
    await world.claim_one()
    await world.store.cancel(task_id, tree=False, by="ann")
    assert await world.state(task_id) == "pending"
    clock.advance(ENDING_SECONDS)
    await world.sweep()
    assert (await world.get(task_id)).reason == "cancelled by ann; on_end: not done within 3600 s"
    assert await world.state(task_id) == "cancelled"
    await world.check()
    await world.store.close()


async def test_a_crash_in_the_on_end_handler_ends_the_task(tmp_path: Path) -> None:
    clock = SettableClock()
    world = World(SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True), clock)
    [task_id] = await world.submit(world.task(on_end=1))
    await world.claim_one()
    await world.store.cancel_lineage("line", by="ann")
    await world.sweep()
    claimed = await world.claim_one()
    assert claimed.standing.ending == "cancelled"
    assert [told.reason for told in (await world.settle(claimed, spawns=[world.task()])).spawns] == ["cancelled"]
    [other] = await world.submit(world.task(on_end=1), tracking_id="second")
    await world.claim_one()
    await world.store.cancel(other, tree=False, by="ann")
    again = await world.claim_one()
    clock.advance(300.0)
    await world.sweep()
    assert again.id == other
    assert (await world.get(other)).reason == "cancelled by ann; on_end: lease_expired"
    assert await world.state(task_id) == "cancelled"
    await world.check()
    await world.store.close()


def test_on_end_needs_a_registered_kind_and_is_given_once(app: App) -> None:
    with pytest.raises(LookupError, match="no kind 'poll' is registered"):
        app.on_end("poll")(lambda ctx: None)
    polling(app)
    with pytest.raises(ValueError, match="kind 'poll' has two on_end handlers"):
        app.on_end("poll")(lambda ctx: None)


async def test_a_task_runs_after_its_lineage_with_the_totals(app: App, client: Client) -> None:
    told: list[LineageTotals] = []

    @app.task("page")
    async def page(ctx: Context, n: int) -> None: ...

    @app.task("report")
    async def report(ctx: Context, totals: LineageTotals) -> None:
        told.append(totals)

    many = await client.submit_many([(page, 1), (page, 2)], one_lineage=True, on_lineage_end=report)
    one = await client.submit(page, 3, on_lineage_end="report")
    await worked_off(app, client)
    assert {(totals.tracking_id, totals.state, totals.success) for totals in told} == {
        (many[0].tracking_id, "finished", 2), (one.tracking_id, "finished", 1),
    }  # fmt: skip


async def test_who_waits_for_a_lineage_waits_for_the_task_of_its_end_too(app: App, client: Client) -> None:
    @app.task("page")
    async def page(ctx: Context, n: int) -> None: ...

    @app.task("report")
    async def report(ctx: Context, totals: LineageTotals) -> None:
        if ctx.attempt == 1:
            raise Transient("again")

    line = (await client.submit(page, 3, on_lineage_end="report")).tracking_id
    assert await client.ends(line) == []
    await worked_off(app, client, until_idle=False, until_ended=line, rng=always(0.1))
    [end] = await client.ends(line)
    [task] = await client.roots(end.tracking_id)
    assert (end.state, task.kind, task.state, task.retry_count) == ("finished", "report", "success", 1)
    assert (await client.wait_lineage(line, timeout_seconds=HANG_SECONDS)).success == 1
    other = (await client.submit(page, 4, on_lineage_end="report")).tracking_id
    with pytest.raises(TimeoutError):
        await client.wait_lineage(other, timeout_seconds=0.0)


@pytest.mark.parametrize("kind", ["listing", "listing.a"])
async def test_a_staged_kind_cannot_be_the_task_of_an_end(app: App, client: Client, kind: str) -> None:
    listing = app.pipeline("listing", task_per_stage=True)

    @listing.stage()
    async def a(ctx: Context, totals: LineageTotals) -> None: ...

    @app.task("page")
    async def page(ctx: Context, n: int) -> None: ...

    with pytest.raises(ValueError, match=rf"^{kind} is .* cannot be on_lineage_end: give a kind of one task$"):
        await client.submit(page, 1, on_lineage_end=kind)
    assert await client.lineages() == []
