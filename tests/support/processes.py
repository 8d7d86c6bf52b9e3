"""Processes of a test that run beside it: each says ``ready`` when it is, and starts when a line comes in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def environment_without_coverage() -> dict[str, str]:
    """For a process whose modules are looked at: the measuring, where there is any, loads some of its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


@contextmanager
def beside(module: str, before: list[str], after: list[str], processes: int) -> Iterator[list[subprocess.Popen[str]]]:
    """So many processes of a module, ready to start; what is left of them at the end is killed.

    Args:
        module: of the tests; its arguments are ``before``, a name of its own that ends in a dash, and ``after``.
    """
    started = [
        subprocess.Popen(
            [sys.executable, "-m", module, *before, f"process{at}-", *after],
            cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for at in range(processes)
    ]  # fmt: skip
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()
