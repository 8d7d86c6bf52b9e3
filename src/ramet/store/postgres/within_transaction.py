"""PostgreSQL: verbs inside a transaction that the caller opened on a connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple, TypeVar

import psycopg

from ramet.store.errors import StoreBusy, StoreError
from ramet.store.postgres.errors import PartitionMissing, is_race, store_error
from ramet.store.postgres.partitions import Partitions
from ramet.store.postgres.session import PostgresSession
from ramet.store.rows import tallies
from ramet.store.session import Row, Session, StatementFailed

Answer = TypeVar("Answer")


TRIES = 3
"""Times that a verb that meets others runs before the caller's transaction has to start over."""
_WHERE = "SELECT oid, current_schema() FROM pg_database WHERE datname = current_database()"


class Database(NamedTuple):
    """Identity of a database."""

    place: str
    """Address for people."""
    identity: str
    """Identity from :func:`ramet.store.postgres.processes.identity_of`."""


def run_within(
    connection: object,
    database: Database,
    clock: Callable[[], float] | None,
    base: int,
    verb: Callable[[Session], Answer],
    *,
    room: Partitions,
    opened: Callable[[], psycopg.Connection[Row]],
) -> Answer:
    """Run a verb in the caller's transaction and in the caller's thread. It takes effect if and when that commits.

    Args:
        connection: psycopg's, with a transaction, or one that begins its transactions by itself.
        database: the store's.
        clock: see :class:`ramet.store.postgres.store.PostgresStore`.
        base: where fences of new tasks begin.
        verb: what to run; what it writes is undone when it is refused, and the transaction goes on.

    Raises:
        StoreError: not a psycopg connection, another database, or no transaction is open on it.
        StoreBusy: it met another transaction: roll back and start over.
    """
    place = database.place
    if not isinstance(connection, psycopg.Connection):
        raise StoreError(f"connection is a {type(connection).__name__}: give a psycopg.Connection to {place}")
    if connection.closed:
        raise StoreError(f"the connection is closed: give an open one to {place}")
    session = PostgresSession(connection, clock)
    if connection.autocommit and not session.in_transaction:
        raise StoreError(
            "the connection has no open transaction: open one with connection.transaction() first, submit, then commit"
        )
    session.borrowed = session.last_try = True
    session.fence_base = base
    try:
        _check(session, database)
        session.room = room
        try:
            return _run(session, verb, place)
        except PartitionMissing:
            # Beside the caller's transaction: what is made here is there whatever becomes of that.
            with closing(opened()) as other:
                room.make(other)
            return _run(session, verb, place)
    except psycopg.Error as error:
        raise store_error(error, place) from error


def _run(session: PostgresSession, verb: Callable[[Session], Answer], place: str) -> Answer:
    tried = 0
    while True:
        session.begin_within()
        try:
            with session.savepoint():
                answer = verb(session)
                tallies.write(session)
            return answer
        except StatementFailed as error:
            tried += 1
            if error.__cause__ is None or not is_race(error.__cause__):
                raise StoreError(f"{place}: {error}") from error
            if tried == TRIES:
                raise StoreBusy(f"{place}: another transaction came in between: roll back and submit again") from error


def _check(session: PostgresSession, database: Database) -> None:
    """Check that the tables that the connection sees are the store's. A server need not show its identity to
    everybody.
    """
    [(oid, schema)] = session.rows(_WHERE)
    system, _, names = database.identity.partition(":")
    identifier = system
    if system:
        try:
            with session.savepoint():
                [(identifier,)] = session.rows("SELECT system_identifier::text FROM pg_control_system()")
        except StatementFailed:
            identifier = system
    if (identifier, f"{oid}:{schema}") != (system, names):
        raise StoreError(f"the connection is to another database: give one to {database.place}")
