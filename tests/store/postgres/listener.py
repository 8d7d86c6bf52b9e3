"""A bell with somebody who counts how often it is heard."""

from __future__ import annotations

import threading
from typing import Any

import psycopg

from ramet.store.postgres.listen import Notifier
from tests.support.waiting import until_now


class Listener:
    """A bell, what it opened and how often it was heard."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.opened: list[psycopg.Connection[Any]] = []
        self.away = False
        self.heard = 0
        self.bell = Notifier(self.connect, self._on_heard, draw=lambda: 0.1)

    def connect(self) -> psycopg.Connection[Any]:
        if self.away:
            raise psycopg.OperationalError("the server is away")
        self.opened.append(psycopg.connect(self.url))
        return self.opened[-1]

    def _on_heard(self) -> None:
        assert threading.current_thread().name == "ramet bell"
        self.heard += 1

    def listen(self) -> None:
        self.bell.listen()
        until_now(lambda: self.bell.hears, "it hears")

    @property
    def pid(self) -> int:
        """The server process of the connection that is open now."""
        [pid] = [connection.info.backend_pid for connection in self.opened if not connection.closed]
        return pid
