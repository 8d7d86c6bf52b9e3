"""From a database address to a store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ramet.store import wall_time
from ramet.store.address import file_of, is_file, is_postgres, shown
from ramet.store.base import Store
from ramet.store.errors import StoreError


def open_store(address: str | Path, *, create: bool = True, clock: Callable[[], float] | None = None) -> Store:
    """Open the database at ``address``, bringing its schema up to date.

    Args:
        address: a file path or ``sqlite:///path`` for SQLite, ``postgresql://user:password@host:port/database`` for
            PostgreSQL. ``:memory:`` is refused: nothing there would survive a crash.
        create: False raises :class:`~ramet.store.errors.StoreMissing` when there is no database.
        clock: Unix seconds, for tests; by default this machine's for SQLite, the database's for PostgreSQL.

    Raises:
        StoreError: with one line that says what to do.
    """
    text = str(address)
    if is_postgres(text):
        return _open_postgres(text, create, clock)
    if not is_file(text):
        raise StoreError(
            f"cannot read the database address {shown(text)!r}: give a file path or "
            "postgresql://user:password@host:port/database"
        )
    if ":memory:" in text:
        raise StoreError("an in-memory database loses every task at the first crash: give a file path")
    # Drivers load only when a database is opened: `import ramet` stays light.
    from ramet.store.sqlite.store import SqliteStore

    return SqliteStore(file_of(text), create=create, clock=clock or wall_time.now)


def _open_postgres(url: str, create: bool, clock: Callable[[], float] | None) -> Store:
    check_driver()
    from ramet.store.postgres.store import PostgresStore

    return PostgresStore(url, create=create, clock=clock)


def check_driver() -> None:
    """Before anything of PostgreSQL is imported.

    Raises:
        StoreError: how to install it.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise StoreError(
            f"PostgreSQL needs the driver psycopg ({error}): install it with pip install 'ramet[postgres]'"
        ) from error
