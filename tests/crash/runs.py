"""One run of everything that is worth crashing, as a process that dies at a statement; on each database."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import psycopg

from ramet import Client, Worker
from ramet.store.postgres.session import connect as connect_to_server
from ramet.store.postgres.store import PostgresStore
from ramet.store.processes.registry import ProcessRegistry
from ramet.store.session import Row
from ramet.store.sqlite.session import connect
from ramet.store.sqlite.store import SqliteStore
from tests.crash import handler_world, limits_world
from tests.invariants.check import violations
from tests.simulation.virtual_time import VirtualClock, VirtualLoop

SEASON_SECONDS = 20_000.0
"""Virtual; a whole run takes a twentieth of it."""
Counts = Counter[tuple[str, str]]
"""How often the hook heard of a statement, before and after it."""
MadeStore = SqliteStore | PostgresStore
_LONG_NUMBER = re.compile(r"\d{10,}")


class SimulatedCrash(BaseException):
    """The end of the process. Nothing may catch it."""


class NoJitter(random.Random):
    """Retries of one moment come back at one moment, which keeps the run short."""

    def random(self) -> float:
        return 0.5


class Point(NamedTuple):
    """Where to crash."""

    sql: str
    occurrence: int
    when: str
    """``before`` or ``after`` the statement."""


class Ended(NamedTuple):
    """What a run leaves: the state of every task, and how often each effect happened."""

    states: dict[tuple[str, str, str], str]
    effects: Counter[tuple[str, str]]


class Run(ABC):
    """One process: a store, a loop of its own, and the point at which it dies."""

    def __init__(self, folder: Path, point: Point | None = None) -> None:
        self.loop = VirtualLoop()
        self.counts: Counts = Counter()
        self.dead = False
        self._point = point
        clock = VirtualClock(self.loop)
        # The clocks of two processes in a row do not run backwards.
        clock.offset = 0.0 if point is not None else 50_000.0
        self.clock = clock
        self._folder = folder
        self._store: MadeStore | None = None

    @abstractmethod
    def open(self) -> MadeStore:
        """Open the database, with the hook."""

    @abstractmethod
    def cut(self) -> None:
        """What the operating system does with connections at the end of a process."""

    def hook(self, when: str, sql: str) -> None:
        """Hears of every statement."""
        if self.dead:
            raise SimulatedCrash("nothing runs in a dead process")
        self.counts[(sql, when)] += 1
        if self._point == (sql, self.counts[(sql, when)], when):
            self._die()

    def _die(self) -> None:
        """What the operating system does at the end of a process: it closes everything, and nobody cleans up."""
        self.dead = True
        self.cut()
        if self._store is not None:
            self._drop(_neighbours(self._store))
        raise SimulatedCrash(str(self._point))

    def _drop(self, neighbours: ProcessRegistry) -> None:
        """The operating system closes the socket and gives the lock up; the files stay."""
        if neighbours._socket is not None:
            self.loop.remove_reader(neighbours._socket)
            neighbours._socket.close()
            neighbours._socket = None
        if neighbours._lock is not None:
            os.close(neighbours._lock)
            neighbours._lock = None

    def live(self) -> None:
        """Run to the end, or until the crash."""
        try:
            self.loop.run_until_complete(asyncio.wait_for(self._season(), SEASON_SECONDS))
        except SimulatedCrash:
            assert self.dead
        finally:
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            if left:
                self.loop.run_until_complete(asyncio.wait(left))

    def _opened(self) -> MadeStore:
        self._store = self.open()
        return self._store

    async def _season(self) -> None:
        client = Client(handler_world.app.registry, self._opened(), handler_world.LIMITS, tables=handler_world.TABLES)
        await client.ensure_tables()
        await handler_world.sow(client)
        await limits_world.sow(client)
        await self._work(client)
        await handler_world.revive_rotten(client)
        await self._work(client)

    async def _work(self, client: Client) -> None:
        worker = Worker(
            handler_world.app, client, until_idle=True, clock=self.clock, rng=NoJitter(), concurrency=60,
            poll_seconds=120.0, sweep_seconds=20.0,
        )  # fmt: skip
        await worker.run()

    def ended(self) -> Ended:
        """What is in the database, which must be sound."""

        async def read(store: MadeStore) -> Ended:
            found = await violations(store, lowered={"garden"})
            assert found == [], "\n".join(found)
            states = await store.read("SELECT tracking_id, kind, key, state FROM ramet_tasks")
            effects = await store.read("SELECT task, step FROM effects")
            return Ended(limits_world.in_order(states), Counter((a, b) for a, b in effects))

        assert self._store is not None
        return self.loop.run_until_complete(read(self._store))

    def close(self) -> None:
        """Release everything, dead or not."""
        if self._store is not None and self.dead:
            self._drop(_neighbours(self._store))
        elif self._store is not None:
            self._store.close_now()
        self.loop.close()


def _neighbours(store: MadeStore) -> ProcessRegistry:
    neighbours = store._neighbours
    assert isinstance(neighbours, ProcessRegistry)
    return neighbours


class SqliteRun(Run):
    """On a file in the folder."""

    _connection: sqlite3.Connection | None = None

    def open(self) -> MadeStore:
        with patch("ramet.store.sqlite.store.connect", self._connect):
            return SqliteStore(self._folder / "ramet.db", clock=self.clock.now, inline=True, hook=self.hook)

    def _connect(self, path: Path, **options: bool) -> sqlite3.Connection:
        self._connection = connect(path, **options)
        # The process dies, not the machine: what was handed to the operating system is safe, and waiting is in vain.
        self._connection.execute("PRAGMA synchronous = OFF")
        return self._connection

    def cut(self) -> None:
        assert self._connection is not None
        self._connection.close()


class PostgresRun(Run):
    """On the database whose address is in the folder."""

    def __init__(self, folder: Path, point: Point | None = None) -> None:
        super().__init__(folder, point)
        self._connections: list[psycopg.Connection[Row]] = []

    def open(self) -> MadeStore:
        def alone(connect: object, identity: str) -> ProcessRegistry:
            return ProcessRegistry(self._folder / "ramet.db")

        url = (self._folder / "address").read_text()
        with (
            patch("ramet.store.postgres.store.PostgresProcesses", alone),
            patch("ramet.store.postgres.store.connect", self._connect),
            patch("ramet.store.postgres.connect.connect", self._connect),
        ):
            return PostgresStore(url, clock=self.clock.now, inline=True, hook=self.hook)

    def _connect(self, url: str) -> psycopg.Connection[Row]:
        self._connections.append(connect_to_server(url))
        return self._connections[-1]

    def hook(self, when: str, sql: str) -> None:
        # Some carry who writes, a number of each process, and the number of the commit.
        super().hook(when, "COMMIT" if sql.startswith("INSERT INTO ramet_writers") else _LONG_NUMBER.sub("n", sql))

    def cut(self) -> None:
        for connection in self._connections:
            connection.close()

    def close(self) -> None:
        super().close()
        if isinstance(self._store, PostgresStore):
            self._store._reader.close()  # It may have got another connection after the crash.
        self.cut()
