"""Procrastinate on PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from procrastinate import App, PsycopgConnector

from benchmarks.peers.record import Record
from benchmarks.peers.role import Job, Peer, children, handle_async, run

CONCURRENCY = 20
POLL_SECONDS = 0.05
POOL = 10


class Procrastinate(Peer):
    """One job a claim; what a dead worker held is found by a periodic task that its users write.

    A notification that comes during a fetch is lost, so it polls as well.
    """

    packages = ("procrastinate", "psycopg")
    settings = (
        f"psycopg pool of {POOL}, concurrency={CONCURRENCY}, fetch_job_polling_interval={POLL_SECONDS}; batch_defer"
    )
    unfinished = "SELECT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))"
    after_kill = "stays `doing` until a periodic task of the user retries stalled jobs: none is there as shipped"

    def _make(self, record: Record | None) -> App:
        app = App(connector=PsycopgConnector(conninfo=self.address, min_size=1, max_size=POOL))

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

        self.tasks = {body.__name__: app.task(name=body.__name__)(body) for body in (noop, effect, tree)}
        return app

    async def prepare(self) -> None:
        app = self._make(None)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    async def open(self) -> None:
        self.app = self._make(None)
        await self.app.open_async()

    async def submit(self, jobs: Sequence[Job]) -> None:
        await self.tasks[jobs[0].task].batch_defer_async(*(job.payload() for job in jobs))

    async def close(self) -> None:
        await self.app.close_async()

    def work(self, record: Record) -> None:
        logging.disable(logging.INFO)
        asyncio.run(self._serve(self._make(record)))

    async def _serve(self, app: App) -> None:
        async with app.open_async():
            await app.run_worker_async(
                concurrency=CONCURRENCY, fetch_job_polling_interval=POLL_SECONDS, install_signal_handlers=False
            )


if __name__ == "__main__":
    run(Procrastinate)
