"""The worker with handlers in its own loop: in which order it works, and when it ends."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import pytest

from ramet import App, Client, Context, LineageState, Retry, SyncContext, Transient, Worker
from ramet.engine.base.work import Work
from ramet.engine.running.settle_batch import SETTLE_BATCH, SETTLE_BATCH_ON_PATHS, settled_together
from ramet.model.task import events as ev
from ramet.store.requests import Settlement
from ramet.store.session import LOOKS_MAX
from tests.support.fakes import Greedy, Held, always
from tests.support.waiting import HANG_SECONDS, get, history, until, worked_off, working

# --- order ------------------------------------------------------------------------------------------------------


async def test_larger_priority_runs_first_then_age(app: App, client: Client) -> None:
    order: list[str] = []

    @app.task("work")
    async def work(ctx: Context, name: str) -> None:
        order.append(name)

    for name, priority in (("a0", 0), ("b5", 5), ("c0", 0), ("d-1", -1), ("e5", 5)):
        await client.submit(work, name, priority=priority)
    await worked_off(app, client, concurrency=1)
    assert order == ["b5", "e5", "a0", "c0", "d-1"]


async def test_breadth_runs_what_is_closer_to_the_root_first(tmp_path: Path) -> None:
    order: list[str] = []
    app = App(retry=Retry.SEED, breadth=["default"])

    @app.task("node")
    async def node(ctx: Context, name: str) -> None:
        order.append(name)
        if len(name) < 3:
            ctx.spawn("node", name + "0", priority=9)
            ctx.spawn("node", name + "1", priority=9)

    async with app.client(tmp_path / "ramet.db") as client:
        await client.submit_many([(node, "a"), (node, "b")], one_lineage=True)
        await worked_off(app, client, concurrency=1)
    assert [len(name) for name in order] == [1] * 2 + [2] * 4 + [3] * 8


async def test_a_worker_claims_only_the_kinds_and_queues_that_it_serves(app: App, client: Client) -> None:
    ran: list[str] = []

    @app.task("one")
    async def one(ctx: Context, n: int) -> None:
        ran.append(f"one {n}")

    @app.task("two", queue="other")
    def two(ctx: SyncContext, n: int) -> None:
        ran.append(f"two {n}")

    submitted = [await client.submit(kind, 1) for kind in ("one", "two", "elsewhere")]
    submitted.append(await client.submit("one", 2, queue="other"))
    await worked_off(app, client, kinds=["two"])
    assert ran == ["two 1"]
    wanted = submitted[3].tracking_id
    await worked_off(app, client, kinds=["one"], queues=["other"], until_idle=False, until_ended=wanted)
    assert ran == ["two 1", "one 2"]
    await worked_off(app, client)
    assert ran == ["two 1", "one 2", "one 1"]
    assert (await get(client, submitted[2].id)).state == "pending", "nobody here serves that kind"


async def test_two_workers_on_one_database_run_every_task_once(app: App, client: Client, tmp_path: Path) -> None:
    ran: list[int] = []

    @app.task("work")
    async def work(ctx: Context, n: int) -> None:
        ran.append(n)
        if n < 300:
            ctx.spawn("work", n + 300)

    await client.submit_many([("work", n) for n in range(300)])
    async with app.client(tmp_path / "ramet.db") as second, asyncio.TaskGroup() as group:
        workers = [Worker(app, each, until_idle=True, poll_seconds=0.05) for each in (client, second)]
        for worker in workers:
            group.create_task(worker.run())
    assert sorted(ran) == list(range(600))
    assert sum(worker.settled for worker in workers) == 600


# --- when it ends -----------------------------------------------------------------------------------------------


async def test_until_idle_also_waits_for_what_is_delayed_and_retried(app: App, client: Client) -> None:
    @app.task("work")
    async def work(ctx: Context, n: int) -> None:
        if ctx.attempt == 1:
            raise Transient("again")

    delayed = await client.submit(work, 1, delay_seconds=0.2)
    await client.submit(work, 2)
    await worked_off(app, client, rng=always(0.1))
    assert {kind.state: kind.tasks for kind in await client.counts()} == {"success": 2}
    told = await history(client, delayed.id)
    assert told.task.created_at + 0.2 <= told.attempts[0].claimed_at, "not before it was due"


async def test_until_ended_waits_for_that_lineage_and_for_no_other(app: App, client: Client) -> None:
    @app.task("work")
    async def work(ctx: Context, depth: int) -> None:
        if depth:
            ctx.spawn("work", depth - 1)

    waiting = await client.submit(work, 0, delay_seconds=3_600)
    wanted = await client.submit(work, 5)
    await worked_off(app, client, until_idle=False, until_ended=wanted.tracking_id)
    lineage = await client.lineage(wanted.tracking_id)
    assert lineage is not None
    assert (lineage.state, lineage.success) == (LineageState.FINISHED, 6)
    assert (await get(client, waiting.id)).state == "pending"
    await worked_off(app, client, until_idle=False, until_ended="no such lineage")


def test_an_app_without_kinds_cannot_be_worked_on(tmp_path: Path) -> None:
    app = App(retry=Retry.SEED)
    client = app.client(tmp_path / "ramet.db")
    with pytest.raises(ValueError, match="the app has no kinds"):
        Worker(app, client)
    asyncio.run(client.close())


def test_a_script_runs_to_the_end_of_its_work(tmp_path: Path) -> None:
    app, ended = App(retry=Retry.SEED), list[str]()
    app.at_end(lambda: ended.append("first registered"))
    app.at_end(lambda: ended.append("last registered"))

    @app.task("work")
    def work(ctx: SyncContext, n: int) -> int:
        if n:
            ctx.spawn("work", n - 1)
        return n

    async def submit_and_count(count: bool) -> int:
        async with app.client(tmp_path / "ramet.db") as client:
            if count:
                return sum(kind.tasks for kind in await client.counts() if kind.state == "success")
            await client.submit(work, 3)
            return 0

    asyncio.run(submit_and_count(False))
    app.run(tmp_path / "ramet.db", concurrency=2)
    assert asyncio.run(submit_and_count(True)) == 4
    assert ended == ["last registered", "first registered"]
    assert not list(tmp_path.glob("*-ramet/*")), "no lock and no socket is left"


# --- drain and stop ---------------------------------------------------------------------------------------------


async def test_drain_lets_running_handlers_end_and_hands_the_rest_back(app: App, client: Client) -> None:
    held = Held(app)
    submitted = await client.submit_many([("held", n) for n in range(10)])
    worker = Worker(app, client, concurrency=2)
    worker._pace = Greedy(8)  # type: ignore[assignment]
    run = asyncio.create_task(worker.run())
    await until(lambda: len(held.running) == 2 and worker.in_hand == 8, "two running, six prefetched")
    worker.drain()
    await until(lambda: worker.in_hand == 2, "six handed back")
    assert not run.done(), "it waits for the two"
    back = [await history(client, item.id) for item in submitted[2:8]]
    assert [(h.task.state, h.task.attempts, h.task.fence) for h in back] == [("pending", 0, 1)] * 6
    assert [[a.outcome for a in h.attempts] for h in back] == [["returned"]] * 6
    untouched = [await get(client, item.id) for item in submitted[8:]]
    assert [(task.state, task.fence) for task in untouched] == [("pending", 0)] * 2
    held.go_on.set()
    await run
    assert held.began == [0, 1]
    assert [(await get(client, item.id)).result for item in submitted[:2]] == [0, 1]


async def test_stop_hands_everything_back_at_once_and_another_worker_does_it(app: App, client: Client) -> None:
    held = Held(app)
    submitted = await client.submit_many([("held", n) for n in range(6)])
    worker = Worker(app, client, concurrency=2)
    worker._pace = Greedy(5)  # type: ignore[assignment]
    run = asyncio.create_task(worker.run())
    await until(lambda: len(held.running) == 2 and worker.in_hand == 5, "two running, three prefetched")
    worker.stop()
    await run
    tasks = [await get(client, item.id) for item in submitted]
    assert [(task.state, task.attempts) for task in tasks] == [("pending", 0)] * 6
    assert (held.running, worker.in_hand) == (set(), 0)
    held.go_on.set()
    await worked_off(app, client)
    tasks = [await get(client, item.id) for item in submitted]
    assert [(task.state, task.attempts, task.losses) for task in tasks] == [("success", 1, 0)] * 6


async def test_stop_during_a_drain_does_not_wait_for_handlers(
    app: App, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held(app)
    submitted = await client.submit("held", 1)
    worker = Worker(app, client)
    run = asyncio.create_task(worker.run())
    await until(lambda: held.running, "it runs")
    caplog.set_level(logging.INFO, logger="ramet.worker")
    worker.drain()
    await until(lambda: "draining: 1 tasks run on, 0 go back" in caplog.messages, "the drain")
    worker.stop()
    await run
    assert (await get(client, submitted.id)).state == "pending"


async def test_a_cancelled_worker_hands_its_claims_back(app: App, client: Client) -> None:
    held = Held(app)
    submitted = await client.submit("held", 1)
    run = asyncio.create_task(Worker(app, client).run())
    await until(lambda: held.running, "it runs")
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    task = await get(client, submitted.id)
    assert (task.state, task.attempts) == ("pending", 0)


async def test_workers_one_after_the_other_on_one_client_leave_nothing_behind(app: App, tmp_path: Path) -> None:
    held = Held(app)
    held.go_on.set()
    folder = tmp_path / "ramet.db-ramet"
    async with app.client(tmp_path / "ramet.db") as client:
        for number in range(3):
            async with working(app, client) as worker:
                files = [f"{worker.name}.lock", f"{worker.name}.sock"]
                # A worker makes its socket when it waits for the first time.
                await until(lambda: listed(folder) == files, "only the present worker has files there")  # noqa: B023
                submitted = await client.submit("held", number)
                assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == number
            assert listed(folder) == files
    assert listed(folder) == []
    assert not [fd for fd in os.listdir("/proc/self/fd") if "ramet.db-ramet" in _target(fd)]


def listed(folder: Path) -> list[str]:
    """The names in a folder, which need not exist."""
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _target(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def in_hand(seq: int, *, on_path: bool) -> Work:
    return Work._make([seq, *[None] * (len(Work._fields) - 1)])._replace(path='[["doc1"]]' if on_path else None)


def outcomes(count: int) -> list[Settlement]:
    return [Settlement(seq, 1, ev.Complete(1)) for seq in range(count)]


def test_tasks_without_a_path_fill_a_batch() -> None:
    many = outcomes(SETTLE_BATCH + 5)
    works = {item.seq: in_hand(item.seq, on_path=False) for item in many}
    assert settled_together(many, works) == many[:SETTLE_BATCH]
    assert settled_together(many[:3], works) == many[:3]


def test_tasks_on_paths_are_as_many_as_a_transaction_looks_at() -> None:
    assert SETTLE_BATCH_ON_PATHS <= LOOKS_MAX
    many = outcomes(SETTLE_BATCH)
    works = {item.seq: in_hand(item.seq, on_path=item.seq % 3 != 0) for item in many}
    batch = settled_together(many, works)
    assert sum(item.seq % 3 != 0 for item in batch) == SETTLE_BATCH_ON_PATHS
    assert many[len(batch)].seq % 3 != 0
    assert batch == many[: len(batch)]


def test_what_is_not_in_hand_any_more_counts_for_nothing() -> None:
    many = outcomes(SETTLE_BATCH)
    assert settled_together(many, {}) == many
