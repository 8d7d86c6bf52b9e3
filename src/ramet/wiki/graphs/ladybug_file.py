"""A LadybugDB file, opened so that one writer and many readers can share it safely.

LadybugDB's own lock holds between processes but not within one, and is lost when the process opens the file a
second time and closes it again. And a reader cannot open the file while the writer folds its log into it (a
checkpoint), nor would its pages hold still. So there are two locks of ours beside the file, freed by the
system when a process dies: `FILE.writer`, which the writer holds, and `FILE.readers`, which every reader
shares and a checkpoint needs for itself. A checkpoint that finds readers is put off; it never waits for
one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.wiki.errors import WIKI_EXTRA, GraphError
from ramet.wiki.graphs.graph_file import GraphLocks

BUFFER_POOL_BYTES = 256 * 1024 * 1024
"""Memory for pages, in bytes; the database's own default is most of the machine's."""

LOG_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of log at which a writer folds it into the file. A reader replays the log when it opens."""

THREADS_MAX = 2
"""Most threads that one query may use."""


class LadybugFile:
    """One open LadybugDB file. Its methods may be called from any thread; they take turns."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        """Open `path`, which a writer may also create; a reader's snapshot is fixed here.

        Raises:
            GraphBusy: another writer holds it.
            GraphError: it cannot be opened.
            ExtraMissing: the extra `[wiki]` is not installed.
        """
        self.path = path
        self.read_only = read_only
        self._turn = threading.RLock()
        self._closed = False
        ladybug = import_extra("ladybug", WIKI_EXTRA)
        self._locks = GraphLocks.shared(path) if read_only else GraphLocks.exclusive(path)
        try:
            self._database = _open_for_reading(ladybug, path) if read_only else _open(ladybug, path)
            self._connection = ladybug.Connection(self._database)
            if not read_only:
                # Closing must not checkpoint behind the back of readers; `_checkpoint` asks them first.
                self._execute("CALL force_checkpoint_on_close=false", None)
        except RuntimeError as error:
            self._locks.release()
            raise GraphError(f"cannot open {path} as a graph: {one_line(error)}") from error
        except BaseException:
            self._locks.release()
            raise

    def read(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Return the rows that `query` returns.

        Raises:
            GraphError: the database refused it.
        """
        with self._turn:
            try:
                return self._execute(query, parameters)
            except RuntimeError as error:
                raise GraphError(f"{self.path} did not answer: {one_line(error)}") from error

    def stream(self, query: str) -> Iterator[Any]:
        """Yield the rows that `query` returns, one by one, while others wait for their turn.

        Raises:
            GraphError: the database refused it.
        """
        with self._turn:
            try:
                with closing(self._connection.execute(query)) as result:
                    while result.has_next():
                        yield result.get_next()
            except RuntimeError as error:
                raise GraphError(f"{self.path} did not answer: {one_line(error)}") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all that is written inside together, or nothing if an exception leaves the block.

        Raises:
            GraphError: the database refused a statement or the commit.
        """
        assert not self.read_only
        with self._turn:
            try:
                self._execute("BEGIN TRANSACTION", None)
                try:
                    yield
                    self._execute("COMMIT", None)
                except BaseException:
                    self._roll_back()
                    raise
            except RuntimeError as error:
                raise GraphError(f"{self.path} could not be written: {one_line(error)}") from error
            self._checkpoint(LOG_BYTES_MAX)

    def write(self, query: str, rows: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Run one statement of a `transaction`; one that reads `$rows` is left out when they are empty."""
        if rows is None:
            self._execute(query, None)
        elif rows:
            self._execute(query, {"rows": rows})

    def close(self) -> None:
        """Close the file and free its locks; further calls do nothing. A writer tries to fold its log in."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            try:
                if not self.read_only:
                    self._checkpoint(0)
                self._connection.close()
                self._database.close()
            finally:
                self._locks.release()

    def _execute(self, query: str, parameters: Mapping[str, Any] | None) -> list[Any]:
        result = self._connection.execute(query, dict(parameters) if parameters is not None else None)
        try:
            rows: list[Any] = result.get_all()
            return rows
        finally:
            result.close()

    def _roll_back(self) -> None:
        try:
            self._execute("ROLLBACK", None)
        except RuntimeError as error:
            # A statement that fails has already ended its transaction.
            if "No active transaction" not in str(error):
                raise

    def _checkpoint(self, log_bytes: int) -> None:
        """Fold the log into the file if it is larger than `log_bytes` and there is no reader."""
        log = self.path.with_name(self.path.name + ".wal")
        if not log.exists() or log.stat().st_size <= log_bytes:
            return
        with self._locks.without_readers() as alone:
            if not alone:
                return
            try:
                self._execute("CHECKPOINT", None)
            except RuntimeError as error:
                raise GraphError(f"{self.path} could not be written: {one_line(error)}") from error


def _open(ladybug: Any, path: Path, **options: Any) -> Any:
    return ladybug.Database(
        str(path), buffer_pool_size=BUFFER_POOL_BYTES, max_num_threads=THREADS_MAX, auto_checkpoint=False, **options
    )


def _open_for_reading(ladybug: Any, path: Path) -> Any:
    # A log that ends in the middle of what a writer is writing just now is a snapshot from before it.
    options = {"read_only": True, "throw_on_wal_replay_failure": False}
    try:
        return _open(ladybug, path, **options)
    except RuntimeError as error:
        if "read-write mode" not in str(error):
            raise
    # A writer was killed in the middle of a checkpoint. Only a writer can finish it.
    locks = GraphLocks.exclusive(path)
    try:
        _open(ladybug, path).close()
    finally:
        locks.release()
    return _open(ladybug, path, **options)
