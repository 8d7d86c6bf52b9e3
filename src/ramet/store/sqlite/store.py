"""The SQLite store: one file, one writer thread per process, several processes."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ramet.store import wall_time
from ramet.store.errors import StoreError, StoreMissing, StoreRefused, StoreUnsafe
from ramet.store.maintenance import sweep as sweeping
from ramet.store.processes.registry import ProcessRegistry, network_file_system
from ramet.store.requests import check_arguments
from ramet.store.rows.tallies import EndsCallback
from ramet.store.rows.workers import CommitTimer
from ramet.store.schema import versions as known
from ramet.store.schema.versions import Versions, check_newer, store_versions, versions
from ramet.store.session import (
    Session,
    StatementFailed,
    TransactionConflict,
    TransactionRolledBack,
    begin_epoch,
    fence_base,
)
from ramet.store.sqlite.group_commit import InlineWriter, ThreadWriter, run_alone
from ramet.store.sqlite.session import Hook, OpenedFile, SqliteSession, connect, identity, store_error
from ramet.store.sqlite.within_transaction import run_within
from ramet.store.store import Store, writes

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class SqliteStore(Store):
    """The store on a SQLite file."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        clock: Callable[[], float] = wall_time.now,
        inline: bool = False,
        hook: Hook | None = None,
    ) -> None:
        """Open the file and bring its schema up to date.

        Args:
            path: the database file.
            create: False refuses a path without a database.
            clock: Unix seconds.
            inline: run every verb in the calling thread, in the order of the calls (simulation).
            hook: called around every statement (crash tests).
        """
        _check_place(path, create)
        self.path = path
        self._clock = clock
        before = identity(path)
        self._connection = connect(path)
        try:
            session = SqliteSession(self._connection, clock, hook)
            _migrate(session, path, create)
            session.fence_base = _begun_fence_base(session)
            session.place = self._place = OpenedFile(path, before)
        except sqlite3.Error as error:
            self._connection.close()
            raise store_error(error, path) from error
        except StoreError:
            self._connection.close()
            raise
        if not inline:
            self._connection.execute("PRAGMA busy_timeout = 0")  # The writer waits by itself.
        self._fence_base = session.fence_base
        self._neighbours = ProcessRegistry(path)
        ring = self._neighbours.ring
        self._writer = InlineWriter(session, ring) if inline else ThreadWriter(session, ring, f"ramet {path.name}")
        self._reader = SqliteSession(self._connection if inline else connect(path, read_only=True), clock, hook)
        self._reading = threading.RLock()  # a hook inside a read may close the store, as a process's end does
        self._timer = CommitTimer()
        self._inline = inline
        self._closed = False

    async def _write(self, verb: Callable[[Session], Answer]) -> Answer:
        check_arguments(verb, writes=True)
        return await self._write_beside(verb)

    # One writer does one verb at a time, and gathers by itself those that wait.
    async def _write_beside(self, verb: Callable[[Session], Answer], name: str = "other") -> Answer:
        began = self._timer.monotonic()
        try:
            answer = await self._writer.run(verb)
            if not self._inline:
                self._timer.note(name, began)
            return answer
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error
        except TransactionRolledBack as error:
            raise StoreRefused(f"{self.path}: {error}") from error
        except (StatementFailed, TransactionConflict) as error:
            raise StoreError(f"{self.path}: {error}") from error

    async def _write_together(
        self, verb: Callable[[Session, Sequence[Item]], Sequence[Answer]], items: Sequence[Item], name: str = "other"
    ) -> Sequence[Answer]:
        return await self._write_beside(lambda session: verb(session, items), name)

    async def _read(self, verb: Callable[[Session], Answer]) -> Answer:
        check_arguments(verb, writes=False)
        try:
            return self._read_now(verb) if self._inline else await asyncio.to_thread(self._read_now, verb)
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error

    def _read_now(self, verb: Callable[[Session], Answer]) -> Answer:
        with self._reading:
            self._reader.begin(write=False)
            try:
                self._reader.start_verb()
                answer = verb(self._reader)
                self._place.check()
                return answer
            finally:
                self._reader.rollback()

    def _within(self, connection: object, verb: Callable[[Session], Answer]) -> Answer:
        self._place.check()
        return run_within(connection, self.path, self._clock, self._fence_base, verb)

    def watch_ends(self, ends: EndsCallback) -> None:
        self._writer.on_ends = ends

    async def _follow(self, task_ids: Sequence[str], tracking_ids: Sequence[str] = ()) -> None:
        """Nothing: one transaction writes at a time anyway."""

    _sweep = writes(sweeping.sweep)

    @property
    def address(self) -> str:
        return str(self.path)

    @property
    def ahead_seconds(self) -> float:
        return 0.0  # It is this machine's.

    def close_now(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.stop()
        self._neighbours.leave()
        with self._reading:  # A cancelled read may still use the connection in its thread.
            self._reader.close()
        self._connection.close()


def _check_place(path: Path, create: bool) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a folder: give the path of a database file in it")
    if not path.exists():
        if not create:
            raise StoreMissing(f"no database at {path}: submit something first, or give the right path with --db")
        if not path.parent.is_dir():
            raise StoreError(f"the folder {path.parent} does not exist: create it or give another path")
    kind = network_file_system(path.parent)
    if kind is not None:
        raise StoreUnsafe(
            f"{path} is on a network file system ({kind}), where SQLite cannot keep its promises: "
            "use a local disk, or PostgreSQL for many machines"
        )


def _migrate(session: SqliteSession, path: Path, create: bool) -> None:
    """Bring the schema to this version, in one transaction, under the write lock.

    Raises:
        StoreMissing: the file has no schema of ours and ``create`` is False; it may be another program's database.
        StoreNewer: a newer ramet wrote it.
    """

    plan = known.PLAN

    def run(_: Session) -> None:
        found = versions_of(session)
        if not found.schema and not create:
            raise StoreMissing(f"{path} is not a ramet database: give the right path with --db")
        check_newer(found, str(path))
        if found.schema >= plan.version:
            return
        if 0 < found.schema < plan.compatible_from[-1]:
            _require_no_workers(path)
        for step in plan.steps[found.schema :]:
            for statement in step:
                session.run(statement)
        store_versions(session, plan)

    if versions_of(session).schema != plan.version:
        run_alone(session, run, lambda: None)


def _begun_fence_base(session: SqliteSession) -> int:
    """Return the number at which fences begin in this copy of the database."""
    base = fence_base(session)
    while base < 0:  # of several that open a copy at once, one begins its epoch
        run_alone(session, lambda inside: begin_epoch(inside) if fence_base(inside) < 0 else 0, lambda: None)
        base = fence_base(session)
    return base


def _require_no_workers(path: Path) -> None:
    """Workers of the older version could not go on."""
    alive = ProcessRegistry(path).alive()
    if alive:
        raise StoreError(
            f"{len(alive)} workers of an older ramet run on {path} ({alive[0]}), and this migration is not for them: "
            "stop them first"
        )


def versions_of(session: Session) -> Versions:
    """Of any file."""
    if not session.rows("SELECT 1 FROM sqlite_schema WHERE name = 'ramet_counters'"):
        return Versions(0, 0)
    return versions(session)


def version_of_file(path: Path) -> int:
    """Return the schema version of a file, which is left as it is; 0 without our tables.

    Raises:
        StoreNewer: a newer ramet wrote it.
    """
    connection = connect(path, read_only=True)
    try:
        found = versions_of(SqliteSession(connection, time.time))
        check_newer(found, str(path))
        return found.schema
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    finally:
        connection.close()
