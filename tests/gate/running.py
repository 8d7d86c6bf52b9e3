"""Runs pytest on a few lines of test code with this project's conftest, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
MARKERS = "[pytest]\nmarkers =\n    server\n    process\n    network\n    nightly\n"


def run_pytest(folder: Path, files: dict[str, str], *options: str, **environment: str) -> tuple[int, str]:
    """Write the files below ``folder/tests`` and run them; the exit code and all output."""
    tests = folder / "tests"
    tests.mkdir(exist_ok=True)
    (folder / "pytest.ini").write_text(MARKERS)
    (tests / "conftest.py").write_text((PROJECT / "tests" / "conftest.py").read_text())
    for name, text in files.items():
        (tests / name).parent.mkdir(parents=True, exist_ok=True)
        (tests / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options, "tests"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT), *filter(None, sys.path)]), **environment},
        capture_output=True, text=True, cwd=folder, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
