"""What a failed test leaves open is that test's error and no other's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.patience import HANG_SECONDS

HERE = Path(__file__).parent

TESTS = """
import gc
import sqlite3

import pytest

class Left:
    def __init__(self):
        self.itself = self  # Only the collector finds it.

    def __del__(self):
        raise RuntimeError("left open")

def test_that_leaves_something():
    left = Left()
    raise AssertionError

def test_that_collects():
    gc.collect()

def test_that_leaves_nothing():
    raise AssertionError
"""


def test_the_next_test_does_not_fail_for_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (tmp_path / "test_leaving.py").write_text(TESTS)
    options = ["-q", "-rA", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, sys.path)])},
        capture_output=True, text=True, cwd=tmp_path, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip
    summary = done.stdout.rpartition("short test summary info")[2]
    told = [line.split(" - ")[0] for line in summary.splitlines() if "::" in line]
    assert sorted(told) == [
        "ERROR test_leaving.py::test_that_leaves_something",
        "FAILED test_leaving.py::test_that_leaves_nothing",
        "FAILED test_leaving.py::test_that_leaves_something",
        "PASSED test_leaving.py::test_that_collects",
    ], done.stdout
