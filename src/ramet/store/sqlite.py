"""The SQLite store: one file, one writer thread per process, several processes."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ramet.model.blobs import NewBlob
from ramet.model.lineage import Lineage
from ramet.model.task import Block, Task, TaskHistory
from ramet.store import blobs, claiming, creating, persons, querying, settings, settling, sweeping, transacting
from ramet.store.base import (
    Claimed,
    ClaimRequest,
    KindCount,
    NewLineage,
    Ran,
    Settled,
    Settlement,
    Statement,
    Submitted,
    Swept,
    TaskPage,
    TaskQuery,
)
from ramet.store.epoch import begin_epoch, fence_base
from ramet.store.errors import StoreError, StoreMissing, StoreNewer, StoreUnsafe
from ramet.store.group_commit import InlineWriter, ThreadWriter, run_alone
from ramet.store.neighbours import Neighbours, network_file_system
from ramet.store.schema import MIGRATIONS, SCHEMA_VERSION
from ramet.store.session import Session, StatementFailed
from ramet.store.sqlite_session import Hook, SqliteSession, connect, store_error
from ramet.store.verbs_binding import BindingVerbs
from ramet.store.verbs_cost import CostVerbs
from ramet.store.verbs_flow import FlowVerbs
from ramet.store.verbs_import import ImportVerbs
from ramet.store.verbs_monitor import MonitorVerbs
from ramet.store.verbs_operations import OperationsVerbs
from ramet.store.verbs_persons import PersonsVerbs
from ramet.store.verbs_schedules import ScheduleVerbs
from ramet.store.within import run_within

Answer = TypeVar("Answer")


class SqliteStore(
    FlowVerbs, PersonsVerbs, BindingVerbs, CostVerbs, ScheduleVerbs, MonitorVerbs, OperationsVerbs, ImportVerbs
):
    """The Store protocol on a SQLite file. See :class:`ramet.store.base.Store` for what each method promises."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        clock: Callable[[], float] = time.time,
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
        self._connection = connect(path)
        try:
            session = SqliteSession(self._connection, clock, hook)
            _migrate(session, path, create)
            session.fence_base = _begun(session)
        except sqlite3.Error as error:
            self._connection.close()
            raise store_error(error, path) from error
        except StoreError:
            self._connection.close()
            raise
        self._fence_base = session.fence_base
        self._neighbours = Neighbours(path)
        ring = self._neighbours.ring
        self._writer = InlineWriter(session, ring) if inline else ThreadWriter(session, ring, f"ramet {path.name}")
        self._reader = SqliteSession(self._connection if inline else connect(path, read_only=True), clock, hook)
        self._reading = threading.Lock()
        self._inline = inline
        self._closed = False

    async def _write(self, verb: Callable[[Session], Answer]) -> Answer:
        try:
            return await self._writer.run(verb)
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error
        except StatementFailed as error:
            raise StoreError(f"{self.path}: {error}") from error

    async def _read(self, verb: Callable[[Session], Answer]) -> Answer:
        try:
            return self._read_now(verb) if self._inline else await asyncio.to_thread(self._read_now, verb)
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error

    def _read_now(self, verb: Callable[[Session], Answer]) -> Answer:
        with self._reading:
            self._reader.begin(write=False)
            try:
                self._reader.start_verb()
                return verb(self._reader)
            finally:
                self._reader.rollback()

    async def submit(self, lineages: Sequence[NewLineage]) -> list[Submitted]:
        return await self._write(partial(creating.submit, lineages=lineages))

    def submit_within(self, connection: object, lineages: Sequence[NewLineage]) -> list[Submitted]:
        return run_within(
            connection, self.path, self._clock, self._fence_base, partial(creating.submit, lineages=lineages)
        )

    async def claim(self, request: ClaimRequest) -> list[Claimed]:
        return await self._write(partial(claiming.claim, request=request))

    async def settle(self, batch: Sequence[Settlement]) -> list[Settled]:
        return await self._write(partial(settling.settle, batch=batch))

    async def put_blob(self, settlement: Settlement, blob: NewBlob, bytes_max: int) -> Settled:
        return await self._write(partial(transacting.put_blob, settlement=settlement, blob=blob, bytes_max=bytes_max))

    async def blob(self, tracking_id: str, sha256: str) -> bytes | None:
        return await self._read(partial(blobs.read_blob, tracking_id=tracking_id, sha256=sha256))

    async def transact(self, settlement: Settlement, statements: Sequence[Statement]) -> tuple[Settled, list[Ran]]:
        return await self._write(partial(transacting.transact, settlement=settlement, statements=statements))

    async def heartbeat(self, held: Sequence[tuple[int, int]], lease_seconds: float) -> frozenset[int]:
        return await self._write(partial(claiming.heartbeat, held=held, lease_seconds=lease_seconds))

    async def ends(self) -> int:
        return await self._read(querying.ends)

    async def sweep(self, *, limit: int = 500) -> Swept:
        dead = self._neighbours.dead()
        swept = await self._write(
            partial(sweeping.sweep, limit=limit, dead_workers=self._neighbours.last_running(dead))
        )
        if not swept.reclaimed and not swept.poisoned:
            for name in dead:
                self._neighbours.forget(name)
        return swept

    async def cancel(self, task_id: str, *, tree: bool, by: str, reason: str | None = None) -> bool:
        return await self._write(partial(persons.cancel, task_id=task_id, tree=tree, by=by, reason=reason))

    async def cancel_lineage(self, tracking_id: str, *, by: str, reason: str | None = None) -> bool:
        return await self._write(partial(persons.cancel_lineage, tracking_id=tracking_id, by=by, reason=reason))

    async def revive(
        self,
        task_ids: Sequence[str],
        *,
        by: str,
        reason: str | None = None,
        extend_seconds: float | None = None,
    ) -> list[str]:
        return await self._write(
            partial(persons.revive, task_ids=task_ids, by=by, reason=reason, extend_seconds=extend_seconds)
        )

    async def get(self, task_id: str) -> Task | None:
        return await self._read(partial(querying.get, task_id=task_id))

    async def history(self, task_id: str) -> TaskHistory | None:
        return await self._read(partial(querying.history, task_id=task_id))

    async def tasks(self, query: TaskQuery) -> TaskPage:
        return await self._read(partial(querying.tasks, query=query))

    async def stale(self, tracking_id: str | None = None, *, limit: int = 100) -> list[Task]:
        return await self._read(partial(querying.stale, tracking_id=tracking_id, limit=limit))

    async def has_live(self, kind: str, key: str, tracking_id: str | None = None) -> bool:
        return await self._read(partial(querying.has_live, kind=kind, key=key, tracking_id=tracking_id))

    async def lineage(self, tracking_id: str) -> Lineage | None:
        return await self._read(partial(querying.lineage, tracking_id=tracking_id))

    async def lineages(self, *, states: Iterable[str] = (), limit: int = 100) -> list[Lineage]:
        return await self._read(partial(querying.lineages, states=states, limit=limit))

    async def roots(self, tracking_id: str) -> list[Task]:
        return await self._read(partial(querying.roots, tracking_id=tracking_id))

    async def child_counts(self, task_ids: Sequence[str]) -> dict[str, int]:
        return await self._read(partial(querying.child_counts, task_ids=task_ids))

    async def blocks(self, tracking_id: str, *, limit: int = 1_000, **filters: str) -> list[Block]:
        return await self._read(partial(querying.blocks, tracking_id=tracking_id, limit=limit, filters=filters))

    async def block_totals(self, tracking_id: str) -> dict[tuple[str, str], int]:
        return await self._read(partial(querying.block_totals, tracking_id=tracking_id))

    async def counts(self, tracking_id: str | None = None) -> list[KindCount]:
        return await self._read(partial(querying.counts, tracking_id=tracking_id))

    async def settings(self) -> dict[str, Any]:
        return await self._read(settings.settings)

    async def put_setting(self, key: str, value: Any, value_type: str, description: str) -> None:
        await self._write(
            partial(settings.put_setting, key=key, value=value, value_type=value_type, description=description)
        )

    async def ensure_tables(self, statements: Sequence[str]) -> None:
        def run(session: Session) -> None:
            for statement in statements:
                session.run(statement)

        await self._write(run)

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return await self._read(lambda session: session.rows(sql, parameters))

    async def idle(self, kinds: Sequence[str]) -> bool:
        return await self._read(partial(querying.idle, kinds=kinds))

    async def next_due_at(self) -> float | None:
        return await self._read(querying.next_due_at)

    async def wait_for_work(self, timeout_seconds: float) -> None:
        await self._neighbours.wait(timeout_seconds)

    @property
    def slots_folder(self) -> Path | None:
        return self._neighbours.folder

    def join(self, worker: str, *, unless_joined: bool = False) -> None:
        self._neighbours.join(worker, unless_joined=unless_joined)

    async def close(self) -> None:
        self.close_now()

    def close_now(self) -> None:
        """Finish what waits to be written and release the file."""
        if self._closed:
            return
        self._closed = True
        self._writer.stop()
        self._neighbours.leave()
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
        StoreMissing: the file has no schema of ours and ``create`` is False; it may be somebody else's database.
        StoreNewer: a newer ramet wrote it.
    """

    def run(_: Session) -> None:
        version = schema_version(session)
        if not version and not create:
            raise StoreMissing(f"{path} is no ramet database: give the right path with --db")
        if version > SCHEMA_VERSION:
            raise StoreNewer(
                f"{path} has schema {version}, this ramet knows {SCHEMA_VERSION}: upgrade ramet to open it"
            )
        for number in range(version, SCHEMA_VERSION):
            for statement in MIGRATIONS[number]:
                session.run(statement)
        if version < SCHEMA_VERSION:
            session.run("UPDATE ramet_counters SET value = ? WHERE name = 'schema'", (SCHEMA_VERSION,))

    if schema_version(session) != SCHEMA_VERSION:
        run_alone(session, run, lambda: None)


def _begun(session: SqliteSession) -> int:
    """Where fences begin in this copy of the database."""
    base = fence_base(session)
    while base < 0:  # of several that open a copy at once, one begins its epoch
        run_alone(session, lambda inside: begin_epoch(inside) if fence_base(inside) < 0 else 0, lambda: None)
        base = fence_base(session)
    return base


def schema_version(session: SqliteSession) -> int:
    """0 for a file without our tables."""
    if not session.rows("SELECT 1 FROM sqlite_schema WHERE name = 'ramet_counters'"):
        return 0
    [(version,)] = session.rows("SELECT value FROM ramet_counters WHERE name = 'schema'")
    return int(version)
