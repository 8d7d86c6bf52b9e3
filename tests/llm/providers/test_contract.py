"""One contract for every adapter, through the real SDKs, on servers that nobody here wrote.

What no such server speaks is not tested here: background mode (the stand-in's tests do that) and batches of Anthropic
whose requests fail, expire or are cancelled (scripted answers do that).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ramet.llm.errors import Ambiguous, NotSent, ProviderError, ServerFault, TooBusy
from ramet.llm.providers.base import AnswerState, Mode, Poll, PollState, Provider
from ramet.llm.providers.registry import open_provider
from ramet.llm.requests import Request, identity
from tests.llm.providers.foreign_servers import ANSWER, AiMock, LlMock

pytestmark = pytest.mark.process

pytest.importorskip("openai", reason="the extra [llm] is not installed")
pytest.importorskip("anthropic", reason="the extra [anthropic] is not installed")

MODELS = {"openai": "gpt-5.2", "anthropic": "claude-sonnet-4-6"}
CREATE = {
    ("openai", Mode.CHAT): "/v1/chat/completions",
    ("openai", Mode.BATCH): "/v1/batches",
    ("anthropic", Mode.CHAT): "/anthropic/v1/messages",
    ("anthropic", Mode.BATCH): "/anthropic/v1/messages/batches",
}
"""Where llmock is asked for what costs money."""
CHATS = ["openai-chat-llmock", "anthropic-chat-llmock", "openai-chat-aimock", "anthropic-chat-aimock"]
BATCHES = ["openai-batch-llmock", "anthropic-batch-llmock", "openai-batch-aimock"]
"""aimock has no batches of Anthropic."""
LOST = ("disconnect", "malformed", "drop", "rateLimit")
"""aimock's faults."""
ON_LLMOCK = [name for name in CHATS + BATCHES if name.endswith("-llmock")]
ON_AIMOCK = [name for name in CHATS + BATCHES if name.endswith("-aimock")]


@dataclass
class Party:
    """An adapter and the server that it asks."""

    provider: Provider
    server: LlMock | AiMock

    @property
    def base_url(self) -> str:
        return self.server.base_url(self.provider.name)

    @property
    def create(self) -> str:
        return CREATE[self.provider.name, self.provider.mode]

    def question(self, text: str) -> Request:
        model, messages = MODELS[self.provider.name], ({"role": "user", "content": text},)
        return Request(identity(model, messages, 50, {}, None), model, messages, 50)

    async def submit(self, *texts: str, seconds: float = 20) -> str:
        questions = [self.question(text) for text in texts or ("one",)]
        return (await self.provider.submit(questions, submit_key="s", seconds=seconds)).remote_id

    async def fault(self, seconds: float = 20) -> ProviderError:
        """What a submit ends with."""
        with pytest.raises(ProviderError) as caught:
            await self.submit(seconds=seconds)
        return caught.value

    async def ended(self, remote_id: str) -> tuple[Poll, list[str]]:
        """The last poll, and the states that the provider told on the way."""
        states = []
        while (poll := await self.provider.poll(remote_id, seconds=20)).state is PollState.LIVE:
            states.append(poll.provider_state)
            await asyncio.sleep(0.02)
        return poll, states


async def looked_up(provider: Provider, submit_key: str) -> str | None:
    """What `find` says once it can tell: other batches on the server may have to end first."""
    while True:
        try:
            return await provider.find(submit_key, seconds=20)
        except NotSent:
            await asyncio.sleep(0.02)


def party_of(request: pytest.FixtureRequest, name: str) -> Party:
    vendor, mode, kind = name.split("-")
    found: LlMock | AiMock = request.getfixturevalue(kind)
    # Not everything has all that the SDKs' types ask for.
    strict = kind == "llmock" and mode != "background"
    return Party(open_provider(vendor, Mode(mode), base_url=found.base_url(vendor), api_key="k", strict=strict), found)


@pytest.fixture
async def party(request: pytest.FixtureRequest) -> AsyncIterator[Party]:
    found = party_of(request, request.param)
    yield found
    await found.provider.close()


@pytest.mark.parametrize("party", CHATS, indirect=True)
async def test_a_chat_is_one_call_that_brings_the_answer(party: Party) -> None:
    question = party.question("how deep is the lake?")
    submission = await party.provider.submit([question], submit_key="s", seconds=20)
    answer = submission.answer
    assert answer is not None
    assert (answer.key, answer.state, answer.model) == (question.key, AnswerState.SUCCEEDED, question.model)
    assert (ANSWER if isinstance(party.server, AiMock) else "how deep is the lake?") in (answer.text or "")
    # aimock counts no tokens where it speaks as Anthropic.
    assert answer.usage_known
    assert answer.usage.output_tokens > 0 or (isinstance(party.server, AiMock) and party.provider.name == "anthropic")
    assert len(party.server.requests()) == 1


