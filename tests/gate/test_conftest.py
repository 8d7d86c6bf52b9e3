"""A skip cannot hide in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ALLOWED_IN_CI, unexpected_skips
from tests.support.waiting import HANG_SECONDS

HERE = Path(__file__).parents[1]

SKIPPING = """
import pytest

@pytest.mark.skip(reason="to see what happens")
def test_that_skips():
    raise AssertionError
"""
MODULE = """
import pytest

pytest.importorskip("a_module_that_is_nowhere")
"""
PASSING = """
def test_that_passes():
    assert True
"""


def test_only_what_is_listed_may_skip() -> None:
    assert unexpected_skips(["a.py::one", "b.py::two"], {"a.py": "because"}) == ["b.py::two"]
    assert all(ALLOWED_IN_CI.values()), "an entry without a reason"


@pytest.mark.parametrize(
    ("ci", "skipping", "processes", "code"),
    [
        pytest.param("true", SKIPPING, 0, 1, marks=pytest.mark.nightly),
        pytest.param("", SKIPPING, 0, 0, marks=pytest.mark.nightly),
        ("true", SKIPPING, 1, 1),
        ("", SKIPPING, 1, 0),
        ("true", MODULE, 1, 1),
    ],
)
def test_a_skip_fails_a_run_in_ci_and_nowhere_else(
    tmp_path: Path, ci: str, skipping: str, processes: int, code: int
) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    (folder / "conftest.py").write_text((HERE / "conftest.py").read_text())
    (folder / "test_skipping.py").write_text(skipping)
    (folder / "test_passing.py").write_text(PASSING)
    options = ["-q", "-p", "no:cacheprovider", "-n", str(processes), "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder)],
        env={**os.environ, "CI": ci, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("without a listed reason" in done.stdout) == (code == 1)


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
