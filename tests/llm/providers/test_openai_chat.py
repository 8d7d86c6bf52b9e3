"""Chat completions through the real SDK, against our stand-in and against sockets that misbehave."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from ramet.llm.errors import (
    Ambiguous,
    LlmError,
    NotAllowed,
    NotSent,
    ProviderError,
    Refused,
    ServerFault,
    TooBusy,
)
from ramet.llm.providers.base import Answer, AnswerState, Mode, PollState, RateLimit, TokenUsage
from ramet.llm.providers.registry import open_provider
from ramet.llm.requests import Request
from ramet.llm.testing.script import Script
from ramet.llm.testing.server import StandIn
from tests.llm.providers.conftest import Opened
from tests.llm.providers.sample_requests import MODEL, question

pytestmark = pytest.mark.network

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name", "size"],
    "additionalProperties": False,
}


async def asked(opened: Opened, text: str, **more: object) -> Answer:
    """The answer to one question."""
    submission = await opened(Mode.CHAT).submit([question(text, **more)], submit_key="s", seconds=10)  # type: ignore[arg-type]
    assert submission.answer is not None
    return submission.answer


async def refused(opened: Opened, text: str) -> ProviderError:
    """The error that a question ends with."""
    with pytest.raises(ProviderError) as caught:
        await asked(opened, text)
    return caught.value


async def test_an_answer_comes_with_the_tokens_that_the_server_wrote_down(standin: StandIn, opened: Opened) -> None:
    answer = await asked(opened, "which island has a lighthouse? [[cached 3]]")
    (entry,) = standin.world.journal.entries()
    assert answer.state is AnswerState.SUCCEEDED
    assert answer.text is not None
    assert answer.text.endswith("which island has a lighthouse?")
    assert answer.usage == TokenUsage(entry.input_tokens, 3, entry.output_tokens)
    assert answer.usage_known
    assert (answer.model, answer.response_id, answer.error) == (MODEL, entry.id, None)


async def test_a_schema_is_sent_as_structured_output(standin: StandIn, opened: Opened) -> None:
    answer = await asked(opened, "name one", schema=SCHEMA)
    assert set(json.loads(answer.text or "")) == {"name", "size"}


@pytest.mark.parametrize(
    ("text", "state", "code"),
    [
        ("[[incomplete]]", AnswerState.INCOMPLETE, "max_output_tokens"),
        ("[[filter]]", AnswerState.INCOMPLETE, "content_filter"),
        ("[[refusal]]", AnswerState.INCOMPLETE, "refusal"),
    ],
)
async def test_what_is_cut_off_is_billed_and_incomplete(
    opened: Opened, text: str, state: AnswerState, code: str
) -> None:
    answer = await asked(opened, text)
    assert (answer.state, answer.code) == (state, code)
    assert answer.error is not None
    assert answer.usage.output_tokens > 0


async def test_an_answer_longer_than_its_limit_is_cut_off(opened: Opened) -> None:
    answer = await asked(opened, "tell me all of it, and then some more of it", most=2)
    assert answer.state is AnswerState.INCOMPLETE
    assert answer.usage.output_tokens == 2


async def test_a_tool_call_is_kept(opened: Opened) -> None:
    answer = await asked(opened, "[[tool]]")
    assert answer.raw is not None
    assert answer.raw["tool_calls"][0]["function"]["name"] == "look_up"


async def test_a_usage_that_nobody_told_is_not_zero(opened: Opened) -> None:
    assert not (await asked(opened, "[[no_usage]]")).usage_known


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[[400]]", Refused),
        ("[[413]]", Refused),
        ("[[422]]", Refused),
        ("[[401]]", NotAllowed),
        ("[[402]]", NotAllowed),
        ("[[403]]", NotAllowed),
        ("[[404]]", NotAllowed),
        ("[[307]]", NotAllowed),
        ("[[408]]", NotSent),
        ("[[409]]", NotSent),
        ("[[500]]", ServerFault),
        ("[[503]]", TooBusy),
        ("[[529]]", TooBusy),
        ("[[429]]", TooBusy),
        ("[[502]]", Ambiguous),
        ("[[504]]", Ambiguous),
        ("[[524]]", Ambiguous),
        ("[[501]]", NotAllowed),
        ("[[drop]]", Ambiguous),
        ("[[drop_accepted]]", Ambiguous),
        ("[[malformed]]", Ambiguous),
    ],
)
async def test_each_fault_says_what_is_known_and_is_asked_once(
    standin: StandIn, opened: Opened, text: str, kind: type[ProviderError]
) -> None:
    error = await refused(opened, text)
    assert type(error) is kind
    assert "\n" not in str(error)
    assert "sk-secret-key" not in str(error)
    assert len(standin.world.calls) == 1, "the SDK asked again by itself"


@pytest.mark.parametrize(
    ("after", "seconds"), [("0", 0.0), ("2", 2.0), ("0.25", 0.25), ("130", 130.0), ("86400", 86400.0)]
)
async def test_the_time_to_come_back_is_kept_whatever_its_size(
    standin: StandIn, opened: Opened, after: str, seconds: float
) -> None:
    error = await refused(opened, f"[[429 after={after}]]")
    assert isinstance(error, TooBusy)
    assert error.seconds == seconds
    assert len(standin.world.calls) == 1


async def test_a_call_that_takes_too_long_is_ambiguous(standin: StandIn, opened: Opened) -> None:
    provider = opened(Mode.CHAT)
    with pytest.raises(Ambiguous):
        await provider.submit([question("[[hang]]")], submit_key="s", seconds=0.5)
    assert len(standin.world.journal.entries()) == 1


async def test_what_was_never_reached_was_not_sent() -> None:
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Nobody listens there, and nobody else can.
        provider = open_provider("openai", Mode.CHAT, base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        with pytest.raises(NotSent):
            await provider.submit([question("hello")], submit_key="s", seconds=5)
        await provider.close()


async def answered_with(raw: bytes) -> ProviderError:
    """What the adapter makes of a server that answers a submit with these bytes, and closes."""
    pytest.importorskip("openai", reason="the extra [llm] is not installed")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    provider = open_provider("openai", Mode.CHAT, base_url=f"http://127.0.0.1:{port}/v1")
    try:
        with pytest.raises(ProviderError) as caught:
            await provider.submit([question("hello")], submit_key="s", seconds=5)
        return caught.value
    finally:
        await provider.close()
        server.close()
        await server.wait_closed()


def http(status: str, body: bytes, *headers: str) -> bytes:
    """An answer as bytes."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


