"""How much of the code the ordinary tests run: ``python -m tests.gate.coverage_report`` (or ``make coverage``).

All of ``model/`` and ``store/``, statements and branches, and nine tenths of every other package. A line that no test
can run stands in the code with ``# pragma: no cover - reason``; ``tests/gate/test_coverage.py`` counts those.

    python -m tests.gate.coverage_report                 # run the tests, then report
    python -m tests.gate.coverage_report -- tests/model  # with arguments of one's own for pytest
    python -m tests.gate.coverage_report --data FILE     # report what was measured before
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import coverage

PROJECT = Path(__file__).parents[2]
WHOLE = ("model", "store")
"""Packages of which every statement and every branch runs."""
SHARE_MIN = 0.9
"""Of the statements and branches of every other package."""
SUITE = ("-n", "auto", "--dist", "worksteal", "-m", "not nightly", "-q")


class Measured(NamedTuple):
    """Statements and branches of one package, or one file."""

    name: str
    statements: int
    missed: int
    branches: int
    missed_branches: int
    excluded: int
    gaps: tuple[str, ...] = ()
    """Of its files, in words."""

    @property
    def share(self) -> float:
        """Of statements and branches together."""
        whole = self.statements + self.branches
        return 1.0 if not whole else 1.0 - (self.missed + self.missed_branches) / whole

    @property
    def least(self) -> float:
        """The share that it must have."""
        return 1.0 if self.name in WHOLE else SHARE_MIN


def package_of(path: str) -> str:
    """``store`` for ``src/ramet/store/state/apply.py``."""
    parts = PurePosixPath(path).parts
    below = parts[parts.index("ramet") + 1 : -1]
    return below[0] if below else "ramet"


def by_package(files: Mapping[str, Mapping[str, Any]]) -> list[Measured]:
    """The sums of what ``coverage json`` says of each file."""
    found: dict[str, list[Measured]] = {}
    for path, told in files.items():
        name, sums = package_of(path), told["summary"]
        gap = f"{path}: lines {told['missing_lines']}, branches {told['missing_branches']}"
        missed, missed_branches = sums["missing_lines"], sums["missing_branches"]
        found.setdefault(name, []).append(
            Measured(
                name, sums["num_statements"], missed, sums["num_branches"], missed_branches, sums["excluded_lines"],
                (gap,) if missed or missed_branches else (),
            )
        )  # fmt: skip
    return [_sum(name, found[name]) for name in sorted(found)]


def _sum(name: str, several: Iterable[Measured]) -> Measured:
    total = Measured(name, 0, 0, 0, 0, 0)
    for each in several:
        total = Measured(
            name,
            total.statements + each.statements,
            total.missed + each.missed,
            total.branches + each.branches,
            total.missed_branches + each.missed_branches,
            total.excluded + each.excluded,
            total.gaps + each.gaps,
        )
    return total


def say(*lines: str) -> None:
    """Each on a line of its own."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def report(packages: Iterable[Measured]) -> int:
    """Say it; the number of packages that have too little."""
    short = 0
    for each in packages:
        enough = each.share >= each.least
        short += not enough
        say(
            f"{each.name:18} {each.share:8.2%} of {each.statements:6} statements and {each.branches:5} branches, "
            f"{each.excluded:3} excluded{'' if enough else f', under {each.least:.0%}'}"
        )
        if not enough:
            say(*(f"    {gap}" for gap in each.gaps))
    return short


def measured(data: Path, told: Path) -> list[Measured]:
    """What a file of coverage's own says."""
    read = coverage.Coverage(data_file=str(data), config_file=str(PROJECT / "pyproject.toml"))
    read.load()
    read.json_report(outfile=str(told))
    files: dict[str, dict[str, Any]] = json.loads(told.read_text())["files"]
    return by_package(files)


def run_tests(folder: Path, arguments: list[str]) -> int:
    """The tests under coverage, their processes' data below the folder; pytest's exit status."""
    data = {"COVERAGE_FILE": str(folder / "parts" / "coverage"), "PYTHONDONTWRITEBYTECODE": ""}
    (folder / "parts").mkdir()
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", *(arguments or SUITE)]
    status = subprocess.run(command, cwd=PROJECT, env={**os.environ, **data}, check=False).returncode
    whole = coverage.Coverage(data_file=str(folder / "coverage"), config_file=str(PROJECT / "pyproject.toml"))
    whole.combine([str(folder / "parts")])
    whole.save()
    return status


def main() -> int:
    """0 when the tests passed and every package has enough."""
    parser = argparse.ArgumentParser(prog="python -m tests.gate.coverage_report")
    parser.add_argument("--data", type=Path, help="a combined file, instead of a run")
    parser.add_argument("arguments", nargs="*", help="for pytest, after --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ramet-coverage-") as name:
        folder = Path(name)
        status = 0 if options.data else run_tests(folder, options.arguments)
        short = report(measured(options.data or folder / "coverage", folder / "coverage.json"))
    if status:
        say(f"the tests ended with status {status}")
    return status or min(short, 1)


if __name__ == "__main__":
    sys.exit(main())
