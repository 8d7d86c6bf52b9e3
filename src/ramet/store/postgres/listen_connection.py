"""A connection that never keeps its user waiting for longer than allowed, and hears notifications.

A listener must notice a server that fell silent without a word (a cable, a firewall, a stopped machine). A statement
that blocks until the operating system gives the connection up, a quarter of an hour later, does not.
"""

from __future__ import annotations

import selectors
import socket
import time
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import pq

_FINE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)


class ListenConnectionLost(Exception):
    """The server is gone, did not answer in time, or refused a statement."""


class ListenConnection:
    """One connection of one thread, and a bell wire by which other threads interrupt its waiting."""

    def __init__(self, connection: psycopg.Connection[Any], kicked: socket.socket) -> None:
        """Take over a connection that nothing else uses; it is closed with the line.

        Args:
            connection: outside of any transaction.
            kicked: a non-blocking socket; whatever can be read from it ends a :meth:`wait`.
        """
        self._connection = connection
        self._backend = connection.pgconn
        self._kicked = kicked
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._backend.socket, selectors.EVENT_READ, "server")
        self._selector.register(kicked, selectors.EVENT_READ, "kick")
        self.heard: list[tuple[str, int]] = []
        """Notifications that came and were not taken: the channel, and the server process that sent it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._selector.close()
        self._connection.close()

    def run(self, sql: str, seconds: float) -> list[tuple[str | None, ...]]:
        """Run statements without parameters, several as one message; the rows of the last, as text.

        Raises:
            ListenConnectionLost: it could not be run, or the answer took longer than ``seconds``. Its effect is not
                known.
        """
        give_up_at = time.monotonic() + seconds
        try:
            self._backend.send_query(sql.encode())
            while self._backend.flush():
                self._look(give_up_at, selectors.EVENT_READ | selectors.EVENT_WRITE)
            results = []
            while (result := self._result(give_up_at)) is not None:
                results.append(result)
        except psycopg.Error as error:
            raise ListenConnectionLost(str(error).strip()) from error
        self._take()
        last = results[-1]
        if last.status not in _FINE:  # A refused statement is the last: the server skips those after it.
            raise ListenConnectionLost(last.error_message.decode(errors="replace").strip())
        return [
            tuple(_text(last.get_value(row, column)) for column in range(last.nfields)) for row in range(last.ntuples)
        ]

    def _result(self, give_up_at: float) -> pq.abc.PGresult | None:
        while self._backend.is_busy():
            self._look(give_up_at)
        return self._backend.get_result()

    def _look(self, give_up_at: float, events: int = selectors.EVENT_READ) -> None:
        if time.monotonic() >= give_up_at:
            raise ListenConnectionLost("the server does not answer")
        self._select(max(0.0, give_up_at - time.monotonic()), events)

    def wait(self, seconds: float) -> None:
        """Return when something is heard, the socket is kicked, or the time is over; ``heard`` has the notifications.

        Raises:
            ListenConnectionLost: the server closed the connection.
        """
        try:
            self._select(seconds)
        except psycopg.Error as error:
            raise ListenConnectionLost(str(error).strip()) from error
        self._take()

    def _select(self, seconds: float, events: int = selectors.EVENT_READ) -> None:
        self._selector.modify(self._backend.socket, events, "server")
        for key, _ in self._selector.select(seconds):
            if key.data == "server":
                self._backend.consume_input()
            else:
                drain(self._kicked)

    def _take(self) -> None:
        while (notified := self._backend.notifies()) is not None:
            self.heard.append((notified.relname.decode(), notified.be_pid))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def drain(kicked: socket.socket) -> None:
    """Read away what is there."""
    try:
        while kicked.recv(64):
            pass
    except BlockingIOError:
        pass
