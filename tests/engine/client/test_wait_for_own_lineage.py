"""A handler that waits, with its slot, for a task of its own lineage: refused with the word `join`, or else noted."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from ramet import App, Client, Context, WaitRefused, Worker
from tests.support.fakes import Greedy
from tests.support.waiting import HANG_SECONDS, until, worked_off, working

JOIN = "`return ctx.join()` instead: the task is called again with `ctx.joined` when its children have ended"


async def test_all_slots_could_wait_for_their_children_so_the_first_is_refused_and_joins(
    app: App, client: Client
) -> None:
    refused: list[str] = []

    @app.task("ask", key=str)
    async def ask(ctx: Context, left: int) -> Any:
        if left and ctx.joined is None:
            child = await ctx.spawn_now(ask, left - 1)
            assert child.id is not None
            try:
                return await ctx.client.result(child.id, timeout_seconds=HANG_SECONDS)
            except WaitRefused as error:
                refused.append(str(error))
                return ctx.join()
        return [left, *(value for child in ctx.joined or () for value in child.result)]

    root = await client.submit("ask", 3)
    await worked_off(app, client, concurrency=1)
    assert await client.result(root.id, timeout_seconds=HANG_SECONDS) == [3, 2, 1, 0]
    assert len(refused) == 3
    assert refused[0].startswith(f"task {root.id} must not wait for task ")
    assert "of its own lineage: handlers that wait so could hold every slot in which a task of kind 'ask'" in refused[0]
    assert refused[0].endswith(JOIN)


async def test_a_child_that_its_own_worker_has_claimed_for_later_goes_back_so_that_the_wait_is_refused(
    app: App, client: Client
) -> None:
    @app.task("ask", key=str)
    async def ask(ctx: Context, left: int) -> Any:
        if not left:
            return "ended"
        child = await ctx.spawn_now(ask, left - 1)
        assert child.id is not None
        await until(partial(is_claimed, child.id), "the claim of the child")
        return await ctx.client.result(child.id, timeout_seconds=HANG_SECONDS)

    async def is_claimed(task_id: str) -> bool:
        task = await client.get(task_id)
        return task is not None and task.state == "processing"

    root = await client.submit("ask", 1)
    worker = Worker(app, client, concurrency=1, poll_seconds=0.05, sweep_seconds=0.05, until_idle=True)
    worker._pace = cast(Any, Greedy(2))
    await worker.run()
    ended = await client.get(root.id)
    assert ended is not None
    assert ended.state == "failed"
    assert JOIN in str(ended.error)


async def test_a_handler_that_waits_for_another_lineage_is_noted_while_it_does(app: App, client: Client) -> None:
    @app.task("asks")
    async def asks(ctx: Context) -> Any:
        other = await ctx.client.submit("elsewhere", tracking_id="other")
        return await ctx.client.result(other.id, timeout_seconds=HANG_SECONDS)

    root = await client.submit("asks", tracking_id="own")
    async with working(app, client, concurrency=1):

        async def noted() -> bool:
            return bool(await client.store.handler_waits(root.id))

        await until(noted, "a note of the wait")
        [wait] = await client.store.handler_waits(root.id)
        assert (wait.kind, wait.awaited_kind, wait.awaited_state) == ("asks", "elsewhere", "pending")
        [claim] = await client.claim("elsewhere")
        await claim.complete("done")
        assert await client.result(root.id, timeout_seconds=HANG_SECONDS) == "done"
    assert await client.read("SELECT COUNT(*) FROM ramet_handler_waits") == [(0,)]
