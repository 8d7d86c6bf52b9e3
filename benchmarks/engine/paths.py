"""What do paths cost? The same work with paths and without, in turns, in databases of their own."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import click

from benchmarks.engine import app
from benchmarks.engine.drain import drain
from benchmarks.engine.places import Place
from ramet import Client
from ramet.model.lineage.limits import LEASE_SECONDS
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.requests import ClaimRequest, Settlement

WORKER = "bench-worker"
BATCH = 1_000
WINDOWS = 15
SMALL_CROWD = 1_000
"""Live tasks with paths in the smaller of two databases."""
TASKS_A_PATH = 10

PathOf = Callable[[int], list[str] | None]


class Sizes(NamedTuple):
    """How much to measure."""

    waiting: int
    """Tasks that wait behind one path."""
    crowd: int
    """Live tasks with a path of five elements."""
    drained: int
    """Tasks of one drain, ten to a path."""
    drains: int
    """Turns of those."""
    children: int
    """Tasks that one parent holds back."""
    window: int = 2_000
    """Tasks that are settled, or submitted, at a time."""


class Enqueued(NamedTuple):
    """Seconds to submit a window of tasks."""

    plain: float
    on_paths: float

    @property
    def ratio(self) -> float:
        """A task on a path of five elements over one without a path."""
        return self.on_paths / self.plain


class Paths(NamedTuple):
    """Medians of alternated windows."""

    blocked_ratio: float
    """Tasks claimed and settled per second while many wait behind one path, over those where nobody waits."""
    few: Enqueued
    """With 1,000 live tasks on paths."""
    many: Enqueued
    drain_ratio: float
    """Tasks drained per second, ten to a path, over those without paths."""
    released: Sequence[int]
    """How many children could be claimed after each transaction that followed the end of their parent."""


def run(place: Place, sizes: Sizes) -> Paths:
    """Measure all of it.

    Raises:
        RuntimeError: something did not run as it was meant to.
    """
    click.echo(f"{sizes.waiting:,} tasks that wait behind one path", err=True)
    blocked_ratio = asyncio.run(_blocked(place, sizes.waiting, sizes.window))
    click.echo(f"tasks submitted beside {sizes.crowd:,} on paths", err=True)
    few, many = asyncio.run(_enqueued(place, sizes.crowd, sizes.window))
    click.echo(f"{sizes.drained:,} tasks on {sizes.drained // TASKS_A_PATH:,} paths", err=True)
    drain_ratio = asyncio.run(_drained(place, sizes.drained, sizes.drains))
    click.echo(f"{sizes.children:,} tasks behind one parent", err=True)
    return Paths(blocked_ratio, few, many, drain_ratio, asyncio.run(_released(place, sizes.children)))


def report(sizes: Sizes, found: Paths) -> dict[str, Any]:
    """The figures under their published names, with their sizes."""
    figures = {
        "blocked_backlog_ratio": round(found.blocked_ratio, 3),
        "enqueue_depth5_ratio": round(found.many.ratio, 2),
        "enqueue_depth5_small_ratio": round(found.few.ratio, 2),
        "enqueue_depth5_growth": round(found.many.on_paths / found.few.on_paths, 2),
        "drain_ratio": round(found.drain_ratio, 3),
        "wide_release_max": max(found.released),
        "wide_release_transactions": len(found.released),
        "waiting_tasks": sizes.waiting,
        "live_tasks": sizes.crowd,
        "drain_tasks": sizes.drained,
        "wide_tasks": sizes.children,
    }
    return {f"paths.{name}": value for name, value in figures.items()}


def told(found: Mapping[str, Any]) -> str:
    """The same for people."""

    def of(name: str) -> Any:
        return found[f"paths.{name}"]

    return (
        f"paths: with {of('waiting_tasks'):,} tasks behind one path others run {of('blocked_backlog_ratio'):.2f} as "
        f"fast as without; a path of five elements makes a submit {of('enqueue_depth5_small_ratio'):.1f} times as long "
        f"with {SMALL_CROWD:,} live, {of('enqueue_depth5_ratio'):.1f} with {of('live_tasks'):,}\n"
        f"{of('drain_tasks'):,} tasks on {of('drain_tasks') // TASKS_A_PATH:,} paths drain {of('drain_ratio'):.2f} as "
        f"fast as without paths; {of('wide_tasks'):,} behind one parent came free at most {of('wide_release_max'):,} "
        "in a transaction"
    )


# --- the runs -----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _fresh(place: Place) -> AsyncIterator[Client]:
    with place.fresh() as spot:
        async with app.app.client(spot.address) as client:
            yield client


def _no_path(number: int) -> None:
    """As a task without one."""


def deep(number: int) -> list[str]:
    """Five elements; no two tasks conflict, ten share a document."""
    return [f"document{number // TASKS_A_PATH}", "review", "round 1", "section", str(number % TASKS_A_PATH)]


async def submit(client: Client, tasks: int, path: PathOf = _no_path, *, first: int = 0) -> float:
    """Submit so many tasks, a batch and a commit at a time; returns the seconds that it took."""
    began = time.perf_counter()
    for start in range(first, first + tasks, BATCH):
        numbers = range(start, min(start + BATCH, first + tasks))
        items = ((app.noop, app.Payload(number=at), {"path": path(at)}) for at in numbers)
        await client.submit_many(items, one_lineage=True)  # type: ignore[arg-type]
    return time.perf_counter() - began


async def claim(client: Client, limit: int) -> list[ClaimedTask]:
    """Take what can be claimed."""
    request = ClaimRequest(WORKER, ["default"], ["bench.noop"], limit, LEASE_SECONDS)
    return await client.store.claim(request)


async def settle(client: Client, claimed: Sequence[ClaimedTask]) -> None:
    """All of these succeed."""
    held = [item.standing for item in claimed]
    answers = await client.store.settle([Settlement(s.seq, s.fence, ev.Complete(s.fence)) for s in held])
    if any(answer.state != "success" for answer in answers):
        raise RuntimeError(f"a settlement was refused: {answers[0]}")


async def _blocked(place: Place, waiting: int, window: int) -> float:
    async with _fresh(place) as large, _fresh(place) as empty:
        await submit(large, waiting + 1, lambda _: ["held"])
        holder = await _the_only_one(large)
        seconds: dict[Client, list[float]] = {large: [], empty: []}
        for turn in range(WINDOWS + 1):
            for client in [large, empty] if turn % 2 else [empty, large]:
                await submit(client, window, first=waiting + 1)
                seconds[client].append(await _window(client, window))
        # Nobody overtook: of all that the first held back the next is the only one to come free.
        await settle(large, holder)
        await _the_only_one(large)
        # Of each pair, as what else the machine does is the same for both.
        return _warm([plain / beside for plain, beside in zip(seconds[empty], seconds[large], strict=True)])


async def _the_only_one(client: Client) -> list[ClaimedTask]:
    claimed = await claim(client, BATCH)
    if len(claimed) != 1:
        raise RuntimeError(f"{len(claimed)} tasks of one path could be claimed at once: these numbers mean nothing")
    return claimed


async def _window(client: Client, tasks: int) -> float:
    began, done = time.perf_counter(), 0
    while done < tasks:
        claimed = await claim(client, min(BATCH, tasks - done))
        if not claimed:
            raise RuntimeError(f"claimed {done} tasks of {tasks}")
        await settle(client, claimed)
        done += len(claimed)
    return time.perf_counter() - began


async def _enqueued(place: Place, crowd: int, window: int) -> tuple[Enqueued, Enqueued]:
    async with _fresh(place) as few, _fresh(place) as many:
        seconds: dict[tuple[Client, PathOf], list[float]] = {}
        made = {few: min(SMALL_CROWD, crowd), many: crowd}
        for client, tasks in made.items():
            await submit(client, tasks, deep)
            seconds |= {(client, _no_path): [], (client, deep): []}
        for _ in range(WINDOWS + 1):
            for (client, path), several in seconds.items():
                several.append(await submit(client, window, path, first=made[client]))
                made[client] += window
        first, second = (
            Enqueued(_warm(seconds[client, _no_path]), _warm(seconds[client, deep])) for client in (few, many)
        )
        return first, second


async def _drained(place: Place, tasks: int, turns: int) -> float:
    """The tasks of one path do not come one after the other, as those of many people would not."""
    paths = tasks // TASKS_A_PATH
    ways: list[PathOf] = [_no_path, lambda number: [f"document{number % paths}"]]
    seconds: list[list[float]] = [[], []]
    for _ in range(turns):
        for path, several in zip(ways, seconds, strict=True):
            async with _fresh(place) as client:
                await submit(client, tasks, path)
                several.append((await drain(client, tasks)).seconds)
    plain, on_paths = map(statistics.median, seconds)
    return plain / on_paths


async def _released(place: Place, children: int) -> list[int]:
    async with _fresh(place) as client:
        await submit(client, children + 1, lambda number: ["parent", str(number)] if number else ["parent"])
        await settle(client, await _the_only_one(client))
        released, goes_on = [await _come_free(client)], True
        while goes_on:
            goes_on = await client.store.tend_paths()
            released.append(await _come_free(client))
        if sum(released) != children:
            raise RuntimeError(f"{sum(released)} of {children} tasks came free")
        return [count for count in released if count]


async def _come_free(client: Client) -> int:
    found = 0
    while claimed := await claim(client, BATCH):
        found += len(claimed)
    return found


def _warm(seconds: Sequence[float]) -> float:
    return statistics.median(seconds[1:])
