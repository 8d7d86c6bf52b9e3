"""Tools of a model: functions in the handler, kinds from an allow-list, a bounded number of rounds."""

from __future__ import annotations

from typing import Any

import pytest

from ramet import Context, Limits, Outcome, Transient
from ramet.llm import Model, SpawnNotAllowed, ToolContext, ToolError, TooManyRounds, ask
from ramet.llm.asking.tools import tools_of
from tests.llm.asking.conftest import CALL, MODEL, Handlers, in_turn, says


async def test_a_model_calls_functions_and_answers_from_what_they_return(handlers: Handlers) -> None:
    async def weather(ctx: ToolContext, city: str, days: int = 1) -> dict[str, Any]:
        """The weather of a city."""
        handlers.asked.append((ctx.key, city, days))
        return {"rain": True}

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    handlers.provider.answer = in_turn(
        says("let me look", ("weather", '{"city": "Rome"}'), ("add", '{"a": 1, "b": 2}')), says("it rains, and 3")
    )

    @handlers.app.task(key=lambda payload: "k")
    async def work(ctx: Context) -> list[Any]:
        answer = await ask(ctx, MODEL, "weather and a sum?", tools=[weather, add])
        if ctx.attempt == 1:
            raise Transient("again")
        return [answer.text, answer.cost, [call["result"] for call in answer.tool_calls]]

    task = await handlers.run(work)
    assert task.result == ["it rains, and 3", 2 * CALL, ['{"rain": true}', "3"]]
    assert handlers.asked == [("k", "Rome", 1)], "the next attempt reads what the tools returned, too"
    declared = handlers.requests[0].parameters["tools"][0]["function"]
    assert (declared["name"], declared["description"]) == ("weather", "The weather of a city.")
    assert declared["parameters"]["required"] == ["city"]
    _, said, first, second = handlers.conversations[1]
    assert [call["function"]["name"] for call in said["tool_calls"]] == ["weather", "add"]
    assert (first["tool_call_id"], second["content"]) == ("call0", "3")


async def test_what_does_not_fit_is_told_to_the_model(handlers: Handlers) -> None:
    def look(number: int) -> str:
        """Look."""
        raise ToolError(f"there is no {number}")

    handlers.provider.answer = in_turn(
        says(None, ("look", '{"number": "x"}'), ("look", "no JSON"), ("hide", "{}"), ("look", '{"number": 7}')),
        says("sorry"),
    )

    @handlers.app.task()
    async def work(ctx: Context) -> list[Any]:
        answer = await ask(ctx, MODEL, "look", tools=[look])
        return [call["result"] for call in answer.tool_calls]

    wrong, no_json, unknown, refused = (await handlers.run(work)).result
    assert wrong.startswith("error: the arguments do not fit: number: Input should be a valid integer")
    assert no_json.startswith("error: the arguments do not fit: Invalid JSON")
    assert (unknown, refused) == ("error: there is no tool 'hide': there are look", "error: there is no 7")


async def test_a_tool_that_breaks_breaks_the_handler(handlers: Handlers) -> None:
    def look() -> str:
        raise ZeroDivisionError("by zero")

    handlers.provider.answer = says(None, ("look", "{}"))

    @handlers.app.task(limits=Limits(max_attempts=1))
    async def work(ctx: Context) -> None:
        await ask(ctx, MODEL, "look", tools=[look])

    task = await handlers.run(work)
    assert "ZeroDivisionError: by zero" in (task.error or "")


async def test_rounds_are_bounded(handlers: Handlers) -> None:
    def look() -> str:
        return "nothing"

    handlers.provider.answer = says(None, ("look", "{}"))

    @handlers.app.task()
    async def work(ctx: Context) -> int:
        with pytest.raises(TooManyRounds) as raised:
            await ask(ctx, MODEL, "look", tools=[look], rounds=3)
        assert raised.value.answer is not None
        return len(raised.value.answer.tool_calls)

    task = await handlers.run(work)
    assert (task.result, len(handlers.requests)) == (3, 4)
    assert await handlers.spent(task) == (4 * CALL, 0)


