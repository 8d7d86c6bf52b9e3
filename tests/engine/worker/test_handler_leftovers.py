"""What a handler leaves behind in its process ends its own attempt and nothing else, and is noticed within seconds."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import Client, TaskState
from ramet.engine.worker import isolated as alone_module
from ramet.engine.worker import pool as pool_module
from ramet.engine.worker.pool import Pool
from tests.engine.apps.misbehaving_app import LEFT, app
from tests.invariants.check import violations
from tests.support.waiting import outcomes, until, worked_off, working

pytestmark = pytest.mark.process

TARGET = "tests.engine.apps.misbehaving_app:app"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits as long as in earnest; one that is only slow is replaced too, which loses nothing."""
    monkeypatch.setattr(pool_module, "RESTART_SECONDS_MAX", 0.15)
    monkeypatch.setattr(pool_module, "SILENT_SECONDS", 0.5)
    monkeypatch.setattr(alone_module, "SILENT_SECONDS", 0.5)


async def all_good(client: Client, kind: str = "good", count: int = 10) -> None:
    """Tasks that are submitted only now succeed."""
    made = await client.submit_many([(kind, n) for n in range(count)])

    async def ended() -> bool:
        return all([(await client.get(each.id)).state is TaskState.SUCCESS for each in made])  # type: ignore[union-attr]

    await until(ended, f"all {kind} tasks succeed")


LASTING = [name for name in LEFT if not name.startswith("dies")]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("leaves", name) for name in LASTING),
        *(("awaits", name) for name in LASTING if name != "blocks_later"),
        *(("leaves-process", name) for name in ("blocks_later", "cancels_all", "forks_and_goes_on")),
        *(("thread", name) for name in ("forks_and_goes_on", "forks_and_exits")),
    ],
)
async def test_who_comes_after_it_is_served(client: Client, kind: str, name: str) -> None:
    async with working(app, client, target=TARGET, concurrency=2):
        left = await client.submit(kind, name)

        async def ended() -> bool:
            task = await client.get(left.id)
            return task is not None and task.state.terminal

        await until(ended, "it ends")
        await all_good(client, "good-process" if kind == "leaves-process" else "good")


async def test_a_process_that_dies_before_an_outcome_left_it_has_lost_the_attempt(client: Client) -> None:
    made = await client.submit("leaves", "dies_before_its_outcome_leaves")
    others = await client.submit_many([("good", n) for n in range(10)])
    await worked_off(app, client, target=TARGET, concurrency=2)
    task = await client.get(made.id)
    assert task is not None
    assert (task.state, str(task.reason).split(":")[0]) == (TaskState.FAILED, "poison")
    assert set(await outcomes(client, made.id)) == {"lost"}
    assert {(await client.get(each.id)).state for each in others} == {TaskState.SUCCESS}  # type: ignore[union-attr]


async def test_what_cannot_be_sent_is_that_tasks_error(client: Client) -> None:
    made = await client.submit("grows", 1)
    others = await client.submit_many([("good", n) for n in range(10)])
    await worked_off(app, client, target=TARGET, concurrency=2)
    assert await outcomes(client, made.id) == ["error"]
    assert {(await client.get(each.id)).state for each in others} == {TaskState.SUCCESS}  # type: ignore[union-attr]


async def test_an_idle_process_that_is_stopped_is_replaced_when_there_is_work(client: Client) -> None:
    async with working(app, client, target=TARGET, concurrency=2) as worker:
        await all_good(client)
        assert isinstance(worker._handlers, Pool)
        stopped = worker._handlers.pid
        assert stopped is not None
        os.kill(stopped, signal.SIGSTOP)
        await all_good(client)
        assert worker._handlers.pid != stopped


async def test_a_second_signal_ends_a_worker_whose_process_does_not_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "SILENT_SECONDS", 3_600.0)
    async with working(app, client, target=TARGET, concurrency=2) as worker:
        await all_good(client)
        assert isinstance(worker._handlers, Pool)
        assert worker._handlers.pid is not None
        os.kill(worker._handlers.pid, signal.SIGSTOP)
        made = await client.submit_many([("good", n) for n in range(4)])
        await until(lambda: worker.in_hand, "they are given to a process that does not answer")
        worker.drain()
        await asyncio.sleep(0)
        worker.stop()
    assert {(await client.get(each.id)).state for each in made} == {TaskState.PENDING}  # type: ignore[union-attr]
    assert not worker.in_hand
