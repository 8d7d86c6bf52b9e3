"""Does it stay as fast while somebody holds a snapshot, so that nothing dead can be cleaned up, and does it recover?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from benchmarks.engine import app
from benchmarks.engine.places import Place, Spot
from ramet import Client, Worker
from ramet.store.answers import SettleResult
from ramet.store.requests import Settlement
from ramet.store.store import Store

TARGET = "benchmarks.engine.app:app"
BATCH = 500
BACKLOG = 3_000
"""Tasks that wait at any time: the worker never waits for work, and the backlog never grows."""
LAST_SHARE = 1 / 3
"""Of a phase: what is dead piles up towards its end, and what is cleaned up shows there."""


class Phases(NamedTuple):
    """How long to look, in seconds."""

    before: float
    during: float
    after: float


class Pinned(NamedTuple):
    """Tasks per second under steady load."""

    before_per_s: float
    during_per_s: float
    """While the snapshot is held."""
    during_end_per_s: float
    """In the last third of that."""
    after_per_s: float
    """In the last third of the time after it."""


class _Counting:
    """The store as a worker sees it, counting what is settled."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.settled = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def settle(self, batch: Sequence[Settlement]) -> list[SettleResult]:
        """As the store's."""
        answers = await self._store.settle(batch)
        self.settled += len(batch)
        return answers


async def run(place: Place, spot: Spot, phases: Phases) -> Pinned:
    """Keep a worker busy, and look at its rate before, while and after a snapshot is held."""
    # Who submits has a connection of its own, as another process would.
    async with app.app.client(spot.address) as client, app.app.client(spot.address) as submitter:
        counting = _Counting(client.store)
        measured = Client(client.registry, cast(Store, counting), app.app.limits)
        worker = Worker(app.app, measured, target=TARGET)
        feeding = asyncio.create_task(_feed(submitter, counting))
        working = asyncio.create_task(worker.run())
        try:
            while counting.settled < BACKLOG:
                _check(feeding, working)
                await asyncio.sleep(0.05)
            before, _ = await _rates(counting, phases.before)
            with place.pin(spot):
                during, during_end = await _rates(counting, phases.during)
            _, after = await _rates(counting, phases.after)
            _check(feeding, working)
        finally:
            feeding.cancel()
            worker.drain()
            await asyncio.gather(working, feeding, return_exceptions=True)
    if not before:
        raise RuntimeError(f"nothing was settled in {phases.before:g} s: these numbers mean nothing")
    return Pinned(before, during, during_end, after)


def _check(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        if task.done():
            task.result()
            raise RuntimeError("the load ended before its time")


async def _feed(client: Client, counting: _Counting) -> None:
    submitted = 0
    while True:
        if submitted - counting.settled >= BACKLOG:
            await asyncio.sleep(0.005)
            continue
        numbers = range(submitted, submitted + BATCH)
        await client.submit_many(((app.noop, app.Payload(number=at)) for at in numbers), one_lineage=True)
        submitted += BATCH


async def _rates(counting: _Counting, seconds: float) -> tuple[float, float]:
    """Tasks per second of the whole phase, and of its last third."""
    began_at, began = time.perf_counter(), counting.settled
    await asyncio.sleep(seconds * (1 - LAST_SHARE))
    late_at, late = time.perf_counter(), counting.settled
    await asyncio.sleep(seconds * LAST_SHARE)
    ended_at, ended = time.perf_counter(), counting.settled
    return (ended - began) / (ended_at - began_at), (ended - late) / (ended_at - late_at)
