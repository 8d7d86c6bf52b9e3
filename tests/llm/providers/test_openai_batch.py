"""OpenAI's Batch API through the real SDK, against our stand-in."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import aclosing

import pytest

from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, ProviderError, Refused, TooBusy
from ramet.llm.providers.base import Answer, AnswerState, Mode, Poll, PollState, Provider
from ramet.llm.requests import Request
from ramet.llm.testing.script import Script
from ramet.llm.testing.server import StandIn
from tests.llm.providers.conftest import Opened
from tests.llm.providers.sample_requests import question

pytestmark = pytest.mark.network

POLLS_MAX = 10_000
"""The stand-in works a batch off in a thread: it is polled until that is done."""


def questions(count: int, first: str = "") -> list[Request]:
    """Different questions; the first begins with a mark for the whole batch."""
    return [question(f"{first if number == 0 else ''} how far is it to island {number}?") for number in range(count)]


async def submitted(provider: Provider, requests: list[Request], key: str = "s-1") -> str:
    """The remote id of a batch that is under way."""
    return (await provider.submit(requests, submit_key=key, seconds=30)).remote_id


async def polled_to_the_end(provider: Provider, remote_id: str) -> Poll:
    """The first poll that is not live."""
    for _ in range(POLLS_MAX):
        poll = await provider.poll(remote_id, seconds=10)
        if poll.state is not PollState.LIVE:
            return poll
    raise AssertionError("it never ended")


async def answers_of(provider: Provider, requests: list[Request]) -> dict[str, Answer]:
    """What came of each, by key; none came twice."""
    remote_id = await submitted(provider, requests)
    assert (await polled_to_the_end(provider, remote_id)).state is PollState.ENDED
    answers = [answer async for answer in provider.results(remote_id, seconds=10)]
    assert len({answer.key for answer in answers}) == len(answers)
    return {answer.key: answer for answer in answers}


async def read_into(answers: list[Answer], provider: Provider, remote_id: str) -> None:
    """Read results, keeping those that came before an error."""
    async for answer in provider.results(remote_id, seconds=10):
        answers.append(answer)


async def test_a_batch_answers_each_question_once_and_costs_what_the_journal_says(
    standin: StandIn, opened: Opened
) -> None:
    requests = questions(1_000)
    answers = await answers_of(opened(Mode.BATCH), requests)
    assert set(answers) == {request.key for request in requests}
    entries = {entry.key: entry for entry in standin.world.journal.entries()}
    assert {key: answer.usage.output_tokens for key, answer in answers.items()} == {
        key: entry.output_tokens for key, entry in entries.items()
    }
    assert all(answer.state is AnswerState.SUCCEEDED for answer in answers.values())
    assert (answers[requests[7].key].text or "").endswith("island 7?")
    assert "in_progress" in standin.world.statuses


async def test_the_counts_and_the_state_are_told(standin: StandIn, opened: Opened) -> None:
    provider = opened(Mode.BATCH)
    remote_id = await submitted(provider, questions(10))
    first = await provider.poll(remote_id, seconds=10)
    assert (first.state, first.provider_state) == (PollState.LIVE, "in_progress")
    last = await polled_to_the_end(provider, remote_id)
    assert (last.provider_state, last.done, last.total) == ("completed", 10, 10)


async def test_each_line_has_its_own_end(opened: Opened) -> None:
    marks = [
        "[[failed]]",
        "[[failed invalid_prompt]]",
        "[[incomplete]]",
        "[[expired]]",
        "[[garbled]]",
        "[[missing]]",
        "",
    ]
    requests = [question(f"{mark} hello") for mark in marks]
    answers = await answers_of(opened(Mode.BATCH), requests)
    found = [answers.get(request.key) for request in requests]
    assert [answer and (answer.state, answer.code, answer.retriable) for answer in found] == [
        (AnswerState.FAILED, "server_error", True),
        (AnswerState.FAILED, "invalid_prompt", False),
        (AnswerState.INCOMPLETE, "max_output_tokens", False),
        (AnswerState.EXPIRED, "batch_expired", False),
        (AnswerState.FAILED, "unreadable", True),
        None,
        (AnswerState.SUCCEEDED, None, False),
    ]
    assert found[4] is not None
    assert not found[4].usage_known, "it was answered, and so billed"


async def test_characters_that_look_like_line_breaks_do_not_part_a_line(opened: Opened) -> None:
    asked = question("[[answer one\u2028two\x85three]]")
    answers = await answers_of(opened(Mode.BATCH), [asked])
    assert answers[asked.key].text == "one\u2028two\x85three"


async def test_an_expired_batch_gives_what_was_done(opened: Opened) -> None:
    provider = opened(Mode.BATCH)
    requests = questions(10, "[[fate expired]]")
    remote_id = await submitted(provider, requests)
    poll = await polled_to_the_end(provider, remote_id)
    assert (poll.state, poll.provider_state) == (PollState.ENDED, "expired")
    states = Counter([answer.state async for answer in provider.results(remote_id, seconds=10)])
    assert states == {AnswerState.SUCCEEDED: 5, AnswerState.EXPIRED: 5}


async def test_a_cancelled_batch_leaves_requests_without_an_answer(opened: Opened) -> None:
    provider = opened(Mode.BATCH)
    remote_id = await submitted(provider, questions(10, "[[fate cancelled]]"))
    assert (await polled_to_the_end(provider, remote_id)).provider_state == "cancelled"
    answers = [answer async for answer in provider.results(remote_id, seconds=10)]
    assert len(answers) == 5


async def test_a_batch_that_failed_says_why(opened: Opened) -> None:
    provider = opened(Mode.BATCH)
    remote_id = await submitted(provider, questions(3, "[[fate failed]]"))
    poll = await polled_to_the_end(provider, remote_id)
    assert poll.state is PollState.FAILED
    assert (poll.error or "").startswith("token_limit_exceeded: ")


async def test_cancelling_twice_is_once_and_nothing_is_billed(standin: StandIn, opened: Opened) -> None:
    provider = opened(Mode.BATCH)
    remote_id = await submitted(provider, questions(10, "[[fate never]]"))
    await provider.cancel(remote_id, seconds=10)
    await provider.cancel(remote_id, seconds=10)
    assert (await polled_to_the_end(provider, remote_id)).provider_state == "cancelled"
    assert [answer async for answer in provider.results(remote_id, seconds=10)] == []
    await provider.cancel(remote_id, seconds=10)
    await provider.cancel("batch_of_nobody", seconds=10)
    assert standin.world.journal.as_json()["totals"]["output_tokens"] == 0


async def test_an_unknown_batch_is_lost(opened: Opened) -> None:
    provider = opened(Mode.BATCH)
    assert (await provider.poll("batch_of_nobody", seconds=10)).state is PollState.LOST
    with pytest.raises(NotSent):
        _ = [answer async for answer in provider.results("batch_of_nobody", seconds=10)]


@pytest.mark.parametrize("fault", ["drop_accepted", "malformed"])
async def test_an_ambiguous_submit_is_found_by_its_key(standin: StandIn, opened: Opened, fault: str) -> None:
    provider = opened(Mode.BATCH)
    await submitted(provider, questions(1), "another")
    with pytest.raises(Ambiguous):
        await submitted(provider, questions(5, f"[[batch_{fault}]]"), "s-7")
    remote_id = await provider.find("s-7", seconds=10)
    assert remote_id is not None
    assert (await polled_to_the_end(provider, remote_id)).total == 5
    assert len(standin.world.journal.entries()) == 6


@pytest.mark.parametrize("fault", ["drop", "500", "502", "504"])
async def test_an_ambiguous_submit_that_was_not_taken_is_not_found(opened: Opened, fault: str) -> None:
    provider = opened(Mode.BATCH)
    requests = questions(5, f"[[batch_{fault}]]")
    with pytest.raises(Ambiguous):
        await submitted(provider, requests)
    assert await provider.find("s-1", seconds=10) is None
    assert set(await answers_of(provider, requests)) == {request.key for request in requests}


async def test_a_batch_is_found_on_a_later_page(standin: StandIn, opened: Opened) -> None:
    standin.begin(Script(list_most=3))
    provider = opened(Mode.BATCH)
    ids = [await submitted(provider, questions(1), f"s-{number}") for number in range(8)]
    assert [await provider.find(f"s-{number}", seconds=10) for number in range(8)] == ids
    assert await provider.find("s-8", seconds=10) is None


@pytest.mark.parametrize(
    ("mark", "kind"),
    [
        ("[[upload_429 after=500]]", TooBusy),
        ("[[upload_500]]", NotSent),
        ("[[upload_502]]", NotSent),
        ("[[upload_drop]]", NotSent),
        ("[[upload_drop_accepted]]", NotSent),
        ("[[upload_malformed]]", NotSent),
        ("[[upload_401]]", NotAllowed),
        ("[[upload_400]]", Refused),
        ("[[batch_429 after=500]]", TooBusy),
        ("[[batch_503]]", TooBusy),
        ("[[batch_400]]", Refused),
        ("[[batch_401]]", NotAllowed),
        ("[[batch_404]]", NotSent),
    ],
)
async def test_each_fault_of_a_submit_says_what_is_known_and_the_next_one_works(
    standin: StandIn, opened: Opened, mark: str, kind: type[ProviderError]
) -> None:
    provider = opened(Mode.BATCH)
    requests = questions(3, mark)
    with pytest.raises(kind) as caught:
        await submitted(provider, requests)
    if isinstance(caught.value, TooBusy) and "after" in mark:
        assert caught.value.seconds == 500.0
    assert [call["path"] for call in standin.world.calls].count("/v1/batches") <= 1
    assert await provider.find("s-1", seconds=10) is None
    assert len(await answers_of(provider, requests)) == 3


@pytest.mark.parametrize("fault", ["results_drop", "results_500", "results_404"])
async def test_results_that_break_off_can_be_read_again(opened: Opened, fault: str) -> None:
    provider = opened(Mode.BATCH)
    requests = questions(1_000, f"[[{fault}]]")
    remote_id = await submitted(provider, requests)
    await polled_to_the_end(provider, remote_id)
    first: list[Answer] = []
    with pytest.raises(NotSent):
        await read_into(first, provider, remote_id)
    assert (0 < len(first) < 1_000) == (fault == "results_drop")
    again = {answer.key: answer async for answer in provider.results(remote_id, seconds=10)}
    assert set(again) == {request.key for request in requests}
    assert all(again[answer.key] == answer for answer in first if answer.code != "unreadable")


async def test_results_can_be_left_in_the_middle(opened: Opened) -> None:
    provider = opened(Mode.BATCH)
    remote_id = await submitted(provider, questions(1_000))
    await polled_to_the_end(provider, remote_id)
    async with aclosing(provider.results(remote_id, seconds=10)) as results:  # type: ignore[type-var]
        assert (await anext(results)).state is AnswerState.SUCCEEDED
    assert (await provider.poll(remote_id, seconds=10)).state is PollState.ENDED


async def test_what_no_batch_can_be_is_refused_before_it_is_sent(standin: StandIn, opened: Opened) -> None:
    provider = opened(Mode.BATCH)
    one = question("hello")
    other = Request("k" * 64, "another-model", one.messages, 10)
    broken = Request("b" * 64, one.model, ({"role": "user", "content": "\ud800"},), 10)
    for requests, code in (
        ([one, one], "duplicate_key"),
        ([one, other], "mixed_models"),
        ([broken], "invalid_request"),
    ):
        with pytest.raises(Refused) as caught:
            await submitted(provider, requests)
        assert caught.value.code == code
    assert not standin.world.calls


async def test_a_server_that_keeps_no_metadata_is_not_trusted_to_find(
    standin: StandIn, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    standin.begin(Script(keeps_metadata=False))
    provider = opened(Mode.BATCH)
    assert provider.caps.can_find
    await submitted(provider, questions(1))
    assert not provider.caps.can_find
    assert "keeps no metadata" in caplog.text
    with pytest.raises(NotImplementedError):
        await provider.find("s-1", seconds=10)


async def test_the_stand_ins_lines_are_what_the_sdk_takes_them_for(standin: StandIn, opened: Opened) -> None:
    from openai.types.chat import ChatCompletion

    provider = opened(Mode.BATCH)
    remote_id = await submitted(provider, questions(3, "[[tool]]"))
    await polled_to_the_end(provider, remote_id)
    batch = standin.world.batches.poll(remote_id)
    assert batch is not None
    file = standin.world.files.get(batch["output_file_id"])
    assert file is not None
    bodies = [json.loads(line)["response"]["body"] for line in file.lines()]
    assert [ChatCompletion.model_validate(body, strict=True).object for body in bodies] == ["chat.completion"] * 3
