"""A kind says how it is tried again; a setting replaces it while programs run; every way of failing follows it."""

from __future__ import annotations

import asyncio
import socket
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ramet import App, Client, Context, ErrorClass, Limits, Retry
from ramet.model.task.retry import classify
from tests.support.fakes import always
from tests.support.waiting import HANG_SECONDS, history, worked_off

SLOW = Retry(attempts=2, base_seconds=100.0, factor=2.0, cap_seconds=1_000.0, jitter=0.0)


async def reason_of(client: Client, kind: str) -> str | None:
    """Why a task of this kind is pending after its first failure."""
    await client.submit(kind)
    [claim] = await client.claim(kind)
    return (await claim.fail(TimeoutError())).reason


async def test_each_kind_has_a_policy_of_its_own_or_that_of_its_app(client: Client) -> None:
    app = App(retry=Retry(base_seconds=50.0, jitter=0.0), limits=Limits(max_attempts=7))

    @app.task("own", retry=SLOW)
    async def own(ctx: Context) -> None: ...

    @app.task("apps")
    async def apps(ctx: Context) -> None: ...

    async with app.client(client.store.address) as asking:
        assert await reason_of(asking, "own") == "retry_in: 100.000 s"
        assert await reason_of(asking, "apps") == "retry_in: 50.000 s"
        assert await reason_of(asking, "elsewhere") == "retry_in: 50.000 s"
        attempts = {task.kind: task.max_attempts async for task in asking.all_tasks()}
    assert attempts == {"own": 2, "apps": 7, "elsewhere": 7}


def test_attempts_of_a_policy_go_before_the_limits_of_its_app_and_a_kinds_limits_before_its_apps_policy() -> None:
    app = App(retry=Retry(attempts=6))

    @app.task("apps")
    async def apps(ctx: Context) -> None: ...

    @app.task("limited", limits=Limits(max_attempts=1))
    async def limited(ctx: Context) -> None: ...

    @app.task("own", limits=Limits(max_attempts=1), retry=Retry(attempts=3))
    async def own(ctx: Context) -> None: ...

    assert [app.registry.get(kind).new_task().max_attempts for kind in ("apps", "limited", "own")] == [6, 1, 3]


async def test_the_default_waits_a_second_then_ten_then_a_minute(client: Client) -> None:
    async with App().client(client.store.address) as asking:
        await asking.submit("any")
        [claim] = await asking.claim("any")
        seconds = float(str((await claim.fail(TimeoutError())).reason).split()[1])
    assert 0.5 <= seconds <= 1.0


async def test_a_setting_replaces_fields_of_the_policy_of_a_kind_or_of_all(app: App, client: Client) -> None:
    @app.task("own", retry=SLOW)
    async def own(ctx: Context) -> None: ...

    await client.settings.set("retry.kinds", {"*": {"base_seconds": 7, "jitter": 0}, "own": {"attempts": 5}})
    assert await reason_of(client, "own") == "retry_in: 7.000 s"
    assert await reason_of(client, "elsewhere") == "retry_in: 7.000 s"
    assert [task.max_attempts async for task in client.all_tasks(kind="own")] == [5]
    await client.settings.set("retry.kinds", {"own": {"base_seconds": 9}})
    await client.settings.refresh(0.0)
    assert await reason_of(client, "own") == "retry_in: 9.000 s"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "give an object"),
        ({"own": 5}, "give an object"),
        ({"own": {"seconds": 5}}, "attempts, base_seconds, factor, cap_seconds, jitter"),
        ({"own": {"jitter": 2}}, "Retry\\(jitter=2\\): give 0 to 1"),
    ],
)
async def test_a_setting_that_makes_no_sense_is_refused_with_what_to_give(
    client: Client, value: object, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        await client.settings.set("retry.kinds", value)


async def test_every_way_of_failing_follows_the_policy_of_its_kind(app: App, client: Client) -> None:
    policy = Retry(attempts=2, base_seconds=0.25, factor=1.0, jitter=0.0)

    @app.task("raises", retry=policy)
    async def raises(ctx: Context) -> None:
        raise TimeoutError

    @app.task("late", retry=policy, limits=Limits(invocation_seconds=0.01))
    async def late(ctx: Context) -> None:
        await never()

    submitted = await client.submit_many([("raises", None), ("late", None)])
    await worked_off(app, client, rng=always(0.5))
    for item in submitted:
        told = await history(client, item.id)
        assert [attempt.reason for attempt in told.attempts] == ["retry_in: 0.250 s", "attempts_exhausted: 2"]


async def never() -> None:

    await asyncio.Event().wait()


def to_nobody() -> Iterator[Callable[[], Any]]:
    """Calls that fail because nobody listens, by whatever client is installed."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Bound and not listening: nobody else can listen there meanwhile.
        port = taken.getsockname()[1]
        url = f"http://127.0.0.1:{port}/"
        yield lambda: urllib.request.urlopen(url, timeout=HANG_SECONDS)
        yield lambda: socket.create_connection(("127.0.0.1", port), timeout=HANG_SECONDS)
        httpx = pytest.importorskip("httpx2", reason="httpx2 is not installed")
        yield lambda: httpx.get(url, timeout=HANG_SECONDS)
        psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
        yield lambda: psycopg.connect(f"postgresql://127.0.0.1:{port}/x", connect_timeout=int(HANG_SECONDS))


@pytest.mark.network
def test_where_nobody_listens_every_client_raises_a_transient_error() -> None:
    found = []
    for call in to_nobody():
        try:
            call()
        except Exception as error:
            found.append((type(error).__name__, classify(error)))
    assert [error_class for _, error_class in found] == [ErrorClass.TRANSIENT] * 4, found
