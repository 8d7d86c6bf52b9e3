"""What watching costs a worker: processor time per task without an observer, with traces, and while metrics are read.

    python -m benchmarks.observers_cost                   # SQLite, 10 turns of 20,000 tasks a row
    python -m benchmarks.observers_cost --postgres new    # on a server of its own, thrown away
    python -m benchmarks.observers_cost --tasks 4000 --turns 3

In every turn each row has a new database and a worker of its own (`ramet worker`, with its handler process), and the
rows begin in another order. The tasks do nothing, so what a task costs is the engine's, and a share of it is as large
as it can be. Processor time is that of the worker and all processes below it, after a warm-up, until the last task has
ended and a second later, so that spans have left. Spans go to a collector on this machine that throws them away. The
second row is the first one again: what it differs by is noise.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from benchmarks.arithmetic import Spread
from benchmarks.engine import app
from benchmarks.engine.processes import cpu_seconds
from benchmarks.horizon import database
from ramet import Client
from ramet.telemetry.metrics import read_snapshot

TARGET = "benchmarks.engine.app:app"
KIND = "bench.noop"
LINEAGE_TASKS = 100
WARM_TASKS = 1_000
LOOK_SECONDS = 0.05
SENT_SECONDS = 1.2
"""Spans wait for a second before they are sent."""
SCRAPE_SECONDS = 1.0
"""Between two readings for metrics: fifteen times as often as Prometheus asks by default."""
WAIT_SECONDS_MAX = 300.0


class Row(NamedTuple):
    """One way to run."""

    name: str
    environment: Mapping[str, str] = {}
    scraped: bool = False


def rows(collector: str) -> list[Row]:
    """What is compared; the first is what the others are compared with."""
    traced = {"RAMET_TRACES": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": collector}
    ratios = [Row(f"traces, ratio {ratio}", {**traced, "RAMET_TRACES_RATIO": ratio}) for ratio in ("0", "0.01", "1")]
    return [Row("no observer"), Row("no observer, again"), Row("metrics read each second", scraped=True), *ratios]


class _Sink(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Take it and say so."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nobody reads it."""


@contextmanager
def collector() -> Iterator[str]:
    """A collector that keeps nothing; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


async def submit(client: Client, tasks: int, first: int) -> None:
    """So many tasks, in lineages of a hundred."""
    for at in range(first, first + tasks, LINEAGE_TASKS):
        roots = [(KIND, app.Payload(number=number)) for number in range(at, min(at + LINEAGE_TASKS, first + tasks))]
        await client.submit_many(roots, one_lineage=True)


async def ended(client: Client) -> None:
    """Until no task is live.

    Raises:
        TimeoutError: the worker does not get on.
    """
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while await client.store.any_live([KIND]):  # noqa: ASYNC110 - another process ends them
            await asyncio.sleep(LOOK_SECONDS)


async def scrape(client: Client) -> None:
    """Read what metrics tell, again and again."""
    while True:
        await read_snapshot(client)
        await asyncio.sleep(SCRAPE_SECONDS)


@asynccontextmanager
async def loaded(address: str, tasks: int, environment: Mapping[str, str]) -> AsyncIterator[tuple[Client, int]]:
    """A client, and the process of a worker that is warm; so many tasks wait until the queue is resumed."""
    command = [sys.executable, "-m", "ramet.cli", "worker", TARGET, "--db", address, "--log-level", "error"]
    async with app.app.client(address) as client:
        worker = subprocess.Popen(command, env={**os.environ, **environment})  # noqa: ASYNC220 - our own program
        try:
            await submit(client, WARM_TASKS, 0)
            await ended(client)
            # What is submitted meanwhile waits: the worker takes full batches, as under load.
            await client.pause_queue("default", by="benchmark")
            await submit(client, tasks, WARM_TASKS)
            yield client, worker.pid
        finally:
            worker.send_signal(signal.SIGTERM)
            await asyncio.to_thread(worker.wait)


async def drained(client: Client) -> None:
    """Let them run, until none is left."""
    await client.resume_queue("default", by="benchmark")
    await ended(client)


async def drain(address: str, row: Row, tasks: int) -> float:
    """Let a worker do so many tasks; processor microseconds for each."""
    async with loaded(address, tasks, row.environment) as (client, worker):
        reading = asyncio.create_task(scrape(client)) if row.scraped else None
        try:
            before = cpu_seconds(worker)
            await drained(client)
            await asyncio.sleep(SENT_SECONDS)
            return (cpu_seconds(worker) - before) / tasks * 1e6
        finally:
            if reading is not None:
                reading.cancel()
                with suppress(asyncio.CancelledError):
                    await reading


def turn(compared: Sequence[Row], number: int, tasks: int, postgres: str | None) -> dict[str, float]:
    """Every row once, beginning with another one each time."""
    told = {}
    for at in range(len(compared)):
        row = compared[(at + number) % len(compared)]
        with tempfile.TemporaryDirectory() as folder, database(Path(folder), postgres) as address:
            told[row.name] = asyncio.run(drain(address, row, tasks))
    return told


def report(turns: Sequence[Mapping[str, float]]) -> str:
    """A table: processor time per task, and over that of the first row of the same turn."""
    first = next(iter(turns[0]))
    lines = ["| row | us a task | over the first row | least to most |", "| --- | ---: | ---: | ---: |"]
    for name in turns[0]:
        ratios = Spread.of([told[name] / told[first] for told in turns])
        median = statistics.median(told[name] for told in turns)
        lines.append(f"| {name} | {median:.1f} | {ratios.median:.3f} | {ratios.least:.2f} to {ratios.most:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--postgres", help="the address of a database to fill, or 'new'")
    options = parser.parse_args()
    turns: list[dict[str, float]] = []
    with collector() as address:
        compared = rows(address)
        for number in range(options.turns):
            began = time.monotonic()
            told = turn(compared, number, options.tasks, options.postgres)
            turns.append({row.name: told[row.name] for row in compared})
            took, load = time.monotonic() - began, os.getloadavg()[0]
            print(f"turn {number + 1} of {options.turns}: {took:.0f} s, load {load:.1f}", file=sys.stderr, flush=True)
    print(report(turns))


if __name__ == "__main__":
    main()
