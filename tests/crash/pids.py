"""How a test finds the handler process of a worker that it started."""

from __future__ import annotations

import os
from pathlib import Path

PIDS = "RAMET_TEST_PIDS"
"""Names the folder in the worker's environment."""


def say_who_runs() -> None:
    """Put the number of this process's parent into a file that is named by its own; an app's module calls this."""
    folder = os.environ.get(PIDS)
    if folder:
        early = Path(folder) / f"{os.getpid()}.early"
        early.write_text(str(os.getppid()))
        early.rename(Path(folder) / f"{os.getpid()}.pid")
