"""The PostgreSQL store: one database, a few writing connections per process, any number of processes and machines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import psycopg

from ramet.store.address import shown
from ramet.store.answers import SweepResult
from ramet.store.errors import StoreError
from ramet.store.maintenance import sweep as sweeping
from ramet.store.postgres import prune as postgres_pruning
from ramet.store.postgres.connect import Reader, ahead_seconds, open_connection
from ramet.store.postgres.errors import store_error
from ramet.store.postgres.migrate import begun_fence_base, missing_tables, prepare
from ramet.store.postgres.partitions import Partitions
from ramet.store.postgres.processes import PostgresProcesses, identity_of
from ramet.store.postgres.session import Hook, PostgresSession, connect
from ramet.store.postgres.within_transaction import Database, run_within
from ramet.store.postgres.writer import THREADS, InlineConnection, WriterConnection, Writers
from ramet.store.requests import check_arguments
from ramet.store.rows import own_tables
from ramet.store.rows.tallies import EndsCallback
from ramet.store.rows.workers import CommitTimer
from ramet.store.scan_floor import ScanFloors
from ramet.store.session import Session, StatementFailed, TransactionConflict
from ramet.store.store import Store, writes
from ramet.store.verbs import lineage_followup
from ramet.store.verbs.reclaim import DeadWorkers

Item = TypeVar("Item")
Answer = TypeVar("Answer")


FOLLOWED_AT_ONCE = 500
"""Tasks of an ended lineage that one transaction ends: a transaction that wants one of them waits for it."""


class PostgresStore(Store):
    """The store on PostgreSQL."""

    _neighbours: PostgresProcesses

    def __init__(
        self,
        url: str,
        *,
        create: bool = True,
        clock: Callable[[], float] | None = None,
        inline: bool = False,
        hook: Hook | None = None,
    ) -> None:
        """Connect and bring the schema up to date.

        Args:
            url: ``postgresql://user:password@host:port/database``; several hosts as libpq takes them.
            create: False refuses a database without our tables.
            clock: Unix seconds; None is the database's own, which every machine shares.
            inline: run every verb in the calling thread, in the order of the calls (simulation).
            hook: called around every statement (crash tests).
        """
        self._url = url
        self._clock = clock
        connection = open_connection(url)
        info = connection.info
        self.place = f"{info.host}:{info.port}/{info.dbname}"
        session = PostgresSession(connection, clock, hook)
        try:
            prepare(session, shown(url), create)
            self._fence_base = begun_fence_base(session)
            self._room = Partitions(session)
            self._here = Database(self.place, identity_of(connection))
            self._ahead_seconds = 0.0 if clock is not None else ahead_seconds(connection)
        except psycopg.Error as error:
            session.close()
            raise store_error(error, self.place) from error
        except StoreError:
            session.close()
            raise
        self._neighbours = PostgresProcesses(partial(connect, url), self._here.identity)
        session.fence_base = self._fence_base
        self._reader = Reader(session, partial(self._session, hook))
        self._timer = CommitTimer()
        self._inline = inline
        self._closed = False
        self._links = self._make_links(hook)
        self._writer = self._writers(f"ramet {info.dbname}")

    def _make_links(self, hook: Hook | None) -> list[WriterConnection]:
        # In simulation nothing may depend on how long something took.
        floors = None if self._inline else ScanFloors()
        return [
            WriterConnection(
                partial(connect, self._url), self._clock, hook, self._fence_base, floors=floors, room=self._room
            )
            for _ in range(1 if self._inline else THREADS)
        ]

    def _writers(self, name: str) -> InlineConnection | Writers:
        ring = self._neighbours.ring
        return InlineConnection(self._links[0], ring) if self._inline else Writers(self._links, ring, name)

    def watch_ends(self, ends: EndsCallback) -> None:
        for link in self._links:
            link.on_ends = ends

    async def _write(self, verb: Callable[[Session], Answer]) -> Answer:
        check_arguments(verb, writes=True)
        return await self._timed("other", self._writer.run(verb, "alone"))

    async def _write_beside(self, verb: Callable[[Session], Answer], name: str = "other") -> Answer:
        return await self._timed(name, self._writer.run(verb, "beside"))

    async def _write_together(
        self, verb: Callable[[Session, Sequence[Item]], Sequence[Answer]], items: Sequence[Item], name: str = "other"
    ) -> Sequence[Answer]:
        return await self._timed(name, self._writer.run_together(verb, items))

    async def _timed(self, name: str, running: Awaitable[Answer]) -> Answer:
        began = self._timer.monotonic()
        try:
            answer = await running
            if not self._inline:
                self._timer.note(name, began)
            return answer
        except (psycopg.Error, StatementFailed, TransactionConflict) as error:
            raise store_error(error, self.place) from error

    async def _read(self, verb: Callable[[Session], Answer]) -> Answer:
        check_arguments(verb, writes=False)
        try:
            return self._reader.run(verb) if self._inline else await asyncio.to_thread(self._reader.run, verb)
        except psycopg.Error as error:
            raise store_error(error, self.place) from error

    def _session(self, hook: Hook | None) -> PostgresSession:
        session = PostgresSession(connect(self._url), self._clock, hook)
        session.fence_base = self._fence_base
        return session

    async def ensure_tables(self, statements: Sequence[str]) -> None:
        # A role that only works may not create, and need not: it asks nothing of the server for existing parts.
        missing = await self._read(partial(missing_tables, statements=statements))
        new = await self._read(partial(own_tables.any_new, statements=statements))
        if missing or new:
            await self._write(partial(own_tables.create, statements=statements, missing=missing))

    def _within(self, connection: object, verb: Callable[[Session], Answer]) -> Answer:
        return run_within(
            connection,
            self._here,
            self._clock,
            self._fence_base,
            verb,
            room=self._room,
            opened=partial(connect, self._url),
        )

    async def _follow(self, task_ids: Sequence[str], tracking_ids: Sequence[str] = ()) -> None:
        look = partial(lineage_followup.unfollowed, task_ids=task_ids, tracking_ids=tracking_ids)
        while found := await self._read(look):
            await self._write_beside(partial(lineage_followup.follow_ends, limit=FOLLOWED_AT_ONCE, tracking_ids=found))

    async def _sweep(self, limit: int, dead_workers: DeadWorkers) -> SweepResult:
        results: list[SweepResult] = []
        done: list[sweeping.SweepStep] = []
        # Twice, for what one part does may be work for another: a lineage's row ends, then its tasks do.
        for _ in range(2):
            wanted = await self._read(partial(sweeping.due_steps, dead_workers=dead_workers))
            for part in [part for part in wanted if part not in done]:
                results += [
                    await self._write_beside(
                        partial(sweeping.run_part, part=part, limit=limit, dead_workers=dead_workers)
                    )
                ]
                done.append(part)
            if not any(each.changed for each in results):
                break
        return sweeping.added(results)

    prune = writes(postgres_pruning.prune)

    @property
    def address(self) -> str:
        return self._url

    @property
    def ahead_seconds(self) -> float:
        return self._ahead_seconds

    def close_now(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.stop()
        self._neighbours.leave()
        self._reader.close()
