"""How long the test files take: recorded in ``tests/durations.json``, and told at the end of every run.

``make durations`` renews the file. The longest files start first, so that no processor waits for one at the end.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath

import pytest

FILE = Path(__file__).parents[1] / "durations.json"
SLOWEST = 10
RECORD = "--record-durations"

Seconds = dict[str, dict[str, float]]
"""Target to test file to the seconds of all its cases, set-up and teardown included."""


def recorded() -> Seconds:
    """What the committed file says."""
    found: Seconds = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def record(target: str, seconds: Mapping[str, float]) -> None:
    """Replace one target's part of the committed file."""
    whole = {**recorded(), target: {name: round(seconds[name], 1) for name in sorted(seconds)}}
    FILE.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def file_of(nodeid: str) -> str:
    """The file of a case."""
    return nodeid.partition("::")[0]


def folder_of(nodeid: str) -> str:
    """The folder below ``tests`` that a case is counted for."""
    parts = PurePath(file_of(nodeid)).parts
    return parts[1] if len(parts) > 2 else "tests"


def longest_first(items: list[pytest.Item], seconds: Mapping[str, float]) -> None:
    """Sort cases by the recorded time of their file; files stay together and unknown ones go first."""
    items.sort(key=lambda item: -seconds.get(file_of(item.nodeid), float("inf")))


def _descending(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda each: -each[1])


class Durations:
    """Adds up what each case takes. A pytest plugin of the process that reports."""

    def __init__(self, target: str | None) -> None:
        self._target = target
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def _by(self, group: Callable[[str], str]) -> dict[str, float]:
        sums: defaultdict[str, float] = defaultdict(float)
        for nodeid, seconds in self._seconds.items():
            sums[group(nodeid)] += seconds
        return sums

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self._seconds) <= SLOWEST:
            return
        terminalreporter.section(f"the {SLOWEST} slowest, and the sum by folder")
        for name, seconds in [*_descending(self._seconds)[:SLOWEST], *_descending(self._by(folder_of))]:
            terminalreporter.write_line(f"{seconds:8.1f} s  {name}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._target and session.config.getoption(RECORD):
            record(self._target, self._by(file_of))