JSON = "Content-Type: application/json"


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (http("200 OK", b"{}", JSON), Ambiguous),
        (http("200 OK", b"[]", JSON), Ambiguous),
        (http("200 OK", b"<html>welcome</html>", "Content-Type: text/html"), Ambiguous),
        (http("200 OK", b'{"choices": [{}]}', JSON), Ambiguous),
        (http("200 OK", b'{"choices": [', JSON), Ambiguous),
        (http("200 OK", b"[" * 100_000, JSON), Ambiguous),
        (http("200 OK", b"\x1f\x8b rubbish", JSON, "Content-Encoding: gzip"), Ambiguous),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}", Ambiguous),
        (b"no HTTP at all\r\n\r\n", Ambiguous),
        (http("302 Found", b"", "Location: http://192.0.2.1/v1"), NotAllowed),
        (http("429 Busy", b'{"error": {"message": "pay", "code": "insufficient_quota"}}', JSON), NotAllowed),
        (http("404 Gone", b'{"error": {"message": "no", "code": "model_not_found"}}', JSON), NotAllowed),
        (http("400 Bad", b'{"error": {"message": "sk", "code": "context_length_exceeded"}}', JSON), Refused),
        (http("400 Bad", b"[1, 2]", JSON), Refused),
        (http("503 Later", b"<html>", "Content-Type: text/html"), TooBusy),
    ],
)
async def test_whatever_a_server_answers_is_one_of_our_errors(raw: bytes, kind: type[ProviderError]) -> None:
    assert type(await answered_with(raw)) is kind


async def test_a_refusal_keeps_the_providers_code() -> None:
    body = b'{"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}'
    error = await answered_with(http("400 Bad", body, JSON))
    assert isinstance(error, Refused)
    assert error.code == "context_length_exceeded"


async def test_a_date_is_read_against_the_servers_own_clock() -> None:
    dates = ("Date: Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After: Wed, 21 Oct 2015 08:28:00 GMT")
    error = await answered_with(http("429 Busy", b"{}", JSON, *dates))
    assert isinstance(error, TooBusy)
    assert error.seconds == 3600.0


