"""A database of very many tasks, as those who look at it meet one: what ``see_at_scale`` and others measure.

Lineages of about 4,000 tasks and one of a tenth of all: three levels, a block for every listing, failures, filtered
ones, and a tenth of the leaves live: delayed, behind a path, at a resource that is switched off, of a kind that nobody
serves, of a paused lineage. Beside them what people and workers leave: money, schedules, acts, workers, alerts.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.horizon import own_database
from ramet import App, Context
from ramet.model.flow.resources import WorkerStatus
from ramet.model.money import Charge
from ramet.model.paths import PathRule
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from ramet.store.sqlite.store import SqliteStore
from ramet.store.store import Store

LINEAGE_TASKS = 4_000
LEAVES = 100
"""Children of one listing."""
BATCH = 500
LIVE_EVERY = 10
FAILS_EVERY, FILTERED_EVERY = 41, 53
SERVED = ("page", "listing", "root")
LIMITS = {"max_tasks": 2_000_000, "max_fan_out": 50_000, "lineage_seconds": 30 * 86_400.0}


def leaf(listing: str, number: int) -> NewTask:
    """A leaf of a listing; every tenth stays live, each in one of five ways."""
    name = f"{listing}/{number}"
    new = NewTask(id=name, kind="page", key=name, payload='{"title": "' + "x" * 100 + '"}')
    if number % LIVE_EVERY:
        return new
    match number // LIVE_EVERY % 5:
        case 0:
            return new._replace(delay_seconds=86_400.0)
        case 1:
            return new._replace(path=PathRule(("doc", str(number % 7))), kind="held")
        case 2:
            return new._replace(resource="https://slow.example")
        case 3:
            return new._replace(kind="unserved")
        case _:
            return new._replace(kind="unserved", queue="aside")


def settled(claimed: ClaimedTask, listings: dict[str, int]) -> Settlement:
    """What becomes of a claim: it grows, fails, is filtered or succeeds."""
    standing, fence = claimed.standing, claimed.standing.fence
    event: ev.Event = ev.Complete(fence)
    spawns: list[NewTask] = []
    if standing.kind == "root":
        names = [f"{claimed.id}/{at}" for at in range(listings[claimed.id])]
        spawns = [NewTask(id=name, kind="listing", key=name, payload="null") for name in names]
    elif standing.kind == "listing":
        spawns = [leaf(claimed.id, at) for at in range(LEAVES)]
        # Its own root again: a cycle, which the guard blocks.
        spawns.append(NewTask(id=f"{claimed.id}/again", kind="root", key=claimed.id.split("/")[0], payload="null"))
    elif standing.seq % FAILS_EVERY == 0:
        event = ev.Error(fence, "HTTP 404", "permanent", fingerprint="404", jitter=1.0)
    elif standing.seq % FILTERED_EVERY == 0:
        event = ev.Filter(fence, "too short")
    return Settlement(standing.seq, fence, event, spawns=spawns)


async def build(store: Store, tasks: int) -> None:
    """Grow lineages until there are about so many tasks."""
    await store.open_breaker("https://slow.example", by="benchmark")
    large, others = tasks // 10, tasks - tasks // 10
    listings = {f"line{at}": LINEAGE_TASKS // LEAVES for at in range(max(1, others // LINEAGE_TASKS))}
    listings["large"] = large // LEAVES
    roots = {name: NewTask(id=name, kind="root", key=name, payload="null") for name in listings}
    await store.submit([NewLineage(name, [root], **LIMITS) for name, root in roots.items()])  # type: ignore[arg-type]
    await store.submit([NewLineage("paused", [leaf("paused", at) for at in range(1, 50)])])
    await store.pause_lineage("paused", by="benchmark")
    request = ClaimRequest("benchmark", ("default",), SERVED, BATCH, 300.0)
    done, begun = 0, time.monotonic()
    while taken := await store.claim(request):
        # A listing at a time: a batch of spawns is one transaction.
        size = 5 if any(one.standing.kind != "page" for one in taken) else BATCH
        for at in range(0, len(taken), size):
            await store.settle([settled(one, listings) for one in taken[at : at + size]])
        if (done + len(taken)) // 50_000 > done // 50_000:
            print(f"{done + len(taken):,} settled after {time.monotonic() - begun:.0f} s", flush=True)
        done += len(taken)


# --- what is beside the tasks

DEAR = 25_000
"""Calls of the lineage that cost money: more than are looked at."""
SEVERAL = 50


async def furnish(store: Store, address: str) -> None:
    """Money, workers, schedules, a stop list, acts and alerts."""
    names = [f"dear/{at}" for at in range(DEAR)]
    await store.submit(
        [NewLineage("dear", [NewTask(id=name, kind="dear", key=name, payload="null") for name in names], **LIMITS)]  # type: ignore[arg-type]
    )
    request = ClaimRequest("benchmark", ("default",), ("dear",), BATCH, 300.0)
    while taken := await store.claim(request):
        await store.settle([
            Settlement(one.standing.seq, one.standing.fence, ev.Complete(one.standing.fence),
                       charge=Charge(f"call-{one.id}", 1_000 * (1 + one.standing.seq % 997)))
            for one in taken
        ])  # fmt: skip
    app = App()

    @app.task("root")
    async def root(ctx: Context, payload: dict[str, int]) -> None:
        """Never runs here: its schedules are to be looked at."""

    async with app.client(address) as client:
        for at in range(SEVERAL):
            await store.see_worker(WorkerStatus(f"worker-{at}", "host", at + 1, ("listing", "root"), ("default",), 8))
            await client.schedules.add(
                "root", {"at": at}, every_seconds=86_400.0, name=f"schedule-{at}", by="benchmark"
            )
            await client.stop("host", f"stopped{at}.example", by="benchmark")
            await client.raise_limits("dear", max_tasks=2_000_001 + at, by="benchmark")
        await client.check_alerts()


async def made(store: Store, address: str, tasks: int) -> None:
    """Build what is not there yet."""
    if await store.lineage("large") is None:
        await build(store, tasks)
    if await store.lineage("dear") is None:
        await furnish(store, address)


# --- where it is


def add_options(parser: ArgumentParser) -> None:
    """How many tasks, and where."""
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the SQLite file is kept; thrown away by default")
    parser.add_argument("--postgres", help="the address of a database to fill, or 'new'")


@contextmanager
def address_of(options: Namespace) -> Iterator[str]:
    """Where the database is, or is to be made."""
    if options.postgres is not None:
        with own_database() if options.postgres == "new" else nullcontext(options.postgres) as url:
            yield url
        return
    with TemporaryDirectory() as thrown_away:
        folder = options.folder or Path(thrown_away)
        folder.mkdir(parents=True, exist_ok=True)
        yield str(folder / "ramet.db")


def store_at(address: str) -> Store:
    """A store, to be closed."""
    return PostgresStore(address) if "://" in address else SqliteStore(Path(address))
