"""PostgreSQL connections: opened from an address, and the one that answers questions on a snapshot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from ramet.store.address import has_password, shown
from ramet.store.backoff import Backoff
from ramet.store.errors import StoreError, StoreMissing, StoreUnreachable
from ramet.store.postgres.errors import is_gone
from ramet.store.postgres.session import PostgresSession, connect
from ramet.store.session import Row, Session

_SAID = (
    # A server's message while a connection is made has no code of its own in the driver.
    ("does not exist", "database", StoreMissing,
     "there is no such database: create it (CREATE DATABASE), or correct the address"),
    ("password authentication failed", "", StoreError, "user or password is wrong: correct the address"),
    ("no password supplied", "", StoreError,
     "the server wants a password: write it into the address (user:password@host) or into ~/.pgpass"),
    ("does not exist", "role", StoreError, "there is no such user: create it (CREATE ROLE), or correct the address"),
    ("no pg_hba.conf entry", "", StoreError,
     "the server does not let this user in from here: add a line to its pg_hba.conf"),
    ("too many connections", "", StoreUnreachable,
     "all of its connections are taken: raise max_connections, or put a pooler before it"),
    ("too many clients", "", StoreUnreachable,
     "all of its connections are taken: raise max_connections, or put a pooler before it"),
    ("remaining connection slots", "", StoreUnreachable,
     "all of its connections are taken: raise max_connections, or put a pooler before it"),
    ("permission denied for database", "", StoreError,
     "this user may not connect to it: GRANT CONNECT ON DATABASE ... TO ..."),
    ("failed to resolve host", "", StoreUnreachable, "there is no host of this name: correct the address"),
    ("Connection refused", "", StoreUnreachable,
     "no server listens there: start the server (`ramet postgres start DIR` makes one), or correct host and port"),
    ("starting up", "", StoreUnreachable, "the server is starting: try again in a moment"),
    ("shutting down", "", StoreUnreachable, "the server is stopping: start it again"),
    ("read-write", "", StoreUnreachable, "none of the servers takes writes: promote one"),
)  # fmt: skip
"""Errors of the driver: text of the message, another text, our error, and the remedy."""


def open_connection(url: str) -> psycopg.Connection[Row]:
    """Connect as :func:`ramet.store.postgres.session.connect` does.

    Raises:
        StoreError: one line that says what to do, without the password.
    """
    check_address(url)
    try:
        return connect(url)
    except psycopg.Error as error:
        raise connect_error(error, url) from None  # Frames of the driver hold the password.


def check_address(url: str) -> None:
    """Refuse what cannot be read, before the driver says of it what it should not.

    Raises:
        StoreError: how an address is written.
    """
    right = "write postgresql://user:password@host:port/database"
    try:
        parsed = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise StoreError(f"cannot read the address {shown(url)}: {right}, other characters as %XX") from None
    if has_password(url) and "password" not in parsed:
        raise StoreError(f"cannot read the address {shown(url)}: write / : @ ? # of the password as %XX ({right})")


def connect_error(error: psycopg.Error, url: str) -> StoreError:
    """Why there is no connection, and what to do."""
    said = " ".join(str(error).split())
    for text, also, kind, do in _SAID:
        if text in said and also in said:
            return kind(f"cannot connect to {shown(url)}: {do}")
    if isinstance(error, errors.ConnectionTimeout):
        return StoreUnreachable(f"cannot connect to {shown(url)}: no answer: is a firewall between, is it the address?")
    return StoreUnreachable(f"cannot connect to {shown(url)}: {said}")


def ahead_seconds(connection: psycopg.Connection[Row]) -> float:
    """Return the seconds by which the server's clock is ahead of this machine's."""
    before = time.time()
    [(there,)] = connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchall()
    return float(there) - (before + time.time()) / 2


Answer = TypeVar("Answer")

PATIENCE_SECONDS = 30.0
"""Seconds for which a question waits for a database that cannot be reached, those before it in the line included."""
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
        """Return the answer of a verb that only reads, from one snapshot.

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
        except BaseException:
            session.rollback()
            raise
        session.end()
        self._backoff.succeeded()
        return answer

    def close(self) -> None:
        """Close the connection; a question that waits for the database is given up."""
        self._closed.set()
        self._session.close()
