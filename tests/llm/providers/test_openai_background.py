"""Background responses through the real SDK, against our stand-in, which is the only server here that has them."""

from __future__ import annotations

import pytest

from ramet.llm.errors import Ambiguous, NotSent, Refused, TooBusy
from ramet.llm.providers.base import AnswerState, Mode, Poll, PollState, Provider, TokenUsage
from ramet.llm.testing.script import Script
from ramet.llm.testing.server import StandIn
from tests.llm.providers.conftest import Opened
from tests.llm.providers.sample_requests import question

pytestmark = pytest.mark.network

POLLS_MAX = 20


async def submitted(provider: Provider, text: str) -> str:
    """The remote id of a question that is under way."""
    submission = await provider.submit([question(text)], submit_key="s-1", seconds=10)
    assert submission.answer is None
    return submission.remote_id


async def polled_to_the_end(provider: Provider, remote_id: str) -> list[Poll]:
    """Every poll until one is no longer live."""
    polls: list[Poll] = []
    while not polls or polls[-1].state is PollState.LIVE:
        assert len(polls) < POLLS_MAX
        polls.append(await provider.poll(remote_id, seconds=10))
    return polls


async def test_a_call_is_seen_queued_then_in_progress_then_completed(standin: StandIn, opened: Opened) -> None:
    provider = opened(Mode.BACKGROUND)
    remote_id = await submitted(provider, "how deep is the sound?")
    polls = await polled_to_the_end(provider, remote_id)
    assert [poll.provider_state for poll in polls] == ["queued", "in_progress", "completed"]
    answer = polls[-1].answer
    assert answer is not None
    assert answer.key == question("how deep is the sound?").key
    assert (answer.state, answer.response_id) == (AnswerState.SUCCEEDED, remote_id)
    assert answer.text is not None
    assert answer.text.endswith("how deep is the sound?")
    (entry,) = standin.world.journal.entries()
    assert answer.usage == TokenUsage(entry.input_tokens, 0, entry.output_tokens)
    assert (entry.key, entry.submit_key) == (answer.key, "s-1")
    assert [again async for again in provider.results(remote_id, seconds=10)] == [answer]


async def test_it_is_always_asked_to_be_stored(standin: StandIn, opened: Opened) -> None:
    provider = opened(Mode.BACKGROUND)
    remote_id = await submitted(provider, "hello")
    kept = standin.world.responses.request_of(remote_id)
    assert (kept["store"], kept["background"]) == (True, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[failed]]", (AnswerState.FAILED, "server_error", True)),
        ("[[failed invalid_prompt]]", (AnswerState.FAILED, "invalid_prompt", False)),
        ("[[incomplete]]", (AnswerState.INCOMPLETE, "max_output_tokens", False)),
        ("[[filter]]", (AnswerState.INCOMPLETE, "content_filter", False)),
        ("[[refusal]]", (AnswerState.INCOMPLETE, "refusal", False)),
        ("[[cancelled]]", (AnswerState.CANCELLED, "cancelled", False)),
    ],
)
async def test_each_end_is_told_apart(
    standin: StandIn, opened: Opened, text: str, told: tuple[AnswerState, str, bool]
) -> None:
    provider = opened(Mode.BACKGROUND)
    polls = await polled_to_the_end(provider, await submitted(provider, text))
    answer = polls[-1].answer
    assert answer is not None
    assert (answer.state, answer.code, answer.retriable) == told
    assert answer.error is not None
    (entry,) = standin.world.journal.entries()
    assert answer.usage == TokenUsage(entry.input_tokens, entry.cached_tokens, entry.output_tokens)
    assert {"queued", "in_progress"} <= set(standin.world.statuses)


async def test_what_the_provider_forgot_is_lost(standin: StandIn, opened: Opened) -> None:
    provider = opened(Mode.BACKGROUND)
    polls = await polled_to_the_end(provider, await submitted(provider, "[[lost]]"))
    assert [poll.state for poll in polls] == [PollState.LIVE, PollState.LOST]
    assert standin.world.journal.entries()[0].output_tokens > 0, "it was billed all the same"


async def test_a_result_is_forgotten_some_polls_after_its_end(standin: StandIn, opened: Opened) -> None:
    standin.begin(Script(forget_polls=1))
    provider = opened(Mode.BACKGROUND)
    remote_id = await submitted(provider, "hello")
    assert (await polled_to_the_end(provider, remote_id))[-1].state is PollState.ENDED
    assert (await provider.poll(remote_id, seconds=10)).state is PollState.LOST


async def test_one_that_never_ends_is_cancelled_and_costs_nothing(standin: StandIn, opened: Opened) -> None:
    provider = opened(Mode.BACKGROUND)
    remote_id = await submitted(provider, "[[never]]")
    for _ in range(POLLS_MAX):
        assert (await provider.poll(remote_id, seconds=10)).state is PollState.LIVE
    await provider.cancel(remote_id, seconds=10)
    await provider.cancel(remote_id, seconds=10)
    poll = await provider.poll(remote_id, seconds=10)
    assert poll.answer is not None
    assert poll.answer.state is AnswerState.CANCELLED
    assert not poll.answer.usage_known, "nobody says what was billed before the cancel"
    assert standin.world.journal.as_json()["totals"]["output_tokens"] == 0


