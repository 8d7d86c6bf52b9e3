"""Half a request holds a connection of the dashboard for a while, and never keeps others out."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from ramet.web.serving import IncompleteConnections
from tests.support.waiting import HANG_SECONDS

pytestmark = pytest.mark.network
WHOLE = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: here\r\nX-Long"
FOR_EVER = 10 * HANG_SECONDS


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"read {len(await request.body())}")


class Site:
    """A server whose connections are watched, and those that the test made."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.writers: list[asyncio.StreamWriter] = []

    async def connected(self, sent: bytes) -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        self.writers.append(writer)
        writer.write(sent)
        await writer.drain()
        return reader, writer


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def served(unfinished: IncompleteConnections) -> AsyncIterator[Site]:
    """A server on loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    application = Starlette(routes=[Route("/", home, methods=["GET", "POST"])])
    config = uvicorn.Config(
        application, http=unfinished.protocol(), lifespan="off", log_level="error", timeout_keep_alive=int(FOR_EVER)
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    site = Site(listener.getsockname()[1])
    try:
        yield site
    finally:
        for writer in site.writers:
            writer.close()
        server.should_exit = True
        await running


async def answer_of(connection: Connection) -> bytes:
    """What comes back; nothing where the connection was closed."""
    async with asyncio.timeout(HANG_SECONDS):
        try:
            head = await connection[0].readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            return await connection[0].readexactly(int(length.partition(b":")[2]))
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""


async def test_however_many_hold_half_a_request_a_whole_one_is_answered_and_the_oldest_are_closed() -> None:
    async with served(IncompleteConnections(seconds=FOR_EVER, most=5)) as site:
        slow = [await site.connected(HALF) for _ in range(25)]
        assert await answer_of(await site.connected(WHOLE)) == b"read 0"
        assert [await answer_of(each) for each in slow[:20]] == [b""] * 20
        slow[-1][1].write(b": 1\r\n\r\n")
        assert await answer_of(slow[-1]) == b"read 0", "who sends the rest in time is answered"


@pytest.mark.parametrize("sent", [b"", HALF, b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf"])
@pytest.mark.parametrize("before", [b"", WHOLE], ids=["first", "second"])
async def test_a_request_that_does_not_come_is_waited_for_so_long_and_no_longer(before: bytes, sent: bytes) -> None:
    async with served(IncompleteConnections(seconds=0.05)) as site:
        connection = await site.connected(before or sent)
        if before:
            assert await answer_of(connection) == b"read 0"
            connection[1].write(sent or b"GET")
        assert await answer_of(connection) == b""


async def test_an_answered_connection_stays_open_for_the_next_request() -> None:
    async with served(IncompleteConnections(seconds=FOR_EVER, most=1)) as site:
        connection = await site.connected(WHOLE)
        assert await answer_of(connection) == b"read 0"
        for _ in range(3):
            await site.connected(HALF)
            connection[1].write(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\n\r\nfour")
            assert await answer_of(connection) == b"read 4"
