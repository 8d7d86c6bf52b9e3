"""Awa on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from awa import AsyncClient

from benchmarks.peers.record import Record
from benchmarks.peers.role import Job, Peer, children, handle_async, run

WORKERS = 1_000
CLAIM = 512
QUEUE = "bench"


@dataclass
class Noop:
    """A task that does nothing."""

    number: int
    seconds: float
    text: str


@dataclass
class Effect:
    """A task that cannot be undone."""

    number: int
    seconds: float
    text: str


@dataclass
class Tree:
    """A task that enqueues others."""

    number: int
    levels: int
    text: str


KINDS: dict[str, type[Any]] = {"noop": Noop, "effect": Effect, "tree": Tree}


class Awa(Peer):
    """Its storage for queues, COPY to submit, heartbeats shortened so that a kill shows within the run."""

    packages = ("awa-pg",)
    settings = f"async handler, max_workers={WORKERS}, claim_batch_size={CLAIM}; enqueue_many_copy"
    unfinished = ""  # its view of all jobs takes longer than the jobs
    after_kill = "rescued when its heartbeat is stale: 3 s here, 90 s as shipped"

    async def prepare(self) -> None:
        client = AsyncClient(self.address)
        await client.migrate()
        await client.install_queue_storage()
        await client.close()

    async def open(self) -> None:
        self.client = AsyncClient(self.address)
        for kind in KINDS.values():
            self._register(self.client, kind, None)

    @staticmethod
    def _register(client: AsyncClient, kind: type[Any], record: Record | None) -> None:
        async def noop(job: Any) -> None:
            assert record is not None
            record.ran(job.args.number)

        async def effect(job: Any) -> None:
            assert record is not None
            await handle_async(record, job.args.number, job.args.seconds)

        async def tree(job: Any) -> None:
            assert record is not None
            record.ran(job.args.number)
            spawned = children(job.args.number, job.args.levels)
            if spawned:
                await client.enqueue_many_copy([Tree(**child.payload()) for child in spawned], queue=QUEUE)

        client.task(kind, queue=QUEUE)({Noop: noop, Effect: effect, Tree: tree}[kind])

    async def submit(self, jobs: Sequence[Job]) -> None:
        made = [KINDS[job.task](**job.payload()) for job in jobs]
        if len(made) == 1:
            await self.client.insert(made[0], queue=QUEUE)
        else:
            await self.client.enqueue_many_copy(made, queue=QUEUE)

    async def close(self) -> None:
        await self.client.close()

    def work(self, record: Record) -> None:
        record.count_for_all()
        asyncio.run(self._serve(record))

    async def _serve(self, record: Record) -> None:
        client = AsyncClient(self.address)
        for kind in KINDS.values():
            self._register(client, kind, record)
        queue = {"name": QUEUE, "max_workers": WORKERS, "claim_batch_size": CLAIM}
        await client.start(
            [queue], heartbeat_interval_ms=1_000, heartbeat_staleness_ms=3_000, heartbeat_rescue_interval_ms=1_000
        )
        await asyncio.Event().wait()


if __name__ == "__main__":
    run(Awa)
