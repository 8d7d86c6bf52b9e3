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
from ramet.cli import bench_app, bench_backlog, bench_bare, bench_pickup
from ramet.cli.failures import CliError
from ramet.cli.show import console, emit, number, table
from ramet.store.base import Claimed, ClaimRequest, Settled, Settlement, Store

TARGET = "ramet.cli.bench_app:app"
BATCH = 1_000


class Size(NamedTuple):
    """How much to measure."""

    tasks: int
    repeats: int
    levels: int
    """Generations below the root of the spawn tree, ten times as many tasks in each."""
    waiting: int
    """Tasks in the large backlog."""
    samples: int
    """Pick-ups."""

    @property
    def tree(self) -> int:
        """Tasks of the spawn tree."""
        return sum(bench_app.FAN_OUT**level for level in range(self.levels + 1))


QUICK = Size(10_000, 3, 4, 100_000, 100)
FULL = Size(50_000, 5, 5, 1_000_000, 300)


class Engine(NamedTuple):
    """One run of the engine."""

    submit_per_s: float
    drain_per_s: float
    drain_cpu_us: float
    """Processor microseconds per task, of the worker and its handler process."""


class Shape(NamedTuple):
    """What is measured once, after the turns."""

    tree_per_s: float
    backlog: bench_backlog.Backlog
    pick_up: bench_pickup.PickUp


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
    found = report(size, bare, engine) | _report_shape(size, _shape(size, folder))
    if as_json:
        emit(found)
    else:
        _print(found)


def _shape(size: Size, folder: str | None) -> Shape:
    def told(what: str) -> tempfile.TemporaryDirectory[str]:
        click.echo(what, err=True)
        return tempfile.TemporaryDirectory(prefix="ramet-bench-", dir=folder)

    with told(f"a tree of {size.tree:,} tasks") as there:
        tree_per_s = asyncio.run(_tree(Path(there), size))
    with told(f"a backlog of {size.waiting:,} tasks") as there:
        backlog = asyncio.run(bench_backlog.run(Path(there), size.waiting))
    with told(f"{size.samples} tasks picked up one by one") as there:
        pick_up = asyncio.run(bench_pickup.run(Path(there), size.samples))
    return Shape(tree_per_s, backlog, pick_up)


async def _tree(folder: Path, size: Size) -> float:
    """Tasks per second of one lineage that grows from one root, guard and budget included."""
    async with bench_app.app.client(folder / "tree.db") as client:
        await client.submit(bench_app.tree, bench_app.Branch(place="0", levels=size.levels))
        watch = await _drain(client)
        await _check_all_succeeded(client, size.tree)
    return size.tree / (watch.ended_at - watch.began_at)


async def _drain(client: Client) -> Stopwatch:
    watch = Stopwatch(client.store)
    measured = Client(client.registry, cast(Store, watch), bench_app.app.limits)
    await Worker(bench_app.app, measured, target=TARGET, until_idle=True).run()
    return watch


async def _check_all_succeeded(client: Client, tasks: int) -> None:
    done = sum(item.tasks for item in await client.counts() if item.state == "success")
    if done != tasks:
        raise RuntimeError(f"{done} of {tasks} tasks succeeded: these numbers mean nothing")


async def _engine(folder: Path, tasks: int) -> Engine:
    with _noting_cpu(folder) as noted:
        async with bench_app.app.client(folder / "engine.db") as client:
            submit_seconds = await _submit(client, tasks)
            watch = await _drain(client)
            await _check_all_succeeded(client, tasks)
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
        "sqlite.submit_to_bare_ratio": round(mine.submit_per_s / beside.submit_per_s, 3),
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


def _report_shape(size: Size, shape: Shape) -> dict[str, Any]:
    memory = shape.pick_up.worker_mb
    return {
        "sqlite.tree_per_s": round(shape.tree_per_s),
        "sqlite.backlog_ratio": round(shape.backlog.claim_ratio, 3),
        "sqlite.spawn_large_lineage_ratio": round(shape.backlog.spawn_ratio, 3),
        "sqlite.latency_ms_p50": round(shape.pick_up.percentile(0.5), 2),
        "sqlite.latency_ms_p99": round(shape.pick_up.percentile(0.99), 2),
        "sqlite.worker_mb": None if memory is None else round(memory, 1),
        "tree_tasks": size.tree,
        "backlog_tasks": size.waiting,
        "latency_samples": size.samples,
    }


def _print(found: dict[str, Any]) -> None:
    made = table("", ">engine", ">bare loop", ">ratio")
    rows = [
        ("drained per second", "drain_per_s", found["sqlite.drain_to_bare_ratio"]),
        ("submitted per second", "submit_per_s", found["sqlite.submit_to_bare_ratio"]),
    ]
    for label, name, share in rows:
        made.add_row(label, number(found[f"sqlite.{name}"]), number(found[f"sqlite.bare_{name}"]), f"{share:.2f}")
    cpu = found["sqlite.drain_cpu_us"], found["sqlite.bare_drain_cpu_us"]
    made.add_row("processor us per task drained", f"{cpu[0]:.0f}", f"{cpu[1]:.0f}", "")
    screen = console()
    screen.print(made)
    screen.print(
        f"a tree of {found['tree_tasks']:,} tasks: {number(found['sqlite.tree_per_s'])} per second\n"
        f"with {found['backlog_tasks']:,} waiting: claims {found['sqlite.backlog_ratio']:.2f} as fast as with "
        f"{bench_backlog.SMALL_BACKLOG:,}; a spawn takes {found['sqlite.spawn_large_lineage_ratio']:.2f} of one in "
        f"a lineage of {bench_backlog.SMALL_LINEAGE:,}\n"
        f"picked up from another process: median {found['sqlite.latency_ms_p50']:.1f} ms, 99 % within "
        f"{found['sqlite.latency_ms_p99']:.1f} ms; worker {found['sqlite.worker_mb']} MB"
    )
    screen.print(
        f"medians of {found['repeats']} runs of {found['tasks']:,} tasks in batches of {found['batch']:,}; "
        f"Python {found['python']}, SQLite {found['sqlite']}, {found['processors']} processors"
    )
