"""What a test case uses while it runs: a case fails when a mark is missing that would give it another target.

So ``make test`` starts no server and no pipeline's processes, and needs nothing installed but what it imports.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import PurePath
from typing import Any

import pytest

from tests.gate.durations import file_of
from tests.gate.targets import BROWSER, NETWORK, PROCESS, SERVER, target_of

MARKS = {
    SERVER: "uses a PostgreSQL server",
    BROWSER: "steers a browser",
    PROCESS: "starts a process",
    NETWORK: "listens on a network address",
}
STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"}
FAMILIES = {socket.AF_INET, socket.AF_INET6}
PROBE = ("::1", 0)
"""What urllib3 binds when it is imported, to know whether there is IPv6."""
SERVER_PROGRAMS = {"initdb", "pg_basebackup", "pg_ctl", "postgres"}

_used: dict[str, str] = {}
"""Mark to what first needed it, since the current case began."""


def uses(mark: str, what: str) -> None:
    """Record that the current case needs this mark."""
    _used.setdefault(mark, what)


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event in STARTS:
        words = arguments[1] if event == "subprocess.Popen" else ()
        program = PurePath(os.fsdecode(words[0])).name if isinstance(words, list | tuple) and words else ""
        uses(SERVER if program in SERVER_PROGRAMS else PROCESS, f"{event} {program}".rstrip())
    elif event == "socket.bind" and arguments[0].family in FAMILIES and arguments[1] != PROBE:
        uses(NETWORK, f"socket.bind {arguments[1]}")


class Needs:
    """Compares what each case uses with its marks. A pytest plugin."""

    def __init__(self) -> None:
        self._process = os.getpid()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        # A hook cannot be taken away, and a forked process has it as well.
        if (event in STARTS or event == "socket.bind") and os.getpid() == self._process:
            _heard(event, arguments)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        _used.clear()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Any:
        """Raises an error of the case's teardown, where what was used is complete."""
        answer = yield
        marks = {mark.name for mark in item.iter_markers()}
        file = file_of(item.nodeid)
        for mark, what in _used.items():
            if target_of(file, marks | {mark}) != target_of(file, marks):
                pytest.fail(f"{MARKS[mark]} ({what}): add the mark {mark}", pytrace=False)
        return answer
