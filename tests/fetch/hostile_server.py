"""A server on loopback that answers with whatever bytes a test wants, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"


class Request(NamedTuple):
    """What a client asked."""

    method: str
    target: str
    headers: Mapping[str, str]
    parameters: Mapping[str, str]
    """Of the address and the body."""

    @property
    def path(self) -> str:
        """The address without parameters."""
        return urlsplit(self.target).path


Play = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]
"""Answers a request by writing bytes; then the connection is closed."""


class Hostile:
    """The server. What it does is `play`, which a test sets."""

    def __init__(self, play: Play | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.play: Play = play or answers({})
        self.requests: list[Request] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._working: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """Of its root."""
        return f"http://{HOST}:{self.port}/"

    @property
    def api(self) -> str:
        """Of what would be a wiki's API."""
        return f"{self.address}api.php"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._working.add(task)
        try:
            request = await _read(reader)
            self.requests.append(request)
            await self.play(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client had enough, which is what such a test is about; or the test is over.
        finally:
            self._working.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Request:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
    fields = {**parse_qs(urlsplit(target).query), **parse_qs(body)}
    shown = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    return Request(
        method, target, {name.lower(): value for name, value in shown.items()}, {k: v[0] for k, v in fields.items()}
    )


def head(status: int = 200, **headers: str | int) -> bytes:
    """A status line and headers; `_` in a name is `-`. JSON unless another type is given."""
    stated: dict[str, str | int] = {"Content-Type": "application/json", "Connection": "close"}
    stated |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in stated.items() if value != "")]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def answers(data: Any, status: int = 200, **headers: str | int) -> Play:
    """Always the same: JSON, or bytes or text as they are."""
    body = data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else json.dumps(data).encode()

    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head(status, Content_Length=len(body), **headers) + body)
        await writer.drain()

    return play


def in_turn(*plays: Play) -> Play:
    """One after the other; the last again and again."""
    left = list(plays)

    async def play(request: Request, writer: asyncio.StreamWriter) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(request, writer)

    return play


def sends_to(location: str, status: int = 302) -> Play:
    """A redirect."""
    return answers(b"", status, Location=location)


def streams(parts: Iterator[bytes], begin: bytes, *, pause_seconds: float = 0.0) -> Play:
    """A beginning, then parts as long as the client listens."""

    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        for part in parts:
            writer.write(part)
            await writer.drain()
            if pause_seconds:
                await asyncio.sleep(pause_seconds)

    return play


def bomb(megabytes: int) -> bytes:
    """So many megabytes of blanks, packed into a thousandth of that."""
    return gzip.compress(b" " * 1_000_000 * megabytes)
