"""The server of the dashboard: it listens before it says so, and on a signal ends every stream at once."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ramet.commands.errors import UserError
from ramet.web.events import Feeds

GRACE_SECONDS = 5
"""Longest time that a pending answer may take after a signal."""


class CannotListen(UserError):
    """The address cannot be used."""


class Server(uvicorn.Server):
    """A server whose event streams do not keep it from stopping; a second signal stops it without a pause."""

    def __init__(self, config: uvicorn.Config, feeds: Feeds) -> None:
        super().__init__(config)
        self._feeds = feeds

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, and count that as a good end: the signals are not raised once more."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop as soon as what was asked is answered."""
        self._feeds.close()
        super().handle_exit(sig, frame)


def is_loopback(host: str) -> bool:
    """Return whether an address or name is reachable from this machine only; False for an unknown name."""
    try:
        found = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections; port 0 takes any free port.

    Raises:
        CannotListen: the name has no address, or the port is taken.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.create_server(address, family=family)
    except OSError as error:
        why = error.strerror or str(error)
        raise CannotListen(f"cannot listen on {host} port {port} ({why}): give another --host or --port") from error
    # Only where the protocol is named does asyncio send at once what is short: else an answer on a connection that
    # stays open waits 40 ms for the visitor's machine to acknowledge its head.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())


def origin_of(listener: socket.socket) -> str:
    """Return the address for a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


REQUEST_SECONDS = 30.0
"""Longest time for a request to arrive, head and body."""
UNFINISHED_MAX = 128
"""Most incomplete connections; beyond them the oldest is closed. A request that arrives whole is answered first."""


class IncompleteConnections:
    """Connections of a server that wait for the rest of a request, oldest first."""

    def __init__(self, *, seconds: float = REQUEST_SECONDS, most: int = UNFINISHED_MAX) -> None:
        self._seconds, self._most = seconds, most
        self._timers: dict[Any, asyncio.TimerHandle] = {}

    def begin(self, connection: Any) -> None:
        """Start the time of a connection, if it does not run already."""
        if connection in self._timers:
            return
        loop = asyncio.get_running_loop()
        self._timers[connection] = loop.call_later(self._seconds, self._close, connection)
        if len(self._timers) > self._most:
            self._close(next(iter(self._timers)))

    def end(self, connection: Any) -> None:
        """Stop the time of a connection: its request is whole, or it is closed."""
        timer = self._timers.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _close(self, connection: Any) -> None:
        self.end(connection)
        connection.transport.abort()

    def protocol(self) -> type[asyncio.Protocol]:
        """Return the HTTP protocol for a server whose connections are watched here."""
        unfinished = self

        class Watched(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
            """A connection."""

            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                unfinished.begin(self)

            def connection_lost(self, exc: Exception | None) -> None:
                unfinished.end(self)
                super().connection_lost(exc)

            def data_received(self, data: bytes) -> None:
                super().data_received(data)
                cycle = self.cycle
                if cycle is None or cycle.response_complete or cycle.more_body:
                    unfinished.begin(self)
                else:
                    unfinished.end(self)

        return Watched
