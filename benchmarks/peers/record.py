"""What a worker's handlers leave behind: which numbers ran and when, and the effects that survive a kill.

The first body that runs makes a file, so that whoever measures knows that the worker is at work. Bodies are noted in
memory, two appends each, and written when the worker is told to end. Effects are appended to one file for all
workers, a line in one write each: what is in it happened, whatever became of the process.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from array import array
from pathlib import Path

FOLDER = "BENCH_FOLDER"
"""The environment variable that names the folder of a measurement."""
EFFECTS = "effects"
COUNT = "count"
COUNT_SECONDS = 0.01


class Record:
    """The notes of one worker process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = array("q")
        self._times = array("d")
        self._effects = os.open(folder / EFFECTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def ran(self, number: int) -> None:
        """A body runs."""
        if not self._numbers:
            (self._folder / f"began-{os.getpid()}").touch()
        self._numbers.append(number)
        self._times.append(time.time())

    def effect(self, number: int) -> None:
        """A body has done what cannot be undone: its number and the time, durable against a kill of the process."""
        os.write(self._effects, f"{number} {time.time():.6f}\n".encode("ascii"))

    def count_for_all(self) -> None:
        """Keep a file that says how many bodies ran, for a queue whose tables do not tell cheaply what is left."""
        made = self._folder / f"counting-{os.getpid()}"
        told = self._folder / f"{COUNT}-{os.getpid()}"

        def tell() -> None:
            while True:
                made.write_text(str(len(self._numbers)), encoding="ascii")
                made.rename(told)
                time.sleep(COUNT_SECONDS)

        threading.Thread(target=tell, daemon=True).start()

    def write(self) -> None:
        """Write the bodies that ran, whole or not at all."""
        made = self._folder / f"writing-{os.getpid()}"
        made.write_bytes(self._numbers.tobytes() + self._times.tobytes())
        made.rename(self._folder / f"ran-{os.getpid()}")


def folder() -> Path:
    """The folder of this measurement."""
    return Path(os.environ[FOLDER])


def end_when_told(record: Record) -> None:
    """From now on SIGTERM writes the record and ends the process at once.

    A thread waits for the signal, because some peers run their loop outside Python where no handler would be called;
    the signal is blocked here first, so every later thread inherits that.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def wait() -> None:
        signal.sigwait({signal.SIGTERM})
        record.write()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()
