"""Runs with an end: what one run takes, what it leaves, and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Limits, Outcome, Retry, RunReport, Transient, Worker, run_once, sync_run_once
from ramet.engine.base.clock import SystemClock
from ramet.engine.worker.bounded import BoundedRun
from ramet.model.values import InvalidNumber
from ramet.store.sqlite.store import SqliteStore
from tests.invariants.check import violations
from tests.simulation.virtual_time import VirtualClock, VirtualLoop, run
from tests.support.waiting import HANG_SECONDS, get, outcomes


async def bounded(app: App, client: Client, **bounds: Any) -> RunReport:
    """One run of a worker with these bounds."""
    worker = Worker(app, client, poll_seconds=0.05, sweep_seconds=0.05, **bounds)
    async with asyncio.timeout(HANG_SECONDS):
        await worker.run()
    return await worker.report()


# --- what is refused --------------------------------------------------------------------------------------------


async def test_bounds_that_contradict_or_cannot_be_are_refused(app: App, client: Client) -> None:
    @app.task("work")
    async def work(ctx: Context) -> None: ...

    with pytest.raises(ValueError, match="once and until_idle are both given"):
        Worker(app, client, once=True, until_idle=True)
    for bounds in ({"run_seconds": 0.0}, {"run_seconds": float("nan")}, {"max_tasks": 0}, {"max_tasks": 1.5}):
        with pytest.raises(InvalidNumber, match="give a"):
            Worker(app, client, **bounds)


def test_a_schedule_pulls_pulled_kinds_only(app: App) -> None:
    @app.task("item")
    async def item(ctx: Context) -> None: ...

    with pytest.raises(ValueError, match="registered with pulled=True"):
        app.schedule(kind="poll", pulls=[item])


# --- what is due ------------------------------------------------------------------------------------------------


async def test_once_works_on_what_grows_and_leaves_what_is_delayed(app: App, client: Client) -> None:
    @app.task("node", retry=Retry(attempts=3, base_seconds=3_600.0, cap_seconds=3_600.0))
    async def node(ctx: Context, name: str) -> Outcome | None:
        if name == "fails":
            raise Transient("not today")
        if name == "snoozes":
            return Outcome.snooze(7_200.0)
        if len(name) < 3:
            ctx.spawn("node", name + "0")
            ctx.spawn("node", name + "1")
        return None

    tree, *others = await client.submit_many([(node, "a"), (node, "fails"), (node, "snoozes")])
    later = await client.submit(node, "later", delay_seconds=9_000.0)
    report = await bounded(app, client, once=True)
    lineage = await client.lineage(tree.tracking_id)
    assert lineage is not None
    assert (lineage.success, lineage.live) == (7, 0)
    assert report._replace(next_due_at=None) == RunReport(9, {"pending": 2, "success": 7}, 0, 3, None, "nothing_due")
    assert report.next_due_at is not None
    times = [(await get(client, one.id)).available_at for one in (*others, later)]
    assert report.next_due_at == min(at for at in times if at is not None)
    assert (await get(client, later.id)).attempts == 0


async def test_once_ends_at_once_where_nothing_is_there(app: App, client: Client) -> None:
    @app.task("work")
    async def work(ctx: Context) -> None: ...

    assert await bounded(app, client, once=True) == RunReport(0, {}, 0, 0, None, "nothing_due")


async def test_once_works_on_the_task_of_a_lineages_end(app: App, client: Client) -> None:
    ended: list[str] = []

    @app.task("work")
    async def work(ctx: Context) -> None: ...

    @app.task("last")
    async def last(ctx: Context, payload: Any) -> None:
        ended.append(payload["tracking_id"])

    wanted = await client.submit(work, on_lineage_end=last)
    report = await bounded(app, client, once=True)
    assert ended == [wanted.tracking_id]
    assert report.states == {"success": 2}


# --- how many ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 4])
async def test_no_more_tasks_are_claimed_than_were_asked_for(app: App, client: Client, batch: int) -> None:
    @app.task("one")
    async def one(ctx: Context, n: int) -> None: ...

    if batch > 1:

        @app.task("many", batch=batch, batch_seconds=0.0)
        async def many(batch: Any, payloads: list[int]) -> list[None]:
            return [None] * len(payloads)

    else:
        app.task("many")(lambda ctx, n: None)
    await client.submit_many([(kind, n) for n in range(10) for kind in ("one", "many")])
    report = await bounded(app, client, max_tasks=7)
    assert (report.settled, report.due, report.ended) == (7, 13, "tasks")
    assert (await bounded(app, client, max_tasks=100, once=True)).settled == 13


def pulling(app: App, items: int, *, queues: list[str] | None = None, chain: int = 0) -> list[int]:
    """A poller that takes so many items an invocation; the numbers of the items that ran."""
    ran: list[int] = []

    @app.task("item", pulled=True)
    async def item(ctx: Context, n: int) -> None:
        ran.append(n)

    @app.schedule(name="poll", every_seconds=86_400.0, pulls=[item])
    @app.task("poll", limits=Limits(invocation_items=items, max_chain_depth=chain))
    async def poll(ctx: Context) -> Outcome | None:
        found = await ctx.invoke([item], queues=queues)
        return Outcome.continue_later() if found.changed and found.left else None

    return ran


@pytest.mark.parametrize("chain", [0, 2])
async def test_polls_are_started_until_all_items_are_out(app: App, client: Client, chain: int) -> None:
    ran = pulling(app, 7, chain=chain)
    await client.submit_many([("item", n) for n in range(40)])
    waits = await client.submit("item", 99, delay_seconds=3_600.0)
    report = await bounded(app, client, once=True)
    assert sorted(ran) == [*range(40)]
    assert (report.due, report.delayed, report.ended) == (0, 1, "nothing_due")
    assert report.next_due_at == (await get(client, waits.id)).available_at
    assert report.settled == 40 + 6, "each item, and each link of the poller's chain"


async def test_items_that_a_poll_does_not_take_do_not_keep_the_run(app: App, client: Client) -> None:
    ran = pulling(app, 7, queues=["elsewhere"])
    await client.submit_many([("item", n) for n in range(3)])
    report = await bounded(app, client, once=True)
    assert (ran, report.states, report.due) == ([], {"success": 1}, 3)
    assert (await client.schedules.get("poll")).runs == 1  # type: ignore[union-attr]


async def test_pulled_tasks_count_among_those_that_may_be_claimed(app: App, client: Client) -> None:
    ran = pulling(app, 100)
    await client.submit_many([("item", n) for n in range(40)])
    report = await bounded(app, client, max_tasks=11)
    assert (len(ran), report.settled, report.due, report.ended) == (10, 11, 30, "tasks")


async def until_idle(app: App, client: Client, *kinds: str) -> None:
    """A foreground run that ends when nothing is live."""
    worker = Worker(app, client, foreground=True, kinds=kinds or None, until_idle=True, poll_seconds=0.05)
    async with asyncio.timeout(HANG_SECONDS):
        await worker.run()


async def test_a_foreground_run_takes_pulled_tasks_past_what_a_poll_and_its_chain_may_claim(
    app: App, client: Client
) -> None:
    ran = pulling(app, 2)
    await client.submit_many([("item", n) for n in range(40)])
    await until_idle(app, client)
    assert sorted(ran) == [*range(40)]
    assert await client.schedules.get("poll") is None or (await client.schedules.get("poll")).runs == 0  # type: ignore[union-attr]


async def test_a_poll_that_runs_in_a_foreground_run_leaves_the_items_to_the_worker(app: App, client: Client) -> None:
    ran, found = list[int](), list[Any]()

    @app.task("item", pulled=True)
    async def item(ctx: Context, n: int) -> None:
        ran.append(n)

    @app.schedule(name="poll", every_seconds=86_400.0, pulls=[item])
    @app.task("poll")
    async def poll(ctx: Context) -> None:
        found.append(await ctx.invoke([item]))

    await client.submit_many([("item", n) for n in range(5)])
    await client.submit("poll")
    await until_idle(app, client)
    assert (sorted(ran), [(one.claimed, one.changed) for one in found]) == ([*range(5)], [(0, 0)])


async def test_a_foreground_run_leaves_alone_what_no_schedule_pulls_and_ends_what_is_ending(
    app: App, client: Client
) -> None:
    ran, ended = pulling(app, 7), list[int]()

    @app.task("bound", pulled=True)
    async def bound(ctx: Context, n: int) -> None:
        ran.append(-n)

    @app.on_end(bound)
    async def end_bound(ctx: Context, n: int) -> None:
        ended.append(n)

    waits, ends = [await client.submit("bound", n) for n in (1, 2)]
    [claim] = await client.claim("bound")  # Only what was begun is ended by its handler.
    await claim.snooze(3_600.0)
    begun = claim.id
    await client.submit("item", 3)
    await client.cancel(begun)
    worker = Worker(app, client, foreground=True, until_ended=(await get(client, begun)).tracking_id, poll_seconds=0.05)
    async with asyncio.timeout(HANG_SECONDS):
        await worker.run()
    other = waits.id if begun == ends.id else ends.id
    assert (await get(client, begun)).state == "cancelled"
    assert (ran, len(ended), (await get(client, other)).state) == ([3], 1, "pending")


async def test_two_foreground_runs_share_pulled_tasks_and_each_runs_once(app: App, client: Client) -> None:
    ran = pulling(app, 2)
    await client.submit_many([("item", n) for n in range(200)])
    await asyncio.gather(until_idle(app, client), until_idle(app, client))
    assert sorted(ran) == [*range(200)]


async def test_a_paused_schedule_is_not_started(app: App, client: Client) -> None:
    ran = pulling(app, 7)
    await client.submit("item", 1)
    await client.schedules.declare(app.schedules[0])
    await client.schedules.pause("poll", by="test")
    report = await bounded(app, client, once=True)
    assert (ran, report.settled, report.due) == ([], 0, 1)


# --- how long ---------------------------------------------------------------------------------------------------


def in_virtual_time(app: App, path: Path, story: Callable[[Client, VirtualClock], Awaitable[Any]]) -> Any:
    """What a story returns that runs on a clock which waits for nothing."""
    loop = VirtualLoop()
    clock = VirtualClock(loop)

    async def live() -> Any:
        store = SqliteStore(path, clock=clock.now, inline=True)
        client = Client(app.registry, store, app.limits)
        told = await story(client, clock)
        assert await violations(store) == []
        await client.close()
        return told

    return run(live(), loop)


def test_a_run_for_a_time_drains_before_and_hands_back_at_its_end(app: App, tmp_path: Path) -> None:
    @app.task("work")
    async def work(ctx: Context, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def story(client: Client, clock: VirtualClock) -> Any:
        short, long, never = [
            (await client.submit(work, seconds, priority=priority)).id
            for seconds, priority in ((45.0, 9), (10_000.0, 9), (1.0, 0))
        ]
        began_at = clock.now()
        worker = Worker(app, client, clock=clock, concurrency=2, run_seconds=50.0)
        await worker.run()
        assert 40.0 <= clock.now() - began_at <= 50.0
        return await worker.report(), [await outcomes(client, task) for task in (short, long, never)]

    report, told = in_virtual_time(app, tmp_path / "ramet.db", story)
    assert told == [["success"], ["returned"], []]
    assert (report.states, report.due, report.ended) == ({"success": 1}, 2, "time")


def test_a_run_for_a_time_waits_for_what_comes_due(app: App, tmp_path: Path) -> None:
    @app.task("work")
    async def work(ctx: Context) -> None: ...

    async def story(client: Client, clock: VirtualClock) -> Any:
        await client.submit(work, delay_seconds=20.0)
        await client.submit(work, delay_seconds=60.0)
        worker = Worker(app, client, clock=clock, run_seconds=50.0)
        await worker.run()
        return await worker.report()

    report = in_virtual_time(app, tmp_path / "ramet.db", story)
    assert (report.states, report.due, report.delayed, report.ended) == ({"success": 1}, 0, 1, "time")


def test_once_runs_schedules_whose_slot_has_come(app: App, tmp_path: Path) -> None:
    @app.schedule(every_seconds=300.0)
    @app.task("tick")
    async def tick(ctx: Context) -> None: ...

    async def story(client: Client, clock: VirtualClock) -> Any:
        settled = []
        for _ in range(3):
            worker = Worker(app, client, clock=clock, once=True)
            await worker.run()
            settled.append((await worker.report()).settled)
            await asyncio.sleep(300.0)
        return settled

    assert in_virtual_time(app, tmp_path / "ramet.db", story) == [0, 1, 1]


# --- for a function ---------------------------------------------------------------------------------------------


async def test_run_once_opens_the_database_and_reports(app: App, tmp_path: Path) -> None:
    @app.task("work")
    async def work(ctx: Context) -> None: ...

    database = tmp_path / "ramet.db"
    async with app.client(database) as client:
        await client.submit(work)
    assert await run_once(app, database, seconds=30.0) == RunReport(1, {"success": 1}, 0, 0, None, "nothing_due")
    assert await asyncio.to_thread(sync_run_once, app, database) == RunReport(0, {}, 0, 0, None, "nothing_due")


async def test_what_a_claim_under_way_may_give_back_is_waited_for(app: App, client: Client) -> None:
    bounds = BoundedRun(app, client, SystemClock(), [], max_tasks=10)
    with bounds.claiming(16) as claim:
        asked = [asyncio.create_task(bounds.answer("run_claim", wanted)) for wanted in (100, 100)]
        await asyncio.sleep(0)
        assert (claim.granted, bounds.spent) == (10, True)
        assert not any(one.done() for one in asked)
        claim.brought = 3
    assert [await one for one in asked] == [7, 0]
    assert await bounds.answer("run_claim", -7) == -7
    with bounds.claiming(2):
        assert await bounds.answer("run_claim", 5) == 5, "there is enough without what the claim may give back"
    assert (bounds.take(9), bounds.spent) == (2, True)
