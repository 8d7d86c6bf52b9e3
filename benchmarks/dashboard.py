"""``ramet dashboard`` as a process of its own, and a visitor: what benchmarks of it are made of."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

START_SECONDS = 60.0
ANSWER_SECONDS = 120.0


class Served(NamedTuple):
    """A dashboard that listens."""

    pid: int
    host: str
    port: int

    @contextmanager
    def visit(self) -> Iterator[http.client.HTTPConnection]:
        """A connection that stays open over many requests."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=ANSWER_SECONDS)
        try:
            yield connection
        finally:
            connection.close()


@contextmanager
def dashboard(address: str) -> Iterator[Served]:
    """Serve the dashboard of a database on a free port, on loopback."""
    command = [sys.executable, "-m", "ramet.cli", "dashboard", "--db", address, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # our own program
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            origin = next((word for word in line.split() if word.startswith("http://")), None)
            if origin is None:
                raise SystemExit(f"the dashboard does not listen: {line!r}")
            parts = urlsplit(origin)
            yield Served(process.pid, parts.hostname or "", parts.port or 0)
        finally:
            process.terminate()
            process.wait()
