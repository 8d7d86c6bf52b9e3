"""A job from its submission to its end, in each mode, on both stores."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from pydantic import BaseModel

from ramet import Worker
from ramet.llm import pipeline
from ramet.llm.calls import calling
from ramet.llm.jobs import submit_job
from ramet.llm.providers.base import Answer, AnswerState, Mode, TokenUsage
from ramet.llm.requests import Request
from ramet.llm.settings import JobSettings
from ramet.llm.status import ItemState
from ramet.testing import FakeClock, fresh_client
from tests.llm.fake_provider import USAGE, FakeProvider, echo
from tests.llm.running.conftest import DEAR, FREE, MODEL, Desk, asked

pytestmark = pytest.mark.parametrize("mode", list(Mode))
PRICE_OF_ONE = 10 * 1_000 + 5 * 2_000
"""What `USAGE` costs at the test's prices."""


async def test_a_job_asks_each_question_once_and_books_what_it_cost(desk: Desk) -> None:
    await desk.submit(["owl", "finch", "owl", "gull"])
    before = await desk.status()
    assert (before.state, before.items[ItemState.QUEUED], before.total) == ("queued", 3, 3)
    await desk.run()
    assert await desk.results() == {"owl": "OWL", "finch": "FINCH", "gull": "GULL"}
    after = await desk.status()
    assert (after.state, after.items[ItemState.SUCCEEDED], after.done) == ("succeeded", 3, 3)
    assert set(desk.provider.journal.values()) == {1}
    lineage = after.job.lineage
    assert (lineage.spent, lineage.reserved) == (3 * PRICE_OF_ONE, 0)
    assert (after.input_tokens, after.output_tokens, after.ambiguous, after.late) == (30, 15, 0, 0)
    assert lineage.state == "finished"


async def test_bad_answers_fail_with_what_was_told_and_good_ones_stay(desk: Desk) -> None:
    def answer(request: Request) -> Answer:
        text = str(request.messages[-1]["content"])
        if text == "long":
            return Answer(request.key, AnswerState.INCOMPLETE, "so", USAGE, error="cut off", code="max_output_tokens")
        if text == "bad":
            return Answer(request.key, AnswerState.FAILED, error="no such word", code="invalid_prompt")
        return echo(request)

    desk.provider.answer = answer
    await desk.submit(["good", "long", "bad"])
    await desk.run()
    assert await desk.results() == {
        "good": "GOOD",
        "long": "incomplete: max_output_tokens: cut off",
        "bad": "failed: invalid_prompt: no such word",
    }
    after = await desk.status()
    assert after.state == "partly"
    # What was cut off is billed, what failed is not.
    assert after.job.lineage.spent == 2 * PRICE_OF_ONE
    kept = await desk.client.read("SELECT state, answer FROM llm_answers WHERE answer IS NOT NULL")
    assert kept == [("incomplete", '{"text": "so"}')]


async def test_an_answer_that_does_not_fit_is_asked_again_a_few_times(desk: Desk) -> None:
    def answer(request: Request) -> Answer:
        good = str(request.messages[0]["content"]) == "second" and desk.provider.journal[request.key] > 1
        return Answer(request.key, AnswerState.SUCCEEDED, '{"name": "owl"}' if good else "an owl", TokenUsage(10, 0, 5))

    desk.provider.answer = answer
    await desk.submit(["never", "second"], check="tests.llm.running.test_jobs:Bird", name="job")
    await desk.run()
    found = await desk.results()
    assert found["second"] == '{"name": "owl"}'
    assert found["never"].startswith("invalid_answer: ")
    assert sorted(desk.provider.journal.values()) == [2, 3]
    assert (await desk.status()).job.lineage.spent == 5 * PRICE_OF_ONE


async def test_a_job_of_which_nothing_succeeds_has_failed(desk: Desk) -> None:
    desk.provider.answer = lambda request: Answer(request.key, AnswerState.FAILED, error="no", code="server_says_no")
    await desk.submit(["a", "b"])
    await desk.run()
    assert (await desk.status()).state == "failed"
    [(state, succeeded, failed)] = await desk.client.read("SELECT state, succeeded, failed FROM llm_jobs")
    assert (state, succeeded, failed) == ("failed", 0, 2)


async def test_a_lineage_that_only_has_the_name_of_a_job_disturbs_no_other(desk: Desk) -> None:
    question = {"model": MODEL, "messages": [{"role": "user", "content": "cat"}], "max_output_tokens": 1}
    await desk.client.submit(pipeline.item, question, tracking_id="llm-none", delay_seconds=36_000.0)
    await desk.submit(["owl"])
    for _ in range(4):
        await desk.slot()
        desk.clock.advance(3_600.0)
    assert await desk.results() == {"owl": "OWL", "cat": None}


class Bird(BaseModel):
    """What answers have to be."""

    name: str


async def test_jobs_of_one_name_in_two_databases_keep_their_settings(mode: Mode, tmp_path: Path) -> None:
    provider = FakeProvider(mode, FakeClock().now)
    found = []
    with patch.object(calling, "opener", lambda settings: provider):
        for folder, price in (("one", DEAR), ("other", FREE)):
            (tmp_path / folder).mkdir()
            async with fresh_client(pipeline.app, folder=tmp_path / folder) as client:
                settings = JobSettings(provider="fake", mode=mode, prices={MODEL: price}, rows=0, items=0)
                job, _ = await submit_job(client, "job", asked(["owl"]), settings, max_cost=10**12)
                found.append((await calling.job(client, job.job_id)).settings.prices)
    await calling.close()
    assert found == [{MODEL: DEAR}, {MODEL: FREE}]


async def test_one_bounded_run_sends_all_items_that_are_due(desk: Desk) -> None:
    desk.provider.seconds = 600.0
    await desk.submit([f"bird {n}" for n in range(40)])
    worker = Worker(pipeline.app, desk.client, clock=desk.clock, once=True)
    await worker.run()
    report = await worker.report()
    assert sum(desk.provider.journal.values()) == len(desk.provider.journal) == 40
    assert (report.due, report.ended) == (0, "nothing_due")
    sent = await desk.status()
    assert sent.items[ItemState.SUCCEEDED if desk.provider.mode is Mode.CHAT else ItemState.PROCESSING] == 40
    if desk.provider.mode is not Mode.CHAT:
        assert report.next_due_at is not None
        assert desk.clock.now() < report.next_due_at < desk.clock.now() + 600.0
