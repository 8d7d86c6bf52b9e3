"""What a question to a model costs the engine, in a large job, and how much memory that takes.

    python -m benchmarks.llm.scale                                          # 100,000 in batches, on SQLite
    python -m benchmarks.llm.scale --items 3000 --mode chat --db postgres

The project's own stand-in for a provider answers, in a process of its own, so that its processor time is apart. A
command submits the job, `ramet worker` works it off, and the provider's package alone asks the same in a loop that
keeps nothing, all in one run. Processor time is of whole processes, from their start. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.llm.steps import JOB, write_input
from benchmarks.places import Database, fresh
from benchmarks.wiki_scale import Meter, Sample
from ramet import Client
from ramet.llm import pipeline
from ramet.llm.jobs import check_name, find_job
from ramet.llm.settings import POLL
from ramet.llm.status import ItemState, status_of
from ramet.testing.postgres import Cluster

LOOK_SECONDS = 0.25
ASK_SECONDS = 1.0
STEPS = (sys.executable, "-m", "benchmarks.llm.steps")
ENVIRONMENT = {**os.environ, "OPENAI_API_KEY": "none"}


def step(*words: str) -> dict[str, float]:
    """Run a step in its own process; what it used.

    Raises:
        SystemExit: it did not end well.
    """
    done = subprocess.run([*STEPS, *words], check=False, stdout=subprocess.PIPE, env=ENVIRONMENT)
    if done.returncode:
        sys.exit(f"{shlex.join(words)} ended with {done.returncode}")
    told: dict[str, float] = json.loads(done.stdout)
    return told


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is told to end when the block does; its words but for standard output go to the log."""
    with log.open("wb") as told:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True, env=ENVIRONMENT)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


async def work_off(client: Client, worker: subprocess.Popen[str], server: Meter) -> tuple[list[Sample], Meter]:
    """Look at the worker until the job has ended, and do what the poller's schedule would: begin a next slot.

    Raises:
        SystemExit: the worker ended before.
    """
    meter, samples, slots, asked_at = Meter(worker.pid), list[Sample](), 0, 0.0
    while True:
        samples.append(meter.look())
        server.look()
        if worker.poll() is not None:
            sys.exit(f"the worker ended with {worker.returncode}")
        if time.monotonic() - asked_at >= ASK_SECONDS:
            asked_at = time.monotonic()
            lineage = await client.lineage(check_name(JOB))
            if lineage is not None and lineage.ended_at is not None:
                return samples, meter
            polls = await client.tasks(kind=POLL, states=("pending", "processing"), limit=1)
            if not polls.tasks:
                slots += 1
                await client.submit(pipeline.poll, {}, tracking_id=f"slot-{slots}")
        await asyncio.sleep(LOOK_SECONDS)


async def worked(database: Database, log: Path, server: Meter, items: int) -> dict[str, Any]:
    """A worker's part of the job.

    Raises:
        SystemExit: not every item has its answer.
    """
    command = [sys.executable, "-m", "ramet.cli", "worker", pipeline.TARGET, "--db", database.address]
    began, server_began = time.monotonic(), server.look().cpu_seconds
    database_began = database.server_cpu()
    async with pipeline.app.client(database.address) as client:
        with running(command, log) as worker:
            samples, meter = await work_off(client, worker, server)
            seconds = time.monotonic() - began
        status = await status_of(client, await find_job(client, JOB))
    if status.items[ItemState.SUCCEEDED] != items:
        sys.exit(f"{dict(status.items)}, see --folder for the worker's log")
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(samples[-1].cpu_seconds, 3),
        "peak_rss_mb": round(max(sample.rss_bytes for sample in samples) / 1e6, 1),
        "peak_rss_mb_of_each": [round(most / 1e6, 1) for most in meter.peaks.values()],
        "standin_cpu_seconds": round(server.look().cpu_seconds - server_began, 3),
        "database_cpu_seconds": round(database.server_cpu() - database_began, 3),
    }


def measure(items: int, mode: str, database: Database, folder: Path) -> dict[str, Any]:
    """All steps, one after another."""
    questions = folder / "questions.jsonl"
    write_input(questions, items)
    with running([sys.executable, "-m", "ramet.llm.testing"], folder / "standin.log") as standin:
        assert standin.stdout is not None
        url = standin.stdout.readline().strip()
        submitted = step("submit", str(questions), url, database.address, mode)
        work = asyncio.run(worked(database, folder / "worker.log", Meter(standin.pid), items))
        bare = step("bare", str(questions), url, mode)
    return report(items, mode, submitted, work, bare)


def report(
    items: int, mode: str, submitted: dict[str, Any], work: dict[str, Any], bare: dict[str, Any]
) -> dict[str, Any]:
    """Everything that was measured; times of processors in microseconds an item."""

    def each(seconds: float) -> float:
        return round(seconds / items * 1e6, 1)

    engine = submitted["cpu_seconds"] + work["cpu_seconds"]
    return {
        "items": items,
        "mode": mode,
        "engine_cpu_us": each(engine),
        "submit_cpu_us": each(submitted["cpu_seconds"]),
        "worker_cpu_us": each(work["cpu_seconds"]),
        "database_cpu_us": each(work["database_cpu_seconds"]),
        "standin_cpu_us": each(work["standin_cpu_seconds"]),
        "bare_cpu_us": each(bare["cpu_seconds"]),
        "engine_to_bare_cpu": round(engine / bare["cpu_seconds"], 2),
        "submit_peak_rss_mb": submitted["peak_rss_mb"],
        "worker_peak_rss_mb": work["peak_rss_mb"],
        "worker_peak_rss_mb_of_each": work["peak_rss_mb_of_each"],
        "bare_peak_rss_mb": bare["peak_rss_mb"],
        "submit_items_per_s": round(items / submitted["seconds"], 1),
        "worked_items_per_s": round(items / work["seconds"], 1),
        "bare_items_per_s": round(items / bare["seconds"], 1),
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm.scale", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--mode", choices=("batch", "background", "chat"), default="batch")
    parser.add_argument("--db", default="sqlite", help="sqlite, postgres (a server of its own), or a server's address")
    parser.add_argument("--folder", type=Path, help="where to work, kept afterwards; a temporary one by default")
    asked = parser.parse_args()
    with ExitStack() as stack:
        folder = asked.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        store, server = ("sqlite", None) if asked.db == "sqlite" else ("postgres", asked.db)
        if asked.db == "postgres":
            server = stack.enter_context(Cluster()).url()
        database = stack.enter_context(fresh(store, folder.absolute(), server))
        print(json.dumps(measure(asked.items, asked.mode, database, folder.absolute()), indent=1))


if __name__ == "__main__":
    main()
