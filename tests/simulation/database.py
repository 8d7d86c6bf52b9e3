"""The real store on a database in memory: nothing of a simulated run has to survive the process that simulates it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ramet.store.sqlite import SqliteStore
from ramet.store.sqlite_session import Hook, SqliteSession


def _in_memory(path: Path, **options: bool) -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=512)


class MemoryStore(SqliteStore):
    """Everything of the store but the file. All simulated workers share it: each verb is one step that none divides."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        with patch("ramet.store.sqlite.connect", _in_memory):
            super().__init__(folder / "simulated.db", clock=clock, inline=True)

    @property
    def connection(self) -> sqlite3.Connection:
        """For who breaks the database on purpose, or dumps it."""
        return self._connection

    def hook(self, hook: Hook | None) -> None:
        """Call ``hook`` around every statement of the verbs that write, from now on."""
        session: Any = self._writer._session
        assert isinstance(session, SqliteSession)
        session._hook = hook

    def rows(self, sql: str, *parameters: Any) -> list[Any]:
        """Look at the database between two verbs."""
        return self._connection.execute(sql, parameters).fetchall()
