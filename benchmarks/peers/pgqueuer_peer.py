"""PgQueuer on PostgreSQL."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.queries import Queries

from benchmarks.peers.record import Record
from benchmarks.peers.role import Job, Peer, children, handle_async, run

POOL = 10
CLAIM = 500


class Pgqueuer(Peer):
    """Claims 500 at a time and settles what has gathered in its buffer."""

    packages = ("pgqueuer", "asyncpg", "uvloop")
    settings = f"asyncpg pool of {POOL}, uvloop, batch_size={CLAIM}; enqueue of lists"
    unfinished = "SELECT EXISTS (SELECT 1 FROM pgqueuer)"
    after_kill = "taken again when its heartbeat is stale (30 s)"

    async def prepare(self) -> None:
        connection = await asyncpg.connect(self.address)
        await Queries.from_asyncpg_connection(connection).install()
        await connection.close()

    async def open(self) -> None:
        self.pool = await asyncpg.create_pool(self.address, min_size=1, max_size=POOL)
        self.queries = Queries(AsyncpgPoolDriver(self.pool))

    async def submit(self, jobs: Sequence[Job]) -> None:
        await self._enqueue(self.queries, jobs)

    @staticmethod
    async def _enqueue(queries: Queries, jobs: Sequence[Job]) -> None:
        payloads = [json.dumps(job.payload()).encode() for job in jobs]
        await queries.enqueue([job.task for job in jobs], payloads, [0] * len(jobs))

    async def close(self) -> None:
        await self.pool.close()

    def work(self, record: Record) -> None:
        logging.disable(logging.INFO)
        uvloop.run(self._serve(record))

    async def _serve(self, record: Record) -> None:
        pool = await asyncpg.create_pool(self.address, min_size=2, max_size=POOL)
        queue = PgQueuer.from_asyncpg_pool(pool)
        queries = Queries(AsyncpgPoolDriver(pool))

        async def noop(job: Any) -> None:
            record.ran(json.loads(job.payload)["number"])

        async def effect(job: Any) -> None:
            payload = json.loads(job.payload)
            await handle_async(record, payload["number"], payload["seconds"])

        async def tree(job: Any) -> None:
            payload = json.loads(job.payload)
            record.ran(payload["number"])
            spawned = children(payload["number"], payload["levels"])
            if spawned:
                await self._enqueue(queries, spawned)

        for body in (noop, effect, tree):
            queue.entrypoint(body.__name__)(body)
        await queue.run(batch_size=CLAIM)


if __name__ == "__main__":
    run(Pgqueuer)
