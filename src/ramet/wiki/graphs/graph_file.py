"""The locks beside a graph's file, freed by the system when a process dies.

`FILE.writer` is held by the one writer, and `FILE.readers` shared by every reader, which keeps away who must be
alone with the file. `FILE.expanding` is the run's that works on the graph.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ramet.commands.errors import one_line
from ramet.wiki.errors import GraphBusy, GraphError


class GraphLocks:
    """The locks of one open graph: a writer's two, or a reader's one."""

    def __init__(self, writer: int | None, readers: int | None) -> None:
        self._writer = writer
        self._readers = readers

    @classmethod
    def exclusive(cls, path: Path) -> GraphLocks:
        """Become the writer of `path`, or raise GraphBusy at once."""
        writer = lock_alone(path, "writer")
        try:
            return cls(writer, os.open(f"{path}.readers", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
        except OSError as error:
            os.close(writer)
            raise GraphError(f"cannot write beside {path}: {one_line(error.strerror or error)}") from error

    @classmethod
    def shared(cls, path: Path) -> GraphLocks:
        """Keep checkpoints of `path` away, waiting for one that is under way (under a second)."""
        try:
            readers = os.open(f"{path}.readers", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            # Where no lock file can be made there is no writer either, as on a medium that only reads.
            return cls(None, None)
        fcntl.flock(readers, fcntl.LOCK_SH)
        return cls(None, readers)

    @contextmanager
    def without_readers(self) -> Iterator[bool]:
        """Keep readers out meanwhile; False if there are some."""
        assert self._readers is not None
        try:
            fcntl.flock(self._readers, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.flock(self._readers, fcntl.LOCK_UN)

    def release(self) -> None:
        """Free them; further calls do nothing."""
        for lock in (self._writer, self._readers):
            if lock is not None:
                os.close(lock)
        self._writer = self._readers = None


def lock_alone(path: Path, purpose: str) -> int:
    """Take the lock `FILE.purpose` of the graph at `path`; close what is returned to free it.

    Raises:
        GraphBusy: another process holds it.
        GraphError: the lock file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(f"{path}.{purpose}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.truncate(lock, 0)
            os.write(lock, str(os.getpid()).encode())
            return lock
        except BlockingIOError as error:
            process = os.pread(lock, 20, 0).decode() or "unknown"
            os.close(lock)
            raise GraphBusy(
                f"process {process} is writing to {path}, and a graph admits one writer; wait for it to end, or stop it"
            ) from error
        except BaseException:
            os.close(lock)
            raise
    except OSError as error:
        raise GraphError(f"cannot write beside {path}: {one_line(error.strerror or error)}") from error
