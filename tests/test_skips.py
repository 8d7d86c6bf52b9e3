"""A skip cannot hide in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ALLOWED_IN_CI, unexpected_skips

SKIPPING = """
import pytest

@pytest.mark.skip(reason="to see what happens")
def test_that_skips():
    raise AssertionError

def test_that_passes():
    assert True
"""


def test_only_what_is_listed_may_skip() -> None:
    assert unexpected_skips(["a.py::one", "b.py::two"], {"a.py": "because"}) == ["b.py::two"]
    assert all(ALLOWED_IN_CI.values()), "an entry without a reason"


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_a_skip_fails_a_run_in_ci_and_nowhere_else(tmp_path: Path, ci: str, code: int) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (folder / "test_skipping.py").write_text(SKIPPING)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(folder)],
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("without a listed reason" in done.stdout) == (code == 1)
