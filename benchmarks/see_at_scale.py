"""What people and machines look at, on a database of a million tasks: how long each read takes.

    python -m benchmarks.see_at_scale --folder /tmp/large                  # SQLite, built once and kept there
    python -m benchmarks.see_at_scale --postgres postgresql://.../large    # built once in that database
    python -m benchmarks.see_at_scale --postgres new                       # on a server of its own, thrown away
    python -m benchmarks.see_at_scale --tasks 50000                        # a smaller one

Lineages of about 4,000 tasks and one of a tenth of all: three levels, a block for every listing, failures, filtered
ones, and a tenth of the leaves live: delayed, behind a path, at a resource that is switched off, of a kind that nobody
serves, of a paused lineage.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks.horizon import own_database
from ramet.model import events as ev
from ramet.model.paths import PathRule
from ramet.model.task import NewTask
from ramet.store.base import Claimed, ClaimRequest, NewLineage, Settlement, Store
from ramet.store.base_queries import TaskQuery
from ramet.store.postgres import PostgresStore
from ramet.store.sqlite import SqliteStore

LINEAGE_TASKS = 4_000
LEAVES = 100
"""Children of one listing."""
BATCH = 500
LIVE_EVERY = 10
FAILS_EVERY, FILTERED_EVERY = 41, 53
SERVED = ("page", "listing", "root")
LIMITS = {"max_tasks": 2_000_000, "max_fan_out": 50_000, "lineage_seconds": 30 * 86_400.0}
TIMES = 30


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


def settled(claimed: Claimed, listings: dict[str, int]) -> Settlement:
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


def reads(store: Store) -> dict[str, Callable[[], Awaitable[Any]]]:
    """What pages, metrics and commands ask, by name."""
    listing, failed = "large/3", frozenset[Any]({"failed"})
    return {
        "present": store.present,
        "unserved": store.unserved,
        "usage": store.usage,
        "workers": store.workers,
        "queues": store.queues,
        "resources": lambda: store.resources(limit=100),
        "alerts": lambda: store.alerts(limit=100),
        "tallies, all time": lambda: store.tallies(None, kinds=True),
        "tallies, an hour": lambda: store.tallies(time.time() - 3_600.0, kinds=True),
        "lineage_page": lambda: store.lineage_page(limit=50),
        "lineage": lambda: store.lineage("large"),
        "lineage_counts of a large lineage": lambda: store.lineage_counts("large"),
        "lineage_counts": lambda: store.lineage_counts("line0"),
        "branches of a lineage": lambda: store.branches(tracking_id="large"),
        "branches of its root": lambda: store.branches(parent_id="large"),
        "branches of a listing": lambda: store.branches(parent_id=listing),
        "twigs": lambda: store.twigs(parent_id="large", kind="listing", state="success"),
        "twigs that are few": lambda: store.twigs(parent_id=listing, kind="page", state="failed"),
        "history": lambda: store.history(f"{listing}/1"),
        "history of a root": lambda: store.history("large"),
        "blocks": lambda: store.blocks("large", limit=50),
        "block_totals": lambda: store.block_totals("large"),
        "tasks": lambda: store.tasks(TaskQuery(limit=50)),
        "tasks, failed": lambda: store.tasks(TaskQuery(states=failed, limit=50)),
        "tasks of a kind": lambda: store.tasks(TaskQuery(kind="held", limit=50)),
        "paths": lambda: store.paths(limit=50),
        "paths below one": lambda: store.paths(["doc"], limit=50),
        "costs": lambda: store.costs(None, limit=50),
        "acts": store.acts,
        "schedules": store.schedules,
    }


async def measure(store: Store) -> None:
    """Print how long each read takes."""
    print(f"| {'read':36} | median ms | p95 ms |\n| --- | ---: | ---: |")
    for name, read in reads(store).items():
        await read()
        took = []
        for _ in range(TIMES):
            begun = time.perf_counter()
            await read()
            took.append(1_000 * (time.perf_counter() - begun))
        print(f"| {name:36} | {statistics.median(took):9.1f} | {sorted(took)[int(0.95 * TIMES)]:6.1f} |", flush=True)


async def run(store: Store, tasks: int) -> None:
    """Build what is not there yet, then measure."""
    try:
        if await store.lineage("large") is None:
            await build(store, tasks)
        await measure(store)
    finally:
        await store.close()


def main() -> None:
    """Read the command line and print a table for each database."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the SQLite file is kept; thrown away by default")
    parser.add_argument("--postgres", help="the address of a database to fill, or 'new'")
    options = parser.parse_args()
    if options.postgres is not None:
        with own_database() if options.postgres == "new" else nullcontext(options.postgres) as url:
            asyncio.run(run(PostgresStore(url), options.tasks))
        return
    with tempfile.TemporaryDirectory() as thrown_away:
        folder = options.folder or Path(thrown_away)
        folder.mkdir(parents=True, exist_ok=True)
        asyncio.run(run(SqliteStore(folder / "ramet.db"), options.tasks))


if __name__ == "__main__":
    main()