async def test_cancelling_what_ended_or_is_not_known_is_no_error(opened: Opened) -> None:
    provider = opened(Mode.BACKGROUND)
    remote_id = await submitted(provider, "hello")
    await polled_to_the_end(provider, remote_id)
    await provider.cancel(remote_id, seconds=10)
    await provider.cancel("resp_of_nobody", seconds=10)
    assert (await provider.poll("resp_of_nobody", seconds=10)).state is PollState.LOST


async def test_a_late_result_comes_though_it_was_cancelled(opened: Opened) -> None:
    provider = opened(Mode.BACKGROUND)
    remote_id = await submitted(provider, "[[late]]")
    await provider.cancel(remote_id, seconds=10)
    answer = (await polled_to_the_end(provider, remote_id))[-1].answer
    assert answer is not None
    assert answer.state is AnswerState.SUCCEEDED


@pytest.mark.parametrize("text", ["[[drop_accepted]]", "[[malformed]]", "[[502]]", "[[504]]"])
async def test_a_submit_whose_answer_is_lost_is_ambiguous_and_sent_once(
    standin: StandIn, opened: Opened, text: str
) -> None:
    provider = opened(Mode.BACKGROUND)
    with pytest.raises(Ambiguous):
        await provider.submit([question(text)], submit_key="s", seconds=10)
    assert len(standin.world.calls) == 1
    with pytest.raises(NotImplementedError):
        await provider.find("s", seconds=1)


@pytest.mark.parametrize("fault", ["429 after=400", "500", "502", "503", "504", "drop", "malformed", "400", "409"])
async def test_a_poll_that_fails_can_be_asked_again(standin: StandIn, opened: Opened, fault: str) -> None:
    provider = opened(Mode.BACKGROUND)
    remote_id = await submitted(provider, f"[[poll_{fault}]]")
    with pytest.raises(NotSent) as caught:
        await provider.poll(remote_id, seconds=10)
    if "after" in fault:
        assert isinstance(caught.value, TooBusy)
        assert caught.value.seconds == 400.0
    assert (await polled_to_the_end(provider, remote_id))[-1].state is PollState.ENDED


@pytest.mark.parametrize("fault", ["cancel_500", "cancel_429", "cancel_drop", "cancel_409"])
async def test_a_cancel_that_failed_says_so(opened: Opened, fault: str) -> None:
    provider = opened(Mode.BACKGROUND)
    remote_id = await submitted(provider, f"[[{fault}]] [[never]]")
    with pytest.raises(NotSent):
        await provider.cancel(remote_id, seconds=10)
    await provider.cancel(remote_id, seconds=10)


async def test_a_server_that_ignores_background_answers_at_once(standin: StandIn, opened: Opened) -> None:
    standin.begin(Script(ignores_background=True))
    submission = await opened(Mode.BACKGROUND).submit([question("hello")], submit_key="s", seconds=10)
    assert submission.answer is not None
    assert submission.answer.state is AnswerState.SUCCEEDED
    assert list(standin.world.statuses) == ["completed"]


async def test_a_schema_reasoning_and_verbosity_have_their_places(standin: StandIn, opened: Opened) -> None:
    provider = opened(Mode.BACKGROUND)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    asked = question("hello", schema=schema, parameters={"reasoning_effort": "low", "verbosity": "low", "top_p": 0.5})
    remote_id = (await provider.submit([asked], submit_key="s", seconds=10)).remote_id
    sent = standin.world.responses.request_of(remote_id)
    assert sent["reasoning"] == {"effort": "low"}
    assert sent["text"]["verbosity"] == "low"
    assert sent["text"]["format"] == {"type": "json_schema", "name": "answer", "schema": schema, "strict": False}
    assert (sent["top_p"], sent["max_output_tokens"]) == (0.5, 100)


async def test_what_this_api_does_not_have_is_refused_before_it_is_sent(standin: StandIn, opened: Opened) -> None:
    with pytest.raises(Refused, match="stop"):
        await opened(Mode.BACKGROUND).submit(
            [question("hello", parameters={"stop": ["x"]})], submit_key="s", seconds=10
        )
    assert not standin.world.calls


async def test_a_mode_under_seeded_faults_books_what_the_journal_says(standin: StandIn, opened: Opened) -> None:
    chances = {"submit": {"429": 0.2, "500": 0.1}, "poll": {"503": 0.2, "drop": 0.1, "malformed": 0.1}}
    standin.begin(Script(chances=chances, seed=7))
    provider = opened(Mode.BACKGROUND)
    booked = 0
    for number in range(30):
        remote_id = await _submitted_at_last(provider, f"question {number}")
        answer = None
        while answer is None:
            try:
                answer = (await provider.poll(remote_id, seconds=10)).answer
            except NotSent:
                continue
        booked += answer.usage.output_tokens
    totals = standin.world.journal.as_json()["totals"]
    assert (totals["requests"], totals["output_tokens"]) == (30, booked)


async def _submitted_at_last(provider: Provider, text: str) -> str:
    for _ in range(POLLS_MAX):
        try:
            return await submitted(provider, text)
        except NotSent:
            continue
    raise AssertionError(f"{text} was never taken")