@pytest.mark.parametrize("party", BATCHES, indirect=True)
async def test_every_one_of_a_thousand_questions_is_answered_once(party: Party) -> None:
    questions = {party.question(f"how deep is lake {number}?").key: number for number in range(1000)}
    remote_id = await party.submit(*(f"how deep is lake {number}?" for number in range(1000)))
    poll, states = await party.ended(remote_id)
    # Otherwise nothing was waited for.
    assert set(states) & {"validating", "in_progress"}
    assert (poll.state, poll.done, poll.total) == (PollState.ENDED, 1000, 1000)
    answers = [answer async for answer in party.provider.results(remote_id, seconds=20)]
    assert Counter(answer.key for answer in answers) == dict.fromkeys(questions, 1)
    assert {answer.state for answer in answers} == {AnswerState.SUCCEEDED}
    assert all(answer.usage_known and answer.usage.output_tokens for answer in answers)
    if isinstance(party.server, LlMock):
        assert all(f"how deep is lake {questions[answer.key]}?" in (answer.text or "") for answer in answers)


@pytest.mark.parametrize("seconds", [1.5, 130, 86_400])
@pytest.mark.parametrize("party", ON_LLMOCK, indirect=True)
async def test_a_refusal_names_its_time_whatever_its_size_and_is_asked_once(party: Party, seconds: float) -> None:
    assert isinstance(party.server, LlMock)
    party.server.script(type="fail", status=429, retry_after=seconds, times=None)
    fault = await party.fault()
    assert isinstance(fault, TooBusy)
    # Anthropic and OpenAI tell whole seconds: more than asked for is no harm.
    assert fault.seconds is not None
    assert seconds <= fault.seconds < seconds + 1
    (call,) = party.server.requests("POST")
    assert call["sdk_retry_count"] in (0, None), "the header of an SDK, where the call goes through one"


@pytest.mark.parametrize("party", ON_AIMOCK, indirect=True)
async def test_a_refusal_of_another_server_is_understood_too(party: Party) -> None:
    assert isinstance(party.server, AiMock)
    party.server.fault("rateLimit")
    fault = await party.fault()
    assert isinstance(fault, TooBusy)
    assert fault.seconds == 1
    assert len(party.server.requests("POST")) == 1


@pytest.mark.parametrize("status", [500, 502, 503])
@pytest.mark.parametrize("party", ON_LLMOCK, indirect=True)
async def test_a_breakdown_tells_whether_it_may_have_been_taken_on(party: Party, status: int) -> None:
    assert isinstance(party.server, LlMock)
    party.server.script(type="fail", status=status, times=None, match={"path": party.create})
    fault = await party.fault()
    kinds: dict[int, type[ProviderError]] = {500: ServerFault, 502: Ambiguous, 503: TooBusy}
    if party.provider.mode is Mode.BATCH:
        kinds[500] = Ambiguous  # So much may hang on it that its word is not taken.
    assert type(fault) is kinds[status]
    assert [call["path"] for call in party.server.requests("POST")].count(party.create) == 1


@pytest.mark.parametrize("kind", ["disconnect", "malformed"])
@pytest.mark.parametrize("party", ON_AIMOCK, indirect=True)
async def test_an_answer_that_is_lost_leaves_a_submit_in_doubt(party: Party, kind: str) -> None:
    assert isinstance(party.server, AiMock)
    party.server.fault(kind)
    fault = await party.fault()
    # The upload of a batch's file is lost here, which costs nothing: only its creation could be in doubt.
    assert type(fault) is (NotSent if party.provider.mode is Mode.BATCH else Ambiguous)
    assert len(party.server.requests("POST")) == 1


@pytest.mark.parametrize("party", ON_LLMOCK, indirect=True)
async def test_a_submit_that_is_not_answered_in_time_is_in_doubt(party: Party) -> None:
    assert isinstance(party.server, LlMock)
    party.server.script(type="delay", seconds=5, match={"path": party.create})
    assert type(await party.fault(seconds=0.5)) is Ambiguous


@pytest.mark.parametrize("party", BATCHES, indirect=True)
async def test_what_is_wrong_with_a_look_says_nothing_of_the_batch(party: Party) -> None:
    remote_id = await party.submit()
    party.server.reset()
    for fault in (429, 500, 502, 504) if isinstance(party.server, LlMock) else LOST:
        if isinstance(party.server, LlMock):
            party.server.script(type="fail", status=fault, retry_after=130 if fault == 429 else None)
        else:
            party.server.fault(str(fault))
        with pytest.raises(NotSent) as caught:
            await party.provider.poll(remote_id, seconds=20)
        assert isinstance(caught.value, TooBusy) == (fault in (429, "rateLimit"))
        assert getattr(caught.value, "seconds", None) == {429: 130, "rateLimit": 1}.get(fault)
    assert len(party.server.requests("GET")) == 4
    party.server.reset()
    assert (await party.ended(remote_id))[0].state is PollState.ENDED


