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


def clean_up(folder: Path) -> None:
    """Make every server whose data is in the folder end at once, then delete the folder."""
    for found in folder.glob("data/postmaster.pid"):
        with suppress(FileNotFoundError, ProcessLookupError, ValueError):
            os.kill(int(found.read_text().split("\n", 1)[0]), signal.SIGQUIT)
            end = time.monotonic() + END_SECONDS_MAX
            while found.exists() and time.monotonic() < end:
                time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.stdin.buffer.readline()
    clean_up(Path(sys.argv[1]))
