"""Notes of the tasks that run in a handler process, in memory that outlives it.

The process notes a claim before its handler begins and takes the note away when it ended, so that a survivor knows what
ran and what had only been fetched: the supervisor after the death of its child, and, where the memory is a file beside
the database, the next sweep after the death of the whole worker.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import time
from pathlib import Path
from typing import NamedTuple

ENDING = ".slots"
NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags for a new file whose name another user may have taken before: never through a link."""
_NOTE = struct.Struct("=qdq")
"""Fence, monotonic time of the start, and last the number of the task: without it the other two mean nothing."""
_NUMBER = struct.Struct("=q")
_NUMBER_AT = _NOTE.size - _NUMBER.size


class RunningNote(NamedTuple):
    """A claim whose handler runs."""

    seq: int
    fence: int
    started_at: float
    """Monotonic seconds, by the clock that all processes of a machine share."""


class RunningNotes:
    """A fixed number of slots in shared memory. One process writes; anybody may read, at any moment."""

    def __init__(self, handle: int, path: Path | None = None) -> None:
        """Map what is behind an open file; the handle stays the caller's."""
        self._memory = mmap.mmap(handle, 0)
        self._path = path

    @property
    def places(self) -> int:
        """Number of places."""
        return len(self._memory) // _NOTE.size

    def note(self, slot: int, seq: int, fence: int) -> None:
        """Note that a handler begins in this slot."""
        _NOTE.pack_into(self._memory, slot * _NOTE.size, fence, time.monotonic(), seq)

    def free(self, slot: int) -> None:
        """Nothing runs in this slot."""
        _NUMBER.pack_into(self._memory, slot * _NOTE.size + _NUMBER_AT, 0)

    def running(self) -> list[RunningNote]:
        """Return what is noted now; nothing after :meth:`remove`."""
        if self._memory.closed:
            return []
        return _running(self._memory[:])

    def remove(self) -> None:
        """Remove the notes when they are no longer read."""
        self._memory.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _running(notes: bytes) -> list[RunningNote]:
    return [RunningNote(seq, fence, at) for fence, at, seq in _NOTE.iter_unpack(notes) if seq]


def new_notes(folder: Path | None, name: str, count: int) -> tuple[RunningNotes, int]:
    """Return slots in a file of this name that a sweep can find, else in memory of these processes only; and its
    handle.

    Where a file was begun and there was no room for it, it stays, empty: the sweep then knows that the notes are
    missing.

    Raises:
        OSError: there is no room for it.
    """
    begun = None
    if folder is not None:
        path = folder / f"{name}{ENDING}"
        with contextlib.suppress(OSError):
            handle = os.open(path, NEW_FILE, 0o600)
            begun = path
            return _mapped(handle, count, path)
    from tempfile import TemporaryFile

    with TemporaryFile() as file:
        return _mapped(os.dup(file.fileno()), count, begun)


def _mapped(handle: int, count: int, path: Path | None) -> tuple[RunningNotes, int]:
    try:
        # Written, not only made long: a page that a full disk cannot give would end any process that touches it.
        left = memoryview(bytes(count * _NOTE.size))
        while left:  # A disk that is nearly full takes a part.
            left = left[os.write(handle, left) :]
        return RunningNotes(handle, path), handle
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, 0)
        os.close(handle)
        raise


def left_running(folder: Path, worker: str) -> frozenset[tuple[int, int]] | None:
    """Claims (seq, fence) that ran when a worker died; None when it left no word about that, or not a whole one."""
    paths = list(folder.glob(f"{worker}.*{ENDING}"))
    found = set[tuple[int, int]]()
    for path in paths:
        try:
            notes = path.read_bytes()
        except FileNotFoundError:  # Another sweep was faster.
            continue
        except OSError:
            return None
        if not notes or len(notes) % _NOTE.size:
            return None
        found |= {(run.seq, run.fence) for run in _running(notes)}
    return frozenset(found) if paths else None