@pytest.mark.parametrize("party", BATCHES, indirect=True)
async def test_what_the_provider_does_not_know_is_lost_and_cancelled_without_a_word(party: Party) -> None:
    assert (await party.provider.poll("batch_that_never_was", seconds=20)).state is PollState.LOST
    await party.provider.cancel("batch_that_never_was", seconds=20)


@pytest.mark.parametrize("party", BATCHES, indirect=True)
async def test_a_cancelled_batch_ends_and_cancelling_twice_is_once(party: Party) -> None:
    remote_id = await party.submit("one", "two")
    for _ in range(2):
        await party.provider.cancel(remote_id, seconds=20)
    assert (await party.ended(remote_id))[0].state is PollState.ENDED
    await party.provider.cancel(remote_id, seconds=20)
    answers = [answer async for answer in party.provider.results(remote_id, seconds=20)]
    assert not {answer.state for answer in answers} & {AnswerState.SUCCEEDED}


@pytest.mark.parametrize("party", BATCHES, indirect=True)
async def test_a_batch_that_ended_is_found_by_its_submit_key(party: Party) -> None:
    key = f"job of {party.provider.name}"
    await party.provider.submit([party.question("one")], submit_key="another job", seconds=20)
    submission = await party.provider.submit([party.question("one")], submit_key=key, seconds=20)
    await party.ended(submission.remote_id)
    # What another process would say, which has submitted nothing.
    other = open_provider(party.provider.name, Mode.BATCH, base_url=party.base_url, api_key="k")
    assert await looked_up(other, key) == submission.remote_id
    assert await looked_up(other, "no job at all") is None
    await other.close()


@pytest.mark.parametrize(
    ("outcome", "state", "word", "answered"),
    [
        ("completed", PollState.ENDED, "completed", True),
        ("failed", PollState.FAILED, "failed", True),
        ("expired", PollState.ENDED, "expired", False),
        ("cancelled", PollState.ENDED, "cancelled", False),
    ],
)
@pytest.mark.parametrize("party", ["openai-batch-aimock"], indirect=True)
async def test_every_end_of_a_batch_is_told_apart(
    party: Party, outcome: str, state: PollState, word: str, answered: bool
) -> None:
    from openai import AsyncOpenAI

    headers = {"X-AIMock-Batch-Outcome": outcome}
    async with AsyncOpenAI(base_url=party.server.base_url("openai"), api_key="k", default_headers=headers) as sdk:
        file = await sdk.files.create(file=("a.jsonl", b'{"custom_id": "a", "body": {}}\n'), purpose="batch")
        batch = await sdk.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
    poll, states = await party.ended(batch.id)
    assert states == ["in_progress"]
    assert (poll.state, poll.provider_state) == (state, word)
    answers = [answer async for answer in party.provider.results(batch.id, seconds=20)]
    expected = AnswerState.SUCCEEDED if outcome == "completed" else AnswerState.FAILED
    assert [(answer.key, answer.state) for answer in answers] == ([("a", expected)] if answered else [])


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_limits_are_read_from_the_headers_of_a_server_that_has_some(vendor: str, tmp_path: Path) -> None:
    with LlMock(tmp_path, LLMOCK_RPM="2", LLMOCK_TPM="10000") as server:
        url = server.base_url(vendor)
        provider = open_provider(vendor, Mode.CHAT, base_url=url, api_key="k", strict=True)
        party = Party(provider, server)
        for left in (1, 0):
            submission = await provider.submit([party.question("one")], submit_key="s", seconds=20)
            rates = {rate.of: rate for rate in submission.rates}
            assert (rates["requests"].limit, rates["requests"].remaining) == (2, left)
            assert rates["requests"].reset_seconds
            assert rates["tokens"].limit == 10000
        fault = await party.fault()
        assert isinstance(fault, TooBusy)
        assert fault.seconds
        await provider.close()


@pytest.mark.parametrize("kind", ["llmock", "aimock"])
async def test_a_server_that_ignores_background_answers_at_once(kind: str, request: pytest.FixtureRequest) -> None:
    """Nothing was queued and nothing is kept: neither server can show that background mode works."""
    party = party_of(request, f"openai-background-{kind}")
    submission = await party.provider.submit([party.question("one")], submit_key="s", seconds=20)
    assert submission.answer is not None
    assert submission.answer.state is AnswerState.SUCCEEDED
    assert (await party.provider.poll(submission.remote_id, seconds=20)).state is PollState.LOST
    await party.provider.close()
