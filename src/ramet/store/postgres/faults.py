"""What an error of PostgreSQL means for the transaction that met it: a race, no room, or a connection that is gone."""

from __future__ import annotations

from collections.abc import Container

import psycopg
from psycopg import errors

from ramet.store.session import Overtaken, Row


class Raced(Exception):
    """A verb met another one and lost: run it again from its beginning."""


class NoRoom(Exception):
    """There is no part of the history yet for these task numbers: make it, then run the verb again."""


class Lost(Exception):
    """The connection is gone, and nothing of the transaction was or will be committed."""


class Unknown(Exception):
    """The connection went while it was being told to commit: only looking tells whether it did."""


def is_gone(error: psycopg.Error, connection: psycopg.Connection[Row]) -> bool:
    """True when it was the connection that failed and not the statement.

    What a server says before it goes down for good (a panic: no room for its log) comes while the connection still
    seems to be open, and after a COMMIT it says nothing about whether that took effect. And whatever a server says has
    a code: an operational error without one is the driver's own word about a connection that it may not have closed.
    """
    last_words = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
    own_words = error.sqlstate is None and isinstance(error, errors.OperationalError)
    return last_words or own_words or connection.closed or isinstance(
        error,
        errors.AdminShutdown | errors.CrashShutdown | errors.CannotConnectNow | errors.IdleInTransactionSessionTimeout
        | errors.DatabaseDropped | errors.ReadOnlySqlTransaction,
    )  # fmt: skip


def is_race(error: BaseException, taken: Container[str] = ()) -> bool:
    """True when another transaction came in between: a unique row of ours that was taken meanwhile is one, too.

    ``taken`` are such rows that the verb met when it was run before: it does not see them by looking.
    """
    if isinstance(error, errors.UniqueViolation):
        return (error.diag.table_name or "").startswith("ramet_") and taken_row(error) not in taken
    return isinstance(
        error, Overtaken | errors.DeadlockDetected | errors.SerializationFailure | errors.LockNotAvailable
    )


def taken_row(error: errors.UniqueViolation) -> str:
    """Which row of which constraint was there already."""
    return f"{error.diag.constraint_name} {error.diag.message_detail}"
