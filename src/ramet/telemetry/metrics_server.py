"""Metrics without a dashboard: a small server of the standard library in threads, which asks the client's loop."""

from __future__ import annotations

import asyncio
import hmac
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from ramet.commands.errors import UserError

REQUEST_SECONDS_MAX = 15.0
"""A visitor who says nothing for so long is hung up on."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

Told = tuple[bytes, str]
"""The text and its content type."""
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def address_of(text: str) -> tuple[str, int]:
    """Host and port of ``host:port``.

    Raises:
        UserError: it is no such thing.
    """
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise UserError(f"{text!r} is no address: give HOST:PORT, such as 127.0.0.1:9464")
    return host.strip("[]"), int(port)


def check_address(host: str, token: str | None) -> None:
    """Refuse to tell the whole network without a token.

    Raises:
        UserError: the host is not this machine alone and there is no token.
    """
    if host not in LOOPBACK and not token:
        raise UserError(f"whoever reaches {host} could read the metrics: give --token-file, or listen on 127.0.0.1")


def application(tell: Callable[[str], Told], token: str | None, host: str) -> Application:
    """``GET /metrics`` and nothing else.

    Args:
        tell: the exposition for an Accept header.
        token: what a visitor presents as ``Authorization: Bearer``; None answers everybody.
        host: where it listens; without a token another name in the Host header is refused, so that no web page can
            read it through a name that it made point here.
    """

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        status, headers, body = _answered(environ, tell, token, host)
        start(status, [*headers, ("Content-Length", str(len(body))), ("Cache-Control", "no-store")])
        return [body]

    return answer


def _answered(
    environ: dict[str, Any], tell: Callable[[str], Told], token: str | None, host: str
) -> tuple[str, list[tuple[str, str]], bytes]:
    plain = [("Content-Type", "text/plain; charset=utf-8")]
    if token is None:
        named = str(environ.get("HTTP_HOST", "")).rpartition(":")[0].strip("[]") or str(environ.get("HTTP_HOST", ""))
        if named not in LOOPBACK | {host}:
            return "403 Forbidden", plain, b"this Host is not served\n"
    else:
        given = str(environ.get("HTTP_AUTHORIZATION", "")).encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, f"Bearer {token}".encode()):
            return "401 Unauthorized", [*plain, ("WWW-Authenticate", "Bearer")], b"a token is needed\n"
    if environ.get("PATH_INFO") != "/metrics":
        return "404 Not Found", plain, b"metrics are at /metrics\n"
    if environ.get("REQUEST_METHOD") != "GET":
        return "405 Method Not Allowed", [*plain, ("Allow", "GET")], b"only GET\n"
    body, content_type = tell(str(environ.get("HTTP_ACCEPT", "")))
    return "200 OK", [("Content-Type", content_type)], body


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    timeout = REQUEST_SECONDS_MAX

    def log_message(self, format: str, *args: Any) -> None:
        """Scrapes come every few seconds: none of them is news."""


@contextmanager
def served(made: Application, host: str, port: int) -> Iterator[int]:
    """Serve it in threads while this lasts; gives the port, which the system chooses for port 0.

    Raises:
        UserError: the address cannot be listened on.
    """
    try:
        server = make_server(host, port, made, server_class=_server_of(host), handler_class=_Handler)
    except OSError as error:
        raise UserError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    thread = threading.Thread(target=server.serve_forever, name="ramet metrics", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _server_of(host: str) -> type[WSGIServer]:
    import socket

    return type("_Server6", (_Server,), {"address_family": socket.AF_INET6}) if ":" in host else _Server


def from_loop(loop: asyncio.AbstractEventLoop, tell: Callable[[str], Any]) -> Callable[[str], Told]:
    """A coroutine function of the loop, for the server's threads."""

    def told(accept: str) -> Told:
        found: Told = asyncio.run_coroutine_threadsafe(tell(accept), loop).result()
        return found

    return told
