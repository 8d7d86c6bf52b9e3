"""SQLite: whether the file that was opened is still the one at its path, and whether any program has a file open.

SQLite goes on with a file that was deleted, moved or replaced under it, as any program does: what is committed then is
durable in a file that nobody will find. So a commit looks first, inside its transaction (promise I1).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ramet.store.errors import StoreError, StoreMoved

PROCESSES = Path("/proc")
LOOK_SECONDS = 1.0
"""A program that has just ended may leave its file to the system for a moment."""
Identity = tuple[int, int]


class Place:
    """A database's file and its log, as they were when they were opened."""

    def __init__(self, path: Path, before: Identity | None) -> None:
        """Take down which file is meant, once it is open and whatever folder the program goes to later.

        Args:
            path: of the file.
            before: what was there before it was opened.

        Raises:
            StoreMoved: another file took its place while it was opened.
        """
        self._path = path.absolute()
        self._files: dict[str, Identity | None] = {str(self._path): before or identity(self._path)}
        self.check()

    def check(self) -> None:
        """Do nothing while they are where they were; called where the log is open, too.

        Raises:
            StoreMoved: they are not.
        """
        for name, known in list(self._files.items()):  # The reader's thread may add to it.
            if identity(name) != known:
                raise StoreMoved(
                    f"{self._path} was moved, deleted or replaced while it was open: nothing of this step was written; "
                    "start this program again"
                )
        if len(self._files) == 1:
            log = f"{self._path}-wal"
            if (found := identity(log)) is not None:
                self._files[log] = found


def identity(path: str | Path) -> Identity | None:
    """Which file is there; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def closed_to_all(path: Path) -> Iterator[None]:
    """A file that no program has open, and that none can use until the end; a file that cannot be read is left alone.

    Raises:
        StoreError: which processes have it open.
    """
    if not path.exists():
        yield
        return
    with closing(sqlite3.connect(path, timeout=LOOK_SECONDS, isolation_level=None)) as connection:
        try:
            # Only who is alone with a file may take its log away: every connection holds a lock as long as it is open.
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise StoreError(
                    f"programs have {path} open{_processes(path)}: stop them first, or restore beside it"
                ) from error
        yield


def _processes(path: Path) -> str:
    """Which they are, where the system tells."""
    wanted, found = identity(path), []
    for handles in PROCESSES.glob("[0-9]*/fd"):
        with suppress(OSError):
            if any(identity(handle) == wanted for handle in handles.iterdir()):
                found.append(handles.parent.name)
    return f" (processes {', '.join(sorted(found, key=int))})" if found else ""
