"""Connections of the dashboard whose request is not whole yet: each has a time, and there are only so many.

The HTTP server closes what is idle between two requests, and waits for ever for the rest of one that has begun.
Without a bound a visitor without a token could hold every file handle of the process with half a request on each.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

REQUEST_SECONDS = 30.0
"""So long a request may take to arrive, head and body."""
UNFINISHED_MAX = 128
"""Of one more, the oldest is closed: a request that comes in one piece is answered before its turn comes."""


class Unfinished:
    """Connections of a server that wait for the rest of a request, oldest first."""

    def __init__(self, *, seconds: float = REQUEST_SECONDS, most: int = UNFINISHED_MAX) -> None:
        self._seconds, self._most = seconds, most
        self._timers: dict[Any, asyncio.TimerHandle] = {}

    def begin(self, connection: Any) -> None:
        """Its time runs, if it does not already."""
        if connection in self._timers:
            return
        loop = asyncio.get_running_loop()
        self._timers[connection] = loop.call_later(self._seconds, self._close, connection)
        if len(self._timers) > self._most:
            self._close(next(iter(self._timers)))

    def end(self, connection: Any) -> None:
        """Its request is whole, or it is gone."""
        timer = self._timers.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _close(self, connection: Any) -> None:
        self.end(connection)
        connection.transport.abort()

    def protocol(self) -> type[asyncio.Protocol]:
        """The HTTP protocol for a server whose connections are watched here."""
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
