"""PostgreSQL: verbs inside a transaction that the caller opened on a connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

import psycopg

from ramet.store.errors import StoreBusy, StoreError
from ramet.store.postgres_errors import store_error
from ramet.store.postgres_history import Room
from ramet.store.postgres_session import NoRoom, PostgresSession, is_race
from ramet.store.session import Row, Session, StatementFailed

Answer = TypeVar("Answer")


def run_within(
    connection: object,
    place: str,
    clock: Callable[[], float] | None,
    base: int,
    verb: Callable[[Session], Answer],
    *,
    room: Room,
    opened: Callable[[], psycopg.Connection[Row]],
) -> Answer:
    """Run a verb in the caller's transaction and in the caller's thread. It takes effect if and when that commits.

    Raises:
        StoreError: no psycopg connection, none of this database, or no transaction is open on it.
        StoreBusy: it met another transaction: roll back and begin anew.
    """
    if not isinstance(connection, psycopg.Connection):
        raise StoreError(f"connection is a {type(connection).__name__}: give a psycopg.Connection to {place}")
    session = PostgresSession(connection, clock)
    if not session.in_transaction:
        raise StoreError(
            "the connection has no open transaction: open one with connection.transaction() first, submit, then commit"
        )
    try:
        session.begin_within()
        session.fence_base = base
        session.room = room
        try:
            with session.savepoint():
                return verb(session)
        except NoRoom:
            # Beside the caller's transaction: what is made here is there whatever becomes of that.
            with closing(opened()) as other:
                room.make(other)
            with session.savepoint():
                return verb(session)
    except StatementFailed as error:
        raise StoreError(f"{place}: {error}") from error
    except psycopg.Error as error:
        if is_race(error):
            raise StoreBusy(f"{place}: another transaction came in between: roll back and submit again") from error
        raise store_error(error, place) from error
