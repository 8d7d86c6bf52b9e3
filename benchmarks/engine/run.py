"""``ramet bench``: the engine beside a bare loop, in turns, in one run. The method is in benchmarks/README.md."""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

import ramet
from benchmarks.engine import app, backlog, paths, pickup
from benchmarks.engine import backlog as bench_backlog
from benchmarks.engine import paths as bench_paths
from benchmarks.engine import pinned as bench_pinned
from benchmarks.engine.drain import drain
from benchmarks.engine.paths import Sizes
from benchmarks.engine.pinned import Phases
from benchmarks.engine.places import BareRun, Place, Spot
from ramet import Client
from ramet.cli.output import console, number
from ramet.commands.terminal import emit, table

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
    pinned: Phases
    """How long to look at the rate before, while and after a snapshot is held."""
    paths: Sizes
    """Tasks that stand in line."""

    @property
    def tree(self) -> int:
        """Tasks of the spawn tree."""
        return sum(app.FAN_OUT**level for level in range(self.levels + 1))


QUICK = Size(10_000, 3, 4, 100_000, 100, Phases(3, 6, 3), Sizes(20_000, 20_000, 10_000, 3, 2_000))
FULL = Size(50_000, 5, 5, 1_000_000, 300, Phases(30, 180, 120), Sizes(1_000_000, 100_000, 100_000, 3, 20_000))


class Engine(NamedTuple):
    """One run of the engine."""

    submit_per_s: float
    drain_per_s: float
    drain_cpu_us: float
    """Processor microseconds per task, of the worker and its handler process."""
    server_cpu_us: float | None = None
    """Of the server; None where there is none, or where it is on another machine."""


class Shape(NamedTuple):
    """What is measured once, after the turns."""

    tree_per_s: float
    backlog: bench_backlog.Backlog
    pick_up: pickup.PickUp
    pinned: bench_pinned.Pinned
    paths: bench_paths.Paths


def run(*, quick: bool, place: Place, as_json: bool) -> None:
    """Measure and print."""
    size = QUICK if quick else FULL
    bare, engine = [], []
    for turn in range(1, size.repeats + 1):
        click.echo(f"run {turn} of {size.repeats}: {size.tasks:,} tasks", err=True)
        with place.fresh() as spot:
            bare.append(place.bare(spot, size.tasks, BATCH, app.TEXT))
        with place.fresh() as spot:
            engine.append(asyncio.run(_engine(place, spot, size.tasks)))
    found = report(place, size, bare, engine) | _report_shape(place.name, size, _shape(place, size))
    if as_json:
        emit(found)
    else:
        show(place.name, found)


def _shape(place: Place, size: Size) -> Shape:
    @contextmanager
    def told(what: str) -> Iterator[Spot]:
        click.echo(what, err=True)
        with place.fresh() as spot:
            yield spot

    with told(f"a tree of {size.tree:,} tasks") as spot:
        tree_per_s = asyncio.run(_tree(spot, size))
    with told(f"a backlog of {size.waiting:,} tasks") as large, place.fresh() as small, place.fresh() as tiny:
        backlog = asyncio.run(bench_backlog.run(large.address, small.address, tiny.address, size.waiting))
    with told(f"{size.samples} tasks picked up one by one") as spot:
        pick_up = asyncio.run(pickup.run(spot.address, size.samples))
    with told(f"a snapshot held for {size.pinned.during:g} s under load") as spot:
        pinned = asyncio.run(bench_pinned.run(place, spot, size.pinned))
    return Shape(tree_per_s, backlog, pick_up, pinned, bench_paths.run(place, size.paths))


async def _tree(spot: Spot, size: Size) -> float:
    """Tasks per second of one lineage that grows from one root, guard and budget included."""
    async with app.app.client(spot.address) as client:
        await client.submit(app.tree, app.Branch(place="0", levels=size.levels))
        watch = await drain(client, size.tree)
    return size.tree / watch.seconds


async def _engine(place: Place, spot: Spot, tasks: int) -> Engine:
    with _noting_cpu(spot.folder) as noted:
        async with app.app.client(spot.address) as client:
            submit_seconds = await _submit(client, tasks)
            before = place.server_cpu()
            watch = await drain(client, tasks)
            after = place.server_cpu()
    loaded, ended = (float(path.read_text(encoding="ascii")) for path in noted)
    cpu_seconds = watch.ended_cpu - watch.began_cpu + ended - loaded
    server_cpu_us = None if before is None or after is None else (after - before) / tasks * 1e6
    return Engine(tasks / submit_seconds, tasks / watch.seconds, cpu_seconds / tasks * 1e6, server_cpu_us)


