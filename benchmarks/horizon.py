"""Throughput while a transaction elsewhere keeps PostgreSQL from removing dead rows.

    python -m benchmarks.horizon 180                  # as many tasks as one loop can do, before, during and after
    python -m benchmarks.horizon 180 --rate 2000      # so many offered each second
    python -m benchmarks.horizon 20 --json

Tasks are submitted, claimed and settled through the store, as a worker does it without handlers. The transaction that
pins the horizon only reads, and stays open: a report, a forgotten session, a backup.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from ramet.testing.postgres import Cluster

WAITING = 5_000
"""Tasks that wait where no rate is given: the backlog stays about the same."""
ROOTS = 20
"""Tasks of a lineage."""
BATCH = 500
LEASE_SECONDS = 300.0
SETTINGS: dict[str, str] = {"shared_buffers": "256MB", "max_wal_size": "4GB", "autovacuum_naptime": "15s"}


class Phase(NamedTuple):
    """What was seen in a stretch of time."""

    name: str
    seconds: float
    tasks: int
    claim_ms: list[float]
    dead_rows: int
    live_bytes: int

    @property
    def per_s(self) -> float:
        """Tasks settled per second."""
        return self.tasks / self.seconds

    def shown(self, before: Phase) -> dict[str, Any]:
        """As a row of the report; ratios are to the phase before."""
        return {
            "phase": self.name,
            "tasks_per_s": round(self.per_s),
            "ratio": round(self.per_s / before.per_s, 2),
            "claim_ms_p50": round(statistics.median(self.claim_ms), 1),
            "claim_ms_p99": round(sorted(self.claim_ms)[int(len(self.claim_ms) * 0.99)], 1),
            "dead_rows": self.dead_rows,
            "live_mb": round(self.live_bytes / 1e6, 1),
        }


class Load:
    """Tasks that come and go at a steady rate."""

    def __init__(self, store: PostgresStore, rate: int) -> None:
        self._store = store
        self._rate = rate
        self._numbers = itertools.count(1)
        self.created = 0
        self.settled = 0
        self.claim_ms: list[float] = []
        self.ended = asyncio.Event()

    async def submit(self) -> None:
        """Keep the backlog up, or offer what the rate says."""
        begun = time.monotonic()
        while not self.ended.is_set():
            due = (time.monotonic() - begun) * self._rate if self._rate else self.settled + WAITING
            count = min(int(due - self.created) // ROOTS, 100)
            if count < 1:
                await asyncio.sleep(0.01)
                continue
            await self._store.submit([self._lineage() for _ in range(count)])
            self.created += count * ROOTS

    def _lineage(self) -> NewLineage:
        name = f"line{next(self._numbers)}-{time.time_ns()}"
        return NewLineage(
            name, [NewTask(f"{name}/{at}", "page", f"https://site.example/{at}", "null") for at in range(ROOTS)]
        )

    async def work(self) -> None:
        """Claim and settle, the settlement of one batch beside the claim of the next."""
        request = ClaimRequest("w", ("default",), ("page",), BATCH, LEASE_SECONDS)
        settling: asyncio.Task[None] | None = None
        while not self.ended.is_set():
            begun = time.perf_counter()
            taken = await self._store.claim(request)
            self.claim_ms.append((time.perf_counter() - begun) * 1e3)
            if settling is not None:
                await settling
            settling = asyncio.create_task(self._settle(taken)) if taken else None
            if not taken:
                await asyncio.sleep(0.02)
        if settling is not None:
            await settling

    async def _settle(self, taken: list[ClaimedTask]) -> None:
        await self._store.settle(
            [Settlement(t.standing.seq, t.standing.fence, ev.Complete(t.standing.fence)) for t in taken]
        )
        self.settled += len(taken)


async def measure(url: str, seconds: float, rate: int) -> list[Phase]:
    """Before, during and after a transaction that pins the horizon; before and after take half as long each."""
    store = PostgresStore(url)
    load = Load(store, rate)
    running = [asyncio.create_task(load.submit()), asyncio.create_task(load.work())]
    try:
        await _phase("warm-up", load, url, 3.0)
        phases = [await _phase("before", load, url, seconds / 2)]
        with pinned(url):
            phases.append(await _phase("during", load, url, seconds))
        phases.append(await _phase("after", load, url, seconds / 2))
        return phases
    finally:
        load.ended.set()
        await asyncio.gather(*running)
        await store.close()


async def _phase(name: str, load: Load, url: str, seconds: float) -> Phase:
    begun, settled, claims = time.monotonic(), load.settled, len(load.claim_ms)
    await asyncio.sleep(seconds)
    found = load.settled - settled, load.claim_ms[claims:], time.monotonic() - begun
    dead, size = await asyncio.to_thread(_state, url)
    return Phase(name, found[2], found[0], found[1], dead, size)


def _state(url: str) -> tuple[int, int]:
    """Dead rows of the hot table, as the server counts them, and its bytes with its indexes."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT n_dead_tup, pg_total_relation_size(relid) FROM pg_stat_user_tables WHERE relname = 'ramet_live'"
        ).fetchone()
    assert row is not None
    return row[0], row[1]


@contextmanager
def pinned(url: str) -> Iterator[None]:
    """A transaction that sees the database as it is now, until the end."""
    with psycopg.connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT COUNT(*) FROM ramet_live")
        yield
        connection.rollback()


@contextmanager
def own_database() -> Iterator[str]:
    """An empty database on a server that is durable and ends with this program."""
    with Cluster(durable=True, settings=SETTINGS) as cluster:
        yield cluster.start().create_database()


@contextmanager
def database(folder: Path, postgres: str | None) -> Iterator[str]:
    """Yield the address of a new SQLite file, of a server of its own (``new``), or the one that was given."""
    if postgres is None:
        yield str(folder / "ramet.db")
        return
    with own_database() if postgres == "new" else nullcontext(postgres) as address:
        yield address


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.horizon", description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float, help="for how long the transaction stays open")
    parser.add_argument("--rate", type=int, default=0, help="tasks per second; as many as can be done by default")
    parser.add_argument("--db", help="an empty database; one on a server of the benchmark's own by default")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with nullcontext(asked.db) if asked.db else own_database() as url:
        phases = asyncio.run(measure(url, asked.seconds, asked.rate))
    rows = [phase.shown(phases[0]) for phase in phases]
    if asked.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
