"""What a task costs PostgreSQL: rows, bytes, write-ahead log, statements and commits, verb by verb.

    python -m benchmarks.scale                          # 10,000 tasks in batches of 1,000
    python -m benchmarks.scale --write docs/scale.md    # into the tables between the marks of that page

One connection, nobody else on the server, so that what the server counts belongs to the verb.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import psycopg

from benchmarks.horizon import own_database
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.postgres.store import PostgresStore
from ramet.store.requests import ClaimRequest, NewLineage, Settlement

BATCH = 1_000
ROOTS = 20
LEASE_SECONDS = 300.0
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
TABLES = (
    "ramet_tasks", "ramet_live", "ramet_identities", "ramet_attempts", "ramet_lineages", "ramet_transitions",
    "ramet_checkpoints", "ramet_blocks",
)  # fmt: skip


class Cost(NamedTuple):
    """Per task."""

    verb: str
    tasks: int
    wal_bytes: float
    statements: float
    commits: float
    updates: float
    kept_on_page: float
    """Share of updated rows of the hot table that needed no index entry; 1 when none was updated."""

    def row(self) -> str:
        """As a line of a table."""
        return (
            f"| {self.verb} | {self.wal_bytes:,.0f} | {self.statements * BATCH:,.0f} | {self.commits * BATCH:,.1f} | "
            f"{self.updates:.2f} | {self.kept_on_page:.2f} |"
        )


class Meter:
    """What server and store count, before and after."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self.statements = 0
        self.commits = 0
        self.flush: Callable[[], object] = lambda: None
        """Makes the store's own connection tell the server what it did."""

    def hook(self, when: str, sql: str) -> None:
        """Counts what the store sends."""
        self.statements += when == "before"
        self.commits += when == "before" and sql.endswith("COMMIT")

    def one(self, sql: str) -> tuple[int, ...]:
        """A row of numbers."""
        found = self._connection.execute(sql.encode()).fetchone()
        assert found is not None
        return tuple(int(value or 0) for value in found)

    async def of(self, verb: str, tasks: int, work: Callable[[], Awaitable[None]]) -> Cost:
        """The cost of this work for each of so many tasks."""
        before = self._look()
        await work()
        after = self._look()
        wal, statements, commits, updates, kept = (b - a for a, b in zip(before, after, strict=True))
        share = kept / updates if updates else 1.0
        return Cost(verb, tasks, wal / tasks, statements / tasks, commits / tasks, updates / tasks, share)

    def _look(self) -> tuple[int, ...]:
        self.flush()
        [wal] = self.one("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")
        updates, kept = self.one(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'ramet_live'"
        )
        return wal, self.statements, self.commits, updates, kept


class Measured(NamedTuple):
    """Everything that the page tells."""

    costs: list[Cost]
    sizes: list[tuple[str, float, float, float]]
    """Of ended tasks: table, bytes in it, in its indexes, rows; per task."""
    hot_bytes: float
    """Of the hot table and its indexes, per live task."""
    peak_bytes: int
    """Of the hot table after everything was drained."""


async def measure(url: str, tasks: int) -> Measured:
    """Run every verb on so many tasks."""
    meter = Meter(url)
    store = PostgresStore(url, inline=True, hook=meter.hook)
    link = store._writer._link  # type: ignore[union-attr]
    meter.flush = lambda: link._connected().connection.execute("SELECT pg_stat_force_next_flush()")
    costs, held = [], list[ClaimedTask]()
    request = ClaimRequest("w", ("default",), ("page",), BATCH, LEASE_SECONDS)

    async def submit() -> None:
        for at in range(0, tasks, BATCH):
            await store.submit([_lineage(f"line{at + n}") for n in range(0, BATCH, ROOTS)])

    async def claim() -> None:
        while taken := await store.claim(request):
            held.extend(taken)

    async def beat() -> None:
        for some in _batches(held):
            await store.heartbeat([(t.standing.seq, t.standing.fence) for t in some], LEASE_SECONDS)

    async def settle() -> None:
        for some in _batches(held):
            await store.settle([_done(t) for t in some])
        held.clear()

    async def spawn() -> None:
        for some in _batches(held):
            await store.settle([_done(t, _children(t)) for t in some])
        held.clear()

    for name, work in (("submit", submit), ("claim", claim), ("heartbeat", beat)):
        costs.append(await meter.of(name, tasks, work))
    [hot] = meter.one("SELECT pg_total_relation_size('ramet_live')")
    costs.append(await meter.of("settle", tasks, settle))
    sizes = _sizes(meter, tasks)
    await submit_again(store, tasks)
    await claim()
    costs.append(await meter.of("settle, each with one spawn", tasks, spawn))
    await claim()
    await settle()
    [peak] = meter.one("SELECT pg_total_relation_size('ramet_live')")
    await store.close()
    return Measured(costs, sizes, hot / tasks, peak)


