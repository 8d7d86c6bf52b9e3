"""Handlers with a process of their own: ended, killed or out of memory, they take nobody with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import App, Client, SyncContext
from ramet.engine.worker import isolated as alone_module
from ramet.engine.worker import pool as pool_module
from ramet.engine.worker.pool import Pool
from tests.engine.apps.child_app import Meeting
from tests.engine.apps.endless_app import app
from tests.invariants.check import violations
from tests.support.waiting import HANG_SECONDS, get, history, outcomes, until, worked_off, working

TARGET = "tests.engine.apps.endless_app:app"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "WATCH_SECONDS", 0.02)
    monkeypatch.setattr(alone_module, "GRACE_SECONDS", 0.1)


@pytest.fixture
def meeting(tmp_path: Path) -> Meeting:
    return Meeting(folder=str(tmp_path), name="m")


def another(meeting: Meeting, name: str) -> Meeting:
    return Meeting(folder=meeting.folder, name=name)


async def test_a_handler_past_its_limit_is_killed_alone(client: Client, meeting: Meeting) -> None:
    neighbour = another(meeting, "neighbour")
    near = await client.submit("meet", neighbour)
    async with working(app, client, target=TARGET) as worker:
        await until(lambda: neighbour.seen("began"), "the neighbour runs")
        pool = worker._handlers
        assert isinstance(pool, Pool)
        submitted = await client.submit("alone", meeting)
        result = await client.result(submitted.id, timeout_seconds=HANG_SECONDS)
        assert result["attempt"] == 2
        assert result["pid"] not in (pool.pid, int(meeting.path("began-1").read_text()))
        neighbour.put("go")
        assert await client.result(near.id, timeout_seconds=HANG_SECONDS) == {"attempt": 1, "pid": pool.pid}
    told = await history(client, submitted.id)
    assert [attempt.outcome for attempt in told.attempts] == ["error", "success"]
    assert told.attempts[0].error == "Timeout: the handler ran longer than 0.3 s"
    assert await outcomes(client, near.id) == ["success"]


async def test_a_process_is_used_again_and_no_more_run_at_once_than_handlers_may(
    client: Client, meeting: Meeting
) -> None:
    meetings = [another(meeting, f"m{n}") for n in range(8)]
    submitted = await client.submit_many([("at ease", item) for item in meetings])
    await worked_off(app, client, target=TARGET, concurrency=2)
    results = [(await get(client, item.id)).result for item in submitted]
    assert len({result["pid"] for result in results}) <= 2


async def test_a_cancelled_handler_is_killed_with_its_process(client: Client, meeting: Meeting) -> None:
    submitted = await client.submit("patient", meeting)
    quick = {"ends_seconds": 0.02, "heartbeat_seconds": 100.0}
    async with working(app, client, target=TARGET, **quick) as worker:
        await until(lambda: meeting.seen("began"), "it runs")
        pid = int(meeting.path("began").read_text())
        await client.cancel(submitted.id)
        await until(lambda: not Path(f"/proc/{pid}").exists(), "its process is gone")
        await until(lambda: worker.in_hand == 0, "the claim was let go")
        later = await client.submit("quick", 1)
        assert await client.result(later.id, timeout_seconds=HANG_SECONDS) == 1
    assert (await get(client, submitted.id)).state == "cancelled"


async def test_a_call_that_takes_too_much_memory_fails_and_the_next_one_has_its_own(client: Client) -> None:
    sizes = [10_000_000, 500_000_000, 10_000_000, 500_000_000]
    submitted = await client.submit_many([("large", size) for size in sizes])
    await worked_off(app, client, target=TARGET, concurrency=1)
    tasks = [await get(client, item.id) for item in submitted]
    assert [str(task.state) for task in tasks] == ["success", "failed"] * 2
    assert (tasks[1].error or "").startswith("MemoryError")
    assert {task.losses for task in tasks} == {0}


async def test_a_segmentation_fault_fails_its_task_after_three_and_nobody_else_notices(
    client: Client, meeting: Meeting
) -> None:
    neighbour = another(meeting, "neighbour")
    near = await client.submit("meet", neighbour)
    async with working(app, client, target=TARGET):
        await until(lambda: neighbour.seen("began"), "the neighbour runs")
        submitted = await client.submit("crash", meeting)
        task = await client.wait(submitted.id, timeout_seconds=HANG_SECONDS)
        neighbour.put("go")
        await client.result(near.id, timeout_seconds=HANG_SECONDS)
    assert (task.state, task.reason) == ("failed", "poison: 3 claims lost, 3 of them alone")
    assert await outcomes(client, near.id) == ["success"]


async def test_in_the_workers_own_process_they_run_like_all_others(client: Client, meeting: Meeting) -> None:
    submitted = await client.submit("at ease", meeting)
    large = await client.submit("large", 500_000_000)
    await worked_off(app, client)
    assert (await get(client, submitted.id)).result["attempt"] == 1
    assert (await get(client, large.id)).result == 500_000_000


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"memory_bytes_max": 1}, "kind 'k': memory_bytes_max needs process=True"),
        ({"memory_bytes_max": 0, "process": True}, "kind 'k': memory_bytes_max is 0, give at least 1"),
        ({"batch": 0}, "kind 'k': batch is 0, give 1 to 1000"),
        ({"batch": 1_001}, "kind 'k': batch is 1001, give 1 to 1000"),
        ({"batch_seconds": -1.0}, "kind 'k': batch_seconds is -1.0, give 0 to 3600"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_what_to_give(options: dict[str, object], why: str) -> None:
    def handler(ctx: SyncContext, payloads: list[int]) -> None: ...

    with pytest.raises(ValueError, match=why):
        App().task("k", **options)(handler)  # type: ignore[arg-type]


async def test_so_many_processes_of_their_own_as_the_app_says_and_no_more(
    client: Client, meeting: Meeting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "processes", 1)
    meetings = [another(meeting, f"m{n}") for n in range(4)]
    submitted = await client.submit_many([("at ease", item) for item in meetings])
    await worked_off(app, client, target=TARGET, concurrency=4)
    results = [(await get(client, item.id)).result for item in submitted]
    assert len({result["pid"] for result in results}) == 1


def test_an_app_keeps_at_least_one_process() -> None:
    with pytest.raises(ValueError, match="processes is 0"):
        App(processes=0)
