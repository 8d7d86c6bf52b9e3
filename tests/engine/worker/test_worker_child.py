"""The worker with its handlers in a real child process: what one does not take down with it."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import Client, Worker
from ramet.engine.worker import pool as pool_module
from ramet.engine.worker.pool import Pool
from tests.engine.apps.child_app import Meeting, app
from tests.invariants.check import violations
from tests.support.fakes import Greedy
from tests.support.waiting import HANG_SECONDS, history, until, worked_off, working

TARGET = "tests.engine.apps.child_app:app"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


@pytest.fixture(autouse=True)
def quick_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "RESTART_SECONDS_MAX", 0.15)


def signs(folder: Path, pattern: str) -> int:
    return len(list(folder.glob(pattern)))


def started(folder: Path) -> set[int]:
    """Process ids of all that ever began to load the app."""
    return {int(path.name.removeprefix("start-")) for path in folder.glob("start-*")}


def child_of(worker: Worker) -> Pool:
    assert isinstance(worker._handlers, Pool)
    return worker._handlers


async def killed(worker: Worker) -> None:
    """Kill the child and wait until the worker knows."""
    deaths = child_of(worker).deaths
    pid = child_of(worker).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: child_of(worker).deaths > deaths, "the worker notices")


# --- everything works over the wire -----------------------------------------------------------------------------


async def test_settings_in_force_reach_the_process_of_the_handlers(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMET_TEST_TRACES", str(tmp_path))
    await client.settings.set("max_attempts", 2)
    submitted = await client.submit("tree", 1, key="tree")
    await worked_off(app, client, target=TARGET)
    tasks = [task async for task in client.all_tasks(tracking_id=submitted.tracking_id, kind="tree")]
    assert len(tasks) == 3
    assert {task.max_attempts for task in tasks} == {2}


async def test_everything_that_a_handler_can_ask_for_works_in_a_child(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMET_TEST_TRACES", str(tmp_path))
    submitted = await client.submit("tree", 1, key="tree")
    await worked_off(app, client, target=TARGET)
    root = await history(client, submitted.id)
    assert root.task.result == {"stage": "second", "children": 2, "leaf": None, "lineage": "running"}
    assert [attempt.outcome for attempt in root.attempts] == ["error", "success"]
    assert root.attempts[0].error == "Transient: once more"
    tasks = {task.key: task async for task in client.all_tasks(tracking_id=submitted.tracking_id)}
    assert {key: str(task.state) for key, task in tasks.items()} == {
        "tree": "success",
        "tree0": "success",
        "tree1": "success",
        "leaf of tree": "success",
        "leaf of tree0": "failed",
        "leaf of tree1": "failed",
    }
    assert tasks["leaf of tree"].result == "leaf at 1"
    assert tasks["leaf of tree0"].reason == "permanent_error"
    effects = await client.read("SELECT effect, value, COUNT(*) FROM effects GROUP BY effect, value ORDER BY effect")
    assert effects == [("first", b"\x00\xff", 3), ("leaf", "é", 3), ("second", 1.5, 3)]
    assert signs(tmp_path, "ended-*") == 1, "what handlers opened was closed"


async def test_what_cannot_be_sent_fails_its_task_and_delays_no_other(client: Client) -> None:
    bad = await client.submit("unwritable", limits=None)
    good = await client.submit_many([("quick", n) for n in range(20)])
    async with working(app, client, target=TARGET):
        for item in good:
            await client.wait(item.id, timeout_seconds=HANG_SECONDS)

        async def tried() -> bool:
            return len((await history(client, bad.id)).attempts) > 0

        await until(tried, "its outcome")
    told = await history(client, bad.id)
    assert told.attempts[0].outcome == "error"
    assert "holds a NUL or half a character" in (told.attempts[0].error or "")


# --- the child dies ---------------------------------------------------------------------------------------------


async def test_after_the_childs_death_what_ran_is_lost_and_what_waited_keeps_its_attempt(
    client: Client, tmp_path: Path
) -> None:
    meetings = [Meeting(folder=str(tmp_path), name=f"m{n}") for n in range(6)]
    submitted = await client.submit_many([("meet", meeting) for meeting in meetings])
    async with working(app, client, target=TARGET, concurrency=2) as worker:
        worker._pace = Greedy(6)  # type: ignore[assignment]
        await until(lambda: worker.in_hand == 6 and meetings[0].seen("began") and meetings[1].seen("began"), "they run")
        first_pid = child_of(worker).pid
        await killed(worker)
        for meeting in meetings:
            meeting.put("go")
        results = [await client.result(item.id, timeout_seconds=HANG_SECONDS) for item in submitted]
    assert [result["attempt"] for result in results] == [1] * 6, "a lost attempt does not count"
    assert first_pid not in {result["pid"] for result in results}
    told = [await history(client, item.id) for item in submitted]
    assert [[a.outcome for a in h.attempts] for h in told[:2]] == [["lost", "success"]] * 2
    assert [[a.outcome for a in h.attempts] for h in told[2:]] == [["returned", "success"]] * 4
    assert [h.task.losses for h in told] == [1, 1, 0, 0, 0, 0]
    assert await client.read("SELECT COUNT(*) FROM effects") == [(6,)]


async def test_a_handler_that_ends_its_process_does_not_stop_the_others(client: Client, tmp_path: Path) -> None:
    deadly = Meeting(folder=str(tmp_path), name="deadly")
    submitted = await client.submit("die", deadly, priority=1)
    others = await client.submit_many([("quick", n) for n in range(50)])
    async with working(app, client, target=TARGET, concurrency=2):
        await until(lambda: deadly.path("death-2").exists(), "two deaths")
        deadly.put("go")
        await client.wait(submitted.id, timeout_seconds=HANG_SECONDS)
        results = [await client.result(item.id, timeout_seconds=HANG_SECONDS) for item in others]
    told = await history(client, submitted.id)
    assert (told.task.state, told.task.attempts) == ("success", 1)
    assert told.task.result == f"lived after {told.task.losses} deaths"
    assert results == list(range(50))


async def test_a_task_that_always_ends_its_process_is_failed_as_poison(client: Client, tmp_path: Path) -> None:
    deadly = Meeting(folder=str(tmp_path), name="deadly")
    submitted = await client.submit("die", deadly)
    async with working(app, client, target=TARGET, concurrency=2):
        task = await client.wait(submitted.id, timeout_seconds=HANG_SECONDS)
    assert (task.state, task.reason) == ("failed", "poison: 4 claims lost, 3 of them alone")
    assert signs(tmp_path, "deadly.death-*") == 4


async def test_a_child_that_dies_during_a_drain_does_not_hold_it_up(client: Client, tmp_path: Path) -> None:
    meeting = Meeting(folder=str(tmp_path), name="m")
    submitted = await client.submit("meet", meeting)
    worker = Worker(app, client, target=TARGET)
    run = asyncio.create_task(worker.run())
    await until(lambda: meeting.seen("began"), "it runs")
    worker.drain()
    await killed(worker)
    async with asyncio.timeout(HANG_SECONDS):
        await run
    told = await history(client, submitted.id)
    assert (told.task.state, told.task.losses) == ("pending", 1)


@pytest.mark.parametrize("drain", [False, True])
async def test_a_child_that_is_killed_while_it_starts_is_started_again(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drain: bool
) -> None:
    monkeypatch.setenv("RAMET_TEST_STARTS", str(tmp_path))
    start = tmp_path / "start"
    start.touch()
    meeting = Meeting(folder=str(tmp_path), name="m")
    submitted = await client.submit("meet", meeting)
    worker = Worker(app, client, target=TARGET, poll_seconds=0.05, sweep_seconds=0.05)
    run = asyncio.create_task(worker.run())
    await until(lambda: meeting.seen("began"), "it runs")
    start.unlink()
    first = started(tmp_path)
    await killed(worker)
    await until(lambda: signs(tmp_path, "start-*") == 3, "another is loading, and one for the task on probation")
    await until(lambda: worker.in_hand == 1, "a claim waits for it")
    if drain:
        worker.drain()
    for pid in started(tmp_path) - first:
        os.kill(pid, signal.SIGKILL)
    if drain:
        async with asyncio.timeout(HANG_SECONDS):
            await run
        assert (await history(client, submitted.id)).task.state == "pending"
        return
    await until(lambda: signs(tmp_path, "start-*") == 5, "two more are loading")
    start.touch()
    meeting.put("go")
    assert (await client.result(submitted.id, timeout_seconds=HANG_SECONDS))["attempt"] == 1
    worker.stop()
    await run
    assert (await history(client, submitted.id)).task.losses == 1


# --- drain, stop, lost claims -----------------------------------------------------------------------------------


async def test_drain_and_stop_hand_back_what_a_child_did_not_begin_or_finish(client: Client, tmp_path: Path) -> None:
    meetings = [Meeting(folder=str(tmp_path), name=f"m{n}") for n in range(5)]
    submitted = await client.submit_many([("meet", meeting) for meeting in meetings])
    worker = Worker(app, client, target=TARGET, concurrency=2)
    worker._pace = Greedy(4)  # type: ignore[assignment]
    run = asyncio.create_task(worker.run())
    await until(lambda: worker.in_hand == 4 and meetings[1].seen("began"), "two run, two wait")
    worker.drain()
    await until(lambda: worker.in_hand == 2, "the two that wait go back")
    meetings[0].put("go")
    assert (await client.result(submitted[0].id, timeout_seconds=HANG_SECONDS))["attempt"] == 1
    assert not run.done()
    worker.stop()
    await run
    told = [(await history(client, item.id)).task for item in submitted]
    assert [str(task.state) for task in told] == ["success"] + ["pending"] * 4
    assert [(task.attempts, task.losses) for task in told[1:]] == [(0, 0)] * 4
    assert not meetings[2].seen("began")


async def test_a_cancelled_task_is_stopped_in_the_child_and_can_ask_for_nothing_more(
    client: Client, tmp_path: Path
) -> None:
    told, late = Meeting(folder=str(tmp_path), name="told"), Meeting(folder=str(tmp_path), name="late")
    first = await client.submit("meet", told)
    async with working(app, client, target=TARGET, heartbeat_seconds=0.05) as worker:
        await until(lambda: told.seen("began"), "it runs")
        await client.cancel(first.id)
        await until(lambda: worker.in_hand == 0, "the claim was let go")
    second = await client.submit("call", late)
    async with working(app, client, target=TARGET, heartbeat_seconds=100.0):
        await until(lambda: late.seen("began"), "it runs")
        await client.cancel(second.id)
        late.put("go")
        await until(lambda: late.seen("told"), "what came of its call")
    assert late.path("told").read_text() == "ClaimLost"
    for item in (first, second):
        task = (await history(client, item.id)).task
        assert (task.state, task.result, task.stage) == ("cancelled", None, None)
    assert await client.read("SELECT COUNT(*) FROM effects") == [(0,)]


async def test_a_handler_that_keeps_its_process_busy_keeps_its_lease(client: Client, tmp_path: Path) -> None:
    meeting = Meeting(folder=str(tmp_path), name="m")
    submitted = await client.submit("block", meeting)
    async with working(app, client, target=TARGET, lease_seconds=2.0):
        await until(lambda: meeting.seen("began"), "it runs")
        first = (await history(client, submitted.id)).task.lease_until or 0.0

        async def outlasted() -> bool:
            return ((await history(client, submitted.id)).task.lease_until or 0.0) > first + 2.0

        await until(outlasted, "a heartbeat after the first lease would have lapsed")
        meeting.put("go")
        assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == "done"
    assert (await history(client, submitted.id)).task.fence == 1


# --- an app that cannot be loaded -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("tests.engine.apps.broken_app:app", "RuntimeError: this module is broken on purpose"),
        ("tests.engine.nowhere:app", "ValueError: no module 'tests.engine.nowhere': give the app as module:attribute"),
    ],
)
async def test_a_worker_whose_app_cannot_be_loaded_says_why_and_claims_nothing(
    client: Client, capfd: pytest.CaptureFixture[str], target: str, why: str
) -> None:
    submitted = await client.submit("quick", 1)
    with pytest.raises(RuntimeError, match=f"could not start {target}: see its message above"):
        await Worker(app, client, target=target).run()
    assert f"ramet: cannot load {target}: {why}\n" in capfd.readouterr().err
    task: Any = await client.get(submitted.id)
    assert (task.state, task.fence) == ("pending", 0)


FRAGILE = """
import os
import signal
from pathlib import Path

from ramet import App

BROKEN = Path(__file__).with_suffix(".broken")
if BROKEN.exists():
    raise RuntimeError("half deployed")
app = App()


@app.task("die")
async def die(ctx):
    BROKEN.touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_a_worker_whose_app_cannot_be_loaded_any_more_ends_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fragile_app.py").write_text(FRAGILE)
    monkeypatch.syspath_prepend(tmp_path)
    fragile = importlib.import_module("fragile_app").app
    async with fragile.client(tmp_path / "fragile.db") as client:
        submitted = await client.submit("die")
        with pytest.raises(RuntimeError, match="could not start fragile_app:app"):
            await Worker(fragile, client, target="fragile_app:app").run()
        told = await history(client, submitted.id)
    outcomes = [attempt.outcome for attempt in told.attempts]
    assert (told.task.state, outcomes[0], set(outcomes[1:]) <= {"returned"}) == ("pending", "lost", True)
