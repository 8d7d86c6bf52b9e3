"""Copies of a database while it is in use, and databases from copies; see :mod:`ramet.store.opening` for addresses."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ramet.store.address import shown
from ramet.store.errors import StoreError

Progress = Callable[[int, int], None]
"""Called with how many of how many pages are copied."""


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


def backup(address: str | Path, target: str | Path, *, force: bool = False, progress: Progress | None = None) -> Copied:
    """Copy a database as it is at this moment, while workers go on with it; they do not wait for it.

    The copy is checked whole and then appears at once under its name, or not at all. Whoever opens it begins an epoch.

    Raises:
        StoreError: there is no such database, the target exists and ``force`` is not given, or it cannot be written.
    """
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
    its workers in the original. Claims that were in hand come back when their leases lapse.

    Raises:
        StoreError: the backup is not sound, workers run on the database, or one is there and ``force`` is not given.
    """
    from ramet.store.sqlite_copies import restore_file

    return restore_file(Path(copy), _path(address), force, progress, clock)


def _path(address: str | Path) -> Path:
    text = str(address)
    if "://" in text and not text.startswith("sqlite:///"):
        raise StoreError(f"only SQLite files are copied by this version: {shown(text)} is none")
    return Path(text.removeprefix("sqlite:///"))
