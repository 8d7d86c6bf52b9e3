"""Ends a temporary server whose maker is gone, however that one ended.

Run as a program of its own, by path and with the standard library alone. Its standard input is a pipe that the maker
holds open: a line in it, or the end of the pipe, is the end of the maker.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

END_SECONDS_MAX = 30.0
LOOK_AGAIN_SECONDS = 0.02
LOCKS = ("data/postmaster.pid", "pid")
"""A server's, which the server removes, and a pooler's."""


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def clean_up(folder: Path) -> None:
    """Make whatever has its lock file in the folder end at once, then delete the folder."""
    for lock in map(folder.joinpath, LOCKS):
        with suppress(FileNotFoundError, NotADirectoryError, ProcessLookupError, ValueError):
            pid = int(lock.read_text().split("\n", 1)[0])
            os.kill(pid, signal.SIGQUIT)
            end = time.monotonic() + END_SECONDS_MAX
            while lock.exists() and not ended(pid) and time.monotonic() < end:
                time.sleep(LOOK_AGAIN_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.stdin.buffer.readline()
    clean_up(Path(sys.argv[1]))
