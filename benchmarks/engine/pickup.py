"""How soon does a waiting worker begin a task that another process submits, and how much memory does it hold?"""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.engine import app

TARGET = "benchmarks.engine.app:app"
READY_SECONDS_MAX = 60.0


class PickUp(NamedTuple):
    """A worker in a process of its own, with nothing else to do."""

    latencies_ms: list[float]
    """From before the submit, which returns when the task is durable, to the first line of the handler."""
    worker_mb: float | None
    """Largest resident memory of the worker and its handler processes; None where the system does not tell."""

    def percentile(self, share: float) -> float:
        """The latency that this share of the samples does not exceed, in milliseconds."""
        return statistics.quantiles(self.latencies_ms, n=100, method="inclusive")[round(share * 100) - 1]


async def run(database: str, samples: int) -> PickUp:
    """Submit one task after the other to a worker started for this."""
    async with app.app.client(database) as client:
        command = [sys.executable, "-m", "ramet.cli", "worker", TARGET, "--db", database, "--log-level", "error"]
        worker = subprocess.Popen(command)  # noqa: ASYNC220 - our own interpreter and module
        try:
            first = await client.submit(app.pickup)
            await client.result(first.id, timeout_seconds=READY_SECONDS_MAX)
            latencies = []
            for _ in range(samples):
                asked_at = time.time()
                task = await client.submit(app.pickup)
                began_at = await client.result(task.id, timeout_seconds=READY_SECONDS_MAX)
                latencies.append((began_at - asked_at) * 1_000)
            memory = resident_mb(worker.pid)
        finally:
            worker.send_signal(signal.SIGTERM)
            await asyncio.to_thread(worker.wait)
    return PickUp(latencies, memory)


def resident_mb(pid: int) -> float | None:
    """Largest resident memory so far of a process and all below it, in millions of bytes; Linux only."""
    try:
        pids = [pid]
        for parent in pids:
            pids += map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split())
        return sum(_resident_bytes(each) for each in pids) / 1e6
    except OSError:
        return None


def _resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1_024
    raise ProcessLookupError(f"process {pid} on {os.uname().sysname} has ended")
