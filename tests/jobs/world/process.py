"""The world in a process of its own, for tests that measure, and for those whose own process is killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).parents[3]


@contextmanager
def world_process(*arguments: str) -> Iterator[dict[str, str]]:
    """The environment that leads to a world of its own process; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.jobs.world", *arguments],
        cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        environment = {}
        assert process.stdout is not None
        for line in process.stdout:
            if line == "ready\n":
                break
            name, _, value = line.rstrip("\n").partition("=")
            environment[name] = value
        assert "RAMET_JOBS_CONNECT" in environment, "the world did not begin"
        yield environment
    finally:
        process.kill()
        process.communicate()
