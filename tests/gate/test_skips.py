"""A skip cannot hide in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ALLOWED_IN_CI, unexpected_skips
from tests.support.patience import HANG_SECONDS

HERE = Path(__file__).parent

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
