"""Running the command line: in this process for what it prints, as real processes for workers and signals."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ramet import App
from ramet.cli import main
from tests.cli.apps.sample_app import app
from tests.support.backends import BACKENDS
from tests.support.waiting import HANG_SECONDS

PROJECT = Path(__file__).parents[2]
APP = "tests.cli.apps.sample_app:app"


class NoJitter(random.Random):
    """Draws the shortest back-off."""

    def random(self) -> float:
        return 0.0


@pytest.fixture
def all_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor notes no extra that is not installed here."""
    monkeypatch.setattr("ramet.cli.database.extras", list)


class Cli:
    """The command line on one database."""

    def __init__(self, database: Path, address: str | None = None) -> None:
        self.database = database
        self.address = address or str(database)

    def run(self, *words: str, database: bool = True, **more: Any) -> Result:
        """Run a command in this process; an error that is a bug is raised."""
        at = ["--db", self.address] if database else []
        result = CliRunner().invoke(main, [*words, *at], **more)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def good(self, *words: str, **more: Any) -> str:
        """The standard output of a command that succeeds and complains about nothing."""
        result = self.run(*words, **more)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout

    def bad(self, *words: str, **more: Any) -> str:
        """The one line on standard error of a command that ends with status 2 and prints nothing else."""
        result = self.run(*words, **more)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        lines = result.stderr.splitlines()
        assert len(lines) == 1, result.stderr
        assert lines[0].startswith("ramet: ")
        return lines[0]

    def documents(self, *words: str, **more: Any) -> list[Any]:
        """JSON lines of a command that succeeds; every line of its output must be one."""
        return [json.loads(line) for line in self.good(*words, "--json", **more).splitlines()]

    def submit(self, kind: str, payload: Any = None, *more: str) -> tuple[str, str]:
        """(task id, tracking id) of a new task."""
        words = [] if payload is None else [json.dumps(payload)]
        [answer] = self.documents("submit", APP, kind, *words, *more)
        return answer["id"], answer["tracking_id"]

    def work(self) -> None:
        """Work until nothing is left, in this process; retries follow at once."""
        app.run(self.address, poll_seconds=0.01, rng=NoJitter())

    def change(self, sql: str) -> None:
        """Run a statement that no command has."""

        async def run() -> None:
            async with App().client(self.address, create=False) as client:
                await client.store.ensure_tables([sql])

        asyncio.run(run())

    def command(self, *words: str) -> list[str]:
        """The words of a real process."""
        return [sys.executable, "-m", "ramet.cli", *words, "--db", self.address]


def environment(**more: str) -> dict[str, str]:
    """Neutral: no colours, no settings of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAMET_", "COLUMNS"))}
    return {**kept, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", **more}


class Process:
    """A real process whose output is read while it runs."""

    def __init__(self, command: list[str], **more: str) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT,
                                        env=environment(**more), start_new_session=True)  # fmt: skip
        self.lines: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._heard = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=(name, stream), daemon=True)
            for name, stream in (("stdout", self.process.stdout), ("stderr", self.process.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, name: str, stream: Any) -> None:
        for line in stream:
            with self._heard:
                self.lines[name].append(line.rstrip("\n"))
                self._heard.notify_all()

    def wait_for(self, text: str, stream: str = "stderr") -> str:
        """The first line with this text, once it is there. The test's own time-out is the limit."""

        def found() -> list[str]:
            return [line for line in self.lines[stream] if text in line]

        with self._heard:
            assert self._heard.wait_for(found, timeout=HANG_SECONDS), f"never said {text!r}: {self.lines}"
            return found()[0]

    def said(self, text: str, stream: str = "stderr") -> bool:
        """True when a line with this text is there already."""
        return any(text in line for line in self.lines[stream])

    def ended_within(self, seconds: float) -> bool:
        """Give it so long to end; true when it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode is not None

    def send(self, number: signal.Signals) -> None:
        """A signal to this process alone."""
        self.process.send_signal(number)

    def hang_up(self, number: signal.Signals) -> None:
        """A signal to its whole group, as a terminal sends it."""
        os.killpg(self.process.pid, number)

    def end(self) -> int:
        """Its exit status, once it has ended and everything it printed was read."""
        code = self.process.wait(timeout=HANG_SECONDS)
        for reader in self._readers:
            reader.join(timeout=HANG_SECONDS)
        return code

    def close(self) -> None:
        """Leave nothing running."""
        if self.process.poll() is None:
            self.process.kill()
        self.end()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


ON_BOTH = {"test_costs", "test_guard_commands", "test_import", "test_show", "test_paths", "test_pause",
           "test_retry_cancel", "test_schedule", "test_tasks", "test_short_ids"}  # fmt: skip
"""Modules whose tests run on SQLite and on PostgreSQL."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cli" in metafunc.fixturenames and metafunc.module.__name__.rpartition(".")[2] in ON_BOTH:
        metafunc.parametrize("backend", sorted(BACKENDS))


@pytest.fixture
def backend() -> str:
    """Where a module does not ask for more."""
    return "sqlite"


@pytest.fixture
def address(backend: str, tmp_path: Path) -> Iterator[str]:
    """Of a fresh database."""
    if backend == "sqlite":
        yield str(tmp_path / "tasks.db")
        return
    made = BACKENDS[backend](tmp_path)
    yield made.address
    made.close()


@pytest.fixture
def cli(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("RAMET_DB", "RAMET_APP", "RAMET_LOG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USER", "tester")
    monkeypatch.chdir(PROJECT)
    return Cli(tmp_path / "tasks.db", address)


@pytest.fixture
def start(cli: Cli) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def run(*words: str, **more: str) -> Process:
        started.append(Process(cli.command(*words), **more))
        return started[-1]

    yield run
    for process in started:
        process.close()
