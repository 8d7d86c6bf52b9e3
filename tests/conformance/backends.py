"""The databases that every conformance test runs on. Another one joins by a class here and a name in BACKENDS."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ramet.store.base import Store
from ramet.store.postgres import PostgresStore
from ramet.store.sqlite import SqliteStore
from tests.postgres.servers import databases

Clock = Callable[[], float]


class Backend(Protocol):
    """A place for one fresh database."""

    @property
    def address(self) -> str:
        """What another process gives to ``open_store``."""
        ...

    def open(self, *, clock: Clock = time.time, inline: bool = False) -> Store:
        """Open the database; ``inline`` runs verbs one by one in the calling thread, where there is a choice."""
        ...

    def close(self) -> None:
        """The test is over, and its stores are closed."""
        ...


class SqliteBackend:
    """A file in the test's own folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ramet.db"

    @property
    def address(self) -> str:
        return str(self._path)

    def open(self, *, clock: Clock = time.time, inline: bool = False) -> Store:
        return SqliteStore(self._path, clock=clock, inline=inline)

    def close(self) -> None:
        """The folder goes with the test."""


class PostgresBackend:
    """A database of its own on the server of this test run."""

    def __init__(self, folder: Path) -> None:
        self._address = databases().create(migrated=True)

    @property
    def address(self) -> str:
        return self._address

    def open(self, *, clock: Clock | None = None, inline: bool = False) -> Store:
        return PostgresStore(self._address, clock=clock, inline=inline)

    def close(self) -> None:
        databases().drop(self._address)


BACKENDS: dict[str, Callable[[Path], Backend]] = {"sqlite": SqliteBackend, "postgres": PostgresBackend}
