"""Measure joins: processor time for the end of a child, with and without a parent that joins it.

    python -m benchmarks.joins                            # SQLite, 5 turns of 100,000 children a row
    python -m benchmarks.joins --postgres new             # on a server of its own, thrown away
    python -m benchmarks.joins --children 5000 --turns 3

In every turn each row has a new database and a worker of its own (`ramet worker`, with its handler process), and the
rows begin in another order. A parent spawns all children, then ends, or joins them. Only then do the children run; they
do nothing. Processor time is that of the worker and all processes below it until the last of them has ended. After that
the parent that joined runs again and reads what they returned, a page at a time: the most that its handler held of that
at once is printed too. The second row is the first one again: what it differs by is noise.
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
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.arithmetic import Spread
from benchmarks.engine.processes import cpu_seconds
from benchmarks.horizon import database
from ramet import App, Context, Limits, Outcome

TARGET = "benchmarks.joins:app"
ROWS = ("ends", "ends, again", "joins")
"""Behaviours of the parent; the others are compared with the first."""
SPAWNED_TOGETHER = 5_000
LOOK_SECONDS = 0.05
WAIT_SECONDS_MAX = 1_800.0

app = App(limits=Limits(max_tasks=1_000_000, max_fan_out=1_000_000, invocation_seconds=WAIT_SECONDS_MAX))


class Turn(NamedTuple):
    """Result of one row in one turn."""

    microseconds: float
    """Of processor time, for each child."""
    held_bytes: int
    """Of what the parent read, in memory at once, at most; 0 where it joined nothing."""


@app.task("bench.child", queue="children", key=str)
async def child(ctx: Context, number: int) -> int:
    """Do nothing."""
    return number


@app.task("bench.parent", queue="parents")
async def parent(ctx: Context, asked: dict[str, Any]) -> Outcome | int | None:
    """Spawn, then end or join; read what they returned."""
    if ctx.joined is not None:
        tracemalloc.start()
        async for one in ctx.joined:
            assert one.result is not None
        return tracemalloc.get_traced_memory()[1]
    for number in range(asked["children"]):
        ctx.spawn(child, number)
        if number % SPAWNED_TOGETHER == SPAWNED_TOGETHER - 1:
            await ctx.checkpoint()
    return ctx.join() if asked["joins"] else None


async def _until(reached: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not await reached():  # noqa: ASYNC110 - another process gets there
            await asyncio.sleep(LOOK_SECONDS)


async def measure(address: str, children: int, *, joins: bool) -> Turn:
    """Let a worker run a parent, then its children, then the parent again where it joined them."""
    command = [sys.executable, "-m", "ramet.cli", "worker", TARGET, "--db", address, "--log-level", "error"]
    async with app.client(address) as client:
        await client.pause_queue("children", by="benchmark")
        root = await client.submit(parent, {"children": children, "joins": joins})

        async def spawned() -> bool:
            task = await client.get(root.id)
            return task is not None and (task.state.terminal or task.wait == "tasks")

        async def ended() -> bool:
            return not await client.store.any_live(["bench.child"])

        worker = subprocess.Popen(command)  # noqa: ASYNC220 - our own program
        try:
            await _until(spawned)
            await client.pause_queue("parents", by="benchmark")
            before = cpu_seconds(worker.pid)
            await client.resume_queue("children", by="benchmark")
            await _until(ended)
            microseconds = (cpu_seconds(worker.pid) - before) / children * 1e6
            await client.resume_queue("parents", by="benchmark")
            held = await client.result(root.id, timeout_seconds=WAIT_SECONDS_MAX)
            return Turn(microseconds, held or 0)
        finally:
            worker.send_signal(signal.SIGTERM)
            await asyncio.to_thread(worker.wait)


def turn(number: int, children: int, postgres: str | None) -> dict[str, Turn]:
    """Every row once, beginning with another one each time."""
    told = {}
    for at in range(len(ROWS)):
        name = ROWS[(at + number) % len(ROWS)]
        with tempfile.TemporaryDirectory() as folder, database(Path(folder), postgres) as address:
            told[name] = asyncio.run(measure(address, children, joins=name == "joins"))
    return told


def report(turns: Sequence[Mapping[str, Turn]]) -> str:
    """A table: processor time for a child, and over that of the first row of the same turn."""
    lines = ["| parent | us a child | over the first row | least to most | read at once, MB |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for name in ROWS:
        ratios = Spread.of([told[name].microseconds / told[ROWS[0]].microseconds for told in turns])
        median = statistics.median(told[name].microseconds for told in turns)
        held = max(told[name].held_bytes for told in turns) / 1e6
        lines.append(
            f"| {name} | {median:.1f} | {ratios.median:.3f} | {ratios.least:.2f} to {ratios.most:.2f} | {held:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Read the command line, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--children", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--postgres", help="the address of a database to fill, or 'new'")
    options = parser.parse_args()
    turns: list[dict[str, Turn]] = []
    for number in range(options.turns):
        began = time.monotonic()
        turns.append(turn(number, options.children, options.postgres))
        took, load = time.monotonic() - began, os.getloadavg()[0]
        print(f"turn {number + 1} of {options.turns}: {took:.0f} s, load {load:.1f}", file=sys.stderr, flush=True)
    print(report(turns))


if __name__ == "__main__":
    main()
