"""An answer that does not fit is asked for again with what is wrong with it; so the model can put it right."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.llm.asking_again import SHOWN_CHARACTERS_MAX, with_fault
from ramet.llm.jobs import submit_job
from ramet.llm.providers.base import Answer, AnswerState, Mode
from ramet.llm.requests import Request
from ramet.llm.settings import JobSettings
from tests.llm.fake_provider import USAGE
from tests.llm.running.conftest import DEAR, MODEL, Desk, asked, question
from tests.llm.running.test_jobs import PRICE_OF_ONE

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.mark.parametrize("mode", list(Mode))
async def test_the_model_sees_its_answer_and_the_fault(desk: Desk) -> None:
    seen: list[list[Any]] = []

    def answer(request: Request) -> Answer:
        contents = [message["content"] for message in request.messages]
        if contents not in seen:
            seen.append(contents)
        text = '{"age": "old"}' if len(contents) == 1 else json.dumps({"age": 7})
        return Answer(request.key, AnswerState.SUCCEEDED, text, USAGE)

    desk.provider.answer = answer
    settings = JobSettings(provider="fake", mode=desk.provider.mode, prices={MODEL: DEAR}, rows=0, items=0)
    await submit_job(desk.client, "job", asked(["owl"], schema=SCHEMA), settings, max_cost=10**12)
    await desk.run()
    assert await desk.results() == {"owl": '{"age": 7}'}
    assert seen[0] == ["owl"]
    [first, wrong, fault] = seen[1]
    assert (first, wrong) == ("owl", '{"age": "old"}')
    assert "$.age" in fault
    assert len(seen) == 2
    status = await desk.status()
    # Both answers are paid, and nothing else.
    assert status.job.lineage.spent == 2 * PRICE_OF_ONE
    assert status.job.lineage.reserved == 0


def test_a_long_answer_is_shown_in_part_and_the_key_stays() -> None:
    request = question("owl")
    again = with_fault(request, "x" * (SHOWN_CHARACTERS_MAX + 1), "$: no")
    assert again.key == request.key
    assert again.messages[:-2] == request.messages
    assert again.messages[-2] == {"role": "assistant", "content": "x" * SHOWN_CHARACTERS_MAX + " ..."}
    assert "$: no" in again.messages[-1]["content"]
    assert with_fault(request, "", "$: no").messages[-2]["content"]
