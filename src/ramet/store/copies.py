"""Copies of a database while it is in use, and databases from copies; see :mod:`ramet.store.opening` for addresses."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ramet.store.address import file_of, is_file, is_postgres, shown
from ramet.store.errors import StoreError
from ramet.store.opening import check_driver

Progress = Callable[[int, int], None]
"""Called with how much of how much is copied: pages of a file, rows of a server, where the whole is an estimate."""


class Copied(NamedTuple):
    """A copy that was made and checked."""

    path: str
    size: int
    """Bytes."""
    lineages: int
    epoch: int
    """Of a restored database, its own; of a backup, that of the database it was made from."""
    replaced: str | None = None
    """Where the database that stood there before is kept."""
    left_out: tuple[str, ...] = ()
    """Tables that are not ours and were not copied: on PostgreSQL, and from a file to it."""


def backup(address: str | Path, target: str | Path, *, force: bool = False, progress: Progress | None = None) -> Copied:
    """Copy a database as it is at this moment, while workers go on with it; they do not wait for it.

    The copy is checked whole and then appears at once under its name, or not at all. Whoever opens it begins an epoch.
    Of a database on a server it is the same file: our tables as one snapshot saw them, those of handlers not.

    Raises:
        StoreError: there is no such database, the target exists and ``force`` is not given, or it cannot be written.
    """
    if is_postgres(address):
        check_driver()
        from ramet.store.postgres_copies import backup_server

        return backup_server(str(address), Path(target), force, progress)
    from ramet.store.sqlite_copies import backup_file

    return backup_file(_path(address), Path(target), force, progress)


def restore(
    copy: str | Path,
    address: str | Path,
    *,
    force: bool = False,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.time,
) -> Copied:
    """Make a database from a backup, with an epoch of its own: no worker of the original can settle in it, and none of
    its workers in the original. Claims that were in hand come back when their leases lapse. On a server an empty
    database is filled, in one transaction, whichever database the backup is of.

    Raises:
        StoreError: the backup is not sound, workers run on the database, or one is there and ``force`` is not given.
    """
    if is_postgres(address):
        if force:
            raise StoreError("a database on a server is never replaced: leave --force out and give an empty one")
        check_driver()
        from ramet.store.postgres_copies import restore_server

        return restore_server(Path(copy), str(address), progress)
    from ramet.store.sqlite_copies import restore_file

    return restore_file(Path(copy), _path(address), force, progress, clock)


def _path(address: str | Path) -> Path:
    if not is_file(address):
        raise StoreError(f"cannot read the database address {shown(address)}: give a file or postgresql://...")
    return file_of(address)
