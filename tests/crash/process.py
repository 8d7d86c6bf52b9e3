"""Real worker processes: started as a person starts them, and ended as nobody would wish."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.crash.pids import PIDS
from tests.support.waiting import until_now

PROJECT = Path(__file__).resolve().parents[2]
IMPORTS = os.pathsep.join([str(PROJECT), *filter(None, sys.path)])
"""The worker imports what this process imports."""


class WorkerProcess:
    """``ramet worker`` on a database, in a session of its own so that its group can be signalled."""

    def __init__(
        self,
        database: Path | str,
        *options: str,
        app: str = "tests.crash.crash_app:app",
        module: str = "ramet.cli",
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Start it.

        Args:
            module: the program; another one than ramet's own does the same under other circumstances.
            folder: where it writes its log: beside the database file, where that is one.
        """
        folder = folder or Path(database).parent
        self._pids = folder / "pids"
        self._pids.mkdir(exist_ok=True)
        self._log = folder / f"worker-{len(list(folder.glob('worker-*.log')))}.log"
        command = [sys.executable, "-m", module, "worker", app, "--db", str(database)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, *options],
                cwd=PROJECT,
                env={
                    **os.environ,
                    PIDS: str(self._pids),
                    "PYTHONPATH": IMPORTS,
                    **(environment or {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.pid = self._process.pid

    @property
    def log(self) -> str:
        """All that it said so far."""
        return self._log.read_text(errors="replace")

    def child_pid(self) -> int:
        """The handler process that runs now; waits until there is one."""

        def find() -> int | None:
            assert self._process.poll() is None, f"the worker ended with {self._process.returncode}:\n{self.log}"
            return max(self.children(), default=None)

        found = until_now(find, "a handler process")
        assert found is not None
        return found

    def children(self) -> list[int]:
        """The handler processes that run now; of an app that says who runs."""
        # Numbers are given again: what another process has now is none of ours.
        return [pid for pid in self._children() if running(pid) and parent(pid) == self.pid]

    def _children(self) -> list[int]:
        told = [path for path in self._pids.glob("*.pid") if path.read_text() == str(self.pid)]
        return [int(path.stem) for path in told]

    def kill(self) -> None:
        """kill -9 of the worker; its handler process must notice by itself."""
        children = self.children()
        os.kill(self.pid, signal.SIGKILL)
        assert self._process.wait() == -signal.SIGKILL, self.log
        until_now(lambda: not any(map(running, children)), "the end of the handler process without its worker")

    def kill_child(self) -> None:
        """kill -9 of the handler process only."""
        os.kill(self.child_pid(), signal.SIGKILL)

    def send(self, number: signal.Signals, *, group: bool = False) -> None:
        """A signal to the worker, or to both processes as a terminal does it."""
        if group:
            os.killpg(self.pid, number)
        else:
            os.kill(self.pid, number)

    @property
    def ended(self) -> bool:
        """True when it is gone by itself."""
        return self._process.poll() is not None

    def code(self) -> int:
        """Wait for its end; the exit status."""
        until_now(lambda: self.ended, "the worker's end")
        until_now(lambda: not any(map(running, self._children())), "the handler process's end")
        return int(self._process.returncode)

    def end_whatever_it_does(self) -> None:
        """For the end of a test, in whatever state it left the worker."""
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        for pid in filter(running, self._children()):
            os.kill(pid, signal.SIGKILL)


def running(pid: int) -> bool:
    """False for a process that is gone, or dead and not yet collected."""
    return _stat(pid)[0] not in ("", "Z")


def parent(pid: int) -> int:
    """The number of a process's parent; 0 when it is gone."""
    return int(_stat(pid)[1])


def _stat(pid: int) -> tuple[str, str]:
    """State and parent; nothing and 0 for a process that is gone."""
    try:
        state, of, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", "0"
    return state, of
