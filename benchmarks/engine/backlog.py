"""Does it stay as fast when much waits? Claims beside a long backlog, spawns in a large lineage, window by window."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.engine import app
from ramet import Client
from ramet.model.lineage.limits import LEASE_SECONDS
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.requests import ClaimRequest, Settlement

WORKER = "bench-worker"
BATCH = 1_000
CLAIMS_A_WINDOW = 4
SPAWNS_A_WINDOW = 500
WINDOWS = 5
SMALL_BACKLOG, SMALL_LINEAGE = 10_000, 1_000


class Backlog(NamedTuple):
    """Large beside small, medians of alternated windows."""

    claim_ratio: float
    """Claims per second with the large backlog, over those with 10,000 tasks waiting."""
    spawn_ratio: float
    """Seconds for a spawn in the large lineage, over those in one of 1,000 tasks."""
    waiting: int
    """Tasks in the large one."""


class _Lineage:
    """One lineage in a database of its own, grown by one parent that is held all the time."""

    def __init__(self, client: Client, parent: ClaimedTask) -> None:
        self._client = client
        self._parent = parent
        self._made = 0

    @classmethod
    async def grow(cls, address: str, tasks: int) -> _Lineage:
        client = app.app.client(address)
        await client.submit(app.tree, app.Branch(place="root", levels=0))
        [parent] = await client.store.claim(_request("bench.tree", 1))
        grown = cls(client, parent)
        while grown._made < tasks:
            await grown.spawn(min(BATCH, tasks - grown._made))
        return grown

    async def spawn(self, count: int) -> None:
        """Spawn so many tasks in one transaction, through the guard."""
        kind = self._client.registry.get(app.noop)
        numbers = range(self._made, self._made + count)
        spawns = [kind.new_task(app.Payload(number=number)) for number in numbers]
        self._made += count
        standing = self._parent.standing
        event = ev.Progress(standing.fence, LEASE_SECONDS)
        [settled] = await self._client.store.settle([Settlement(standing.seq, standing.fence, event, spawns=spawns)])
        if not all(answer.id for answer in settled.spawns):
            raise RuntimeError(f"a spawn was blocked: {settled.spawns[0]}")

    async def claim_seconds(self) -> float:
        """Claim a few batches; they go back outside the measured time."""
        began = time.perf_counter()
        claimed = [await self._client.store.claim(_request("bench.noop", BATCH)) for _ in range(CLAIMS_A_WINDOW)]
        seconds = time.perf_counter() - began
        held = [item.standing for batch in claimed for item in batch]
        if len(held) != CLAIMS_A_WINDOW * BATCH:
            raise RuntimeError(f"claimed {len(held)} tasks of {CLAIMS_A_WINDOW * BATCH}")
        await self._client.store.settle([Settlement(s.seq, s.fence, ev.HandBack(s.fence)) for s in held])
        return seconds

    async def spawn_seconds(self) -> float:
        """Spawn a few tasks more."""
        began = time.perf_counter()
        await self.spawn(SPAWNS_A_WINDOW)
        return time.perf_counter() - began

    async def close(self) -> None:
        await self._client.close()


def _request(kind: str, limit: int) -> ClaimRequest:
    return ClaimRequest(worker=WORKER, queues=["default"], kinds=[kind], limit=limit, lease_seconds=LEASE_SECONDS)


async def run(large: str, small: str, tiny: str, waiting: int) -> Backlog:
    """Measure with ``waiting`` tasks in the large lineage; a first window of each is not counted.

    Three addresses of new databases.
    """
    sizes = {"large": (large, waiting), "small": (small, SMALL_BACKLOG), "tiny": (tiny, SMALL_LINEAGE)}
    grown = {name: await _Lineage.grow(*size) for name, size in sizes.items()}
    claims: dict[str, list[float]] = {"large": [], "small": []}
    spawns: dict[str, list[float]] = {"large": [], "tiny": []}
    for _ in range(WINDOWS + 1):
        for name, seconds in claims.items():
            seconds.append(await grown[name].claim_seconds())
        for name, seconds in spawns.items():
            seconds.append(await grown[name].spawn_seconds())
    for lineage in grown.values():
        await lineage.close()
    claim_ratio = _warm(claims["small"]) / _warm(claims["large"])
    return Backlog(claim_ratio, _warm(spawns["large"]) / _warm(spawns["tiny"]), waiting)


def _warm(seconds: Sequence[float]) -> float:
    return statistics.median(seconds[1:])
