"""Structured answers: typed, repaired with the error within a small budget, and paid for each time."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from ramet import Context
from ramet.llm import AnswerInvalid, ask
from tests.llm.asking.conftest import CALL, MODEL, Handlers, in_turn, says


class City(BaseModel):
    name: str
    people: int = Field(ge=0)


async def test_an_answer_is_of_the_type_that_was_asked_for(handlers: Handlers) -> None:
    handlers.provider.answer = says('```json\n{"name": "Rome", "people": 2800000}\n```')

    @handlers.app.task()
    async def work(ctx: Context) -> City:
        answer = await ask(ctx, MODEL, "a city", schema=City)
        return answer.value

    task = await handlers.run(work)
    assert task.result == {"name": "Rome", "people": 2800000}
    [request] = handlers.requests
    assert request.schema is not None
    assert request.schema["required"] == ["name", "people"]


async def test_other_types_and_json_schemas_do_as_well(handlers: Handlers) -> None:
    handlers.provider.answer = says('["a", "b"]')

    @handlers.app.task()
    async def work(ctx: Context) -> list[Any]:
        typed = await ask(ctx, MODEL, "letters", schema=list[str])
        by_schema = await ask(ctx, MODEL, "letters", schema={"type": "array", "minItems": 2})
        return [typed.value, by_schema.value]

    assert (await handlers.run(work)).result == [["a", "b"]] * 2


async def test_an_invalid_answer_is_asked_again_with_the_error(handlers: Handlers) -> None:
    handlers.provider.answer = in_turn(
        says('{"name": "Rome", "people": -1}'), says("no JSON"), says('{"name": "Rome", "people": 1}')
    )

    @handlers.app.task()
    async def work(ctx: Context) -> list[Any]:
        answer = await ask(ctx, MODEL, "a city", schema=City)
        return [answer.value.people, answer.cost, answer.usage.output_tokens, len(answer.messages)]

    task = await handlers.run(work)
    assert task.result == [1, 3 * CALL, 15, 6]
    first, second = handlers.conversations[1][-1]["content"], handlers.conversations[2][-1]["content"]
    assert "$.people: Input should be greater than or equal to 0" in first
    assert "is not JSON" in second
    assert await handlers.spent(task) == (3 * CALL, 0)


async def test_after_all_repairs_it_fails_and_the_answer_is_there(handlers: Handlers) -> None:
    handlers.provider.answer = says("never JSON")

    @handlers.app.task()
    async def work(ctx: Context) -> list[Any]:
        with pytest.raises(AnswerInvalid, match="the answer does not fit") as raised:
            await ask(ctx, MODEL, "a city", schema=City, repairs=1)
        assert raised.value.answer is not None
        return [raised.value.answer.text, raised.value.answer.cost]

    task = await handlers.run(work)
    assert task.result == ["never JSON", 2 * CALL]
