"""A process of its own that works on a database beside the test's: ``python -m
tests.conformance.guard.spawning_process``.

It says ``ready`` when the database is open, and starts when a line comes in.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial

from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store import open_store
from ramet.store.answers import ClaimedTask, SpawnResult
from ramet.store.requests import ClaimRequest, Settlement
from ramet.store.store import Store
from tests.support.world import in_threads

KEYS, STEP, THREADS = 1_000, 50, 8
KIND = "spawner"
"""Roots of this kind each want all keys."""


def wanted(name: str, start: int) -> list[NewTask]:
    """Every key once, in steps that begin at another place for every thread."""
    order = [(start + at) % KEYS for at in range(KEYS)]
    return [NewTask(f"{name}-{key}", "page", f"key{key}", "null") for key in order]


async def spawn_all(store: Store, name: str, start: int, told: list[SpawnResult]) -> None:
    """Claim one spawner and ask for every key through it, a step at a time."""
    found: list[ClaimedTask] = []
    while not found:  # What others are taking in this moment is left out: a claim may find nothing where much waits.
        found = await store.claim(ClaimRequest(name, ("default",), (KIND,), 1, 300.0))
    [claimed] = found
    seq, fence = claimed.standing.seq, claimed.standing.fence
    news = wanted(name, start)
    for at in range(0, KEYS, STEP):
        [answer] = await store.settle(
            [Settlement(seq, fence, ev.Checkpoint(fence, 300.0), spawns=news[at : at + STEP])]
        )
        assert answer.refused is None
        told.extend(answer.spawns)
    await store.settle([Settlement(seq, fence, ev.Complete(fence))])


async def spawn_from_threads(store: Store, name: str) -> list[SpawnResult]:
    """All threads of one process at once; returns what the guard answered to all of them."""
    told: list[SpawnResult] = []
    starts = [at * KEYS // THREADS for at in range(THREADS)]
    await in_threads(*(partial(spawn_all, store, f"{name}{at}", start, told) for at, start in enumerate(starts)))
    return told


async def main(address: str) -> None:
    store = open_store(address, create=False)
    print("ready", flush=True)  # noqa: T201 - this is how the test learns of it
    await asyncio.to_thread(sys.stdin.readline)
    told = await spawn_from_threads(store, "rival")
    print(json.dumps(told), flush=True)  # noqa: T201
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
