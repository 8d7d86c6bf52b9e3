"""Fresh databases to measure in, and what can be seen of them from outside."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from benchmarks.engine.processes import cpu_seconds, postmaster
from ramet.testing.postgres_server.server import connect, create_database, database_of, drop_database


class Database(Protocol):
    """One database that is thrown away."""

    @property
    def address(self) -> str: ...
    def truth(self, query: str) -> bool:
        """What a query for one truth value answers now."""

    def quiet(self) -> None:
        """Write out what is buffered and gather statistics, so that nobody pays for who was before."""

    def server_cpu(self) -> float:
        """Processor seconds of the server so far; 0 where there is none."""

    def wal_bytes(self) -> int:
        """Bytes written ahead so far; 0 where nobody tells."""

    def disk_bytes(self) -> int:
        """Size of the database with all that belongs to it."""

    def durability(self) -> str:
        """What the server promises; empty where there is none."""

    def version(self) -> str:
        """The server's, or the library's that ramet uses."""


class Sqlite:
    """A file in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "queue.db")

    def truth(self, query: str) -> bool:
        connection = sqlite3.connect(self.address, timeout=30, isolation_level=None)
        try:
            return bool(connection.execute(query).fetchone()[0])
        finally:
            connection.close()

    def quiet(self) -> None: ...

    def server_cpu(self) -> float:
        return 0.0

    def wal_bytes(self) -> int:
        return 0

    def disk_bytes(self) -> int:
        file = Path(self.address)
        return sum(each.stat().st_size for each in file.parent.glob(f"{file.name}*"))

    def durability(self) -> str:
        return ""

    def version(self) -> str:
        return sqlite3.sqlite_version


class Postgres:
    """A database of its own on a server."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._connection = connect(address)
        self._postmaster = postmaster(self._connection.info.backend_pid)

    def truth(self, query: str) -> bool:
        row = self._connection.execute(query.encode()).fetchone()
        assert row is not None
        return bool(row[0])

    def quiet(self) -> None:
        self._connection.execute("ANALYZE")
        self._connection.execute("CHECKPOINT")

    def server_cpu(self) -> float:
        return cpu_seconds(self._postmaster) if self._postmaster else 0.0

    def wal_bytes(self) -> int:
        row = self._connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").fetchone()
        assert row is not None
        return int(row[0])

    def disk_bytes(self) -> int:
        return int(self._one("SELECT pg_database_size(current_database())"))

    def durability(self) -> str:
        told = [f"{name} {self._one(f'SHOW {name}')}" for name in ("fsync", "synchronous_commit")]
        unlogged = self._one("SELECT count(*)::text FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r'")
        return ", ".join([*told, *([f"{unlogged} unlogged tables"] if unlogged != "0" else [])])

    def version(self) -> str:
        return self._one("SHOW server_version")

    def _one(self, query: str) -> str:
        row = self._connection.execute(query.encode()).fetchone()
        assert row is not None
        return str(row[0])

    def close(self) -> None:
        self._connection.close()


@contextmanager
def fresh(store: str, folder: Path, server: str | None) -> Iterator[Database]:
    """A new database, gone afterwards."""
    if store == "sqlite":
        yield Sqlite(folder)
        return
    assert server is not None
    address = create_database(server, prefix="bench")
    database = Postgres(address)
    try:
        yield database
    finally:
        database.close()
        drop_database(server, database_of(address))
