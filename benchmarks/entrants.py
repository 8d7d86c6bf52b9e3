"""Who takes part, and how each is started. All are asked the same, each in a process of its own environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).parents[1]
PEERS_PYTHON = PROJECT / ".venv-bench" / "bin" / "python"
PEERS_NODE = PROJECT / ".venv-bench" / "node" / "node_modules"
FOLDER = "BENCH_FOLDER"
SOURCE = "BENCH_SOURCE"
RAMET, RAMET_MIXED = "ramet_peer", "ramet_mixed"
ASK_SECONDS_MAX = 600.0


class NotInstalled(Exception):
    """A peer cannot run here; the message says what to do."""


class Failed(Exception):
    """A peer's process ended with an error; the message carries the end of what it wrote."""


class Entrant(NamedTuple):
    """One queue on one database."""

    name: str
    store: str
    """sqlite or postgres."""
    module: str
    """Of benchmarks.peers, or a program for Node.js."""
    checkout: Path | None = None
    """The folder of another version of ramet, which is to run instead of this one."""

    @property
    def is_ramet(self) -> bool:
        """ramet itself, in this version or another."""
        return self.module in {RAMET, RAMET_MIXED}

    @property
    def title(self) -> str:
        """As tables name it."""
        return f"{self.name} ({'SQLite' if self.store == 'sqlite' else 'PostgreSQL'})"

    def command(self, role: str, address: str, *words: str) -> list[str]:
        """What starts it in a role.

        Raises:
            NotInstalled: its environment is not there.
        """
        if self.module.endswith(".cjs"):
            if not (PEERS_NODE / self.name).is_dir():
                raise NotInstalled(f"{self.name} is not installed: `make .venv-bench/.stamp` (needs Node.js with npm)")
            return ["node", str(PROJECT / "benchmarks" / "node" / self.module), role, address, *words]
        python = Path(sys.executable) if self.is_ramet else PEERS_PYTHON
        if not python.exists():
            raise NotInstalled("the peers' environment is not there: run `make .venv-bench/.stamp`")
        return [str(python), "-m", f"benchmarks.peers.{self.module}", role, address, *words]

    def start(self, folder: Path, role: str, address: str, *words: str) -> subprocess.Popen[bytes]:
        """Start it in a group of its own; what it prints goes to files in ``folder``."""
        with (folder / f"{role}.out").open("ab") as out, (folder / f"{role}.err").open("ab") as err:
            return subprocess.Popen(
                self.command(role, address, *words),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=PROJECT,
                env=os.environ | {FOLDER: str(folder)} | self._environment(),
                start_new_session=True,
            )

    def _environment(self) -> dict[str, str]:
        if not self.is_ramet:
            return {"NODE_PATH": str(PEERS_NODE), "NODE_ENV": "production"}
        source = str((self.checkout or PROJECT) / "src")
        return {"PYTHONPATH": source, SOURCE: source}

    def ask(self, folder: Path, role: str, address: str, *words: str) -> dict[str, Any]:
        """Its answer in a role.

        Raises:
            Failed: it ended with an error or took too long.
        """
        (folder / f"{role}.out").unlink(missing_ok=True)
        process = self.start(folder, role, address, *words)
        try:
            code = process.wait(ASK_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = -1
        lines = (folder / f"{role}.out").read_text(encoding="utf-8", errors="replace").splitlines()
        if code or not lines:
            raise Failed(f"{self.title}: {role} ended with code {code}: {self.told(folder, role)}")
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer

    @staticmethod
    def told(folder: Path, role: str) -> str:
        """The end of what its processes in this role wrote, for a message."""
        written = [(folder / f"{role}.{end}").read_text(encoding="utf-8", errors="replace") for end in ("out", "err")]
        return " | ".join(" ".join(text.splitlines()[-5:])[-600:] for text in written if text.strip())


def before(checkout: Path, store: str) -> Entrant:
    """Another version of ramet, with the app of this one."""
    return Entrant("ramet before", store, RAMET, checkout)


def commit(checkout: Path | None) -> str:
    """The commit of a checkout, with a plus where files differ from it; empty where git does not tell."""
    command = ["git", "-C", str(checkout or PROJECT), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


ENTRANTS = (
    Entrant("ramet", "sqlite", RAMET),
    Entrant("huey", "sqlite", "huey_peer"),
    Entrant("litequeue", "sqlite", "litequeue_peer"),
    Entrant("flexiq", "sqlite", "flexiq_peer"),
    Entrant("ramet", "postgres", RAMET),
    Entrant("pgqueuer", "postgres", "pgqueuer_peer"),
    Entrant("graphile-worker", "postgres", "graphile_worker.cjs"),
    Entrant("awa-pg", "postgres", "awa_peer"),
    Entrant("procrastinate", "postgres", "procrastinate_peer"),
    Entrant("flexiq", "postgres", "flexiq_peer"),
)
