"""FlexiQ, on SQLite or PostgreSQL."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from flexiq import Queue

from benchmarks.peers.record import Record
from benchmarks.peers.role import Job, Peer, children, handle_async, run

WORKERS = 64
CLAIM = 100
POLL_MS = 5
"""On SQLite; on a server that costs more than it brings."""


class Flexiq(Peer):
    """Coroutine handlers, 64 at once, 100 claimed at a time: with functions in threads it is slower."""

    packages = ("flexiq",)
    settings = (
        f"async handler, workers={WORKERS}, async_concurrency={WORKERS}, scheduler_batch_size={CLAIM}, on SQLite "
        f"scheduler_poll_interval_ms={POLL_MS}; enqueue_many"
    )
    after_kill = "recovered when the dead worker's heartbeat is stale (about 30 s), which costs one of 3 retries"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.server = address.startswith("postgres")
        self.unfinished = (  # type: ignore[misc]
            f"SELECT EXISTS (SELECT 1 FROM {'flexiq.' if self.server else ''}jobs WHERE status IN (0, 1))"
        )

    def _make(self, record: Record | None) -> None:
        place: dict[str, Any] = (
            {"backend": "postgres", "db_url": self.address}
            if self.server
            else {"db_path": self.address, "scheduler_poll_interval_ms": POLL_MS}
        )
        self.queue = Queue(workers=WORKERS, async_concurrency=WORKERS, scheduler_batch_size=CLAIM, **place)

        async def noop(number: int, seconds: float, text: str) -> None:
            assert record is not None
            record.ran(number)

        async def effect(number: int, seconds: float, text: str) -> None:
            assert record is not None
            await handle_async(record, number, seconds)

        async def tree(number: int, levels: int, text: str) -> None:
            assert record is not None
            record.ran(number)
            spawned = children(number, levels)
            if spawned:
                await self.submit(spawned)

        for body in (noop, effect, tree):
            self.queue.task(name=body.__name__)(body)

    async def prepare(self) -> None:
        self._make(None)

    async def open(self) -> None:
        self._make(None)

    async def submit(self, jobs: Sequence[Job]) -> None:
        self.queue.enqueue_many(jobs[0].task, [()] * len(jobs), [job.payload() for job in jobs])

    def work(self, record: Record) -> None:
        logging.disable(logging.INFO)
        self._make(record)
        self.queue.run_worker()

    async def durability(self) -> str:
        # Its connections are its own; this is what its library sets.
        return "" if self.server else "journal wal, synchronous NORMAL"


if __name__ == "__main__":
    run(Flexiq)
