"""Binding in a handler's hands: one provider batch over prompts of several lineages, polled until it answers."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client, Context, Limits, Outcome, Retry, SyncContext, TaskOptions, TaskState, item_settlement
from tests.invariants.check import violations
from tests.support.waiting import worked_off


@pytest.fixture
def app() -> App:
    return App(retry=Retry.SEED)


@pytest.fixture
async def client(app: App, tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client
        assert await violations(client.store) == []


def answered(name: str, n: int) -> dict[str, Any]:
    return {"task_id": name, "answer": n}


async def submit_prompts(client: Client, count: int) -> list[str]:
    return [item.id for item in await client.submit_many([("prompt", n) for n in range(count)])]


async def test_a_batch_settles_prompts_of_many_lineages_over_several_polls(app: App, client: Client) -> None:
    ids = await submit_prompts(client, 6)

    @app.task("batch")
    async def batch(ctx: Context) -> Outcome | dict[str, int]:
        if ctx.stage is None:
            bound = await ctx.bind([*ids, "nobody"])
            assert [told.refused for told in bound] == [None] * 6 + ["unknown"]
            await ctx.checkpoint("sent", {"sent": len(bound)})
            return ctx.snooze(1)
        open_items = await ctx.bound()
        for told in open_items[:-1]:
            ctx.settle_item(told.task_id, told.number, "success", result={"doubled": 2 * json.loads(told.payload)})
        await ctx.checkpoint("polled")
        [last] = await ctx.bound()
        [answer] = await ctx.settle_items([item_settlement(last.task_id, last.number, "failed", reason="too long")])
        assert (answer.state, answer.refused) == ("failed", None)
        return {"settled": len(open_items)}

    submitted = await client.submit(batch)
    await worked_off(app, client, kinds=["batch"])
    assert await client.result(submitted.id) == {"settled": 6}
    assert [await client.result(name) for name in ids[:-1]] == [{"doubled": 2 * n} for n in range(5)]
    task = await client.get(ids[-1])
    assert task is not None
    assert (task.state, task.reason) == (TaskState.FAILED, "too long")


async def test_a_plain_handler_binds_too_and_explain_names_the_settler(app: App, client: Client) -> None:
    ids = await submit_prompts(client, 2)
    said: list[str] = []

    @app.task("batch")
    def batch(ctx: SyncContext) -> None:
        first, second = ctx.bind(ids)
        assert [told.task_id for told in ctx.bound()] == ids
        said.extend([ctx.id, first.task_id])
        assert first.number is not None
        ctx.settle_items([item_settlement(first.task_id, first.number, "success")])
        assert second.number is not None
        ctx.settle_item(second.task_id, second.number, "pending")

    await client.submit(batch)
    await worked_off(app, client, kinds=["batch"])
    assert await client.result(ids[0]) is None
    history = await client.history(ids[1])
    assert history is not None
    assert [(attempt.outcome, attempt.worker) for attempt in history.attempts] == [("returned", said[0])]


async def test_items_that_are_not_its_own_are_told_in_the_log(
    app: App, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    ids = await submit_prompts(client, 1)

    @app.task("batch")
    async def batch(ctx: Context) -> None:
        ctx.settle_item(ids[0], 1, "success")

    submitted = await client.submit(batch)
    with caplog.at_level(logging.WARNING, logger="ramet.guard"):
        await worked_off(app, client, kinds=["batch"])
    [record] = caplog.records
    assert record.getMessage() == (
        f"task {submitted.id} settled 1 tasks that are not (or no longer) bound to it: {ids[0]} (not_bound)"
    )


async def test_an_exception_settles_nothing_that_was_only_buffered(app: App, client: Client) -> None:
    ids = await submit_prompts(client, 1)

    @app.task("batch")
    async def batch(ctx: Context) -> None:
        [told] = await ctx.bind(ids)
        assert told.number is not None
        ctx.settle_item(told.task_id, told.number, "success")
        raise ValueError("broken")

    submitted = await client.submit(batch)
    await worked_off(app, client, kinds=["batch"], rng=None)
    task = await client.get(submitted.id)
    assert task is not None
    assert task.state == "failed"
    while (await client.store.sweep()).changed:
        pass
    prompt = await client.get(ids[0])
    assert prompt is not None
    assert (prompt.state, prompt.bound_to) == ("pending", None)


async def test_a_pulled_claim_binds_and_settles(app: App, client: Client) -> None:
    ids = await submit_prompts(client, 2)
    await client.submit("batch")
    [claim] = await client.claim("batch")
    bound = await claim.bind(ids)
    explained = await client.explain(ids[0])
    assert explained is not None
    assert explained.headline == f"it is bound to task {claim.id}, which settles it"
    for told in bound:
        assert told.number is not None
        claim.settle_item(told.task_id, told.number, "success", result=7)
    await claim.complete()
    assert [await client.result(name) for name in ids] == [7, 7]


@pytest.mark.parametrize(
    ("state", "more", "why"),
    [
        ("done", {}, "a bound task cannot become 'done': give one of success, failed, cancelled, pending"),
        ("failed", {}, "a bound task that is failed needs a reason: give reason"),
        ("pending", {"result": 1}, "a result goes with success, not with pending"),
        ("success", {"delay_seconds": 1.0}, "delay_seconds goes with pending, not with success"),
    ],
)
def test_what_a_bound_task_cannot_become_is_refused_at_once(state: str, more: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        item_settlement("id", 1, state, **more)


async def test_what_could_be_bound_is_listed_in_the_order_of_claims(app: App, client: Client) -> None:
    ids = await submit_prompts(client, 3)
    assert await client.claimable("prompt") == ids
    assert await client.claimable("prompt", limit=2) == ids[:2]
    assert await client.claimable("prompt", queue="elsewhere") == []

    @app.task("batch")
    async def batch(ctx: Context) -> list[str]:
        await ctx.bind(ids[:1])
        return await ctx.client.claimable("prompt")

    submitted = await client.submit(batch)
    await worked_off(app, client, kinds=["batch"])
    assert await client.result(submitted.id) == ids[1:]


async def test_one_task_may_have_a_stricter_deadline_than_its_kind(app: App, client: Client) -> None:
    @app.task("prompt", limits=Limits(task_seconds=100.0))
    async def prompt(ctx: Context, n: int) -> float:
        assert ctx.deadline_at is not None
        return ctx.deadline_at - ctx.now

    wanted: list[TaskOptions] = [{}, {"task_seconds": 10.0}, {"task_seconds": 1_000.0}]
    made = await client.submit_many([(prompt, n, options) for n, options in enumerate(wanted)])
    await worked_off(app, client)
    left = [await client.result(one.id) for one in made]
    assert 50 < left[0] <= 100
    assert 0 < left[1] <= 10
    assert 50 < left[2] <= 100
    with pytest.raises(ValueError, match="task_seconds is 0"):
        await client.submit(prompt, 9, task_seconds=0)


async def test_writes_of_an_item_commit_with_its_settlement_and_nowhere_else(tmp_path: Path) -> None:
    app = App(retry=Retry.SEED, tables=("CREATE TABLE IF NOT EXISTS said (id TEXT NOT NULL, content BLOB)",))
    say = "INSERT INTO said (id, content) VALUES (?, ?)"
    async with app.client(tmp_path / "ramet.db") as client:
        ids = await submit_prompts(client, 5)
        told_late: list[str | None] = []
        names: list[str] = []

        @app.task("batch")
        async def batch(ctx: Context) -> Outcome | None:
            if ctx.stage is None:
                await ctx.bind(ids)
                await ctx.checkpoint("sent", {})
            good, gone, broken, twice, now = bound = await ctx.bound()
            names.extend(told.task_id for told in bound)
            await ctx.client.cancel(gone.task_id)
            for told in (good, gone, twice, twice):
                ctx.settle_item(told.task_id, told.number, "success", result=1, writes=[(say, (told.task_id, b"\x00"))])
            wrong = [(say, (broken.task_id, None)), ("INSERT INTO nowhere (id) VALUES (?)", (1,))]
            ctx.settle_item(broken.task_id, broken.number, "success", result=1, writes=wrong)
            await ctx.checkpoint("told")
            for number in (now.number, now.number):
                made = item_settlement(now.task_id, number, "success", result=1, writes=[(say, (now.task_id, None))])
                told_late.extend(answer.refused for answer in await ctx.settle_items([made]))
            return None

        submitted = await client.submit(batch)
        await worked_off(app, client, kinds=["batch"])
        assert (await client.get(submitted.id)).state == "success"  # type: ignore[union-attr]
        good, _, broken, twice, now = names
        said = dict(await client.read("SELECT id, content FROM said"))
        assert said == {good: b"\x00", twice: b"\x00", now: None}
        assert await client.read("SELECT COUNT(*) FROM said") == [(3,)]
        states = {name: await client.get(name) for name in ids}
        assert [str(task.state) for task in states.values() if task is not None].count("success") == 3
        failed = states[broken]
        assert failed is not None
        assert (str(failed.state), failed.result) == ("failed", None)
        assert "a write of its settlement failed: no such table: nowhere" in str(failed.reason)
        assert told_late == [None, "is_success"]
        assert await violations(client.store) == []


def test_a_write_on_the_engines_tables_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="belong to the engine"):
        item_settlement("a", 1, "success", writes=[("DELETE FROM ramet_tasks", ())])
