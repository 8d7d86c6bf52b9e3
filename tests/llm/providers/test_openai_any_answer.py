"""Whatever a server answers, each verb raises what the protocol allows and nothing else."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, ProviderError, Refused
from ramet.llm.providers.base import Mode, Poll, PollState, Provider, Submission
from ramet.llm.providers.registry import open_provider
from tests.llm.providers.sample_requests import question

pytestmark = pytest.mark.network

STATUSES = [200, 201, 204, 301, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 418, 422, 429, 500, 501, 502, 503]
STATUSES += [504, 505, 524, 529, 599]
BODIES: tuple[Any, ...] = (
    {},
    [],
    None,
    7,
    "text",
    {"error": "text"},
    {"error": {"message": ["no text"], "code": 7, "type": None}},
    {"error": {"message": "no\nfile sk-secret-key found", "code": "x" * 500, "param": "input_file_id"}},
    {"detail": "Not Found"},
    {"id": 7, "status": 7, "object": "batch"},
    {"id": "x", "status": "unheard_of", "data": "none", "has_more": True},
    {"id": "x", "status": "completed", "output": 7, "output_file_id": 7, "choices": 7, "request_counts": 7},
    {"id": "x", "status": "completed", "output": [7, {"type": "message", "content": 7}], "output_file_id": "f"},
    {"id": "x", "status": "failed", "error": 7, "errors": 7, "data": [7, {}], "has_more": True},
    {"id": "x", "status": "incomplete", "output": [], "incomplete_details": 7, "usage": {"input_tokens": "many"}},
    {"id": "x", "status": "completed", "choices": [{"message": {"content": 7}}], "output": []},
)
CASES = [*itertools.product((200, 400, 404, 500), BODIES), *itertools.product(STATUSES, (BODIES[0], BODIES[7]))]

ALLOWED: dict[bool, tuple[type, ...]] = {
    True: (Submission, NotSent, Refused, NotAllowed, Ambiguous),
    False: (Poll, str, type(None), NotSent, NotAllowed),
}
"""Whether it is a submit -> what may come of a verb."""

Answerer = Callable[[bytes], bytes]


@asynccontextmanager
async def serving(answer: Answerer) -> AsyncIterator[str]:
    """A server that answers each request, whose head it is given, with bytes; gives its address."""
    ended: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(answer(head))
            await writer.drain()
            # What was sent is read to its end: closing earlier would reset the connection.
            writer.write_eof()
            await reader.read()
        except ConnectionError:
            return
        finally:
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        ended.add(task)

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        await asyncio.gather(*ended)
        await server.wait_closed()


def http(status: int, body: bytes, *headers: str) -> bytes:
    """An answer as bytes."""
    lines = [f"HTTP/1.1 {status} Any", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "Connection: close"]).encode() + b"\r\n\r\n" + body


async def read_all(provider: Provider) -> None:
    async for answer in provider.results("x", seconds=5):
        assert answer.error is None or "\n" not in answer.error


async def outcome_of(verb: Callable[[], Awaitable[object]]) -> object:
    """What a verb returned, or the error of ours that it raised."""
    try:
        return await verb()
    except ProviderError as error:
        return error


def verbs(provider: Provider) -> dict[str, Callable[[], Awaitable[object]]]:
    """Every verb of a provider."""
    return {
        "submit": lambda: provider.submit([question("hello")], submit_key="s", seconds=5),
        "poll": lambda: provider.poll("x", seconds=5),
        "cancel": lambda: provider.cancel("x", seconds=5),
        "results": lambda: read_all(provider),
        "find": lambda: provider.find("s", seconds=5),
    }


@pytest.mark.parametrize("mode", list(Mode))
async def test_each_verb_raises_only_what_the_protocol_allows(mode: Mode) -> None:
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    current = b""
    async with serving(lambda _: current) as url:
        provider = open_provider("openai", mode, base_url=url, api_key="sk-secret-key")
        finds = provider.caps.can_find
        for status, body in CASES:
            current = http(status, b"" if status == 204 else json.dumps(body).encode())
            for name, verb in verbs(provider).items():
                if name == "find":
                    # Answers without metadata have shown that nothing can be found here: ask all the same.
                    provider.caps = dataclasses.replace(provider.caps, can_find=finds)
                    if not finds:
                        continue
                told = await outcome_of(verb)
                assert isinstance(told, ALLOWED[name == "submit"]), (name, status, body, told)
                assert status < 300 or isinstance(told, ProviderError) or name != "submit", (name, status, body)
                assert not isinstance(told, Submission) or told.remote_id
                if isinstance(told, ProviderError):
                    assert "\n" not in str(told)
                    assert "secret" not in str(told)
                    assert len(str(told)) < 500
        await provider.close()


async def test_a_server_without_a_list_of_batches_cannot_be_looked_into() -> None:
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    async with serving(lambda _: http(404, b'{"detail": "Not Found"}')) as url:
        provider = open_provider("openai", Mode.BATCH, base_url=url)
        with pytest.raises(NotAllowed, match="no list of batches"):
            await provider.find("s", seconds=5)
        assert (await provider.poll("x", seconds=5)).state is PollState.LOST
        await provider.close()


async def test_a_page_that_never_ends_is_left() -> None:
    # A server that ignores `after` would be asked for the same page for ever.
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    asked = 0

    def answer(_: bytes) -> bytes:
        nonlocal asked
        asked += 1
        return http(200, b'{"object": "list", "data": [{"id": "same", "created_at": 9999999999}], "has_more": true}')

    async with serving(answer) as url:
        provider = open_provider("openai", Mode.BATCH, base_url=url)
        assert await provider.find("s", seconds=5) is None
        await provider.close()
    assert asked == 2


async def test_a_connection_that_the_server_closed_meanwhile_leaves_no_doubt() -> None:
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    body = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}
    whole = (
        http(200, json.dumps(body).encode())
        .replace(b"Connection: close\r\n", b"")
        .replace(b"Connection: close", b"X: y")
    )
    async with serving(lambda _: whole) as url:
        provider = open_provider("openai", Mode.CHAT, base_url=url)
        for _ in range(5):
            submission = await provider.submit([question("hello")], submit_key="s", seconds=5)
            assert submission.answer is not None
        await provider.close()


async def test_an_answer_that_is_too_large_is_not_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    from ramet.llm.providers import sdk_transport

    monkeypatch.setattr(sdk_transport, "ANSWER_BYTES_MAX", 1_000)
    async with serving(lambda _: http(200, b'{"id": "' + b"x" * 2_000 + b'"}')) as url:
        provider = open_provider("openai", Mode.BACKGROUND, base_url=url)
        with pytest.raises(Ambiguous, match="larger"):
            await provider.submit([question("hello")], submit_key="s", seconds=5)
        with pytest.raises(NotSent, match="larger"):
            await provider.poll("x", seconds=5)
        await provider.close()
