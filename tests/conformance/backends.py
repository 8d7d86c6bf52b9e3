"""The databases that every conformance test runs on. Another one joins by a class here and a name in BACKENDS."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ramet.store.base import Store
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


BACKENDS: dict[str, Callable[[Path], Backend]] = {"sqlite": SqliteBackend}
