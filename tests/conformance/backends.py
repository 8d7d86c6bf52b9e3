"""The databases that every conformance test runs on. Another one joins by a class here and a name in BACKENDS."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import psycopg

from ramet.store.base import Store
from ramet.store.postgres import PostgresStore
from ramet.store.sqlite import SqliteStore

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


class SqliteBackend:
    """A file in the test's own folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ramet.db"

    @property
    def address(self) -> str:
        return str(self._path)

    def open(self, *, clock: Clock = time.time, inline: bool = False) -> Store:
        return SqliteStore(self._path, clock=clock, inline=inline)


class PostgresBackend:
    """A database of its own on a server."""

    def __init__(self, folder: Path) -> None:
        self._server = os.environ["RAMET_TEST_POSTGRES"]
        self._name = f"t_{uuid.uuid4().hex}"
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {self._name}".encode())

    @property
    def address(self) -> str:
        return self._server.rpartition("/")[0] + "/" + self._name

    def open(self, *, clock: Clock | None = None, inline: bool = False) -> Store:
        return PostgresStore(self.address, clock=clock, inline=inline)


BACKENDS: dict[str, Callable[[Path], Backend]] = {"sqlite": SqliteBackend}
if "RAMET_TEST_POSTGRES" in os.environ:
    BACKENDS["postgres"] = PostgresBackend
