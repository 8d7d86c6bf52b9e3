"""From a database address to a store, and to a database of this version (``ramet migrate``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from ramet.store import wall_time
from ramet.store.address import file_of, is_file, is_postgres, shown
from ramet.store.errors import StoreError
from ramet.store.schema import versions as known
from ramet.store.schema.versions import MigrationResult
from ramet.store.store import Store


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


def migrate(
    address: str | Path, *, check: bool = False, tables: Sequence[str] = (), grant_to: str | None = None
) -> MigrationResult:
    """Make our tables in an empty database, or bring them to this version; with ``check`` only say what is to be done.

    Args:
        address: as :func:`ramet.store.open_store` takes it.
        check: change nothing.
        tables: statements of an app's own tables, run as well; those that do nothing where a table is there.
        grant_to: on PostgreSQL, a role that is given what workers need.

    Raises:
        StoreError: it cannot be done; one line says why, and the database is as it was.
    """
    if is_postgres(address):
        return _postgres(str(address), check, tables, grant_to)
    if not is_file(address):
        raise StoreError(f"cannot read the database address {shown(address)!r}: give a file or postgresql://...")
    if grant_to is not None:
        raise StoreError("a SQLite file has no roles: leave --grant out")
    return _sqlite(file_of(address), check, tables)


def _sqlite(path: Path, check: bool, tables: Sequence[str]) -> MigrationResult:
    from ramet.store.sqlite.store import SqliteStore, version_of_file

    before = version_of_file(path) if path.exists() else 0
    if not check:
        store = SqliteStore(path, inline=True)  # Opening a file migrates it: it has one machine's programs.
        try:
            if tables:
                asyncio.run(store.ensure_tables(tables))
        finally:
            store.close_now()
    return MigrationResult(str(path), before, max(before, known.PLAN.version), check)


def _postgres(url: str, check: bool, tables: Sequence[str], grant_to: str | None) -> MigrationResult:
    check_driver()
    from ramet.store.postgres.migrate import migrate_database

    return migrate_database(url, check=check, tables=tables, grant_to=grant_to)
