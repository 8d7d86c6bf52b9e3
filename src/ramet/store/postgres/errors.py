"""PostgreSQL errors: what each means for its transaction, how it is worded, and the mark that every commit leaves."""

from __future__ import annotations

import os
from collections.abc import Container

import psycopg
from psycopg import errors

from ramet.store.errors import StoreError, StoreFull, StoreNewer, StoreRefused
from ramet.store.schema.tables import SCHEMA_VERSION
from ramet.store.session import Row, StatementFailed, TransactionConflict


def first_line(error: BaseException | None) -> str:
    """Return the first line of an error, without what it quotes."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def store_error(error: psycopg.Error | StatementFailed | TransactionConflict, place: str) -> StoreError:
    """One line that says what to do, for what the server or its machine did to us."""
    if isinstance(error, psycopg.errors.DiskFull):
        return StoreFull(f"the disk of {place} is full: free some space; nothing of this step was written")
    if isinstance(error, psycopg.errors.CheckViolation) and error.diag.constraint_name == "ramet_writers_schema":
        return StoreNewer(f"{place} was migrated for newer programs: upgrade ramet; nothing of this step was written")
    refused = isinstance(error, psycopg.Error) and (error.sqlstate or "")[:2] in _WRONG
    return (StoreRefused if refused else StoreError)(f"{place}: {first_line(error)}")


_WRONG = frozenset({"22", "23", "27", "42", "44", "P0"})
"""Classes of errors that are about what was asked for: values, constraints, triggers, rights, names."""


class WriteRaced(Exception):
    """A verb met another one and lost: run it again from its beginning."""


class PartitionMissing(Exception):
    """There is no part of the history yet for these task numbers: make it, then run the verb again."""


class ConnectionLost(Exception):
    """The connection is gone, and nothing of the transaction was or will be committed."""


class CommitUnknown(Exception):
    """The connection was lost during the commit: only a look at the database shows whether it committed."""


def is_gone(error: psycopg.Error, connection: psycopg.Connection[Row]) -> bool:
    """Return True when it was the connection that failed and not the statement.

    The message of a server before it goes down for good (a panic: no room for its log) comes while the connection still
    seems to be open, and after a COMMIT it says nothing about whether that took effect. And every message of a server
    has a code: an operational error without one is the driver's own word about a connection that it may not have
    closed.
    """
    last_words = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
    own_words = error.sqlstate is None and isinstance(error, errors.OperationalError)
    return last_words or own_words or connection.closed or isinstance(
        error,
        errors.AdminShutdown | errors.CrashShutdown | errors.CannotConnectNow | errors.IdleInTransactionSessionTimeout
        | errors.DatabaseDropped | errors.ReadOnlySqlTransaction,
    )  # fmt: skip


def is_race(error: BaseException, taken: Container[str] = ()) -> bool:
    """Return True when another transaction came in between: a unique row of ours that was taken meanwhile counts, too.

    ``taken`` are such rows that the verb met when it was run before: it does not see them by looking.
    """
    if isinstance(error, errors.UniqueViolation):
        return (error.diag.table_name or "").startswith("ramet_") and taken_row(error) not in taken
    return isinstance(
        error, TransactionConflict | errors.DeadlockDetected | errors.SerializationFailure | errors.LockNotAvailable
    )


def taken_row(error: errors.UniqueViolation) -> str:
    """Return the existing row and the constraint that it satisfies."""
    return f"{error.diag.constraint_name} {error.diag.message_detail}"


def read_commit_marker(writer: int, commits: int) -> bytes:
    """Read how many transactions this writer has committed: the first question of a new connection. Its lock is held by
    every transaction of its own from the first round trip on, so the answer waits for one that the server still has and
    may yet commit: bytes that were sent arrive, although their answer is no longer awaited.
    """
    return (
        f"SELECT pg_advisory_xact_lock({writer}); "
        "INSERT INTO ramet_writers (id, commits, seen_at, schema) "
        f"VALUES ({writer}, {commits}, now(), {SCHEMA_VERSION}) "
        "ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING commits"
    ).encode()


def write_commit_marker(writer: int, commits: int) -> str:
    """Write the number of transactions that this writer has committed, as part of the one that commits."""
    return (
        "INSERT INTO ramet_writers (id, commits, seen_at, schema) "
        f"VALUES ({writer}, {commits}, now(), {SCHEMA_VERSION}) "
        "ON CONFLICT (id) DO UPDATE SET commits = excluded.commits, seen_at = excluded.seen_at"
    )


def new_writer() -> int:
    """Names a writer and its lock, and is drawn by no other."""
    return int.from_bytes(os.urandom(7))
