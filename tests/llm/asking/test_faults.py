"""What a provider means by a fault: put off, paused, tried again or refused; the money is booked as far as it went."""

from __future__ import annotations

from typing import Any

import pytest

from ramet import Context, Transient
from ramet.llm import AccountFault, AnswerCutOff, AnswerLost, AnswerRefused, RequestRefused, ask
from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, Refused, TooBusy
from ramet.llm.providers.base import Answer, AnswerState, TokenUsage
from ramet.llm.refusals import Meaning
from ramet.llm.requests import Request
from ramet.testing import drain
from tests.llm.asking.conftest import CALL, MODEL, Handlers
from tests.llm.fake_provider import USAGE, echo


def once(error: Exception) -> Any:
    """A fault of the first submit."""
    left = [error]
    return lambda verb, what: left.pop() if left else None


@pytest.fixture
def work(handlers: Handlers) -> Any:
    @handlers.app.task()
    async def work(ctx: Context) -> str:
        return (await ask(ctx, MODEL, "hello")).text

    return work


async def test_a_busy_provider_is_left_alone_for_as_long_as_it_says(handlers: Handlers, work: Any) -> None:
    handlers.provider.fault = once(TooBusy("429: slow down", 90.0))
    began = handlers.clock.now()
    task = await handlers.run(work)
    assert (task.result, task.attempts, task.snoozes) == ("HELLO", 1, 1)
    assert handlers.clock.now() - began >= 90.0
    history = await handlers.client.history(task.id)
    assert history is not None
    assert "429: slow down" in (history.attempts[0].reason or "")
    assert await handlers.spent(task) == (CALL, 0)


async def test_an_account_fault_pauses_the_lineage_with_the_providers_words(handlers: Handlers, work: Any) -> None:
    handlers.provider.fault = once(NotAllowed("the account has no quota left"))
    task = await handlers.run(work)
    lineage = await handlers.client.lineage(task.tracking_id)
    assert lineage is not None
    assert (lineage.state, task.state, task.attempts) == ("paused", "pending", 0)
    told = await handlers.client.explain(task.id)
    assert told is not None
    assert "the account has no quota left" in told.headline
    await handlers.client.resume_lineage(task.tracking_id, by="test")
    handlers.clock.advance(10)
    again = await handlers.run(work)
    assert again.state == "success"
    assert await handlers.client.result(task.id) == "HELLO"


async def test_a_handler_that_goes_on_without_an_answer_pauses_nothing(handlers: Handlers) -> None:
    @handlers.app.task()
    async def work(ctx: Context) -> str:
        try:
            return (await ask(ctx, MODEL, "hello", pause=False)).text
        except AccountFault as fault:
            return str(fault)

    handlers.provider.fault = once(NotAllowed("the account has no quota left"))
    task = await handlers.run(work)
    lineage = await handlers.client.lineage(task.tracking_id)
    assert lineage is not None
    assert (lineage.state, task.result) == ("finished", "the account has no quota left")
    assert await handlers.spent(task) == (0, 0)


async def test_an_answer_that_may_be_lost_is_told_from_a_call_that_was_not_made(handlers: Handlers) -> None:
    @handlers.app.task()
    async def work(ctx: Context) -> str:
        try:
            return (await ask(ctx, MODEL, "hello")).text
        except AnswerLost:
            return "lost"

    handlers.provider.fault = once(Ambiguous("the connection was cut"))
    assert (await handlers.run(work)).result == "lost"


async def test_what_was_not_sent_is_tried_again_and_costs_nothing(handlers: Handlers, work: Any) -> None:
    handlers.provider.fault = once(NotSent("connection refused"))
    task = await handlers.run(work)
    assert (task.result, task.attempts) == ("HELLO", 2)
    assert await handlers.spent(task) == (CALL, 0)


async def test_a_call_that_may_have_been_answered_is_booked_in_full(handlers: Handlers, work: Any) -> None:
    handlers.provider.fault = once(Ambiguous("the connection was cut"))
    task = await handlers.run(work)
    assert (task.result, task.attempts) == ("HELLO", 2)
    spent, reserved = await handlers.spent(task)
    assert spent > CALL + 1_024 * 2_000
    assert reserved == 0


