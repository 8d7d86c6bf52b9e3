"""A process of its own that works in one branch beside others: ``python -m tests.conformance.guard.growing_process``.

It says ``ready`` when the database is open, and starts when a line comes in. Then it prints what was granted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from typing import NamedTuple

from ramet.model.lineage.branches import Budget
from ramet.model.money import ReserveRequest
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store import open_store
from ramet.store.answers import ClaimedTask
from ramet.store.requests import ClaimRequest, Settlement
from ramet.store.store import Store
from tests.support.world import in_threads

STEPS, THREADS = 20, 8
KIND = "grower"
INNER = Budget(max_tasks=3, max_cost=4)
"""The part that every fourth child is wanted with."""


class Granted(NamedTuple):
    """What one grower was granted."""

    plain: int
    inner: int
    """Children with a part of their own."""
    amount: int
    """Nano-dollars that it reserved itself."""


async def grow(store: Store, name: str, granted: list[Granted]) -> None:
    """Claim one grower and want more through it than its branch has: children, branches in it, and money."""
    found: list[ClaimedTask] = []
    while not found:  # What others are taking in this moment is left out: a claim may find nothing where much waits.
        found = await store.claim(ClaimRequest(name, ("default",), (KIND,), 1, 300.0))
    seq, fence = found[0].standing.seq, found[0].standing.fence
    plain = inner = amount = 0
    for step in range(STEPS):
        news = [NewTask(f"{name}-{step}-{at}", "leaf", f"{name}-{step}-{at}", "null") for at in range(2)]
        if step % 2:
            news[0] = news[0]._replace(budget=INNER)
        [answer] = await store.settle([Settlement(seq, fence, ev.Progress(fence, 300.0), spawns=news)])
        assert answer.refused is None
        for new, told in zip(news, answer.spawns, strict=True):
            assert told.reason in (None, "branch_budget"), told
            inner += told.reason is None and new.budget is not None
            plain += told.reason is None and new.budget is None
        wanted = [ReserveRequest(f"{name}-{step}-{at}", seq, fence, 1) for at in range(3)]
        amount += sum(answer.refused is None for answer in await store.reserve(wanted))
    granted.append(Granted(plain, inner, amount))


async def grow_in_threads(store: Store, name: str) -> list[Granted]:
    """All threads of one process at once."""
    granted: list[Granted] = []
    await in_threads(*(partial(grow, store, f"{name}{at}", granted) for at in range(THREADS)))
    return granted


async def main(address: str) -> None:
    store = open_store(address, create=False)
    print("ready", flush=True)  # noqa: T201 - this is how the test learns of it
    await asyncio.to_thread(sys.stdin.readline)
    print(json.dumps(await grow_in_threads(store, "rival")), flush=True)  # noqa: T201
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
