"""Plain calls over HTTP: what is read, what is refused, and which connection is used again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="the extra [llm] is not installed")

import httpx2

from ramet.llm.providers import http_calls, sdk_transport
from ramet.llm.providers.base import Sending
from ramet.llm.providers.http_calls import HttpAnswer, HttpCalls
from ramet.llm.providers.sdk_transport import AnswerTooLarge
from tests.support.waiting import HANG_SECONDS

pytestmark = pytest.mark.network

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
Answers = Callable[[int], bytes | None]


class Peer:
    """A server that answers each request with given bytes; None: it closes the connection."""

    def __init__(self, answers: Answers, *, close_after: bool = False) -> None:
        self._answers, self._close_after = answers, close_after
        self.connections = 0
        self.requests: list[bytes] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(size))
                said = self._answers(len(self.requests))
                if said is None:
                    break
                writer.write(said)
                await writer.drain()
                if self._close_after:
                    break
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def _peer(answers: Answers, **how: Any) -> Any:
    peer = Peer(answers, **how)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    calls = HttpCalls(f"{peer.url}/v1", {"Authorization": "Bearer k"}, {"api-version": "a b"})
    async with server:
        try:
            yield peer, calls
        finally:
            await calls.close()


def talking(answers: Answers, **how: Any) -> AbstractAsyncContextManager[tuple[Peer, HttpCalls]]:
    """A server and calls to it."""
    return _peer(answers, **how)


async def post(calls: HttpCalls, sending: Sending | None = None) -> HttpAnswer:
    """One call."""
    async with asyncio.timeout(HANG_SECONDS):
        return await calls.post("/chat", {"a": "ä"}, sending or Sending())


async def test_a_request_has_address_headers_and_body_and_connections_are_used_again() -> None:
    async with talking(lambda _: OK) as (peer, calls):
        answers = [await post(calls) for _ in range(3)]
    assert [(answer.status, answer.json()) for answer in answers] == [(200, {})] * 3
    assert peer.connections == 1
    head, body = peer.requests[0].split(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/chat?api-version=a+b HTTP/1.1\r\n")
    assert b"authorization: bearer k" in head.lower()
    assert body.decode() == '{"a":"ä"}'


async def test_calls_at_once_have_a_connection_each() -> None:
    async with talking(lambda _: OK) as (peer, calls):
        await asyncio.gather(*(post(calls) for _ in range(5)))
    assert len(peer.requests) == 5


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        b"HTTP/1.1 102 Processing\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
async def test_chunks_information_and_a_last_answer_are_read(said: bytes) -> None:
    async with talking(lambda _: said) as (_, calls):
        assert [(await post(calls)).json() for _ in range(2)] == [{}, {}]


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with talking(lambda _: b"HTTP/1.0 200 OK\r\n\r\n{}", close_after=True) as (_, calls):
        assert (await post(calls)).json() == {}


async def test_a_connection_that_the_server_closed_is_not_written_to() -> None:
    async with talking(lambda _: OK, close_after=True) as (peer, calls):
        answers = [(await post(calls)).status for _ in range(3)]
    assert (answers, peer.connections) == ([200] * 3, 3)


async def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_calls, "KEEPALIVE_SECONDS", -1.0)
    async with talking(lambda _: OK) as (peer, calls):
        for _ in range(2):
            await post(calls)
    assert peer.connections == 2


@pytest.mark.parametrize("said", [None, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", b"what is this\r\n\r\n"])
async def test_half_an_answer_is_a_fault_of_the_connection_after_something_was_sent(said: bytes | None) -> None:
    sending = Sending()
    async with talking(lambda _: said, close_after=True) as (_, calls):
        with pytest.raises(httpx2.TransportError):
            await post(calls, sending)
    assert sending.began


async def test_what_cannot_be_reached_was_not_sent() -> None:
    async with talking(lambda _: OK) as (peer, _):
        address = peer.url
    sending = Sending()
    with pytest.raises(httpx2.ConnectError):
        await post(HttpCalls(address, {}, {}), sending)
    assert not sending.began


@pytest.mark.parametrize("value", [float("nan"), "\ud800"])
async def test_what_cannot_be_written_as_json_was_not_sent(value: object) -> None:
    sending = Sending()
    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        await HttpCalls("http://127.0.0.1:9", {}, {}).post("/chat", {"a": value}, sending)
    assert not sending.began


async def test_an_answer_is_bounded_and_not_taken_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"
    monkeypatch.setattr(http_calls, "ANSWER_BYTES_MAX", 1)
    said = iter((packed, OK))
    async with talking(lambda _: next(said)) as (_, calls):
        for why in ("compressed", "larger"):
            with pytest.raises(AnswerTooLarge, match=why):
                await post(calls)
    assert sdk_transport.ANSWER_BYTES_MAX > 1_000_000