@contextmanager
def _noting_cpu(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Where the handler process writes its processor time; it inherits the environment."""
    noted = folder / "loaded", folder / "ended"
    names = app.LOADED_CPU_FILE, app.ENDED_CPU_FILE
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
        await client.submit_many(((app.noop, app.Payload(number=at)) for at in numbers), one_lineage=True)
    return time.perf_counter() - began


def report(place: Place, size: Size, bare: Sequence[BareRun], engine: Sequence[Engine]) -> dict[str, Any]:
    """Medians under their published names, with what they were measured beside."""
    mine, beside = Engine(*_medians(engine)), BareRun(*_medians(bare))
    found = {
        "drain_per_s": round(mine.drain_per_s),
        "drain_to_bare_ratio": round(mine.drain_per_s / beside.drain_per_s, 3),
        "drain_cpu_us": round(mine.drain_cpu_us, 1),
        "submit_per_s": round(mine.submit_per_s),
        "submit_to_bare_ratio": round(mine.submit_per_s / beside.submit_per_s, 3),
        "bare_drain_per_s": round(beside.drain_per_s),
        "bare_drain_cpu_us": round(beside.drain_cpu_us, 1),
        "bare_submit_per_s": round(beside.submit_per_s),
    }
    if mine.server_cpu_us is not None and beside.server_cpu_us is not None:
        found |= {
            "server_cpu_us": round(mine.server_cpu_us, 1),
            "bare_server_cpu_us": round(beside.server_cpu_us, 1),
        }
    return {f"{place.name}.{name}": value for name, value in found.items()} | {
        "tasks": size.tasks,
        "repeats": size.repeats,
        "batch": BATCH,
        "ramet": ramet.__version__,
        "python": platform.python_version(),
        **place.conditions(),
        "processors": os.cpu_count(),
        "system": sys.platform,
    }


def _medians(runs: Sequence[Sequence[float | None]]) -> list[Any]:
    columns = ([value for value in column if value is not None] for column in zip(*runs, strict=True))
    return [statistics.median(column) if column else None for column in columns]


def _report_shape(name: str, size: Size, shape: Shape) -> dict[str, Any]:
    memory, pinned = shape.pick_up.worker_mb, shape.pinned
    found = {
        "tree_per_s": round(shape.tree_per_s),
        "backlog_ratio": round(shape.backlog.claim_ratio, 3),
        "spawn_large_lineage_ratio": round(shape.backlog.spawn_ratio, 3),
        "latency_ms_p50": round(shape.pick_up.percentile(0.5), 2),
        "latency_ms_p99": round(shape.pick_up.percentile(0.99), 2),
        "worker_mb": None if memory is None else round(memory, 1),
        "steady_per_s": round(pinned.before_per_s),
        "pinned_ratio": round(pinned.during_per_s / pinned.before_per_s, 3),
        "pinned_end_ratio": round(pinned.during_end_per_s / pinned.before_per_s, 3),
        "recovered_ratio": round(pinned.after_per_s / pinned.before_per_s, 3),
    }
    return {f"{name}.{key}": value for key, value in found.items()} | {
        "tree_tasks": size.tree,
        "backlog_tasks": size.waiting,
        "latency_samples": size.samples,
        "pinned_seconds": size.pinned.during,
        **bench_paths.report(size.paths, shape.paths),
    }


DATABASES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


def show(name: str, found: dict[str, Any]) -> None:
    """Print it, with what it was measured beside."""

    def of(key: str) -> Any:
        return found[f"{name}.{key}"]

    made = table("", ">engine", ">bare loop", ">ratio")
    rows = [("drained per second", "drain", of("drain_to_bare_ratio"))]
    rows += [("submitted per second", "submit", of("submit_to_bare_ratio"))]
    for label, what, share in rows:
        made.add_row(label, number(of(f"{what}_per_s")), number(of(f"bare_{what}_per_s")), f"{share:.2f}")
    made.add_row("processor us per task drained", f"{of('drain_cpu_us'):.0f}", f"{of('bare_drain_cpu_us'):.0f}", "")
    if f"{name}.server_cpu_us" in found:
        made.add_row("processor us, server", f"{of('server_cpu_us'):.0f}", f"{of('bare_server_cpu_us'):.0f}", "")
    screen = console()
    screen.print(made)
    screen.print(
        f"a tree of {found['tree_tasks']:,} tasks: {number(of('tree_per_s'))} per second\n"
        f"with {found['backlog_tasks']:,} waiting: claims {of('backlog_ratio'):.2f} as fast as with "
        f"{backlog.SMALL_BACKLOG:,}; a spawn takes {of('spawn_large_lineage_ratio'):.2f} of one in "
        f"a lineage of {backlog.SMALL_LINEAGE:,}\n"
        f"picked up from another process: median {of('latency_ms_p50'):.1f} ms, 99 % within "
        f"{of('latency_ms_p99'):.1f} ms; worker {of('worker_mb')} MB\n"
        f"submitted and drained at once, {number(of('steady_per_s'))} per second; with a snapshot held for "
        f"{found['pinned_seconds']:g} s {of('pinned_ratio'):.2f} of that, {of('recovered_ratio'):.2f} after it\n"
        f"{paths.told(found)}"
    )
    screen.print(
        f"medians of {found['repeats']} runs of {found['tasks']:,} tasks in batches of {found['batch']:,}; "
        f"Python {found['python']}, {DATABASES[name]} {found[name]}, {found['processors']} processors"
    )
