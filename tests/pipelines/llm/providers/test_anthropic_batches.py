"""Message Batches through the real SDK, against answers that no test server gives."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ramet.pipelines.llm.errors import Ambiguous, LlmError, NotAllowed, NotSent, ProviderError, Refused, TooBusy
from ramet.pipelines.llm.providers import anthropic_batches
from ramet.pipelines.llm.providers.anthropic_batches import AnthropicBatches
from ramet.pipelines.llm.providers.anthropic_client import AnthropicClient
from ramet.pipelines.llm.providers.anthropic_names import mark_of, name_of
from ramet.pipelines.llm.providers.base import AnswerState, Mode, PollState
from ramet.pipelines.llm.providers.opening import open_provider
from tests.pipelines.llm.providers.questions import question
from tests.pipelines.llm.providers.scripted import Call, Said, scripted

pytest.importorskip("anthropic", reason="the extra [anthropic] is not installed")
KEY = "0123456789abcdef" * 4
AT = 1_795_000_000.0
"""A moment: 2026-11-18T11:06:40Z."""
Opened = Callable[[Callable[[Call], Said]], AnthropicBatches]


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    """Opens a provider on a server that answers by a script; both end with the test."""
    async with AsyncExitStack() as stack:

        def open_on(script: Callable[[Call], Said]) -> AnthropicBatches:
            server = stack.enter_context(scripted(script))
            provider = AnthropicBatches(AnthropicClient(base_url=server.url, api_key="sk-ant-secret", strict=True))
            stack.push_async_callback(provider.close)
            return provider

        yield open_on


def batch(remote_id: str = "msgbatch_1", *, state: str = "ended", **more: object) -> dict[str, object]:
    counts = {"processing": 1, "succeeded": 2, "errored": 0, "canceled": 0, "expired": 3}
    return {
        "id": remote_id, "type": "message_batch", "processing_status": state, "request_counts": counts,
        "created_at": "2026-11-18T11:06:50Z", "expires_at": "2026-11-19T11:06:50Z",
        "results_url": "http://203.0.113.1/results",
    } | more  # fmt: skip


def line(key: str = KEY, submit_key: str = "s", **result: object) -> bytes:
    found = result or {"type": "expired"}
    return json.dumps({"custom_id": name_of(key, mark_of(submit_key)), "result": found}).encode() + b"\n"


async def test_requests_travel_with_key_and_mark_in_one_call(opened: Opened) -> None:
    calls: list[Call] = []

    def script(call: Call) -> Said:
        calls.append(call)
        return Said(200, batch(state="in_progress"))

    questions = [question("a"), question("b")]
    submission = await opened(script).submit(questions, submit_key="s", seconds=10)
    (call,) = calls
    assert (submission.remote_id, submission.answer) == ("msgbatch_1", None)
    assert (call.method, call.path) == ("POST", "/v1/messages/batches")
    assert [asked["custom_id"] for asked in call.body["requests"]] == [name_of(q.key, mark_of("s")) for q in questions]
    assert [asked["params"]["messages"][0]["content"] for asked in call.body["requests"]] == ["a", "b"]
    assert call.headers["content-type"] == "application/json"
    assert call.headers["x-stainless-retry-count"] == "0"


async def test_the_environment_changes_neither_key_nor_headers(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = "http://203.0.113.1:9"
    for name, value in (("API_KEY", "other"), ("AUTH_TOKEN", "token"), ("BASE_URL", elsewhere)):
        monkeypatch.setenv(f"ANTHROPIC_{name}", value)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-a: b")
    monkeypatch.setenv("HTTP_PROXY", elsewhere)
    calls: list[Call] = []

    def script(call: Call) -> Said:
        calls.append(call)
        return Said(200, batch())

    await opened(script).poll("msgbatch_1", seconds=10)
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
    opened: Opened, said: Said, kind: type[ProviderError]
) -> None:
    calls: list[Call] = []

    def script(call: Call) -> Said:
        calls.append(call)
        return said

    with pytest.raises(kind):
        await opened(script).submit([question("a")], submit_key="s", seconds=10)
    assert len(calls) == 1


async def test_a_server_that_is_not_there_took_nothing_on(opened: Opened) -> None:
    with scripted(lambda call: Said(200)) as server:
        gone = server.url
    provider = AnthropicBatches(AnthropicClient(base_url=gone, api_key=None))
    with pytest.raises(NotSent):
        await provider.submit([question("a")], submit_key="s", seconds=10)
    await provider.close()


async def test_the_same_question_twice_is_refused_before_it_is_sent(opened: Opened) -> None:
    with pytest.raises(Refused) as refused:
        await opened(lambda call: Said(None)).submit([question("a")] * 2, submit_key="s", seconds=10)
    assert refused.value.code == "duplicate_key"


async def test_a_batch_of_many_parts_arrives_whole(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anthropic_batches, "PART_BYTES", 100)
    calls: list[Call] = []

    def script(call: Call) -> Said:
        calls.append(call)
        return Said(200, batch(state="in_progress"))

    questions = [question(f"how old is tree {number} in the Königsforst?") for number in range(50)]
    await opened(script).submit(questions, submit_key="s", seconds=10)
    sent = [asked["params"]["messages"][0]["content"] for asked in calls[0].body["requests"]]
    assert sent == [question.messages[0]["content"] for question in questions]


async def test_a_batch_that_is_too_large_is_refused_before_it_is_sent(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anthropic_batches, "SUBMIT_BYTES_MAX", 1000)
    with pytest.raises(Refused) as refused:
        await opened(lambda call: Said(None)).submit([question("a" * 1000)], submit_key="s", seconds=10)
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
    opened: Opened, body: dict[str, object], state: PollState, word: str
) -> None:
    poll = await opened(lambda call: Said(200, body)).poll("msgbatch_1", seconds=10)
    assert (poll.state, poll.provider_state) == (state, word)
    if state is not PollState.LOST:
        assert (poll.done, poll.total) == (5, 6)


@pytest.mark.parametrize(
    "said", [Said(None), Said(200, b"{"), Said(200, batch(state="new")), Said(500), Said(400)], ids=str
)
async def test_a_poll_that_fails_says_nothing_of_the_batch(opened: Opened, said: Said) -> None:
    with pytest.raises(NotSent):
        await opened(lambda call: said).poll("msgbatch_1", seconds=10)


async def test_every_kind_of_result_is_told_and_a_line_that_cannot_be_read_too(opened: Opened) -> None:
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

    provider = opened(script)
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
    # Not from `results_url`, which the server names: the key would go to whoever it names.
    assert [call.path for call in calls] == ["/v1/messages/batches/msgbatch_1/results"]


async def test_what_came_before_results_break_off_is_kept(opened: Opened) -> None:
    provider = opened(lambda call: Said(200, line(KEY), {"Content-Length": "100000"}))
    results = provider.results("msgbatch_1", seconds=10)
    assert (await anext(results)).key == KEY
    with pytest.raises(NotSent):
        await anext(results)


async def test_results_that_are_not_there_are_asked_for_again(opened: Opened) -> None:
    gone = Said(404, {"error": {"type": "not_found_error", "message": "m"}})
    with pytest.raises(NotSent):
        _ = [answer async for answer in opened(lambda call: gone).results("msgbatch_1", seconds=10)]


@pytest.mark.parametrize(("state", "raises"), [("ended", False), ("in_progress", True)])
async def test_a_cancel_that_is_refused_is_an_error_only_while_it_runs(
    opened: Opened, state: str, raises: bool
) -> None:
    refusal = Said(400, {"error": {"type": "invalid_request_error", "message": "not now"}})
    provider = opened(lambda call: refusal if call.path.endswith("/cancel") else Said(200, batch(state=state)))
    if raises:
        with pytest.raises(NotSent):
            await provider.cancel("msgbatch_1", seconds=10)
    else:
        await provider.cancel("msgbatch_1", seconds=10)


class Account:
    """The batches of an account: id -> (state, when it was created, the submit key in its results)."""

    def __init__(self, *batches: tuple[str, str, str, str], page: int = 1000) -> None:
        self.batches = list(batches)
        self.page = page
        self.calls: list[str] = []

    def __call__(self, call: Call) -> Said:
        parts = urlsplit(call.path)
        self.calls.append(parts.path.removeprefix("/v1/messages/batches"))
        if parts.path.endswith("/results"):
            remote_id = parts.path.split("/")[-2]
            return Said(200, next(line(KEY, found[3]) for found in self.batches if found[0] == remote_id))
        after = parse_qs(parts.query).get("after_id")
        begin = [found[0] for found in self.batches].index(after[0]) + 1 if after else 0
        listed = self.batches[begin : begin + self.page]
        data = [batch(found[0], state=found[1], created_at=found[2]) for found in listed]
        return Said(200, {"data": data, "has_more": begin + self.page < len(self.batches)})


NEAR, LONG_BEFORE, LONG_AFTER = "2026-11-18T11:06:50Z", "2026-11-18T07:00:00Z", "2026-11-18T17:00:00Z"


async def test_a_batch_is_found_by_the_mark_in_its_results_on_any_page(opened: Opened) -> None:
    account = Account(("a", "ended", NEAR, "x"), ("b", "ended", NEAR, "s"), ("c", "ended", NEAR, "y"), page=1)
    provider = opened(account)
    assert await provider.find("s", seconds=10) == "b"
    account.calls.clear()
    assert await provider.find("z", seconds=10) is None
    assert [call for call in account.calls if call.endswith("/results")] == ["/c/results"], "what is known is kept"


async def test_nobody_says_there_is_none_while_a_batch_runs_that_may_be_it(opened: Opened) -> None:
    account = Account(("a", "ended", NEAR, "x"), ("b", "in_progress", NEAR, "s"))
    provider = opened(account)
    with pytest.raises(NotSent, match="still run"):
        await provider.find("s", seconds=10)
    account.batches[1] = ("b", "ended", NEAR, "s")
    assert await provider.find("s", seconds=10) == "b"


async def test_a_batch_that_was_submitted_here_is_known_before_it_ends(opened: Opened) -> None:
    account = Account(("msgbatch_1", "in_progress", NEAR, "s"))
    created = Said(200, batch(state="in_progress"))
    provider = opened(lambda call: created if call.method == "POST" else account(call))
    await provider.submit([question("a")], submit_key="s", seconds=10)
    assert await provider.find("s", seconds=10) == "msgbatch_1"
    assert await provider.find("z", seconds=10) is None


async def test_a_batch_of_another_time_is_not_looked_at(opened: Opened) -> None:
    later, earlier = ("a", "in_progress", LONG_AFTER, "x"), ("c", "in_progress", LONG_BEFORE, "y")
    account = Account(later, ("b", "ended", NEAR, "s"), earlier, page=1)
    provider = opened(account)
    assert await provider.find("z", seconds=10, submitted_at=AT) is None
    assert await provider.find("s", seconds=10, submitted_at=AT) == "b"


async def test_an_account_that_cannot_be_listed_in_time_is_asked_again(opened: Opened) -> None:
    with pytest.raises(NotSent):
        await opened(Account()).find("s", seconds=0)


async def test_what_is_remembered_is_bounded(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anthropic_batches, "MARKS_MAX", 2)
    account = Account(*((name, "ended", NEAR, name) for name in "abcd"))
    provider = opened(account)
    assert await provider.find("z", seconds=10) is None
    assert len(provider._marks) == 2


@pytest.mark.parametrize(
    ("mode", "more", "words"),
    [
        (Mode.BACKGROUND, {"api_key": "k"}, "no background mode"),
        (Mode.BATCH, {}, "ANTHROPIC_API_KEY"),
        (Mode.BATCH, {"api_key": "k", "organization": "o"}, "one organization"),
        (Mode.CHAT, {"api_key": "k\n"}, "line break"),
        (Mode.CHAT, {"base_url": "ftp://h"}, "no http"),
    ],
)
def test_what_cannot_be_opened_is_told_in_one_line(mode: Mode, more: dict[str, Any], words: str) -> None:
    with pytest.raises(LlmError, match=words) as refused:
        open_provider("anthropic", mode, **more)
    assert "\n" not in str(refused.value)
