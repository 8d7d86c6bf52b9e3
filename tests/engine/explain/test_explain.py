"""Every state of a task has its explanation, from stored rows."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Limits, Permanent, Retry, Transient
from tests.support.fakes import Held, always
from tests.support.waiting import until, worked_off, working


@pytest.fixture
def app() -> App:
    return App(retry=Retry.SEED)


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client


async def why(client: Client, task_id: str) -> str:
    explanation = await client.explain(task_id)
    assert explanation is not None
    assert explanation.history.task.id == task_id
    assert explanation.lineage.tracking_id == explanation.history.task.tracking_id
    return explanation.headline


async def test_nobody_is_explained_by_nothing(client: Client) -> None:
    assert await client.explain("no such task") is None


async def test_a_task_that_nobody_takes_names_its_kind_and_queue(client: Client) -> None:
    submitted = await client.submit("elsewhere", queue="slow")
    assert await why(client, submitted.id) == "it waits for a worker that serves kind 'elsewhere' on queue 'slow'"


async def test_a_delayed_task_says_until_when(client: Client) -> None:
    submitted = await client.submit("elsewhere", delay_seconds=3_600)
    task = await client.get(submitted.id)
    assert task is not None
    assert task.available_at is not None
    assert await why(client, submitted.id) == f"it is scheduled for {task.available_at:.0f}"


async def test_a_task_between_attempts_says_what_happened(app: App, client: Client) -> None:
    @app.task("fails")
    async def fails(ctx: Context) -> None:
        raise Transient("busy")

    @app.task("polls")
    async def polls(ctx: Context) -> Any:
        return ctx.snooze(3_600, "not ready")

    failing, polling = await client.submit(fails), await client.submit(polls)
    slow = random.Random(0)
    slow.random = lambda: 3_600.0  # type: ignore[method-assign]
    async with working(app, client, rng=slow) as worker:
        await until(lambda: worker.settled == 2, "one attempt of each")
    assert "after error (retry_in: 3600.000 s)" in await why(client, failing.id)
    assert "after snooze (not ready)" in await why(client, polling.id)


async def test_a_running_task_names_its_worker_claim_and_lease(app: App, client: Client) -> None:
    held = Held(app)
    submitted = await client.submit("held", 1)
    async with working(app, client) as worker:
        await until(lambda: held.running, "it runs")
        task = await client.get(submitted.id)
        assert task is not None
        assert task.lease_until is not None
        assert await why(client, submitted.id) == (
            f"worker {worker.name} holds it (claim 1) under a lease until {task.lease_until:.0f}"
        )


async def test_a_task_of_an_ended_lineage_says_so_before_the_sweep_came_by(client: Client) -> None:
    submitted = await client.submit("elsewhere")
    await client.cancel_lineage(submitted.tracking_id, by="me", reason="enough")
    assert await why(client, submitted.id) == "its lineage is cancelled: cancelled by me: enough"


@pytest.mark.parametrize(
    ("how", "headline"),
    [
        ("success", "it ended as success"),
        ("filter", "it ended as filtered: too short"),
        ("skip", "it ended as skipped: not needed"),
        ("fail", "it ended as failed: gave up"),
        ("raise", "it ended as failed: permanent_error (Permanent: no such page)"),
        ("exhaust", "it ended as failed: attempts_exhausted: 2 (Transient: busy)"),
    ],
)
async def test_an_ended_task_says_how_and_why(app: App, client: Client, how: str, headline: str) -> None:
    @app.task("end", limits=Limits(max_attempts=2))
    async def end(ctx: Context, how: str) -> Any:
        match how:
            case "filter":
                return ctx.filter("too short")
            case "skip":
                return ctx.skip("not needed")
            case "fail":
                return ctx.fail("gave up")
            case "raise":
                raise Permanent("no such page")
            case "exhaust":
                raise Transient("busy")
        return None

    submitted = await client.submit(end, how)
    await worked_off(app, client, rng=always(0.0))
    assert await why(client, submitted.id) == headline


async def test_a_cancelled_task_names_who_and_why(app: App, client: Client) -> None:
    submitted = await client.submit("elsewhere")
    await client.cancel(submitted.id, by="me", reason="a mistake")
    assert await why(client, submitted.id) == "it ended as cancelled: cancelled by me: a mistake"


async def test_the_explanation_carries_attempts_transitions_and_refused_spawns(app: App, client: Client) -> None:
    @app.task("parent", limits=Limits(max_spawn_depth=1))
    async def parent(ctx: Context) -> None:
        ctx.spawn("parent", key="self")

    submitted = await client.submit(parent, key="self")
    await worked_off(app, client)
    explanation = await client.explain(submitted.id)
    assert explanation is not None
    assert [attempt.outcome for attempt in explanation.history.attempts] == ["success"]
    assert [(block.reason, block.winner) for block in explanation.history.blocks] == [("cycle", submitted.id)]
