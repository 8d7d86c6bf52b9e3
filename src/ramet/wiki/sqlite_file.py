"""A SQLite file of the pipeline's own: the one place of this package that knows the driver.

A graph and indexes of big sources are kept here; task state is in the engine's store.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Self
from urllib.parse import quote

from ramet.commands.errors import one_line
from ramet.wiki.errors import WikiError

BUSY_SECONDS = 30.0
"""Most seconds that a statement waits for another connection's lock before it fails."""

HEADER = b"SQLite format 3\x00"
"""The first bytes of every SQLite file that holds something."""

ROWS_AT_ONCE = 256
"""Rows of a stream that are read between two turns of other threads."""

Row = tuple[Any, ...]


class SqliteFile:
    """One open connection. Its methods may be called from any thread; they take turns.

    Every error of the driver leaves as the caller's `failure`, in one line that names the file. Statements commit
    by themselves outside of `transaction`.
    """

    def __init__(
        self,
        path: Path,
        *,
        failure: type[WikiError],
        read_only: bool = False,
        immutable: bool = False,
        pragmas: Mapping[str, str | int] | None = None,
    ) -> None:
        """Open `path`, which is made if it is not there, unless it is opened `read_only`.

        `immutable` promises that the file is never changed in place; it is then read without any lock.
        """
        self.path = path
        self._failure = failure
        self._turn = threading.RLock()
        mode = "ro" if read_only or immutable else "rwc"
        address = f"file:{quote(str(path.absolute()))}?mode={mode}{'&immutable=1' if immutable else ''}"
        try:
            self._connection = sqlite3.connect(
                address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            self._fail(error)
        try:
            for name, value in (pragmas or {}).items():
                self.rows(f"PRAGMA {name} = {value}")
        except BaseException:
            self._connection.close()
            raise

    @classmethod
    def snapshot(cls, path: Path, *, failure: type[WikiError]) -> Self:
        """Open a file in the write-ahead mode as it is now, beside a writer or without one; close it soon."""
        # Where nothing can be written beside the file, no process can be writing to it.
        fixed = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
        file = cls(path, failure=failure, read_only=True, immutable=fixed)
        try:
            file.rows("BEGIN")
        except BaseException:
            file.close()
            raise
        return file

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run one statement; what it returns."""
        with self._turn:
            try:
                return self._connection.execute(sql, parameters).fetchall()
            except (sqlite3.Error, OverflowError, UnicodeError) as error:
                self._fail(error)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each of `rows`."""
        with self._turn:
            try:
                self._connection.executemany(sql, rows)
            except (sqlite3.Error, OverflowError, UnicodeError) as error:
                self._fail(error)

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Run one query and hand its rows over one by one; other statements may run meanwhile."""
        with self._turn:
            try:
                cursor = self._connection.execute(sql, parameters)
            except (sqlite3.Error, OverflowError, UnicodeError) as error:
                self._fail(error)
        try:
            while True:
                with self._turn:
                    try:
                        rows = cursor.fetchmany(ROWS_AT_ONCE)
                    except sqlite3.Error as error:
                        self._fail(error)
                if not rows:
                    return
                yield from rows
        finally:
            cursor.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all that is written inside together, or nothing if an exception leaves the block.

        Other threads wait. The write lock is taken at the start, so that another writer is met there and not halfway.
        """
        with self._turn:
            self.rows("BEGIN IMMEDIATE")
            try:
                yield
                self.rows("COMMIT")
            except BaseException:
                # A full disk, say, has ended the transaction already.
                if self._connection.in_transaction:
                    self.rows("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the connection; further calls do nothing."""
        with self._turn:
            self._connection.close()

    def _fail(self, error: Exception) -> NoReturn:
        remedy = ": free some space and run again" if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL" else ""
        raise self._failure(f"{self.path}: {one_line(error)}{remedy}") from error


def looks_like_sqlite(path: Path) -> bool:
    """Return whether a file begins as a SQLite file does; an unreadable one does not."""
    try:
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER
    except OSError:
        return False
