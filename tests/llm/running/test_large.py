"""A job of many rows: paused until all of it is there, taken up again where a submit was cut short."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest

from ramet import PRESETS, Client, StoreError
from ramet.llm import jobs
from ramet.llm.commands.operations import _revive
from ramet.llm.errors import InputError
from ramet.llm.inputs.prompt_file import Row
from ramet.llm.inputs.spool import Questions, questions_of
from ramet.llm.jobs import Job, find_job, submit_job
from ramet.llm.providers.base import Answer, AnswerState, Mode
from ramet.llm.requests import Request
from ramet.llm.results import output_rows
from ramet.llm.rows import rows_of
from ramet.llm.settings import JobSettings
from tests.llm.fake_provider import echo
from tests.llm.running.conftest import DEAR, MODEL, Desk, question

pytestmark = pytest.mark.parametrize("mode", list(Mode))
COUNT = 17


@pytest.fixture(autouse=True)
def small_parts() -> Iterator[None]:
    with patch.object(jobs, "ROWS_AT_ONCE", 3):
        yield


def rows(count: int = COUNT) -> Questions:
    return questions_of(Row(at, at + 1, f"row{at}", question(f"word {at % 11}")) for at in range(count))


async def submitted(desk: Desk, count: int = COUNT) -> tuple[Job, bool]:
    made = JobSettings(provider="fake", mode=desk.provider.mode, prices={MODEL: DEAR}, rows=0, items=0)
    return await submit_job(desk.client, "job", rows(count), made, max_cost=10**12)


async def test_all_rows_are_asked_and_answered(desk: Desk) -> None:
    job, new = await submitted(desk)
    assert (new, job.lineage.state, job.settings.rows, job.settings.items) == (True, "running", COUNT, 11)
    assert (await submitted(desk))[1] is False
    await desk.run()
    found = [row async for row in output_rows(desk.client, job)]
    assert [row.text for row in found] == [f"WORD {at % 11}" for at in range(COUNT)]
    assert [row.shared for row in found] == [at >= 11 for at in range(COUNT)]
    assert (await desk.status()).state == "succeeded"
    assert set(desk.provider.journal.values()) == {1}


def cut_short(at: int) -> Callable[..., Any]:
    """`Client.add`, which fails at one of its calls, from 0."""
    real, calls = Client.add, itertools.count()

    async def add(self: Client, *arguments: Any) -> Any:
        if next(calls) == at:
            raise StoreError("the connection was cut")
        return await real(self, *arguments)

    return add


async def test_a_submit_that_was_cut_short_is_taken_up_again(desk: Desk) -> None:
    for dies_at in (0, 2, 4):
        with patch.object(Client, "add", cut_short(dies_at)), pytest.raises(StoreError):
            await submitted(desk)
        job = await find_job(desk.client, "job")
        assert (job.lineage.state, job.lineage.paused_reason) == ("paused", jobs.UNFINISHED)
        await desk.slot()
        assert desk.provider.journal == {}, "nothing is asked before all of it is there"
    with pytest.raises(InputError, match="asks something else"):
        await submitted(desk, COUNT - 1)
    job, new = await submitted(desk)
    assert (new, job.lineage.state) == (True, "running")
    assert [row.id async for row in rows_of(desk.client, job.job_id)] == [f"row{at}" for at in range(COUNT)]
    await desk.run()
    assert (await desk.status()).state == "succeeded"
    assert set(desk.provider.journal.values()) == {1}


async def test_what_failed_in_a_job_that_has_ended_is_asked_again(desk: Desk) -> None:
    def answer(request: Request) -> Answer:
        return Answer(request.key, AnswerState.FAILED, error="no such word", code="invalid_prompt")

    desk.provider.answer = lambda request: answer(request) if "3" in str(request.messages) else echo(request)
    await submitted(desk)
    await desk.run()
    job = await find_job(desk.client, "job")
    assert job.lineage.ended_at is not None
    desk.provider.answer = echo
    assert await _revive(desk.client, job) == 1
    await desk.run()
    assert {row.state async for row in output_rows(desk.client, job)} == {"succeeded"}


async def test_a_ceiling_is_lowered_to_what_is_spent_at_least(desk: Desk) -> None:
    job, _ = await submitted(desk)
    after = await desk.client.set_max_cost(job.job_id, 10**11)
    assert after.max_cost == 10**11
    with pytest.raises(StoreError, match="a limit is only raised"):
        await desk.client.raise_limits(job.job_id, max_cost=10**10)
    await desk.run()
    spent = (await find_job(desk.client, "job")).lineage.spent
    after = await desk.client.set_max_cost(job.job_id, 1)
    assert (after.max_cost, after.soft_cost) == (spent, None)
    assert (await desk.client.set_max_cost(job.job_id, 10**12)).max_cost == 10**12


async def test_a_part_of_many_questions_is_within_the_limits_of_every_preset(desk: Desk) -> None:
    preset = PRESETS["conservative"].max_fan_out
    many = questions_of(Row(at, at + 1, f"row{at}", question(f"word {at}")) for at in range(2 * preset + 10))
    made = JobSettings(
        provider="fake", mode=desk.provider.mode, prices={MODEL: DEAR}, rows=0, items=0, preset="conservative"
    )
    with patch.object(jobs, "ROWS_AT_ONCE", preset + 1):
        job, _ = await submit_job(desk.client, "job", many, made, max_cost=10**15)
    assert (job.lineage.state, job.settings.items) == ("running", 2 * preset + 10)
