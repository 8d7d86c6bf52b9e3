"""A server whose disk can run out, and be given room again: that of the tables, or that of the log.

Both need the right to mount a file system; without it the test skips, as the one for SQLite does.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from ramet.testing.postgres import Cluster, temporary_folder
from ramet.testing.postgres_server.programs import owner
from ramet.testing.postgres_server.server import connect
from tests.store.sqlite.test_full_disk import Disk, small_disk

TABLE_BYTES = 40_000_000
LOG_BYTES = 60_000_000
SMALL_LOG = {"max_wal_size": "32MB", "min_wal_size": "32MB"}


@contextmanager
def servers_disk(size: int) -> Iterator[Disk]:
    """A small file system that belongs to the server's user."""
    folder = temporary_folder(owner())
    try:
        with small_disk(folder, size) as disk:
            own = folder / "own"
            own.mkdir(mode=0o700)
            shutil.chown(own, owner().uid, owner().gid)
            yield disk
    finally:
        folder.rmdir()


@contextmanager
def small_tables() -> Iterator[tuple[Disk, Cluster, str]]:
    """A database on a disk of its own. When that is full, statements are refused and the server goes on."""
    with servers_disk(TABLE_BYTES) as disk, Cluster() as cluster:
        with connect(cluster.url()) as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{disk.folder / 'own'}'".encode())
        yield disk, cluster, cluster.create_database(tablespace="small")
        cluster.stop(immediate=True)


@contextmanager
def small_log() -> Iterator[tuple[Disk, Cluster, str]]:
    """A server whose log is on a disk of its own. When that is full, the server panics, and cannot start until there
    is room."""
    with servers_disk(LOG_BYTES) as disk, Cluster(settings=SMALL_LOG) as cluster:
        cluster.stop()
        log = cluster.server.data / "pg_wal"
        place = disk.folder / "own" / "log"
        shutil.copytree(log, place)
        for path in (place, *place.rglob("*")):
            shutil.chown(path, owner().uid, owner().gid)
        shutil.rmtree(log)
        log.symlink_to(place)
        cluster.start()
        yield disk, cluster, cluster.create_database()
        cluster.stop(immediate=True)
