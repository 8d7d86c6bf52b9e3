"""From a database address to a store."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ramet.store.base import Store
from ramet.store.errors import StoreError


def open_store(address: str | Path, *, create: bool = True, clock: Callable[[], float] = time.time) -> Store:
    """Open the database at ``address``, bringing its schema up to date.

    Args:
        address: a file path, ``sqlite:///path`` or ``:memory:`` is refused (nothing there would survive a crash).
        create: False raises :class:`~ramet.store.errors.StoreMissing` when there is no database.
        clock: Unix seconds; tests give a fake one.

    Raises:
        StoreError: with one line that says what to do.
    """
    text = str(address)
    if text.startswith(("postgresql://", "postgres://")):
        raise StoreError("PostgreSQL is not supported by this version: give a file path for SQLite")
    if "://" in text and not text.startswith("sqlite:///"):
        raise StoreError(f"cannot read the database address {text!r}: give a file path")
    if ":memory:" in text:
        raise StoreError("an in-memory database loses every task at the first crash: give a file path")
    # Drivers load only when a database is opened: `import ramet` stays light.
    from ramet.store.sqlite import SqliteStore

    return SqliteStore(Path(text.removeprefix("sqlite:///")), create=create, clock=clock)
