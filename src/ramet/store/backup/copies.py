"""Copies of a database while it is in use, and databases from copies; see :mod:`ramet.store.opening` for addresses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ramet.store.address import file_of, is_file, is_postgres, shown
from ramet.store.answers import BackupResult
from ramet.store.errors import StoreError
from ramet.store.opening import check_driver
from ramet.store.requests import Progress
from ramet.store.rows.own_tables import OwnTableChoice


def backup(
    address: str | Path,
    target: str | Path,
    *,
    force: bool = False,
    progress: Progress | None = None,
    tables: Sequence[str] = (),
    leave: Sequence[str] = (),
) -> BackupResult:
    """Copy a database as it is at this moment, while workers go on with it; they do not wait for it.

    The copy is checked whole and then appears at once under its name, or not at all. The first to open it begins an
    epoch. Of a database on a server it is the same file, of one snapshot. Every table that an app declares is carried
    (DESIGN §9), whichever app that was: the database stores the declarations of apps.

    Args:
        address: as :func:`ramet.store.open_store` takes it.
        target: the file to make.
        force: replace an existing file.
        progress: called with the progress.
        tables: an app's own statements (``App.tables``), where the database does not know them.
        leave: names of tables to leave out; a pattern with ``*`` means only those that no app declares.

    Raises:
        StoreError: there is no such database, the target exists and ``force`` is not given, it cannot be written, or
            no app declares a table that is there. Nothing was written.
    """
    wanted = OwnTableChoice(tables, leave)
    if is_postgres(address):
        check_driver()
        from ramet.store.backup.postgres_server import backup_server

        return backup_server(str(address), Path(target), force, progress, wanted)
    from ramet.store.backup.sqlite_file import backup_file

    return backup_file(_path(address), Path(target), force, progress, wanted)


def restore(
    copy: str | Path,
    address: str | Path,
    *,
    force: bool = False,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.time,
    tables: Sequence[str] = (),
    leave: Sequence[str] = (),
) -> BackupResult:
    """Make a database from a backup, with an epoch of its own: no worker of the original can settle in it, and none of
    its workers in the original. Claims that were held come back when their leases lapse. On a server an empty database
    is filled, in one transaction, whichever database the backup is of.

    Tables of apps come along (DESIGN §9), made by the definitions in the backup as far as these define columns, keys
    and indexes and call nothing; ``tables``, an app's own statements, go before those.

    Raises:
        StoreError: the backup is not sound, programs have the database open, one is there and ``force`` is not given,
            or a table cannot be carried and is not named in ``leave``. The database is as it was.
    """
    wanted = OwnTableChoice(tables, leave)
    if is_postgres(address):
        if force:
            raise StoreError("a database on a server is never replaced: leave --force out and give an empty one")
        check_driver()
        from ramet.store.backup.postgres_server import restore_server

        return restore_server(Path(copy), str(address), progress, wanted)
    from ramet.store.backup.sqlite_file import restore_file

    return restore_file(Path(copy), _path(address), force=force, progress=progress, clock=clock, wanted=wanted)


def _path(address: str | Path) -> Path:
    if not is_file(address):
        raise StoreError(f"cannot read the database address {shown(address)}: give a file or postgresql://...")
    return file_of(address)
