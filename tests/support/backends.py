"""The databases that every conformance test runs on. Another one joins by a class here and a name in BACKENDS."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ramet.store.postgres.store import PostgresStore
from ramet.store.sqlite.store import SqliteStore
from ramet.store.store import Store
from tests.postgres import database_pool

Clock = Callable[[], float]
Hook = Callable[[str, str], None]


class Backend(Protocol):
    """A place for one fresh database."""

    @property
    def address(self) -> str:
        """What another process gives to ``open_store``."""
        ...

    def open(self, *, clock: Clock | None = None, inline: bool = False, hook: Hook | None = None) -> Store:
        """Open the database.

        Args:
            clock: Unix seconds; by default the one that the database has without a test.
            inline: run verbs one by one in the calling thread, where there is a choice.
            hook: called with ``before`` or ``after`` and every statement.
        """
        ...

    def close(self) -> None:
        """The test is over, and every store closed."""
        ...


class SqliteBackend:
    """A file in the test's own folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ramet.db"

    @property
    def address(self) -> str:
        return str(self._path)

    def open(self, *, clock: Clock | None = None, inline: bool = False, hook: Hook | None = None) -> Store:
        return SqliteStore(self._path, clock=clock or time.time, inline=inline, hook=hook)

    def close(self) -> None:
        """The folder goes with the test."""


class PostgresBackend:
    """A database on the server of this test run."""

    def __init__(self, folder: Path) -> None:
        self._url = database_pool.take()

    @property
    def address(self) -> str:
        return self._url

    def open(self, *, clock: Clock | None = None, inline: bool = False, hook: Hook | None = None) -> Store:
        return PostgresStore(self._url, clock=clock, inline=inline, hook=hook)

    def close(self) -> None:
        database_pool.give_back(self._url)


BACKENDS: dict[str, Callable[[Path], Backend]] = {"postgres": PostgresBackend, "sqlite": SqliteBackend}
