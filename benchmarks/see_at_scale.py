"""What people and machines look at, on a database of a million tasks: how long each read takes.

    python -m benchmarks.see_at_scale --folder /tmp/large                  # SQLite, built once and kept there
    python -m benchmarks.see_at_scale --postgres postgresql://.../large    # built once in that database
    python -m benchmarks.see_at_scale --postgres new                       # on a server of its own, thrown away
    python -m benchmarks.see_at_scale --tasks 50000                        # a smaller one

The same database serves ``pages_at_scale`` and ``dashboard_cost``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.large_world import add_options, address_of, made, store_at
from ramet.store.requests import TaskQuery
from ramet.store.store import Store

TIMES = 30


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


async def run(address: str, tasks: int) -> None:
    """Build what is not there yet, then measure."""
    store = store_at(address)
    try:
        await made(store, address, tasks)
        await measure(store)
    finally:
        await store.close()


def main() -> None:
    """Read the command line and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    with address_of(options) as address:
        asyncio.run(run(address, options.tasks))


if __name__ == "__main__":
    main()
