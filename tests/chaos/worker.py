"""``ramet worker`` on a machine whose clock somebody sets: ``python -m tests.chaos.worker worker APP ...``.

The file that is named by ``RAMET_CHAOS_CLOCK`` holds one number, by how many seconds the clock is wrong; it may change
at any moment. The monotonic clock is right, as it is on a real machine.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import signal
import struct
import sys
import time
from pathlib import Path

CLOCK = "RAMET_CHAOS_CLOCK"
WHERE = signal.SIGUSR1
"""Writes the stacks of all threads into the log."""
SECONDS = struct.Struct("d")


def set_clock(file: Path, seconds: float) -> None:
    """From now on the clock of who reads this file is wrong by so much."""
    with file.open("r+b" if file.exists() else "w+b") as told:
        told.write(SECONDS.pack(seconds))


def follow(file: Path) -> None:
    """Be wrong as the file says; before anything that keeps a reference to the clock is imported."""
    with file.open("rb") as told:
        seconds = mmap.mmap(told.fileno(), SECONDS.size, access=mmap.ACCESS_READ)
    right = time.time

    def wrong() -> float:
        return right() + float(SECONDS.unpack_from(seconds)[0])

    setattr(time, "time", wrong)  # noqa: B010 - nobody declared that it can be set


if __name__ == "__main__":
    faulthandler.register(WHERE, all_threads=True)
    follow(Path(os.environ[CLOCK]))
    from ramet.cli import main

    sys.exit(main())
