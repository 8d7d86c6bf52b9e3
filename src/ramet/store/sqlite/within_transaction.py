"""SQLite: verbs inside a transaction that the caller opened on a connection of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from ramet.store.errors import StoreBusy, StoreError
from ramet.store.rows import tallies
from ramet.store.session import Session, StatementFailed
from ramet.store.sqlite.session import SqliteSession, is_busy, store_error

Answer = TypeVar("Answer")


def run_within(
    connection: object, path: Path, clock: Callable[[], float], base: int, verb: Callable[[Session], Answer]
) -> Answer:
    """Run a verb in the caller's transaction and in the caller's thread. It takes effect if and when that commits.

    Raises:
        StoreError: no sqlite3 connection, none of this database, or no transaction is open on it.
        StoreBusy: the caller's transaction cannot become a writing one just now. Nothing of the verb was written.
    """
    if not isinstance(connection, sqlite3.Connection):
        raise StoreError(f"connection is a {type(connection).__name__}: give a sqlite3.Connection of {path}")
    try:
        if not connection.in_transaction:
            raise StoreError(
                "the connection has no open transaction: run BEGIN IMMEDIATE on it first, submit, then commit"
            )
        with _plain_rows(connection):
            _check_file(connection, path)
            session = SqliteSession(connection, clock)
            session.fence_base = base
            with session.savepoint():
                session.start_verb()
                answer = verb(session)
                tallies.write(session)
            return answer
    except StatementFailed as error:
        raise StoreError(f"{path}: {error}") from error
    except sqlite3.Error as error:
        if is_busy(error):
            raise StoreBusy(
                f"{path}: the connection's transaction cannot write now ({error}): begin it with BEGIN IMMEDIATE"
            ) from error
        raise store_error(error, path) from error


@contextmanager
def _plain_rows(connection: sqlite3.Connection) -> Iterator[None]:
    """Return plain rows, whatever shape the caller wants its own rows in: the verbs read tuples and text."""
    rows, text = connection.row_factory, connection.text_factory
    connection.row_factory, connection.text_factory = None, str
    try:
        yield
    finally:
        connection.row_factory, connection.text_factory = rows, text


def _check_file(connection: sqlite3.Connection, path: Path) -> None:
    files = [file for _, name, file in connection.execute("PRAGMA database_list") if name == "main"]
    if not files[0] or not Path(files[0]).samefile(path):
        raise StoreError(f"the connection is to {files[0] or 'a database in memory'}: give one to {path}")
