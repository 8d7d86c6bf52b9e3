"""Message Batches through the real SDK, against answers that no test server gives."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.llm.errors import Ambiguous, LlmError, NotAllowed, NotSent, ProviderError, Refused, TooBusy
from ramet.llm.providers import anthropic_batches, sdk_transport
from ramet.llm.providers.anthropic_batches import AnthropicBatches, mark_of, name_of
from ramet.llm.providers.anthropic_client import AnthropicClient
from ramet.llm.providers.base import AnswerState, Mode, PollState
from ramet.llm.providers.registry import open_provider
from tests.llm.providers.anthropic_account import KEY, OnScript, batch, line
from tests.llm.providers.sample_requests import question
from tests.llm.providers.scripted_server import Call, Said, scripted

pytestmark = pytest.mark.network

pytest.importorskip("anthropic", reason="the extra [anthropic] is not installed")


async def test_requests_travel_with_key_and_mark_in_one_call(on_script: OnScript) -> None:
    calls: list[Call] = []

    def script(call: Call) -> Said:
        calls.append(call)
        return Said(200, batch(state="in_progress"))

    questions = [question("a"), question("b")]
    submission = await on_script(script).submit(questions, submit_key="s", seconds=10)
    (call,) = calls
    assert (submission.remote_id, submission.answer) == ("msgbatch_1", None)
    assert (call.method, call.path) == ("POST", "/v1/messages/batches")
    assert [asked["custom_id"] for asked in call.body["requests"]] == [name_of(q.key, mark_of("s")) for q in questions]
    assert [asked["params"]["messages"][0]["content"] for asked in call.body["requests"]] == ["a", "b"]
    assert call.headers["content-type"] == "application/json"
    assert call.headers["x-stainless-retry-count"] == "0"


async def test_the_environment_changes_neither_key_nor_headers(
    on_script: OnScript, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = "http://203.0.113.1:9"
    for name, value in (("API_KEY", "other"), ("AUTH_TOKEN", "token"), ("BASE_URL", elsewhere)):
        monkeypatch.setenv(f"ANTHROPIC_{name}", value)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-a: b")
    monkeypatch.setenv("HTTP_PROXY", elsewhere)
    calls: list[Call] = []

    def script(call: Call) -> Said:
        calls.append(call)
        return Said(200, batch())

    await on_script(script).poll("msgbatch_1", seconds=10)
    assert "sk-ant-secret" in str(calls[0].headers)
    assert not {"other", "token"} & {word for value in calls[0].headers.values() for word in value.split()}
    assert "x-a" not in calls[0].headers


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (Said(None), Ambiguous),
        (Said(200, b"{malformed"), Ambiguous),
        (Said(200, b"[]"), Ambiguous),
        (Said(200, {}), Ambiguous),
        (Said(200, {"type": "message_batch", "id": "b"}), Ambiguous),
        (Said(302, b"", {"Location": "http://203.0.113.1/"}), NotAllowed),
        (Said(500, {"error": {"type": "api_error", "message": "m"}}), Ambiguous),
        (Said(529, {"error": {"type": "overloaded_error", "message": "m"}}), TooBusy),
    ],
    ids=str,
)
async def test_a_submit_without_a_clear_answer_is_ambiguous(
    on_script: OnScript, said: Said, kind: type[ProviderError]
) -> None:
    calls: list[Call] = []

    def script(call: Call) -> Said:
        calls.append(call)
        return said

    with pytest.raises(kind):
        await on_script(script).submit([question("a")], submit_key="s", seconds=10)
    assert len(calls) == 1


async def test_a_server_that_is_not_there_took_nothing_on(on_script: OnScript) -> None:
    with scripted(lambda call: Said(200)) as server:
        gone = server.url
    provider = AnthropicBatches(AnthropicClient(base_url=gone, api_key=None))
    with pytest.raises(NotSent):
        await provider.submit([question("a")], submit_key="s", seconds=10)
    await provider.close()


async def test_the_same_question_twice_is_refused_before_it_is_sent(on_script: OnScript) -> None:
    with pytest.raises(Refused) as refused:
        await on_script(lambda call: Said(None)).submit([question("a")] * 2, submit_key="s", seconds=10)
    assert refused.value.code == "duplicate_key"


async def test_a_batch_of_many_parts_arrives_whole(on_script: OnScript, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anthropic_batches, "PART_BYTES", 100)
    calls: list[Call] = []

    def script(call: Call) -> Said:
        calls.append(call)
        return Said(200, batch(state="in_progress"))

    questions = [question(f"how old is tree {number} in the Königsforst?") for number in range(50)]
    await on_script(script).submit(questions, submit_key="s", seconds=10)
    sent = [asked["params"]["messages"][0]["content"] for asked in calls[0].body["requests"]]
    assert sent == [question.messages[0]["content"] for question in questions]


async def test_a_batch_that_is_too_large_is_refused_before_it_is_sent(
    on_script: OnScript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anthropic_batches, "SUBMIT_BYTES_MAX", 1000)
    with pytest.raises(Refused) as refused:
        await on_script(lambda call: Said(None)).submit([question("a" * 1000)], submit_key="s", seconds=10)
    assert refused.value.code == "too_large"


@pytest.mark.parametrize(
    ("body", "state", "word"),
    [
        (batch(state="in_progress"), PollState.LIVE, "in_progress"),
        (batch(state="canceling"), PollState.LIVE, "canceling"),
        (batch(), PollState.ENDED, "ended"),
        (batch(archived_at="2026-12-20T00:00:00Z"), PollState.LOST, "archived"),
    ],
)
async def test_a_poll_tells_where_it_stands(
    on_script: OnScript, body: dict[str, object], state: PollState, word: str
) -> None:
    poll = await on_script(lambda call: Said(200, body)).poll("msgbatch_1", seconds=10)
    assert (poll.state, poll.provider_state) == (state, word)
    if state is not PollState.LOST:
        assert (poll.done, poll.total) == (5, 6)


async def test_a_state_that_is_not_known_is_asked_for_again() -> None:
    with scripted(lambda call: Said(200, batch(state="new"))) as server:
        provider = AnthropicBatches(AnthropicClient(base_url=server.url, api_key="k"))
        with pytest.raises(NotSent, match="state"):
            await provider.poll("msgbatch_1", seconds=10)
        await provider.close()


@pytest.mark.parametrize("said", [Said(None), Said(200, b"{"), Said(500), Said(400)], ids=str)
async def test_a_poll_that_fails_says_nothing_of_the_batch(on_script: OnScript, said: Said) -> None:
    with pytest.raises(NotSent):
        await on_script(lambda call: said).poll("msgbatch_1", seconds=10)


async def test_every_kind_of_result_is_told_and_a_line_that_cannot_be_read_too(
    on_script: OnScript, caplog: pytest.LogCaptureFixture
) -> None:
    keys = [f"{number:064x}" for number in range(6)]
    results = b"".join(
        [
            line(keys[0], type="expired"),
            b"\n",
            line(keys[1], type="canceled"),
            line(keys[2], type="errored", error={"type": "error", "error": {"type": "api_error", "message": "m"}}),
            line(keys[3])[:-8] + b"\n",
            b'{"custom_id": "somebody-elses", "result": {"type": "expired"}}\nnothing\n[]\n',
            line(keys[4], type="succeeded", message={"type": "message"}),
            line(keys[5]).rstrip(),
        ]
    )
    calls: list[Call] = []

    def script(call: Call) -> Said:
        calls.append(call)
        return Said(200, results)

    provider = on_script(script)
    found = {answer.key: (answer.state, answer.code) async for answer in provider.results("msgbatch_1", seconds=10)}
    failed = AnswerState.FAILED
    assert found == dict(
        zip(
            keys,
            [
                (AnswerState.EXPIRED, "expired"),
                (AnswerState.CANCELLED, "cancelled"),
                (failed, "api_error"),
                (failed, "unreadable"),
                (failed, "unreadable"),
                (AnswerState.EXPIRED, "expired"),
            ],
            strict=True,
        )
    )
    assert len([record for record in caplog.records if "left out" in record.getMessage()]) == 3
    # Not from `results_url`, which the server names: the key would go to whoever it names.
    assert [call.path for call in calls] == ["/v1/messages/batches/msgbatch_1/results"]


async def test_only_results_may_be_larger_than_an_answer(on_script: OnScript, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_transport, "ANSWER_BYTES_MAX", 100)
    provider = on_script(lambda call: Said(200, line() * 10 if call.path.endswith("/results") else batch()))
    assert len([answer async for answer in provider.results("msgbatch_1", seconds=10)]) == 10
    with pytest.raises(NotSent, match="larger"):
        await provider.poll("msgbatch_1", seconds=10)


async def test_what_came_before_results_break_off_is_kept(on_script: OnScript) -> None:
    provider = on_script(lambda call: Said(200, line(KEY), {"Content-Length": "100000"}))
    results = provider.results("msgbatch_1", seconds=10)
    assert (await anext(results)).key == KEY
    with pytest.raises(NotSent):
        await anext(results)


async def test_results_that_are_not_there_are_asked_for_again(on_script: OnScript) -> None:
    gone = Said(404, {"error": {"type": "not_found_error", "message": "m"}})
    with pytest.raises(NotSent):
        _ = [answer async for answer in on_script(lambda call: gone).results("msgbatch_1", seconds=10)]


@pytest.mark.parametrize(("state", "raises"), [("ended", False), ("in_progress", True)])
async def test_a_cancel_that_is_refused_is_an_error_only_while_it_runs(
    on_script: OnScript, state: str, raises: bool
) -> None:
    refusal = Said(400, {"error": {"type": "invalid_request_error", "message": "not now"}})
    provider = on_script(lambda call: refusal if call.path.endswith("/cancel") else Said(200, batch(state=state)))
    if raises:
        with pytest.raises(NotSent):
            await provider.cancel("msgbatch_1", seconds=10)
    else:
        await provider.cancel("msgbatch_1", seconds=10)


@pytest.mark.parametrize(
    ("mode", "more", "words"),
    [
        (Mode.BACKGROUND, {"api_key": "k"}, "no background mode"),
        (Mode.BATCH, {}, "ANTHROPIC_API_KEY"),
        (Mode.BATCH, {"api_key": "k", "organization": "o"}, "one organization"),
        (Mode.CHAT, {"api_key": "k\n"}, "line break"),
        (Mode.CHAT, {"base_url": "ftp://h"}, "no scheme http"),
    ],
)
def test_what_cannot_be_opened_is_told_in_one_line(mode: Mode, more: dict[str, Any], words: str) -> None:
    with pytest.raises(LlmError, match=words) as refused:
        open_provider("anthropic", mode, **more)
    assert "\n" not in str(refused.value)
