"""Turns at hosts, over all workers; what happens to tasks when a host has enough."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, RetryAfter
from ramet.engine.worker.loops import declare_limits
from ramet.fetch.errors import HostTurnLater, Refused
from ramet.jobs.app import fetchers, hosts
from ramet.jobs.settings import FetchSettings
from ramet.model.task.task import Task, TaskState
from ramet.testing import FakeClock, drain, fresh_client
from tests.jobs.fetching.polite_app import asking_app
from tests.jobs.world.faults import busy, hang, redirect
from tests.jobs.world.world import World
from tests.support.backends import BACKENDS
from tests.support.waiting import until, worked_off, working

pytestmark = [pytest.mark.network, pytest.mark.process]

SITE = "https://acme.example"
URL = f"{SITE}/careers"
HOST = "jobs:host:acme.example"
TARGET = "tests.jobs.fetching.polite_app:app"


@pytest.fixture
def app() -> App:
    return asking_app()


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with declared(app) as client:
        yield client


@asynccontextmanager
async def declared(app: App) -> AsyncIterator[Client]:
    """A client of a database that knows what the app declares, as it does once a worker has begun."""
    async with fresh_client(app) as client:
        await declare_limits(app, client.store)
        yield client


async def submitted(client: Client, count: int = 1, **payload: Any) -> None:
    for number in range(count):
        await client.submit("ask", {"url": URL, "name": f"{number}", **payload})


async def tasks_of(client: Client) -> tuple[Task, ...]:
    return (await client.tasks()).tasks


async def last_reasons(client: Client) -> list[str]:
    """Why the last attempt of each task that was begun ended, sorted; empty for a plain success."""
    histories = [await client.history(task.id) for task in await tasks_of(client)]
    ended = [history.attempts[-1] for history in histories if history is not None and history.attempts]
    return sorted(attempt.reason or "" for attempt in ended)


async def test_a_request_takes_a_turn_at_its_host(app: App, client: Client, world: World) -> None:
    world.page(URL, "there")
    await submitted(client)
    await drain(app, client)
    [task] = await tasks_of(client)
    assert (task.state, task.result) == (TaskState.SUCCESS, URL)
    [host] = await client.resources(HOST)
    assert host.tokens == 3.0


async def test_a_busy_host_is_left_alone_by_everybody_for_its_time(app: App, client: Client, world: World) -> None:
    world.page(URL, "there")
    world.behave(URL, busy(500))
    await submitted(client, 3)
    drained = await drain(app, client, advance=False)
    assert (drained.ran, drained.left) == (3, 3)
    assert len(world.requests) == 1, "the others were told before they asked"
    tasks = await tasks_of(client)
    assert {(task.state, task.attempts) for task in tasks} == {(TaskState.PENDING, 0)}
    told = await last_reasons(client)
    assert told[0] == "retry after 500 s (jobs:host:acme.example)"
    assert [reason.rstrip("0123456789 s") for reason in told[1:]] == ["the turn at acme.example comes in"] * 2
    drained = await drain(app, client)
    assert drained.advanced_seconds >= 500.0
    assert {task.state for task in await tasks_of(client)} == {TaskState.SUCCESS}
    [host] = await client.resources(HOST)
    assert host.cut_rate is not None, "it is asked half as often for a while"


@pytest.mark.parametrize(("told", "seconds"), [(None, 60), ("Mon, 01 Jan 2001 00:00:00 GMT", 1), (86_400, 3_600)])
async def test_a_time_that_is_not_named_or_too_long_is_the_settings(
    app: App, client: Client, world: World, told: int | str | None, seconds: int
) -> None:
    world.behave(URL, busy(told))
    await submitted(client)
    await drain(app, client, advance=False)
    assert await last_reasons(client) == [f"retry after {seconds} s ({HOST})"]


async def test_a_robots_txt_makes_a_host_slower(app: App, client: Client, world: World) -> None:
    world.page(URL, "there")
    world.robots(SITE, "User-agent: *\nCrawl-delay: 8")
    world.robots("https://slow.example", "User-agent: *\nCrawl-delay: 86400")
    await submitted(client, robots=True)
    await client.submit("ask", {"url": "https://slow.example/", "name": "slow", "robots": True})
    await drain(app, client)
    assert [asked.path for asked in world.asked(SITE)] == ["/robots.txt", "/careers"]
    [host], [slow] = await client.resources(HOST), await client.resources("jobs:host:slow.example")
    assert host.told_rate == pytest.approx(1 / 8)
    assert slow.told_rate == pytest.approx(1 / 30), "the most that is heeded"


async def test_no_page_follows_another_sooner_than_a_robots_txt_asks_for(
    world: World,
) -> None:
    app = asking_app(FetchSettings(turn_seconds_max=5))
    clock = FakeClock()
    world.page(URL, "there")
    world.robots(SITE, "User-agent: *\nCrawl-delay: 25")
    async with fresh_client(app, clock=clock) as client:
        await declare_limits(app, client.store)
        for rest_seconds in (0, 1_000):  # After a long rest it is no different.
            clock.advance(rest_seconds)
            before = len(world.asked(URL))
            for number in range(3):
                await client.submit("ask", {"url": URL, "name": f"{rest_seconds}-{number}", "robots": True})
            await drain(app, client, advance=False)
            assert len(world.asked(URL)) - before == 1
            await drain(app, client)
            assert len(world.asked(URL)) - before == 3


async def test_a_redirect_takes_a_turn_at_the_other_host(app: App, client: Client, world: World) -> None:
    world.answer(URL, redirect("https://jobs.lever.co/acme"))
    world.page("https://jobs.lever.co/acme", "there")
    await submitted(client)
    await drain(app, client)
    for name in (HOST, "jobs:host:jobs.lever.co"):
        [host] = await client.resources(name)
        assert host.tokens == 3.0


async def test_who_is_busy_after_a_redirect_is_the_other_host(app: App, client: Client, world: World) -> None:
    world.answer(URL, redirect("https://jobs.lever.co/acme"))
    world.behave("https://jobs.lever.co/acme", busy(40))
    await submitted(client)
    await drain(app, client, advance=False)
    [lever] = await client.resources("jobs:host:jobs.lever.co")
    [own] = await client.resources(HOST)
    assert lever.paused_until > 0.0
    assert own.paused_until == 0.0


async def test_a_short_wait_is_spent_in_the_task(world: World) -> None:
    app = asking_app(rate_per_second=50, burst=1)
    world.page(URL, "there")
    async with declared(app) as client:
        await submitted(client, 4)
        await drain(app, client)
        tasks = await tasks_of(client)
    assert {(task.state, task.attempts, task.reason) for task in tasks} == {(TaskState.SUCCESS, 1, None)}
    assert len(world.requests) == 4


@pytest.mark.parametrize("kind", sorted(BACKENDS))
async def test_turns_are_shared_by_all_workers_of_a_database(world: World, tmp_path: Path, kind: str) -> None:
    """Two workers with clients of their own: together they ask as often as one would."""
    world.page(URL, "there")
    backend = BACKENDS[kind](tmp_path)
    apps = [asking_app(rate_per_second=0.001, burst=3) for _ in range(2)]
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(app.client(backend.address)) for app in apps]
        await submitted(clients[0], 8)
        for app, client in zip(apps, clients, strict=True):
            await stack.enter_async_context(working(app, client, concurrency=2))

        async def all_tried() -> bool:
            return len(await last_reasons(clients[0])) == 8

        await until(all_tried, "every task has asked for its turn")
        assert len(world.requests) == 3
        reasons = await last_reasons(clients[1])
        assert reasons[:3] == [""] * 3
        assert all(reason.startswith("the turn at acme.example comes in ") for reason in reasons[3:])
    backend.close()


async def test_tasks_in_a_child_process_ask_by_the_same_turns(world: World, tmp_path: Path) -> None:
    from tests.jobs.fetching.polite_app import app

    world.page(URL, "there")
    async with app.client(tmp_path / "ramet.db") as client:
        await submitted(client, 3)
        await worked_off(app, client, target=TARGET)
        assert {task.state for task in await tasks_of(client)} == {TaskState.SUCCESS}
        [host] = await client.resources(HOST)
    assert len(world.requests) == 3
    assert host.tokens is not None
    assert host.tokens < 4.0


async def test_connections_are_closed_when_a_worker_ends(world: World, tmp_path: Path) -> None:
    world.page(URL, "there")
    app = asking_app()
    async with app.client(tmp_path / "ramet.db") as client:
        await submitted(client)
        async with working(app, client):
            await until(lambda: world.asked(URL), "the page is asked for")
            first = fetchers.here()
        await until(lambda: fetchers.here() is not first, "the worker's fetcher is closed")
    await fetchers.close()
    gc.collect()  # A connection left open would warn here.


async def test_a_host_that_hangs_costs_no_longer_than_a_call(world: World) -> None:
    app = App()
    hosts.declare(app)

    @app.task("ask")
    async def asks(ctx: Context) -> None:
        await hosts.ask(ctx, URL, FetchSettings(answer_seconds=0.2), bytes_max=1_000)

    world.behave(URL, hang(), forever=True)
    async with declared(app) as client:
        await client.submit(asks)
        await drain(app, client)
        [task] = await tasks_of(client)
    assert task.state is TaskState.FAILED
    assert "no whole answer in 0.2 s" in (task.error or "")
    assert len(world.requests) == 4, "it is transient: tried again as often as anything"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://Acme.Example:8443/x", "jobs:host:acme.example"),
        ("https://bücher.example/", "jobs:host:xn--bcher-kva.example"),
        ("http://[::1]/", "jobs:host:::1"),
    ],
)
def test_a_host_is_named_in_one_way(url: str, name: str) -> None:
    assert hosts.resource_of(url) == name


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://a.example/", f"https://{'a' * 300}.example/"])
def test_what_is_no_address_has_no_turn(url: str) -> None:
    with pytest.raises(Refused):
        hosts.resource_of(url)


async def test_a_turn_can_be_taken_alone() -> None:
    app = asking_app(rate_per_second=0.001, burst=2)
    told = []

    @app.task("turns")
    async def turns(ctx: Context) -> None:
        told.extend([await hosts.turn(ctx, URL) for _ in range(3)])

    async with declared(app) as client:
        await client.submit(turns)
        await drain(app, client)
    assert told[:2] == [0.0, 0.0]
    assert told[2] > 500.0


def test_not_yet_is_a_retry_that_names_the_host_and_pauses_nothing() -> None:
    later = HostTurnLater(21.4, "acme.example")
    assert isinstance(later, RetryAfter)
    assert (later.seconds, later.resource, str(later)) == (21.4, "", "the turn at acme.example comes in 21 s")
