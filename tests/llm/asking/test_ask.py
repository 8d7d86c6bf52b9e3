"""A model's answer in a handler: reserved, paid once, kept, cached where asked for, and refused over a ceiling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ramet import App, Context, Limits, Outcome, SyncContext, Transient
from ramet.llm import Model, NotInstalled, ask, ask_sync
from ramet.testing import drain, fresh_client
from tests.llm.asking.conftest import CALL, MODEL, Handlers, says


async def test_a_handler_asks_and_pays(handlers: Handlers) -> None:
    @handlers.app.task()
    async def work(ctx: Context, words: str) -> dict[str, Any]:
        answer = await ask(ctx, MODEL, words)
        return {"text": answer.text, "cost": answer.cost, "usage": answer.usage.output_tokens, "value": answer.value}

    task = await handlers.run(work, "hello")
    assert task.result == {"text": "HELLO", "cost": CALL, "usage": 5, "value": None}
    assert await handlers.spent(task) == (CALL, 0)
    [request] = handlers.requests
    assert (request.model, request.max_output_tokens) == ("small", 1_024)


async def test_a_plain_handler_asks_too(handlers: Handlers) -> None:
    @handlers.app.task()
    def work(ctx: SyncContext, words: str) -> list[str]:
        return [ask_sync(ctx, MODEL, words).text, ask_sync(ctx, MODEL, "more", schema={"type": "string"}).value]

    handlers.provider.answer = says('"HELLO"')
    task = await handlers.run(work, "hello")
    assert task.result == ['"HELLO"', "HELLO"]
    assert await handlers.spent(task) == (2 * CALL, 0)


async def test_a_next_attempt_reads_what_was_paid(handlers: Handlers) -> None:
    @handlers.app.task()
    async def work(ctx: Context) -> list[Any]:
        texts = [(await ask(ctx, MODEL, "same", parameters={"temperature": 1})).text for _ in range(2)]
        texts.append((await ask(ctx, MODEL, "same", name="third")).text)
        if ctx.attempt < 3:
            raise Transient("again")
        return texts

    task = await handlers.run(work)
    assert task.result == ["SAME"] * 3
    assert len(handlers.requests) == 3, "asked twice in one run it is two calls, and in the next attempts the same two"
    assert await handlers.spent(task) == (3 * CALL, 0)


async def test_what_was_paid_is_read_after_a_snooze_and_a_join(handlers: Handlers) -> None:
    @handlers.app.task()
    async def leaf(ctx: Context) -> None: ...

    @handlers.app.task()
    async def work(ctx: Context) -> Outcome | str:
        text = (await ask(ctx, MODEL, "plan")).text
        if ctx.joined is None:
            ctx.spawn(leaf)
            return ctx.join()
        return text

    task = await handlers.run(work)
    assert (task.result, len(handlers.requests)) == ("PLAN", 1)


@pytest.mark.parametrize(("cache", "calls"), [(None, 4), ("lineage", 2), ("all", 1)])
async def test_the_cache_is_asked_for(handlers: Handlers, cache: Any, calls: int) -> None:
    @handlers.app.task(key=str)
    async def work(ctx: Context, name: str) -> list[Any]:
        answer = await ask(ctx, MODEL, "same", cache=cache)
        if ctx.attempt == 1:
            raise Transient("again")
        return [answer.text, answer.cost, answer.cached]

    for line in ("one", "two"):
        await handlers.client.submit_many([(work, f"{line}a"), (work, f"{line}b")], tracking_id=line, one_lineage=True)
    await drain(handlers.app, handlers.client)
    assert len(handlers.requests) == calls
    costs = await handlers.client.costs()
    assert costs.total.spent == calls * CALL
    results = [task.result async for task in handlers.client.all_tasks(kind="work")]
    assert sorted(map(str, results)) == sorted(
        [str(["SAME", CALL, False])] * calls + [str(["SAME", 0, True])] * (4 - calls)
    )


async def test_over_a_ceiling_nothing_is_asked_and_the_task_says_why(handlers: Handlers) -> None:
    @handlers.app.task(limits=Limits(max_cost=2_090_000))
    async def work(ctx: Context) -> None:
        await ask(ctx, MODEL, "first")
        await ask(ctx, MODEL, "second")

    task = await handlers.run(work)
    assert (task.state, len(handlers.requests)) == ("failed", 1)
    assert (task.reason or "").startswith("cost: the ceiling of the lineage is $0.00209: $0.00002 spent")
    told = await handlers.client.explain(task.id)
    assert told is not None
    assert "ceiling of the lineage" in told.headline


async def test_without_the_table_one_line_says_what_to_write(tmp_path: Path) -> None:
    app = App(limits=Limits(max_cost=10**9))

    @app.task()
    async def work(ctx: Context) -> str:
        with pytest.raises(NotInstalled) as refused:
            await ask(ctx, MODEL, "hello")
        return str(refused.value)

    async with fresh_client(app, folder=tmp_path) as client:
        submitted = await client.submit(work)
        await drain(app, client)
        assert "write llm.declare_models(app)" in await client.result(submitted.id)


async def test_wrong_arguments_are_refused_before_anything_is_reserved(handlers: Handlers) -> None:
    @handlers.app.task()
    async def work(ctx: Context) -> list[str]:
        told = []
        arguments: list[dict[str, Any]] = [
            {"cache": "task"},
            {"max_output_tokens": 0},
            {"messages": []},
            {"model": Model("small", price="much")},
            {"model": "no-such-model"},
            {"parameters": {"messages": []}},
            {"schema": {"type": 7}},
        ]
        for wrong in arguments:
            try:
                await ask(ctx, **{"model": MODEL, "messages": "hello", **wrong})
            except Exception as error:
                told.append(f"{type(error).__name__}: {error}")
        return told

    task = await handlers.run(work)
    assert [line.partition(":")[0] for line in task.result] == [
        "ValueError", "ValueError", "ValueError", "Permanent", "Permanent", "RequestRefused", "Permanent"
    ]  # fmt: skip
    assert all("\n" not in line for line in task.result)
    assert (handlers.requests, await handlers.spent(task)) == ([], (0, 0))


@pytest.mark.parametrize(
    ("text", "provider", "name", "place"),
    [
        ("gpt-5-mini", "openai", "gpt-5-mini", "openai"),
        ("ft:gpt-4o:acme", "openai", "ft:gpt-4o:acme", "openai"),
        ("claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5", "anthropic"),
        ("anthropic:new", "anthropic", "new", "anthropic"),
        ("gemini-2.5-flash", "openai", "gemini-2.5-flash", "openai@generativelanguage.googleapis.com"),
    ],
)
def test_a_text_stands_for_a_model(text: str, provider: str, name: str, place: str) -> None:
    model = Model.of(text)
    assert (model.provider, model.name, model.place) == (provider, name, place)
    assert text == "anthropic:new" or text.startswith("ft:") or model.priced().output > 0
