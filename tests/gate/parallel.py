"""The tests in several processes (``make test``): how many, and what the log says meanwhile."""

from __future__ import annotations

import os
import time

import pytest

from ramet.testing.postgres import ServerError
from tests.postgres.servers import NAMED, NamedDatabase, databases

LINE_SECONDS = 30.0
"""A log of dots alone does not show where a run stands."""


def workers() -> int:
    """How many processes run tests at once; 0 where there is one database for all of them.

    Most tests wait (for a disk, a process that starts, a lease that lapses), so that one more than there are
    processors keeps those busy.

    Raises:
        UsageError: the server that ``RAMET_TEST_POSTGRES`` names cannot be used.
    """
    try:
        if os.environ.get(NAMED) and isinstance(databases(), NamedDatabase):
            return 0
    except ServerError as error:
        raise pytest.UsageError(str(error)) from None
    return (os.cpu_count() or 1) + 1


class Progress:
    """Says now and then how many tests have run, which ones run now, and at once which one failed. A pytest plugin."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal
        self._began = self._said = time.monotonic()
        self._done = 0
        self._running: list[str] = []

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._running.append(nodeid)
        self._say()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.write_line(f"\nFAILED {report.nodeid}")
        if report.when not in {"setup", "call"}:  # Its teardown, or the death of its process.
            self._running = [nodeid for nodeid in self._running if nodeid != report.nodeid]
            self._done += 1
            self._say()

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._said >= LINE_SECONDS:
            self._said = now
            running = ", ".join(self._running)
            self._terminal.write_line(f"\n{now - self._began:.0f} s: {self._done} done, running {running}")
