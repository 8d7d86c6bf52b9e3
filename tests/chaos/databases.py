"""Where the database is, and what can happen to it there: a file on a small disk, or a server behind a proxy."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pytest

from ramet.store.errors import StoreError
from ramet.testing.postgres import Cluster
from ramet.testing.postgres_server.server import connect, database_of, terminate_backends
from tests.postgres.full_disk import servers_disk
from tests.postgres.proxy import Proxy
from tests.store.sqlite.test_full_disk import Disk, small_disk
from tests.support.waiting import until_now

SKIPPED = pytest.skip.Exception
"""No disk may be mounted here."""
SQLITE_DISK_BYTES = 1_500_000_000
SERVER_DISK_BYTES = 1_500_000_000
SMALL_LOG = {"max_wal_size": "64MB", "min_wal_size": "32MB"}
"""So that a server's log takes a known part of its disk."""
FULL_SECONDS = 2.0
LOCKED_SECONDS = 2.0

Pause = Callable[[float], None]
"""Let so much time pass; returns at once when the run is over."""
Fault = Callable[[], bool | None]
"""False when there was nobody to hurt."""


class Place(Protocol):
    """A database that can be hurt."""

    address: str
    """As workers and submitters know it."""

    @property
    def direct(self) -> str:
        """As the checker reads it."""
        ...

    def faults(self) -> Mapping[str, tuple[Fault, float]]:
        """What can be done to it by name, and how often, relative to the others."""
        ...

    def heal(self) -> None:
        """Nothing is wrong any more."""
        ...


def disk_in(stack: ExitStack, folder: Path) -> Disk | None:
    """A small disk that ends with the stack; None where nothing may be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return stack.enter_context(small_disk(folder, SQLITE_DISK_BYTES))
    except SKIPPED:
        return None


class FilePlace:
    """A SQLite file."""

    def __init__(self, stack: ExitStack, folder: Path, pause: Pause) -> None:
        self._disk = disk_in(stack, folder / "disk")
        self._pause = pause
        self.address = self.direct = str(folder / "disk" / "ramet.db")

    def faults(self) -> Mapping[str, tuple[Fault, float]]:
        found: dict[str, tuple[Fault, float]] = {"file locked by another program": (self._lock, 1.0)}
        if self._disk is not None:
            found["full disk"] = (self._fill, 1.0)
        return found

    def _lock(self) -> None:
        """Somebody's tool holds the write lock."""
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(self.address, timeout=5)) as other:
            other.execute("BEGIN IMMEDIATE")
            self._pause(LOCKED_SECONDS)
            other.rollback()

    def _fill(self) -> None:
        assert self._disk is not None
        self._disk.fill()
        try:
            self._pause(FULL_SECONDS)
        finally:
            self._disk.free()

    def heal(self) -> None:
        """Each fault ends by itself."""


class ServerPlace:
    """A PostgreSQL server on a disk of its own, behind a proxy that leads to whoever is the primary."""

    def __init__(self, stack: ExitStack, pause: Pause, lease_seconds: float) -> None:
        self._stack, self._pause, self._lease_seconds = stack, pause, lease_seconds
        self._disks: dict[Cluster, Disk] = {}
        self._ends: dict[Cluster, ExitStack] = {}
        self._primary = self._make(lambda place: Cluster(settings=SMALL_LOG, place=place).start())
        self._database = database_of(self._primary.create_database())
        server = self._primary.server
        self._proxy = stack.enter_context(Proxy("127.0.0.1", server.port))
        self.address = self._proxy.url(self.direct)

    @property
    def direct(self) -> str:
        return self._primary.url(self._database)

    def _make(self, make: Callable[[Path | None], Cluster]) -> Cluster:
        """A server on a disk of its own, where one may be mounted."""
        ends = self._stack.enter_context(ExitStack())
        disk: Disk | None = None
        with suppress(SKIPPED):
            disk = ends.enter_context(servers_disk(SERVER_DISK_BYTES))
        cluster = make(None if disk is None else disk.folder)
        ends.callback(cluster.close)
        self._ends[cluster] = ends
        if disk is not None:
            self._disks[cluster] = disk
        return cluster

    def faults(self) -> Mapping[str, tuple[Fault, float]]:
        found: dict[str, tuple[Fault, float]] = {
            "connections cut": (self._proxy.cut, 3.0),
            "clients half open": (lambda: self._silence(lambda: self._proxy.half_open("client")), 1.0),
            "server half open": (lambda: self._silence(lambda: self._proxy.half_open("server")), 1.0),
            "network silent": (lambda: self._silence(self._proxy.stall), 1.0),
            "network refused": (lambda: self._silence(self._proxy.refuse), 1.0),
            "answers to COMMIT swallowed": (lambda: self._proxy.swallow_commit_answers(5), 3.0),
            "COMMITs that never arrive": (lambda: self._proxy.cut_before_commit(5), 3.0),
            "sessions ended": (self._end_sessions, 2.0),
            "server restarted": (self._restart, 1.0),
            "server killed": (self._kill, 2.0),
            "standby promoted": (self._promote, 1.5),
        }
        if self._primary in self._disks:
            found["full disk"] = (self._fill, 1.0)
        return found

    def _silence(self, begin: Fault) -> None:
        """Longer than a lease."""
        begin()
        try:
            self._pause(self._lease_seconds + 0.5)
        finally:
            self._proxy.heal()

    def _end_sessions(self) -> None:
        with suppress(StoreError):
            terminate_backends(self.direct)

    def _restart(self) -> None:
        self._primary.restart()

    def _kill(self) -> None:
        self._primary.kill()
        self._primary.start()

    def _promote(self) -> None:
        """A standby follows for a while, then the primary dies without a warning and the standby takes over."""
        old = self._primary
        new = self._make(lambda place: old.standby(place=place))
        self._pause(1.0)
        old.kill()
        new.promote()
        self._primary = new
        self._proxy.lead_to("127.0.0.1", new.server.port)
        self._proxy.cut()
        self._disks.pop(old, None)
        self._ends.pop(old).close()

    def _fill(self) -> None:
        """A server whose log finds no room gives up, and starts again when there is some."""
        disk = self._disks[self._primary]
        disk.fill()
        try:
            self._pause(FULL_SECONDS)
        finally:
            disk.free()
            self._answering()

    def _answering(self) -> None:
        def look() -> bool:
            if not self._primary.running:
                self._primary.start()
            try:
                connect(self.direct).close()
            except StoreError:
                return False
            return True

        until_now(look, "the server answers again")

    def heal(self) -> None:
        self._proxy.heal()
        self._answering()


@contextmanager
def place_of(store: str, folder: Path, pause: Pause, lease_seconds: float) -> Iterator[Place]:
    """A place on this store, gone afterwards."""
    with ExitStack() as stack:
        if store == "sqlite":
            yield FilePlace(stack, folder, pause)
        else:
            yield ServerPlace(stack, pause, lease_seconds)
