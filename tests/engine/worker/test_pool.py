"""Time limits, leases and cancels that no handler can starve; and processes that die alone."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import Client
from ramet.engine.worker import isolated as alone_module
from ramet.engine.worker import pool as pool_module
from ramet.engine.worker.child_process import ChildPlan
from ramet.engine.worker.pool import HEALTHY_SECONDS, Pool
from tests.engine.apps.child_app import Meeting
from tests.engine.apps.endless_app import app
from tests.invariants.check import violations
from tests.support.fakes import Greedy, Hands, always
from tests.support.waiting import HANG_SECONDS, get, history, outcomes, until, working

TARGET = "tests.engine.apps.endless_app:app"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("WATCH", 0.02), ("GRACE", 0.2), ("ANSWER", 0.3), ("LINGER", 0.3), ("RESTART", 0.15)):
        monkeypatch.setattr(pool_module, f"{name}_SECONDS" + ("_MAX" if name == "RESTART" else ""), seconds)
    monkeypatch.setattr(alone_module, "GRACE_SECONDS", 0.2)


@pytest.fixture
def meeting(tmp_path: Path) -> Meeting:
    return Meeting(folder=str(tmp_path), name="m")


def another(meeting: Meeting, name: str) -> Meeting:
    return Meeting(folder=meeting.folder, name=name)


# --- limits -----------------------------------------------------------------------------------------------------


async def test_a_handler_that_holds_the_interpreter_past_its_limit_is_ended_and_no_neighbour_loses_anything(
    client: Client, meeting: Meeting
) -> None:
    neighbour = another(meeting, "neighbour")
    near = await client.submit("meet", neighbour)
    async with working(app, client, target=TARGET, concurrency=2) as worker:
        worker._pace = Greedy(30)  # type: ignore[assignment]
        await until(lambda: neighbour.seen("began"), "the neighbour runs")
        submitted = await client.submit("hold", meeting, priority=1)
        await until(lambda: meeting.seen("began-1"), "it holds the interpreter")
        waiting = await client.submit_many([("quick", n) for n in range(20)])
        assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == "attempt 2"
        neighbour.put("go")
        result = await client.result(near.id, timeout_seconds=HANG_SECONDS)
        assert [await client.result(item.id, timeout_seconds=HANG_SECONDS) for item in waiting] == list(range(20))
    told = await history(client, submitted.id)
    assert [attempt.outcome for attempt in told.attempts] == ["error", "success"]
    assert told.attempts[0].error == "Timeout: the handler ran longer than 0.3 s"
    assert (result["attempt"], await outcomes(client, near.id)) == (1, ["returned", "success"])
    # Nobody knows what a process that does not answer had begun: it goes back, with its attempt.
    told_of = {tuple(await outcomes(client, item.id)) for item in waiting}
    assert told_of <= {("success",), ("returned", "success")}
    assert {task.losses async for task in client.all_tasks()} == {0}


async def test_what_a_silent_process_may_have_begun_begins_again_under_another_fence_only(
    client: Client, meeting: Meeting
) -> None:
    """The first has ended there, but the second holds the interpreter before anybody is told of that."""
    ended = await client.submit("hold for", 0.0, priority=2)
    holding = await client.submit("hold", meeting, priority=1)
    async with working(app, client, target=TARGET, concurrency=1) as worker:
        worker._pace = Greedy(30)  # type: ignore[assignment]
        assert await client.result(holding.id, timeout_seconds=HANG_SECONDS) == "attempt 2"
        assert await client.result(ended.id, timeout_seconds=HANG_SECONDS) == "2", "its fence"
    assert await outcomes(client, ended.id) == ["returned", "success"]
    assert (await get(client, ended.id)).attempts == 1


async def test_a_thread_past_its_limit_is_told_then_ended_when_its_neighbours_have_finished(
    client: Client, meeting: Meeting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "LINGER_SECONDS", 60.0)
    neighbour = another(meeting, "neighbour")
    near = await client.submit("meet", neighbour)
    async with working(app, client, target=TARGET, concurrency=3) as worker:
        await until(lambda: neighbour.seen("began"), "the neighbour runs")
        pool = worker._handlers
        assert isinstance(pool, Pool)
        first = pool.pid
        submitted = await client.submit("thread", meeting)
        await until(lambda: meeting.seen("told"), "the thread is told")
        await until(lambda: pool.pid not in (first, None), "another process took over")
        assert not meeting.seen("began-2"), "as long as the thread runs, nobody else runs the task"
        later = await client.submit("quick", 1)
        assert await client.result(later.id, timeout_seconds=HANG_SECONDS) == 1, "the worker goes on meanwhile"
        neighbour.put("go")
        assert await client.result(near.id, timeout_seconds=HANG_SECONDS) == {"attempt": 1, "pid": first}
        assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == "attempt 2"
    assert await outcomes(client, submitted.id) == ["error", "success"]
    assert await outcomes(client, near.id) == ["success"]


async def test_a_neighbour_that_needs_too_long_goes_back_with_its_attempt(client: Client, meeting: Meeting) -> None:
    neighbour = another(meeting, "neighbour")
    near = await client.submit("meet", neighbour)
    async with working(app, client, target=TARGET, concurrency=2):
        await until(lambda: neighbour.seen("began"), "the neighbour runs")
        first = neighbour.path("began").read_text()
        submitted = await client.submit("thread", meeting)
        assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == "attempt 2"
        await until(lambda: neighbour.path("began").read_text() != first, "it runs again, elsewhere")
        neighbour.put("go")
        assert (await client.result(near.id, timeout_seconds=HANG_SECONDS))["attempt"] == 1
    assert await outcomes(client, near.id) == ["returned", "success"]


async def test_a_drain_ends_although_a_handler_holds_the_interpreter(client: Client, meeting: Meeting) -> None:
    submitted = await client.submit("hold", meeting)
    async with working(app, client, target=TARGET, concurrency=2) as worker:
        await until(lambda: meeting.seen("began-1"), "it holds the interpreter")
        worker.drain()
        await until(lambda: worker.in_hand == 0, "the drain")
    assert await outcomes(client, submitted.id) == ["error"]


# --- leases -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [4, pytest.param(62, marks=pytest.mark.nightly)])
async def test_a_handler_that_holds_the_interpreter_for_longer_than_its_lease_keeps_it(
    client: Client, tmp_path: Path, seconds: int
) -> None:
    submitted = await client.submit("hold for", seconds)
    async with (
        app.client(tmp_path / "ramet.db") as second,
        working(app, client, target=TARGET, lease_seconds=1.0),
        working(app, second, kinds=["quick"]),  # Its sweeps would reclaim the task as soon as its lease lapsed.
    ):
        assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == "1", "under its first fence"
    assert await outcomes(client, submitted.id) == ["success"]


# --- cancels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["task", "tree", "lineage"])
async def test_a_running_handler_is_told_of_a_cancel_long_before_the_next_heartbeat(
    client: Client, meeting: Meeting, how: str
) -> None:
    root = await client.submit("family", meeting)
    child = another(meeting, "child of m")
    quick = {"ends_seconds": 0.02, "heartbeat_seconds": 100.0, "sweep_seconds": 100.0}
    async with working(app, client, target=TARGET, **quick) as worker:
        await until(lambda: child.seen("began"), "the child runs")
        [below] = (await client.tasks(parent_id=root.id)).tasks
        if how == "task":
            assert await client.cancel(below.id)
        elif how == "tree":
            assert await client.cancel(root.id, tree=True)
        else:
            assert await client.cancel_lineage(root.tracking_id)
        await until(lambda: child.seen("told"), "its handler is told")
        await until(lambda: worker.in_hand == 0, "the claim was let go")


async def test_a_plain_handler_can_ask_whether_it_was_cancelled(client: Client, meeting: Meeting) -> None:
    submitted = await client.submit("polite thread", meeting)
    async with working(app, client, target=TARGET, ends_seconds=0.02, heartbeat_seconds=100.0) as worker:
        await until(lambda: meeting.seen("began"), "it runs")
        pool = worker._handlers
        assert isinstance(pool, Pool)
        first = pool.pid
        await client.cancel(submitted.id)
        await until(lambda: meeting.seen("told"), "it asked")
        await until(lambda: not pool._cancelled, "it has ended")
        assert pool.pid == first, "nobody had to be killed"
    assert (await get(client, submitted.id)).result is None


async def test_a_handler_that_ignores_its_cancel_is_ended_with_its_process(client: Client, meeting: Meeting) -> None:
    submitted = await client.submit("stubborn", meeting)
    async with working(app, client, target=TARGET, ends_seconds=0.02) as worker:
        await until(lambda: meeting.seen("began"), "it runs")
        pool = worker._handlers
        assert isinstance(pool, Pool)
        first = int(meeting.path("began").read_text())
        await client.cancel(submitted.id)
        await until(lambda: meeting.seen("told"), "it is told")
        await until(lambda: not Path(f"/proc/{first}").exists(), "the end of its process")
        later = await client.submit("quick", 1)
        assert await client.result(later.id, timeout_seconds=HANG_SECONDS) == 1
        assert not pool._cancelled
    assert (await get(client, submitted.id)).state == "cancelled"


# --- deaths -----------------------------------------------------------------------------------------------------


async def test_a_task_that_kills_its_process_fails_after_three_deaths_alone_and_harms_nobody_twice(
    client: Client, meeting: Meeting
) -> None:
    neighbour = another(meeting, "neighbour")
    near = await client.submit("meet", neighbour)
    async with working(app, client, target=TARGET, concurrency=2):
        await until(lambda: neighbour.seen("began"), "the neighbour runs")
        submitted = await client.submit("kill", meeting)
        task = await client.wait(submitted.id, timeout_seconds=HANG_SECONDS)
        neighbour.put("go")
        await client.result(near.id, timeout_seconds=HANG_SECONDS)
    assert (task.state, task.reason) == ("failed", "poison: 4 claims lost, 3 of them alone")
    assert await outcomes(client, near.id) == ["lost", "success"], "only by the first death"


async def test_those_on_probation_wait_for_their_turn_while_the_worker_goes_on(
    client: Client, meeting: Meeting
) -> None:
    meetings = [another(meeting, f"m{n}") for n in range(4)]
    submitted = await client.submit_many([("meet", item) for item in meetings])
    async with working(app, client, target=TARGET, concurrency=4) as worker:
        pool = worker._handlers
        assert isinstance(pool, Pool)
        await until(lambda: all(item.seen("began") for item in meetings), "all run")
        assert pool.pid is not None
        os.kill(pool.pid, signal.SIGKILL)
        await until(lambda: pool.set_aside == 2 and worker.in_hand == 4, "two run alone, two wait")
        later = await client.submit_many([("quick", n) for n in range(20)])
        for item in later:
            await client.wait(item.id, timeout_seconds=HANG_SECONDS)
        await until(lambda: len(pool._alone._calls) == 2, "the two have their processes")
        worker.drain()
        await until(lambda: worker.in_hand == 2, "those that wait go back")
        for held in meetings:
            held.put("go")
        await until(lambda: worker.in_hand == 0, "the others end")
    told = [await outcomes(client, item.id) for item in submitted]
    assert sorted(told) == [["lost", "returned"]] * 2 + [["lost", "success"]] * 2
    assert [(await get(client, item.id)).attempts for item in submitted if await running(client, item.id)] == [0, 0]


async def test_a_kind_without_probation_runs_among_the_others_after_a_loss(client: Client, meeting: Meeting) -> None:
    submitted = await client.submit("share", meeting)
    async with working(app, client, target=TARGET, concurrency=2) as worker:
        pool = worker._handlers
        assert isinstance(pool, Pool)
        await until(lambda: meeting.seen("began-1"), "it runs")
        assert pool.pid is not None
        os.kill(pool.pid, signal.SIGKILL)
        await until(lambda: meeting.seen("began-2"), "it runs again")
        shared = pool.pid
        meeting.put("go")
        assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == shared
    assert await outcomes(client, submitted.id) == ["lost", "success"]


async def running(client: Client, task_id: str) -> bool:
    return (await get(client, task_id)).state == "pending"


def test_restarts_of_the_main_process_slow_down_and_recover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "RESTART_SECONDS_MAX", 30.0)
    clock, pauses = Hands(), list[float]()
    pool = Pool(app.registry, ChildPlan(TARGET, "", 300.0, "w", None), 1, always(0.5), clock)

    class Boss:
        def hand_back(self, claims: Any) -> None: ...

        def unsettled(self) -> list[tuple[int, int]]:
            return []

    pool._supervisor = Boss()  # type: ignore[assignment]
    monkeypatch.setattr(pool, "_renew", lambda seconds: pauses.append(round(seconds, 3)))
    for after in (1.0, 1.0, 1.0, HEALTHY_SECONDS, 1.0):
        clock.at += after
        pool._main = child = pool._new()
        pool.died(child, "the handler process ended")
    assert pauses == [0.1, 0.3, 0.7, 0.1, 0.3]
