"""Log lines of attempts: kept where a kind says so, bounded, without secrets, with the outcome and for it alone."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ramet import App, AttemptLog, BatchContext, Client, Context, SyncContext
from ramet.engine.base import task_lines
from ramet.testing import drain, fresh_client
from tests.support.waiting import worked_off

log = logging.getLogger("shop.orders")
SECRET = "swordfish-1234567890"

app = App(log_lines=3)


@app.task("talks", key=str)
async def talks(ctx: Context, name: str) -> None:
    if ctx.attempt == 1:
        log.warning("first %s with %s", name, SECRET)
        raise TimeoutError("again")
    for at in range(5):
        log.info("line %d of %s", at, name)
    await asyncio.sleep(0)
    log.error("the last of %s", name)


@app.task("plain", key=str)
def plain(ctx: SyncContext, name: str) -> None:
    log.warning("in a thread: %s", name)
    other = threading.Thread(target=log.warning, args=("of a thread that nobody follows",))
    other.start()
    other.join()


@app.task("batch", key=str, batch=2)
async def batch(ctx: BatchContext, names: list[str]) -> list[None]:
    log.warning("for %d", len(names))
    return [None] * len(names)


@app.task("silent", log_lines=0)
async def silent(ctx: Context) -> None:
    log.warning("nobody keeps this")


@app.task("large", log_lines=1_000)
async def large(ctx: Context) -> None:
    for at in range(30):
        log.warning("%03d %s", at, "x" * 10_000)


@app.task("broken")
async def broken(ctx: Context) -> None:
    log.warning("%d is no number", "this")
    log.warning("but this is %s", "text")


@pytest.fixture(autouse=True)
def everything_is_logged() -> Iterator[None]:
    root, before = logging.getLogger(), logging.getLogger().level
    root.setLevel(logging.INFO)
    yield
    root.setLevel(before)
    assert task_lines._HANDLER.kept == {}, "nothing is kept of what has ended"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with fresh_client(app, folder=tmp_path) as client:
        yield client


async def logged(client: Client, kind: str, payload: object = None) -> list[AttemptLog]:
    handle = await client.submit(kind, payload)
    await drain(app, client)
    return await client.task_log(handle.id)


def messages(one: AttemptLog) -> list[str]:
    return [line.message for line in one.lines]


def test_more_lines_than_are_kept_are_refused() -> None:
    with pytest.raises(ValueError, match="kind 'x': log_lines is 1001, give 0 to 1000"):
        App().task("x", log_lines=1_001)(silent)


async def test_the_last_lines_of_each_attempt_are_kept_without_secrets(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", SECRET)
    first, second = await logged(client, "talks", "a")
    assert (first.fence, messages(first), first.left_out) == (1, ["first a with ***"], 0)
    assert (messages(second), second.left_out) == (["line 3 of a", "line 4 of a", "the last of a"], 3)
    assert [(line.level, line.logger) for line in second.lines[1:]] == [
        ("info", "shop.orders"), ("error", "shop.orders"),
    ]  # fmt: skip


async def test_each_call_has_its_own_lines(client: Client) -> None:
    assert [messages(one) for one in await logged(client, "plain", "b")] == [["in a thread: b"]]
    handles = await client.submit_many([("batch", "c"), ("batch", "d")])
    await drain(app, client)
    assert [messages((await client.task_log(one.id))[0]) for one in handles] == [["for 2"], ["for 2"]]


async def test_nothing_is_kept_where_nobody_asked_or_nothing_was_logged(client: Client) -> None:
    assert await logged(client, "silent") == []
    assert await client.task_log("nobody") == []
    assert await client.read("SELECT COUNT(*) FROM ramet_task_logs") == [(0,)]


async def test_bytes_and_characters_are_bounded(client: Client) -> None:
    [one] = await logged(client, "large")
    assert one.left_out > 0
    assert messages(one)[-1].startswith("029 xxx")
    assert all(len(message) <= task_lines.LINE_CHARACTERS_MAX for message in messages(one))
    assert sum(map(len, messages(one))) <= task_lines.BYTES_MAX


async def test_a_record_that_cannot_be_written_down_costs_itself_alone(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    assert [messages(one) for one in await logged(client, "broken")] == [["but this is text"]]


async def test_lines_go_with_their_lineage(client: Client) -> None:
    handle = await client.submit("plain", "e", tracking_id="line")
    await drain(app, client)
    assert len(await client.task_log(handle.id)) == 1
    while await client.store.prune(before=client.clock.now() + 1.0):
        pass
    assert await client.read("SELECT COUNT(*) FROM ramet_task_logs") == [(0,)]


async def test_a_worker_keeps_them_too(tmp_path: Path) -> None:
    async with app.client(tmp_path / "ramet.db") as client:
        handle = await client.submit("plain", "f")
        await worked_off(app, client)
        assert [messages(one) for one in await client.task_log(handle.id)] == [["in a thread: f"]]
