"""The ends of an invocation: its worker drains or stops, its task is cancelled, its process dies at any moment."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ramet import App, Client, Context, InvokeResult, Limits, Outcome
from ramet.engine.worker import pool as pool_module
from ramet.engine.worker.pool import Pool
from ramet.testing import crash_everywhere
from tests.engine.apps.invocation_app import CHAIN_MAX, ITEMS_MAX
from tests.engine.apps.invocation_app import app as child_app
from tests.invariants.check import violations
from tests.support.waiting import until, working

BEGAN = "CREATE TABLE IF NOT EXISTS began (n INTEGER)"


class Items:
    """Items that run until they are let go, and a poll that takes them."""

    def __init__(self) -> None:
        self.app = App()
        self.began: list[int] = []
        self.ended: list[int] = []
        self.go_on = asyncio.Event()
        self.told: list[InvokeResult] = []
        self.polls: list[Context] = []

        @self.app.task("item", pulled=True)
        async def one(ctx: Context, n: int) -> None:
            self.began.append(n)
            await self.go_on.wait()
            self.ended.append(n)

        @self.app.task("poll")
        async def poll(ctx: Context) -> Outcome | None:
            self.polls.append(ctx)
            told = await ctx.invoke([one], concurrency=2)
            self.told.append(told)
            return ctx.continue_later() if told.left else None

    async def submit(self, client: Client, count: int) -> tuple[list[str], str]:
        told = await client.submit_many([("item", n) for n in range(count)], one_lineage=True)
        polled = await client.submit("poll")
        await_began = [each.id for each in told]
        return await_began, polled.id


@pytest.fixture
def items() -> Items:
    return Items()


@pytest.fixture
async def client(items: Items, tmp_path: Path) -> AsyncIterator[Client]:
    async with items.app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


async def stand(client: Client, *task_ids: str) -> list[tuple[str, int]]:
    tasks = [await client.get(task_id) for task_id in task_ids]
    return [(str(task.state), task.attempts) for task in tasks if task is not None]


async def test_a_worker_that_drains_lets_what_runs_end_and_takes_no_more(items: Items, client: Client) -> None:
    ids, poll = await items.submit(client, 5)
    async with working(items.app, client) as worker:
        await until(lambda: len(items.began) == 2, "two items run")
        worker.drain()
        await until(lambda: items.polls[0].draining, "the poll knows")
        items.go_on.set()
        await until(lambda: worker.in_hand == 0, "the poll ends")
    assert items.told == [InvokeResult(2, 2, left=True)]
    assert await stand(client, *ids, poll) == [("success", 1)] * 2 + [("pending", 0)] * 4


async def test_a_worker_that_stops_hands_what_runs_back(items: Items, client: Client) -> None:
    ids, poll = await items.submit(client, 3)
    async with working(items.app, client) as worker:
        await until(lambda: len(items.began) == 2, "two items run")
        worker.stop()
    assert (items.ended, items.told) == ([], [])
    assert await stand(client, *ids, poll) == [("pending", 0)] * 4


async def test_a_poll_that_is_cancelled_hands_back_what_does_not_end_soon(items: Items, client: Client) -> None:
    ids, poll = await items.submit(client, 3)
    async with working(items.app, client):
        await until(lambda: len(items.began) == 2, "two items run")
        await client.cancel(poll)

        async def back() -> bool:
            return await stand(client, *ids) == [("pending", 0)] * 3

        await until(back, "the items are back")
    assert await stand(client, poll) == [("cancelled", 1)]


async def test_an_item_that_is_cancelled_is_told_and_the_others_go_on(items: Items, client: Client) -> None:
    ids, _ = await items.submit(client, 3)
    async with working(items.app, client):
        await until(lambda: len(items.began) == 2, "two items run")
        await client.cancel(ids[0])
        await until(lambda: len(items.began) == 3, "its place is taken")
        items.go_on.set()
        await until(lambda: bool(items.told), "the poll ends")
    assert sorted(items.ended) == [1, 2]
    assert items.told == [InvokeResult(3, 2, left=False)]


@pytest.mark.parametrize("every", [10, pytest.param(3, marks=pytest.mark.nightly)])
async def test_whatever_statement_a_process_dies_at_no_cycle_claims_more_than_its_bound(every: int) -> None:
    limits = Limits(invocation_items=3, max_chain_depth=1)
    ends: list[int] = []
    app = App(tables=[BEGAN])

    @app.task("item", pulled=True)
    async def one(ctx: Context, n: int) -> None:
        ctx.write("INSERT INTO began (n) VALUES (?)", (n,))

    @app.task("poll", limits=limits)
    async def poll(ctx: Context) -> Outcome | None:
        told = await ctx.invoke(["item"], concurrency=2, wait=False)
        return ctx.continue_later() if told.left else None

    async def season(client: Client) -> None:
        await client.submit_many([("item", n) for n in range(10)], one_lineage=True, tracking_id="job")
        await client.submit("poll", tracking_id="cycle")

    async def check(client: Client) -> None:
        claims, done = 0, 0
        async for task in client.all_tasks(kind="item"):
            claims += task.fence
            done += task.state == "success"
            assert task.state in ("pending", "success")
        assert claims <= (limits.max_chain_depth + 1) * limits.invocation_items
        ends.append(done)
        assert await client.read("SELECT COUNT(DISTINCT n), COUNT(*) FROM began") == [(done, done)]
        assert [task.state async for task in client.all_tasks(kind="poll")] == ["success"]

    assert await crash_everywhere(app, season, check, every=every) > 60 // every
    # What a dead process had noted and not claimed is lost for its link: fewer may be done, never more.
    assert (ends[0], max(ends)) == (6, 6)


# --- a real process ---------------------------------------------------------------------------------------------


async def test_a_handler_process_that_is_killed_loses_no_item_and_keeps_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "RESTART_SECONDS_MAX", 0.15)
    began = tmp_path / "began"
    async with child_app.client(tmp_path / "ramet.db") as client:
        payloads = [("item", {"n": n, "file": str(began)}) for n in range(20)]
        await client.submit_many(payloads, one_lineage=True, tracking_id="job")
        poll = await client.submit("poll")
        async with working(child_app, client, target="tests.engine.apps.invocation_app:app") as worker:
            await until((tmp_path / "item.began").exists, "an item waits in the middle of the invocation")
            assert isinstance(worker._handlers, Pool)
            assert worker._handlers.pid is not None
            os.kill(worker._handlers.pid, signal.SIGKILL)
            (tmp_path / "item.go").touch()

            async def over() -> bool:
                task = await client.get(poll.id)
                return task is not None and task.state.terminal

            await until(over, "the poll ends")

            async def nothing_in_hand() -> bool:
                return not [task async for task in client.all_tasks(states=["processing"])]

            await until(nothing_in_hand, "the dead process's claims are back")
        assert len(began.read_text(encoding="ascii").split()) <= (CHAIN_MAX + 1) * ITEMS_MAX
        states = [str(task.state) async for task in client.all_tasks(kind="item")]
        assert sorted(set(states)) == ["pending", "success"]
        assert await violations(client.store) == []
