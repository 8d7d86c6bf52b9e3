"""Tasks after others, budgets of branches and added roots, as programs see them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ramet import App, Budget, Context, Limits, OwnLineageRefused, StoreError, SyncContext, dollars
from ramet.engine.client.client import Client
from ramet.testing import drain, fresh_client

app = App(limits=Limits(max_tasks=50, max_cost=dollars("1")))


@app.task("load", key=str)
async def load(ctx: Context, name: str) -> str:
    return name.upper()


@app.task("merge", key="+".join)
def merge(ctx: SyncContext, names: list[str]) -> str:
    assert ctx.joined is None
    assert ctx.after is not None
    return "".join(str(part.result) for part in ctx.after)


@app.task("build")
async def build(ctx: Context) -> None:
    parts = [ctx.spawn(load, name) for name in "ab"]
    both = ctx.spawn(merge, ["a", "b"], after=parts)
    ctx.spawn(merge, ["ab", "b"], after=[both, ("load", "b")])


@app.task("explore")
async def explore(ctx: Context, depth: int) -> object:
    if depth and ctx.joined is None:
        ctx.spawn(explore, depth - 1, key=f"{depth}a", budget=Budget(max_tasks=3))
        ctx.spawn(explore, depth - 1, key=f"{depth}b")
        return ctx.join()
    return [child.refused_code or child.result for child in ctx.joined or ()]


@app.task("adds")
async def adds(ctx: Context) -> None:
    with pytest.raises(OwnLineageRefused, match=r"use ctx\.spawn"):
        await ctx.client.add(ctx.tracking_id, [(load, "x")])


WRONG: dict[str, dict[str, Any]] = {
    "itself": {"after": [("load", "x")]},
    "text": {"after": "t1"},
    "number": {"after": [7]},
    "path": {"after": ["t1"], "path": ["a"], "reserve_path": True},
    "nothing": {"budget": Budget()},
    "kept": {"budget": Budget(max_cost=5, keep_cost=6)},
}


@app.task("wrong")
async def wrong(ctx: Context, kind: str) -> str:
    try:
        ctx.spawn(load, "x", **WRONG[kind])
    except ValueError as error:
        return str(error)
    return "it was taken"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with fresh_client(app) as client:
        yield client


async def results(client: Client, tracking_id: str) -> dict[str, object]:
    page = await client.tasks(tracking_id=tracking_id)
    return {f"{task.kind} {task.key}": task.result for task in page.tasks}


async def test_a_handler_builds_a_graph(client: Client) -> None:
    submitted = await client.submit(build)
    assert (await drain(app, client)).outcome.clean
    found = await results(client, submitted.tracking_id)
    assert (found["merge a+b"], found["merge ab+b"]) == ("AB", "ABB")


async def test_a_graph_is_submitted_at_once(client: Client) -> None:
    answers = await client.submit_many([
        (merge, ["a", "b"], {"after": [("load", "a"), ("load", "b")]}),
        (load, "a"),
        (load, "b"),
    ])  # fmt: skip
    assert len({answer.tracking_id for answer in answers}) == 1
    assert (await drain(app, client)).outcome.clean
    assert (await results(client, answers[0].tracking_id))["merge a+b"] == "AB"
    with pytest.raises(StoreError, match="tasks wait for each other: load 'a' after load 'b' after load 'a'"):
        await client.submit_many([
            (load, "a", {"after": [("load", "b")]}),
            (load, "b", {"after": [("load", "a")]}),
        ])  # fmt: skip


async def test_roots_are_added_to_a_lineage_that_runs(client: Client) -> None:
    submitted = await client.submit(load, "a")
    more = [(load, "b"), (merge, ["a", "b"], {"after": [submitted, ("load", "b")]})]
    answers = await client.add(submitted.tracking_id, more)  # type: ignore[arg-type]
    assert [answer.reason for answer in answers] == [None, None]
    assert (await drain(app, client)).outcome.clean
    assert (await results(client, submitted.tracking_id))["merge a+b"] == "AB"
    [late] = await client.add(submitted.tracking_id, [(load, "c")])
    assert late.reason == "ended"
    assert await client.add(submitted.tracking_id, []) == []


async def test_no_handler_adds_to_its_own_lineage(client: Client) -> None:
    await client.submit(adds)
    assert (await drain(app, client)).outcome.clean


async def test_a_branch_has_no_more_tasks_than_its_budget(client: Client) -> None:
    submitted = await client.submit(explore, 2, key="root")
    await drain(app, client)
    found = await results(client, submitted.tracking_id)
    assert found["explore 2a"] == ["branch_budget", []]
    assert found["explore 2b"] == [[], "in_flight"], "the other branch has that one already"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("itself", "load 'x' comes after itself"),
        ("text", "after='t1': give a list of tasks, after=[...]"),
        ("number", "after has 7: give a task id"),
        ("path", "reserve_path goes not with after"),
        ("nothing", "the budget bounds nothing: give max_tasks"),
        ("kept", "keep_cost of the budget is a part of its max_cost"),
    ],
)
async def test_what_cannot_be_is_refused_where_it_is_asked_for(client: Client, kind: str, words: str) -> None:
    submitted = await client.submit(wrong, kind)
    assert (await drain(app, client)).outcome.clean
    assert words in str((await client.get(submitted.id)).result)  # type: ignore[union-attr]
