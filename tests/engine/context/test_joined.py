"""Joins as handlers see them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ramet import App, Context, Outcome, SyncContext
from ramet.engine.client.client import Client
from ramet.testing import drain, fresh_client

app = App()


@app.task("sum", key=lambda numbers: "-".join(map(str, numbers)))
async def add(ctx: Context, numbers: list[int]) -> object:
    if len(numbers) == 1:
        return numbers[0]
    if ctx.joined is None:
        half = len(numbers) // 2
        ctx.spawn(add, numbers[:half])
        ctx.spawn(add, numbers[half:])
        return ctx.join()
    return sum(child.result for child in ctx.joined)


@app.task("plain", key=str)
def plain(ctx: SyncContext, left: int) -> object:
    if left and ctx.joined is None:
        ctx.spawn(plain, left - 1)
        return ctx.join()
    return [left, *(value for child in ctx.joined or () for value in child.result)]


@app.task("refused")
async def refused(ctx: Context) -> object:
    if ctx.joined is not None:
        return [(child.key, child.refused_code) for child in ctx.joined]
    await ctx.spawn_now(plain, 0, key="a")
    await ctx.spawn_now(plain, 0, key="a")
    ctx.spawn(plain, 0, key="b")
    ctx.spawn(plain, 0, key="b")
    await ctx.checkpoint()
    for key in ("a", "c", "c"):
        ctx.spawn(plain, 0, key=key)
    return ctx.join()


@app.task("many")
async def many(ctx: Context) -> object:
    if ctx.joined is None:
        for at in range(1_500):
            ctx.spawn(add, [at])
        return ctx.join()
    assert not ctx.joined.complete
    with pytest.raises(LookupError, match="1,500 tasks were joined, and 1,000 are at hand"):
        list(ctx.joined)
    assert ctx.joined.states == {"success": 1_500}
    return [child.result async for child in ctx.joined][-2:]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with fresh_client(app) as client:
        yield client


async def result_of(client: Client, kind: str, payload: object) -> object:
    handle = await client.submit(kind, payload)
    done = await drain(app, client)
    assert done.outcome.clean
    task = await client.get(handle.id)
    assert task is not None
    return task.result


async def test_a_tree_of_joins_gives_the_sum(client: Client) -> None:
    assert await result_of(client, "sum", [*range(1, 14)]) == 91


async def test_a_plain_handler_joins(client: Client) -> None:
    assert await result_of(client, "plain", 3) == [3, 2, 1, 0]


async def test_spawns_refused_before_the_join_are_listed_in_their_order(client: Client) -> None:
    assert await result_of(client, "refused", None) == [
        ["a", None], ["a", "in_flight"], ["b", None], ["b", "in_flight"], ["a", "in_flight"], ["c", None],
        ["c", "in_flight"],
    ]  # fmt: skip


async def test_thousands_are_read_a_page_at_a_time(client: Client) -> None:
    assert await result_of(client, "many", None) == [1_498, 1_499]


async def test_a_join_is_returned_and_not_awaited() -> None:
    with pytest.raises(TypeError, match=r"`return ctx.join\(...\)` instead of awaiting it: the task is called again"):
        await Outcome.join()  # type: ignore[misc]
    with pytest.raises(ValueError, match="on_dependency_failure is 'wait': give 'run' or 'skip'"):
        Outcome.join(on_dependency_failure="wait")  # type: ignore[arg-type]