async def test_a_refused_request_fails_at_once(handlers: Handlers, work: Any) -> None:
    handlers.provider.fault = once(Refused("no such parameter", "invalid_parameter"))
    task = await handlers.run(work)
    assert (task.state, task.attempts) == ("failed", 1)
    assert "RequestRefused: no such parameter" in (task.error or "")
    assert await handlers.spent(task) == (0, 0)


@pytest.mark.parametrize(
    ("code", "error"),
    [("max_output_tokens", AnswerCutOff), ("refusal", AnswerRefused), ("content_filter", AnswerRefused)],
)
async def test_an_answer_that_was_cut_off_or_refused_is_paid_once(
    handlers: Handlers, code: str, error: type[Exception]
) -> None:
    handlers.provider.answer = lambda request: Answer(
        request.key, AnswerState.INCOMPLETE, "I can not", USAGE, code=code, error="cut"
    )

    @handlers.app.task()
    async def work(ctx: Context) -> Any:
        with pytest.raises(error) as raised:
            await ask(ctx, MODEL, "hello")
        if ctx.attempt == 1:
            raise Transient("again")
        assert isinstance(raised.value, AnswerCutOff | AnswerRefused)
        assert raised.value.answer is not None
        return [raised.value.answer.cost, raised.value.answer.text, raised.value.answer.refusal]

    task = await handlers.run(work)
    refused = error is AnswerRefused
    assert task.result == [CALL, "" if refused else "I can not", "I can not" if refused else None]
    assert await handlers.spent(task) == (CALL, 0)


async def test_an_error_in_an_answer_is_tried_again_or_not_as_it_says(handlers: Handlers) -> None:
    @handlers.app.task()
    async def work(ctx: Context, words: str) -> str:
        return (await ask(ctx, MODEL, words)).text

    handlers.provider.answer = lambda request: Answer(request.key, AnswerState.FAILED, error="bad", code="odd")
    task = await handlers.run(work, "never")
    assert (task.state, task.attempts) == ("failed", 1)
    assert "RequestRefused" in (task.error or "")
    assert issubclass(RequestRefused, Exception)


async def test_usage_that_is_not_told_is_booked_in_full(handlers: Handlers, work: Any) -> None:
    handlers.provider.answer = lambda request: Answer(request.key, AnswerState.SUCCEEDED, "yes", usage_known=False)
    task = await handlers.run(work)
    spent, reserved = await handlers.spent(task)
    assert spent > 1_024 * 2_000
    assert reserved == 0


async def test_a_server_that_answers_more_than_it_may_is_booked_in_full(handlers: Handlers, work: Any) -> None:
    def long(request: Request) -> Answer:
        return Answer(request.key, AnswerState.SUCCEEDED, "long", TokenUsage(10, 0, 9_000))

    handlers.provider.answer = long
    task = await handlers.run(work)
    assert await handlers.spent(task) == (10_000 + 18_000_000, 0)
    assert handlers.provider.answer is not echo


async def test_an_answer_that_tells_of_the_account_pauses_and_one_of_a_full_queue_waits(
    handlers: Handlers, work: Any
) -> None:
    meanings = {1: Meaning.ACCOUNT, 2: Meaning.BUSY}
    handlers.provider.answer = lambda request: (
        Answer(request.key, AnswerState.FAILED, error="no room", code="odd", meaning=meanings[at])
        if (at := len(handlers.provider.taken)) in meanings
        else echo(request)
    )
    task = await handlers.run(work)
    lineage = await handlers.client.lineage(task.tracking_id)
    assert lineage is not None
    assert (lineage.state, task.state, task.attempts) == ("paused", "pending", 0)
    assert lineage.paused_reason == "openai does not let this account do it: odd: no room"
    await handlers.client.resume_lineage(task.tracking_id, by="test")
    handlers.clock.advance(10)
    await drain(handlers.app, handlers.client)
    [ended] = [found async for found in handlers.client.all_tasks(tracking_id=task.tracking_id)]
    assert (ended.result, ended.attempts, ended.snoozes) == ("HELLO", 1, 2)
    assert await handlers.spent(task) == (CALL, 0)
