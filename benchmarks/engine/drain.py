"""A worker that drains what was submitted, and how long that took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from benchmarks.engine import app
from ramet import Client, Worker
from ramet.store.answers import ClaimedTask, SettleResult
from ramet.store.requests import ClaimRequest, Settlement
from ramet.store.store import Store

TARGET = "benchmarks.engine.app:app"


class Stopwatch:
    """The store as a worker sees it, noting when it first claims and when its last settlement was durable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.began_at = 0.0
        self.began_cpu = 0.0
        self.ended_at = 0.0
        self.ended_cpu = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def seconds(self) -> float:
        """From the first claim to the last settlement."""
        return self.ended_at - self.began_at

    async def claim(self, request: ClaimRequest) -> list[ClaimedTask]:
        """As the store's; the first one starts the clock."""
        if not self.began_at:
            self.began_at, self.began_cpu = time.perf_counter(), time.process_time()
        return await self._store.claim(request)

    async def settle(self, batch: Sequence[Settlement]) -> list[SettleResult]:
        """As the store's; the last one stops the clock, when it is durable."""
        answers = await self._store.settle(batch)
        self.ended_at, self.ended_cpu = time.perf_counter(), time.process_time()
        return answers


async def drain(client: Client, tasks: int) -> Stopwatch:
    """Run a worker until nothing is left.

    Raises:
        RuntimeError: not exactly ``tasks`` tasks succeeded.
    """
    watch = Stopwatch(client.store)
    measured = Client(client.registry, cast(Store, watch), app.app.limits)
    await Worker(app.app, measured, target=TARGET, until_idle=True).run()
    done = sum(item.tasks for item in await client.counts() if item.state == "success")
    if done != tasks:
        raise RuntimeError(f"{done} of {tasks} tasks succeeded: these numbers mean nothing")
    return watch