async def test_a_model_spawns_what_the_list_names_and_nothing_else(handlers: Handlers) -> None:
    @handlers.app.task(key=str)
    async def leaf(ctx: Context, name: str) -> str:
        """Look at a name."""
        return name.upper()

    @handlers.app.task(key=str)
    async def secret(ctx: Context, name: str) -> None: ...

    handlers.provider.answer = in_turn(
        says(None, ("spawn_leaf", '{"payload": "a"}'), ("spawn_leaf", '{"payload": "a"}'), ("spawn_secret", "{}")),
        says("done"),
    )

    @handlers.app.task(limits=Limits(max_fan_out=5))
    async def work(ctx: Context) -> Outcome | list[Any]:
        answer = await ask(ctx, MODEL, "spawn", spawns=[leaf])
        if ctx.joined is None:
            return ctx.join()
        return [[call["result"] for call in answer.tool_calls], sorted({task.key for task in ctx.joined})]

    results, joined = (await handlers.run(work)).result
    assert results == ["accepted", "accepted", "error: there is no tool 'spawn_secret': there are spawn_leaf"]
    assert joined == ["a"]
    assert [task.kind async for task in handlers.client.all_tasks(kind="secret")] == []


async def test_a_function_may_spawn_no_other_kind_either(handlers: Handlers) -> None:
    @handlers.app.task()
    async def secret(ctx: Context) -> None: ...

    async def sneak(ctx: ToolContext) -> str:
        """Sneak."""
        await ctx.spawn(secret)
        return "spawned"

    handlers.provider.answer = says(None, ("sneak", "{}"))

    @handlers.app.task()
    async def work(ctx: Context) -> str:
        with pytest.raises(SpawnNotAllowed, match="a tool may not spawn 'secret'") as raised:
            await ask(ctx, MODEL, "sneak", tools=[sneak])
        return str(raised.value)

    task = await handlers.run(work)
    assert task.state == "success"
    assert [found.id async for found in handlers.client.all_tasks(kind="secret")] == []


async def test_the_guards_refusal_is_told_to_the_model(handlers: Handlers) -> None:
    @handlers.app.task(key=str)
    async def leaf(ctx: Context, name: str) -> None: ...

    handlers.provider.answer = in_turn(
        says(None, *(("spawn_leaf", f'{{"payload": "{name}"}}') for name in "abc")), says("done")
    )

    @handlers.app.task(limits=Limits(max_fan_out=2))
    async def work(ctx: Context) -> list[Any]:
        answer = await ask(ctx, MODEL, "spawn", spawns=[leaf])
        return [call["result"] for call in answer.tool_calls]

    assert (await handlers.run(work)).result == ["accepted", "accepted", "refused: fan_out"]


async def test_anthropics_thinking_goes_back_before_the_use_of_a_tool(handlers: Handlers) -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "call0", "name": "look", "input": {}},
    ]
    handlers.provider.answer = in_turn(says(None, ("look", "{}"), body={"content": content}), says("seen"))

    def look() -> str:
        return "a tree"

    @handlers.app.task()
    async def work(ctx: Context) -> str:
        model = Model("small", "anthropic", price="1:2")
        return (await ask(ctx, model, "look", tools=[look], parameters={"thinking": {"type": "adaptive"}})).text

    assert (await handlers.run(work)).result == "seen"
    assert handlers.conversations[1][1]["content"] == content


def test_functions_that_cannot_be_tools_are_refused() -> None:
    def untyped(city) -> str:  # type: ignore[no-untyped-def]
        return str(city)

    def one() -> str:
        return ""

    with pytest.raises(ValueError, match="tool untyped: parameter 'city' has no type: annotate it"):
        tools_of([untyped], [])
    with pytest.raises(ValueError, match="two tools have one name"):
        tools_of([one, one], [])
