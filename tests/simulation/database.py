"""The real stores, one of which all simulated workers share: each verb is one step that none divides.

SQLite has its database in memory: nothing of a simulated run has to survive the process that simulates it. PostgreSQL
has a database of the test server, which the next run gets as good as new.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ramet.store.postgres.migrate import migrate_database
from ramet.store.postgres.session import PostgresSession
from ramet.store.postgres.store import PostgresStore
from ramet.store.processes.registry import ProcessRegistry
from ramet.store.schema.versions import SchemaPlan
from ramet.store.session import COPIED
from ramet.store.sqlite.session import Hook, SqliteSession
from ramet.store.sqlite.store import SqliteStore, _begun_fence_base, _migrate
from tests.postgres import database_pool
from tests.support.comparable_rows import comparable

Clock = Callable[[], float]


def _in_memory(path: Path, **options: bool) -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=512)


class MemoryStore(SqliteStore):
    """Everything of the store but the file."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        with patch("ramet.store.sqlite.store.connect", _in_memory):
            super().__init__(folder / "simulated.db", clock=clock, inline=True)

    @classmethod
    def ready(cls) -> None:
        """Memory always is."""

    def hook(self, hook: Hook | None) -> None:
        """Call ``hook`` around every statement of the verbs that write, from now on."""
        session: Any = self._writer._session
        assert isinstance(session, SqliteSession)
        session._hook = hook

    def rows(self, sql: str, *parameters: Any) -> list[Any]:
        """Look at the database between two verbs."""
        return self._connection.execute(sql, parameters).fetchall()

    def execute(self, sql: str) -> None:
        """Break the database on purpose."""
        self._connection.execute(sql)

    def abandon(self) -> None:
        """A dead process has no transaction; this one lives on for the others."""
        self._connection.rollback()

    def upgrade(self, plan: SchemaPlan) -> None:
        """A program of a later version opens the file beside everybody."""
        session: Any = self._writer._session
        with patch("ramet.store.schema.versions.PLAN", plan):
            _migrate(session, self.path, create=False)

    def columns(self) -> dict[str, list[str]]:
        """Names of the columns of every table."""
        tables = [name for (name,) in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        return {name: [row[1] for row in self.rows(f"PRAGMA table_info({name})")] for name in tables}

    def copy(self) -> sqlite3.Connection:
        """A backup of what is committed now."""
        copy = _in_memory(self.path)
        self._connection.backup(copy)
        copy.execute("INSERT OR REPLACE INTO ramet_counters (name, value) VALUES (?, 1)", (COPIED,))
        return copy

    def restore(self, copy: sqlite3.Connection) -> None:
        """The copy takes the place of the database, and is opened for the first time."""
        copy.backup(self._connection)
        session: Any = self._writer._session
        session.fence_base = self._fence_base = _begun_fence_base(session)

    def dump(self) -> list[str]:
        """Everything in the database."""
        return list(self._connection.iterdump())


class ServerStore(PostgresStore):
    """Everything of the store but what other processes have to do with it."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._database = database_pool.take()

        def alone(connect: object, identity: str) -> ProcessRegistry:
            return ProcessRegistry(folder / "simulated.db")

        with patch("ramet.store.postgres.store.PostgresProcesses", alone):
            super().__init__(self._database, clock=clock, inline=True)

    @classmethod
    @cache
    def ready(cls) -> None:
        """There is a server with a database: making them takes chance, of which no run may miss any."""
        database_pool.give_back(database_pool.take(), anew=True)

    @property
    def _session_of_writer(self) -> PostgresSession:
        writer: Any = self._writer
        session = writer._link._connected()
        assert isinstance(session, PostgresSession)
        return session

    def hook(self, hook: Hook | None) -> None:
        """Call ``hook`` around every statement of the verbs that write, from now on."""
        self._session_of_writer._hook = hook

    def rows(self, sql: str, *parameters: Any) -> list[Any]:
        """Look at the database between two verbs."""
        return self._reader._session.rows(sql, parameters)

    def execute(self, sql: str) -> None:
        """Break the database on purpose."""
        self._session_of_writer.connection.execute(sql.encode())

    def abandon(self) -> None:
        """A dead process has no transaction; this one lives on for the others."""
        self._session_of_writer.rollback()

    def dump(self) -> list[str]:
        """Everything in the database, but for who wrote it."""
        tables = self.rows(
            "SELECT relname, ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 "
            "AND NOT attisdropped ORDER BY attnum) FROM pg_class c WHERE relnamespace = 'public'::regnamespace "
            "AND relkind IN ('r', 'p') AND relname <> 'ramet_writers' ORDER BY 1"
        )
        return [
            f"{name} {row}"
            for name, columns in tables
            for row in comparable(name, columns, self.rows(f"TABLE {name}")).rows
        ]

    def upgrade(self, plan: SchemaPlan) -> None:
        """A program of a later version migrates the database beside everybody."""
        self._reader._session.rollback()
        with patch("ramet.store.schema.versions.PLAN", plan):
            migrate_database(self._database)

    def columns(self) -> dict[str, list[str]]:
        """Names of the columns of every table."""
        return dict(
            self.rows(
                "SELECT relname, ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 "
                "AND NOT attisdropped ORDER BY attnum) FROM pg_class c WHERE relnamespace = 'public'::regnamespace "
                "AND relkind IN ('r', 'p') ORDER BY 1"
            )
        )

    def close_now(self) -> None:
        super().close_now()
        if self._database:
            database_pool.give_back(self._database, anew=True)
            self._database = ""


SimulatedStore = MemoryStore | ServerStore
SIMULATED: dict[str, type[SimulatedStore]] = {"postgres": ServerStore, "sqlite": MemoryStore}
