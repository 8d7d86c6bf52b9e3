"""Limits and resources as an app declares them, through a worker; and why a task is not running (promise I8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import App, Client, Context, ResourcePolicy, RetryAfter, Worker
from ramet.model.task.task import NewTask
from ramet.store.requests import ClaimRequest, NewLineage
from tests.support.waiting import HANG_SECONDS, until


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client


async def why(client: Client, task_id: str) -> str:
    explanation = await client.explain(task_id)
    assert explanation is not None
    return explanation.headline


class Together:
    """How many handlers run at once, and how many ever did."""

    def __init__(self) -> None:
        self.now, self.most = 0, 0

    async def run(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.now -= 1


async def test_declared_limits_hold_in_a_worker(app: App, client: Client) -> None:
    kinds, hosts = Together(), Together()

    @app.task("limited", concurrency=2)
    async def limited(ctx: Context, name: str) -> None:
        await kinds.run()

    @app.task("fetch", resource=lambda name: f"host:{name[0]}")
    async def fetch(ctx: Context, name: str) -> None:
        await hosts.run()

    app.resource("host:*", concurrency=3)
    app.queue("default", concurrency=4)
    await client.submit_many([(limited, f"{n}") for n in range(20)] + [(fetch, f"a{n}") for n in range(20)])
    await Worker(app, client, until_idle=True).run()
    assert (0 < kinds.most <= 2, 0 < hosts.most <= 3) == (True, True)
    assert {queue.name: queue.concurrency for queue in await client.queues()} == {"default": 4}
    assert [policy.pattern for policy in await client.policies()] == ["host:*"]


async def test_a_server_that_names_its_time_pauses_its_resource(app: App, client: Client) -> None:
    @app.task("fetch", resource="api")
    async def fetch(ctx: Context, name: str) -> None:
        raise RetryAfter(3_600, "api")

    first, second = await client.submit_many([(fetch, "a"), (fetch, "b")])
    worker = Worker(app, client, concurrency=1)
    running = asyncio.create_task(worker.run())
    await until(lambda: worker.settled >= 1, "the worker is at work")
    worker.drain()
    await running
    told = [await why(client, task.id) for task in (first, second)]
    assert any(line.startswith("api is paused until ") and "retry after 3600 s (api)" in line for line in told)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (ResourcePolicy("api", concurrency=1), "api has 1 of 1 claims at once"),
        (ResourcePolicy("api", rate_per_second=0.001, burst=1.0), "the rate of api, 0.001 a second, is used up until "),
    ],
)
async def test_a_task_that_waits_for_its_resource_says_why(client: Client, policy: ResourcePolicy, said: str) -> None:
    await client.limit_resource(policy)
    roots = [NewTask(f"t{n}", "page", f"k{n}", "null", resource="api") for n in range(2)]
    await client.store.submit([NewLineage("line", roots)])
    [held] = await client.store.claim(ClaimRequest("w", ("default",), ("page",), 10, 300.0))
    [other] = {"t0", "t1"} - {held.id}
    assert (await why(client, other)).startswith(said)


async def test_an_open_breaker_says_since_when_and_what_comes_next(app: App, client: Client) -> None:
    @app.task("fetch", resource="api")
    async def fetch(ctx: Context) -> None: ...

    submitted = await client.submit(fetch)
    await client.open_breaker("api", by="ada", reason="asked us to stop")
    line = await why(client, submitted.id)
    assert line.startswith("breaker of api open since ")
    assert line.endswith(" by ada: asked us to stop; a person closes it")
    await client.limit_resource(ResourcePolicy("api", cooldown_seconds=60.0))
    assert ", next try " in await why(client, submitted.id)


async def test_a_full_kind_says_so(app: App, client: Client) -> None:
    held = asyncio.Event()

    @app.task("slow", concurrency=1)
    async def slow(ctx: Context, name: str) -> None:
        await held.wait()

    tasks = await client.submit_many([(slow, "a"), (slow, "b")])
    worker = Worker(app, client)
    running = asyncio.create_task(worker.run())
    await until(lambda: worker.in_hand == 1, "the worker is at work")
    told = [await why(client, task.id) for task in tasks]
    assert sum(line == "kind slow has 1 of 1 claims at once" for line in told) == 1
    held.set()
    worker.drain()
    await running


async def test_a_worker_is_seen_while_it_works_and_what_nobody_serves_is_named(app: App, client: Client) -> None:
    held = asyncio.Event()

    @app.task("served")
    async def served(ctx: Context) -> None:
        await held.wait()

    await client.submit(served)
    missing = await client.submit("elsewhere", queue="slow")
    assert {item.kind for item in await client.unserved()} == {"served", "elsewhere"}
    worker = Worker(app, client)
    running = asyncio.create_task(worker.run())
    await until(lambda: worker.in_hand == 1, "the worker is at work")
    seen = await until(client.workers, "the worker is seen")
    assert [(item.name, item.kinds, item.queues, item.alive) for item in seen] == [
        (worker.name, ("served",), ("default",), True)
    ]
    [unserved] = await client.unserved()
    assert (unserved.queue, unserved.kind, unserved.tasks) == ("slow", "elsewhere", 1)
    assert (await why(client, missing.id)).endswith("on queue 'slow': no living one does")
    held.set()
    worker.drain()
    await running
    assert await client.workers() == []


async def test_a_cancelled_task_frees_its_slot_when_its_handler_has_stopped(app: App, client: Client) -> None:
    began = asyncio.Event()

    @app.task("slow", concurrency=1)
    async def slow(ctx: Context, name: str) -> None:
        began.set()
        if name == "a":
            await asyncio.Event().wait()

    first, _ = await client.submit_many([(slow, "a"), (slow, "b")])
    worker = Worker(app, client, until_idle=True)
    running = asyncio.create_task(worker.run())
    await began.wait()
    await client.cancel(first.id)
    async with asyncio.timeout(HANG_SECONDS):
        await running
    assert await client.read("SELECT * FROM ramet_holds") == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"rate_per_second": 0.0},
        {"burst": 0.5},
        {"breaker_failures": -1},
        {"cooldown_seconds": 0.0},
    ],
)
def test_numbers_that_make_no_sense_are_refused(app: App, wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="give"):
        app.resource("api", **wrong)  # type: ignore[arg-type]


def test_names_that_make_no_sense_are_refused(app: App) -> None:
    with pytest.raises(ValueError, match="is not a valid pattern"):
        app.resource("a*b*")
    with pytest.raises(ValueError, match="at least 1"):
        app.queue("q", concurrency=0)

    @app.task("fetch", resource=lambda payload: "")
    async def fetch(ctx: Context, payload: str) -> None: ...

    with pytest.raises(ValueError, match="1 to 300 characters"):
        app.registry.get("fetch").new_task("x")
