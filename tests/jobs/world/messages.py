"""What the world is asked, and what it answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

HTML = "text/html; charset=utf-8"
JSON = "application/json"


class Asked(NamedTuple):
    """One request."""

    method: str
    scheme: str
    host: str
    """Lower case, without a port of the scheme's own."""
    target: str
    """Path and query as they were sent."""
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes
    at: float
    """Monotonic seconds."""

    @property
    def path(self) -> str:
        """Without the query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """Of several of one name, the last."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.scheme}://{self.host}{self.target}"

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """A whole answer. With ``etag`` it has a validator, and a request that names it is answered with 304."""

    body: bytes = b""
    status: int = 200
    media_type: str = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: bool = False

    def encoded(self, asked: Asked) -> bytes:
        """As it goes over the wire."""
        status, body, headers = self.status, self.body, {"Content-Type": self.media_type, **self.headers}
        if self.etag:
            headers["ETag"] = f'"{sha256(body).hexdigest()[:16]}"'
        since = asked.headers.get("if-modified-since")
        same = headers.get("ETag") and asked.headers.get("if-none-match") == headers["ETag"]
        if status == 200 and (same or (since is not None and since == headers.get("Last-Modified"))):
            status, body = 304, b""
        headers = {name: value for name, value in headers.items() if value}
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Line(NamedTuple):
    """A connection in the hands of a play."""

    writer: asyncio.StreamWriter
    released: asyncio.Event
    """Set when the test lets go of what hangs."""

    async def send(self, part: bytes) -> None:
        """Write, and wait until there is room for more."""
        self.writer.write(part)
        await self.writer.drain()


Play = Callable[[Asked, Line], Awaitable[None]]
"""Answers by writing bytes; the connection is closed then."""
Handler = Callable[[Asked], Reply]


def html(text: str, status: int = 200, *, etag: bool = False, **headers: str) -> Reply:
    """A page; `_` in the name of a header is `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(text.encode(), status, HTML, named, etag)


def json_reply(value: Any, status: int = 200, *, etag: bool = False) -> Reply:
    """JSON."""
    return Reply(json.dumps(value, ensure_ascii=False).encode(), status, JSON, etag=etag)


NOT_FOUND = html("<!doctype html><title>Not found</title><h1>404</h1>", 404)