async def test_an_error_within_a_good_answer_is_a_failed_answer(standin: StandIn) -> None:
    # Some gateways answer 200 and put the error where the answer would be.
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    from ramet.llm.providers.openai_answers import read_chat

    answer = read_chat("k", {"error": {"message": "the model is gone", "code": "server_error"}})
    assert (answer.state, answer.code, answer.retriable) == (AnswerState.FAILED, "server_error", True)


async def test_rate_limits_are_read_from_headers(standin: StandIn, opened: Opened) -> None:
    standin.begin(Script(requests_per_minute=2, tokens_per_minute=6000))
    submission = await opened(Mode.CHAT).submit([question("one")], submit_key="s", seconds=10)
    told = {rate.of: rate for rate in submission.rates}
    assert (told["requests"].limit, told["requests"].remaining) == (2, 1)
    assert (told["tokens"].limit, told["tokens"].remaining) == (6000, 5999)
    assert isinstance(told["requests"], RateLimit)
    await asked(opened, "two")
    error = await refused(opened, "three")
    assert isinstance(error, TooBusy)
    assert error.seconds is not None
    assert 0 < error.seconds <= 30


async def test_nothing_but_the_arguments_decides_where_calls_go(
    standin: StandIn, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "OPENAI_API_KEY": "sk-of-somebody-else",
        "OPENAI_ADMIN_KEY": "sk-admin",
        "OPENAI_BASE_URL": "http://192.0.2.1/v1",
        "OPENAI_ORG_ID": "org-other",
        "OPENAI_PROJECT_ID": "proj-other",
        "OPENAI_CUSTOM_HEADERS": "x-other: yes\nAuthorization: Bearer other",
        "HTTP_PROXY": "http://192.0.2.1:8080",
        "ALL_PROXY": "http://192.0.2.1:8080",
    }.items():
        monkeypatch.setenv(name, value)
    await asked(opened, "hello")
    (call,) = standin.world.calls
    assert call["headers"]["authorization"] == "Bearer sk-secret-key"
    assert not {"x-other", "openai-organization", "openai-project"} & set(call["headers"])


async def test_parameters_that_cost_more_than_was_reserved_are_not_sent(standin: StandIn, opened: Opened) -> None:
    refused: list[dict[str, object]] = [{"audio": {}}, {"service_tier": "best"}, {"max_tokens": 900}, {"tools": [{}]}]
    for parameters in refused:
        with pytest.raises(Refused):
            await asked(opened, "hello", parameters=parameters)
    assert not standin.world.calls


@pytest.mark.parametrize(
    "address",
    ["localhost:8000", "ftp://host/v1", "http://", "http://user:secret@host/v1", "http://host:x/v1", "http://[/"],
)
def test_an_address_that_is_none_is_refused_in_one_line(address: str) -> None:
    with pytest.raises(LlmError) as caught:
        open_provider("openai", Mode.CHAT, base_url=address, api_key="k")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_opened_says_what_can() -> None:
    with pytest.raises(LlmError, match=r"gemini is not supported yet.*openai"):
        open_provider("gemini", Mode.BATCH, api_key="k")
    with pytest.raises(LlmError, match="OPENAI_API_KEY"):
        open_provider("openai", Mode.CHAT)
    with pytest.raises(LlmError, match="line break"):
        open_provider("openai", Mode.CHAT, api_key="sk-x\n")


async def test_a_chat_has_nothing_to_poll_or_find(opened: Opened) -> None:
    provider = opened(Mode.CHAT)
    assert (await provider.poll("x", seconds=1)).state is PollState.LOST
    assert [answer async for answer in provider.results("x", seconds=1)] == []
    with pytest.raises(NotImplementedError):
        await provider.find("x", seconds=1)


async def test_a_request_that_is_no_text_is_refused_before_it_is_sent(standin: StandIn, opened: Opened) -> None:
    broken = Request("b" * 64, MODEL, ({"role": "user", "content": "\ud800"},), 10)
    with pytest.raises(Refused):
        await opened(Mode.CHAT).submit([broken], submit_key="s", seconds=10)
    assert standin.world.journal.entries() == []