async def submit_again(store: PostgresStore, tasks: int) -> None:
    """Other lineages of the same form."""
    for at in range(0, tasks, BATCH):
        await store.submit([_lineage(f"more{at + n}") for n in range(0, BATCH, ROOTS)])


def _sizes(meter: Meter, tasks: int) -> list[tuple[str, float, float, float]]:
    found = []
    for table in TABLES:
        heap, indexes, rows = meter.one(
            "SELECT sum(pg_table_size(relid)), sum(pg_indexes_size(relid)), "
            f"(SELECT count(*) FROM {table}) FROM pg_partition_tree('{table}') WHERE isleaf"
            if table in ("ramet_tasks", "ramet_attempts", "ramet_transitions")
            else f"SELECT pg_table_size('{table}'), pg_indexes_size('{table}'), (SELECT count(*) FROM {table})"
        )
        found.append((table, heap / tasks, indexes / tasks, rows / tasks))
    return found


def _lineage(name: str) -> NewLineage:
    return NewLineage(
        name,
        [NewTask(f"{name}-{at:030d}", "page", f"https://site.example/{name}/{at}", f'{{"text": "{"x" * 180}"}}')
         for at in range(ROOTS)],
    )  # fmt: skip


def _done(taken: ClaimedTask, spawns: Sequence[NewTask] = ()) -> Settlement:
    fence = taken.standing.fence
    return Settlement(taken.standing.seq, fence, ev.Complete(fence), spawns=spawns)


def _children(taken: ClaimedTask) -> list[NewTask]:
    return [NewTask(f"{taken.id}/1", "page", f"{taken.key}/1", taken.payload)]


def _batches(held: Sequence[ClaimedTask]) -> list[Sequence[ClaimedTask]]:
    return [held[at : at + BATCH] for at in range(0, len(held), BATCH)]


def page(found: Measured) -> str:
    """The tables, as the page has them."""
    lines = [
        f"| verb | WAL bytes a task | statements a batch of {BATCH:,} | commits a batch | hot rows updated a task | "
        "of these without an index entry |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(cost.row() for cost in found.costs),
        "",
        "| table | bytes a task | in indexes | rows a task |",
        "| --- | ---: | ---: | ---: |",
        *(f"| `{table}` | {heap:,.0f} | {indexes:,.0f} | {rows:.2f} |" for table, heap, indexes, rows in found.sizes),
        "",
        f"A live task takes {found.hot_bytes:,.0f} bytes of the hot table and its indexes. After "
        f"{found.costs[0].tasks * 3:,} tasks were drained one after the other it had {found.peak_bytes / 1e6:,.1f} MB.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Read the command line, measure, print or write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="What a task costs PostgreSQL.")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--write", type=Path, help="a page with the two marks, between which the tables go")
    parser.add_argument("--db", help="an empty database; one on a server of the benchmark's own by default")
    asked = parser.parse_args()
    with nullcontext(asked.db) if asked.db else own_database() as url:
        told = page(asyncio.run(measure(url, asked.tasks)))
    if asked.write is None:
        print(told)
        return
    text = asked.write.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        parser.error(f"{asked.write} has no place for the tables: put {BEGIN} and {END} into it")
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    asked.write.write_text(pattern.sub(lambda _: f"{BEGIN}\n{told}\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
