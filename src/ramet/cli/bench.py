"""``ramet bench``: the engine beside a bare loop, in turns, in one run. The method is in benchmarks/README.md."""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import click

import ramet
from ramet import Client, Worker
from ramet.cli import bench_app, bench_bare
from ramet.cli.failures import CliError
from ramet.cli.show import console, emit, number, table
from ramet.store.base import Claimed, ClaimRequest, Settled, Settlement, Store

TARGET = "ramet.cli.bench_app:app"
BATCH = 1_000


class Size(NamedTuple):
    """How much to measure."""

    tasks: int
    repeats: int


QUICK = Size(10_000, 3)
FULL = Size(50_000, 5)


class Engine(NamedTuple):
    """One run of the engine."""

    submit_per_s: float
    drain_per_s: float
    drain_cpu_us: float
    """Processor microseconds per task, of the worker and its handler process."""


class Stopwatch:
    """The store as a worker sees it, noting when it first claims and when its last settlement was durable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.began_at = 0.0
        self.began_cpu = 0.0
        self.ended_at = 0.0
        self.ended_cpu = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim(self, request: ClaimRequest) -> list[Claimed]:
        """As the store's; the first one starts the clock."""
        if not self.began_at:
            self.began_at, self.began_cpu = time.perf_counter(), time.process_time()
        return await self._store.claim(request)

    async def settle(self, batch: Sequence[Settlement]) -> list[Settled]:
        """As the store's; the last one stops the clock, when it is durable."""
        answers = await self._store.settle(batch)
        self.ended_at, self.ended_cpu = time.perf_counter(), time.process_time()
        return answers


def run(*, quick: bool, folder: str | None, as_json: bool) -> None:
    """Measure and print.

    Raises:
        CliError: the folder cannot be used.
    """
    size = QUICK if quick else FULL
    if folder is not None and not Path(folder).is_dir():
        raise CliError(f"the folder {folder} does not exist: create it or give another one")
    bare, engine = [], []
    for turn in range(1, size.repeats + 1):
        click.echo(f"run {turn} of {size.repeats}: {size.tasks:,} tasks", err=True)
        with tempfile.TemporaryDirectory(prefix="ramet-bench-", dir=folder) as there:
            bare.append(bench_bare.run(Path(there), size.tasks, BATCH, bench_app.TEXT))
        with tempfile.TemporaryDirectory(prefix="ramet-bench-", dir=folder) as there:
            engine.append(asyncio.run(_engine(Path(there), size.tasks)))
    found = report(size, bare, engine)
    if as_json:
        emit(found)
    else:
        _print(found)


async def _engine(folder: Path, tasks: int) -> Engine:
    with _noting_cpu(folder) as noted:
        async with bench_app.app.client(folder / "engine.db") as client:
            submit_seconds = await _submit(client, tasks)
            watch = Stopwatch(client.store)
            measured = Client(client.registry, cast(Store, watch), bench_app.app.limits)
            await Worker(bench_app.app, measured, target=TARGET, until_idle=True).run()
            done = sum(item.tasks for item in await client.counts() if item.state == "success")
    if done != tasks:
        raise RuntimeError(f"{done} of {tasks} tasks succeeded: these numbers mean nothing")
    loaded, ended = (float(path.read_text(encoding="ascii")) for path in noted)
    cpu_seconds = watch.ended_cpu - watch.began_cpu + ended - loaded
    return Engine(tasks / submit_seconds, tasks / (watch.ended_at - watch.began_at), cpu_seconds / tasks * 1e6)


@contextmanager
def _noting_cpu(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Where the handler process writes its processor time; it inherits the environment."""
    noted = folder / "loaded", folder / "ended"
    names = bench_app.LOADED_CPU_FILE, bench_app.ENDED_CPU_FILE
    os.environ |= {name: str(path) for name, path in zip(names, noted, strict=True)}
    try:
        yield noted
    finally:
        for name in names:
            del os.environ[name]


async def _submit(client: Client, tasks: int) -> float:
    """Seconds to submit all tasks, a batch and a commit at a time."""
    began = time.perf_counter()
    for first in range(1, tasks + 1, BATCH):
        numbers = range(first, min(first + BATCH, tasks + 1))
        await client.submit_many(((bench_app.noop, bench_app.Payload(number=at)) for at in numbers), one_lineage=True)
    return time.perf_counter() - began


def report(size: Size, bare: Sequence[bench_bare.Bare], engine: Sequence[Engine]) -> dict[str, Any]:
    """Medians under their published names, with what they were measured beside."""
    mine = Engine(*(statistics.median(column) for column in zip(*engine, strict=True)))
    beside = bench_bare.Bare(*(statistics.median(column) for column in zip(*bare, strict=True)))
    return {
        "sqlite.drain_per_s": round(mine.drain_per_s),
        "sqlite.drain_to_bare_ratio": round(mine.drain_per_s / beside.drain_per_s, 3),
        "sqlite.drain_cpu_us": round(mine.drain_cpu_us, 1),
        "sqlite.submit_per_s": round(mine.submit_per_s),
        "sqlite.bare_drain_per_s": round(beside.drain_per_s),
        "sqlite.bare_drain_cpu_us": round(beside.drain_cpu_us, 1),
        "sqlite.bare_submit_per_s": round(beside.submit_per_s),
        "tasks": size.tasks,
        "repeats": size.repeats,
        "batch": BATCH,
        "ramet": ramet.__version__,
        "python": platform.python_version(),
        "sqlite": bench_bare.VERSION,
        "processors": os.cpu_count(),
        "system": sys.platform,
    }


def _print(found: dict[str, Any]) -> None:
    made = table("", ">engine", ">bare loop", ">ratio")
    ratio = found["sqlite.submit_per_s"] / found["sqlite.bare_submit_per_s"]
    rows = [
        ("drained per second", "drain_per_s", found["sqlite.drain_to_bare_ratio"]),
        ("submitted per second", "submit_per_s", ratio),
    ]
    for label, name, share in rows:
        made.add_row(label, number(found[f"sqlite.{name}"]), number(found[f"sqlite.bare_{name}"]), f"{share:.2f}")
    cpu = found["sqlite.drain_cpu_us"], found["sqlite.bare_drain_cpu_us"]
    made.add_row("processor us per task drained", f"{cpu[0]:.0f}", f"{cpu[1]:.0f}", "")
    screen = console()
    screen.print(made)
    screen.print(
        f"medians of {found['repeats']} runs of {found['tasks']:,} tasks in batches of {found['batch']:,}; "
        f"Python {found['python']}, SQLite {found['sqlite']}, {found['processors']} processors"
    )
