"""The connection that answers questions: one at a time, each on one snapshot; a lost connection is replaced."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg

from ramet.store.backoff import Backoff
from ramet.store.errors import StoreError, StoreUnreachable
from ramet.store.postgres.faults import is_gone
from ramet.store.postgres.session import PostgresSession
from ramet.store.session import Session

Answer = TypeVar("Answer")

PATIENCE_SECONDS = 30.0
"""How long a question waits for a database that is away, those before it in the line included."""
FIRST_PAUSE_SECONDS = 0.05
PAUSE_SECONDS_MAX = 1.0


class Reader:
    """Asks what changes nothing, and asks again when the connection is lost meanwhile."""

    def __init__(self, session: PostgresSession, open_session: Callable[[], PostgresSession]) -> None:
        """Begin with a session that is open.

        Args:
            session: outside of any transaction; it is closed with the reader.
            open_session: another one, when that is lost; raises psycopg.Error while the database is away.
        """
        self._session = session
        self._open = open_session
        self._asking = threading.Lock()
        self._closed = threading.Event()
        self._backoff = Backoff(first_seconds=FIRST_PAUSE_SECONDS, seconds_max=PAUSE_SECONDS_MAX)

    def run(self, verb: Callable[[Session], Answer]) -> Answer:
        """The answer of a verb that only reads, from one snapshot.

        Raises:
            StoreUnreachable: the database was away for too long.
            StoreError: the reader is closed.
            psycopg.Error: it refused a statement.
        """
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        with self._asking:
            while True:
                if self._closed.is_set():
                    raise StoreError("the database is closed: open it again")
                try:
                    return self._asked(verb)
                except psycopg.Error as error:
                    # A question that writes is refused for what it asks, not because the server is a standby.
                    refused = isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
                    if refused or not is_gone(error, self._session.connection):
                        raise
                    self._session.close()
                    self._closed.wait(self._backoff.failed())
                    if time.monotonic() >= give_up_at:
                        why = str(error).strip().splitlines()[0]
                        raise StoreUnreachable(
                            f"the database is away ({why}): see that it runs and can be reached, then try again"
                        ) from error

    def _asked(self, verb: Callable[[Session], Answer]) -> Answer:
        if self._session.connection.closed:
            self._session = self._open()
        session = self._session
        session.begin("look")
        try:
            answer = verb(session)
        finally:
            session.rollback()
        self._backoff.succeeded()
        return answer

    def close(self) -> None:
        """Close the connection; a question that waits for the database is given up."""
        self._closed.set()
        self._session.close()
