"""A process that dies at any statement loses nothing and does nothing twice (promises I1 and I2).

The run is real: app, client, worker and database, in one thread and virtual time, so that it repeats itself statement
by statement. It is crashed before and after a statement by closing the database under it; then everything in memory
is thrown away, the file opened again, and the run goes on to the end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from ramet import Client, Worker
from ramet.store.errors import StoreError
from ramet.store.neighbours import Neighbours
from ramet.store.sqlite import SqliteStore
from ramet.store.sqlite_session import SqliteSession, connect
from tests.crash import garden, office
from tests.invariants import violations
from tests.simulation.virtual_time import VirtualClock, VirtualLoop

PARTS, PARTS_FULL = 12, 40
SEASON_SECONDS = 20_000.0
"""Virtual; a whole run takes a twentieth of it."""
Counts = Counter[tuple[str, str]]
"""How often the hook heard of a statement, before and after it."""
STEPS = {"end", "attempt 3", "dug", "one", "two", "three"}
STEPS |= {"chain 0", "chain 1", "chain 2", "snooze 0", "snooze 1", "snooze 2"}
WRITES = (
    "CREATE TABLE ramet_tasks", "BEGIN IMMEDIATE", "COMMIT", "SAVEPOINT", "RELEASE", "INSERT INTO ramet_lineages",
    "INSERT INTO ramet_tasks", "INSERT INTO ramet_live", "INSERT INTO ramet_identities", "INSERT INTO ramet_attempts",
    "INSERT INTO ramet_blocks", "INSERT INTO ramet_checkpoints", "INSERT INTO ramet_transitions", "INSERT INTO effects",
    "UPDATE ramet_live SET state", "UPDATE ramet_live SET wait", "UPDATE ramet_tasks SET state = ?",
    "UPDATE ramet_tasks SET state = NULL", "UPDATE ramet_counters", "UPDATE ramet_lineages SET tasks",
    "UPDATE ramet_lineages SET live", "UPDATE ramet_lineages SET state", "UPDATE ramet_lineages SET tombstones",
    "UPDATE ramet_lineages SET sweep", "UPDATE ramet_lineages SET max_fan_out", "UPDATE ramet_lineages SET blocks",
    "DELETE FROM ramet_live", "INSERT INTO ramet_monitor",
    "INSERT INTO ramet_blobs", "UPDATE ramet_lineages SET blob_bytes",
    "INSERT INTO ramet_reservations", "INSERT INTO ramet_spend",
    "UPDATE ramet_lineages SET reserved", "UPDATE ramet_lineages SET spent", "UPDATE ramet_spend SET reserved",
    "WITH RECURSIVE settlers", "UPDATE ramet_lineages SET end_wanted",
    "UPDATE ramet_spend SET spent", "UPDATE ramet_reservations SET actual", "UPDATE ramet_reservations SET closed_at",
    "INSERT INTO ramet_queues", "INSERT INTO ramet_kinds", "INSERT INTO ramet_policies", "INSERT INTO ramet_resources",
    "INSERT INTO ramet_holds", "DELETE FROM ramet_holds WHERE seq", "INSERT INTO ramet_acts",
    "UPDATE ramet_lineages SET state = 'paused'", "UPDATE ramet_queues SET paused_at = ?",
    "UPDATE ramet_queues SET paused_at = NULL", "UPDATE ramet_live SET deadline_at",
    "UPDATE ramet_resources SET ready_at",
)  # fmt: skip


class SimulatedCrash(BaseException):
    """The end of the process. Nothing may catch it."""


class NoJitter(random.Random):
    """Retries of one moment come back at one moment, which keeps the run short."""

    def random(self) -> float:
        return 0.5


class Point(NamedTuple):
    """Where to crash."""

    sql: str
    occurrence: int
    when: str
    """``before`` or ``after`` the statement."""


class Ended(NamedTuple):
    """What a run leaves: the state of every task, and how often each effect happened."""

    states: dict[tuple[str, str, str], str]
    effects: Counter[tuple[str, str]]


class Run:
    """One process: a store, a loop of its own, and the point at which it dies."""

    def __init__(self, path: Path, point: Point | None = None) -> None:
        self.loop = VirtualLoop()
        self.counts: Counts = Counter()
        self.dead = False
        self._point = point
        clock = VirtualClock(self.loop)
        # The clocks of two processes in a row do not run backwards.
        clock.offset = 0.0 if point is not None else 50_000.0
        self.clock = clock
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self.store: SqliteStore | None = None

    def _connect(self, path: Path, **options: bool) -> sqlite3.Connection:
        self._connection = connect(path, **options)
        # The process dies, not the machine: what was handed to the operating system is safe, and waiting is in vain.
        self._connection.execute("PRAGMA synchronous = OFF")
        return self._connection

    def _open(self) -> SqliteStore:
        with patch("ramet.store.sqlite.connect", self._connect):
            self.store = SqliteStore(self._path, clock=self.clock.now, inline=True, hook=self._hook)
        return self.store

    def _hook(self, when: str, sql: str) -> None:
        if self.dead:
            raise SimulatedCrash("nothing runs in a dead process")
        self.counts[(sql, when)] += 1
        if self._point == (sql, self.counts[(sql, when)], when):
            self._die()

    def _die(self) -> None:
        """What the operating system does at the end of a process: it closes everything, and nobody cleans up."""
        self.dead = True
        assert self._connection is not None
        self._connection.close()
        if self.store is not None:
            self._drop(self.store._neighbours)
        raise SimulatedCrash(str(self._point))

    def _drop(self, neighbours: Neighbours) -> None:
        """The operating system closes the socket and gives the lock up; the files stay."""
        if neighbours._socket is not None:
            self.loop.remove_reader(neighbours._socket)
            neighbours._socket.close()
            neighbours._socket = None
        if neighbours._lock is not None:
            os.close(neighbours._lock)
            neighbours._lock = None

    def live(self) -> None:
        """Run to the end, or until the crash."""
        try:
            self.loop.run_until_complete(asyncio.wait_for(self._season(), SEASON_SECONDS))
        except SimulatedCrash:
            assert self.dead
        finally:
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            if left:
                self.loop.run_until_complete(asyncio.wait(left))

    async def _season(self) -> None:
        client = Client(garden.app.registry, self._open(), garden.LIMITS, tables=garden.TABLES)
        await client.ensure_tables()
        await garden.sow(client)
        await office.sow(client)
        await self._work(client)
        await garden.revive_rotten(client)
        await self._work(client)

    async def _work(self, client: Client) -> None:
        worker = Worker(
            garden.app, client, until_idle=True, clock=self.clock, rng=NoJitter(), concurrency=60,
            poll_seconds=120.0, sweep_seconds=20.0,
        )  # fmt: skip
        await worker.run()

    def ended(self) -> Ended:
        """What is in the database, which must be sound."""

        async def read(store: SqliteStore) -> Ended:
            found = await violations(store, lowered={"garden"})
            assert found == [], "\n".join(found)
            states = await store.read("SELECT tracking_id, kind, key, state FROM ramet_tasks")
            effects = await store.read("SELECT task, step FROM effects")
            return Ended(office.in_order(states), Counter((a, b) for a, b in effects))

        assert self.store is not None
        return self.loop.run_until_complete(read(self.store))

    def close(self) -> None:
        if self.store is not None and self.dead:
            self._drop(self.store._neighbours)
        elif self.store is not None:
            self.store.close_now()
        self.loop.close()


@contextmanager
def run(path: Path, point: Point | None = None) -> Iterator[Run]:
    run = Run(path, point)
    try:
        yield run
    finally:
        run.close()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Counts, Ended]:
    """How often each statement runs when nothing crashes, and what that leaves."""
    with run(tmp_path_factory.mktemp("reference") / "ramet.db") as whole:
        whole.live()
        counts = Counter(whole.counts)
        return counts, whole.ended()


def chosen(counts: Counts, *, every: bool) -> list[Point]:
    """Every occurrence of every statement, or of each its first, its middle and its last."""
    points = []
    for (sql, when), count in counts.items():
        occurrences = range(1, count + 1) if every else sorted({1, (count + 1) // 2, count})
        points += [Point(sql, occurrence, when) for occurrence in occurrences]
    return points


def survive(folder: Path, point: Point, expected: Ended) -> None:
    """Crash there, open the file again, run to the end: the same ends, and every effect exactly once."""
    folder.mkdir()
    path = folder / "ramet.db"
    with run(path, point) as first:
        first.live()
        assert first.dead, f"the run never came to {point}: it does not repeat itself"
    with run(path) as second:
        second.live()
        assert second.ended() == expected, f"after a crash at {point}"
    for file in folder.iterdir():
        file.unlink() if file.is_file() else shutil.rmtree(file)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="ramet")


def test_the_run_does_everything_that_is_worth_crashing(reference: tuple[Counts, Ended]) -> None:
    counts, ended = reference
    assert len(ended.states) >= 200
    assert set(ended.states.values()) == {"success", "filtered", "skipped", "failed", "cancelled"}
    assert set(ended.effects.values()) == {1}
    assert {step for _, step in ended.effects} == STEPS
    told = Counter((kind, state) for (lineage, kind, _), state in ended.states.items() if lineage == "office")
    assert told == office.ENDS
    for beginning in WRITES:
        assert any(sql.strip().startswith(beginning) for sql, _ in counts), f"no statement begins with {beginning}"


@pytest.mark.parametrize("part", range(PARTS))
def test_a_crash_at_any_kind_of_statement_loses_nothing_and_does_nothing_twice(
    part: int, reference: tuple[Counts, Ended], tmp_path: Path
) -> None:
    counts, ended = reference
    for number, point in enumerate(chosen(counts, every=False)[part::PARTS]):
        survive(tmp_path / str(number), point, ended)


@pytest.mark.full
@pytest.mark.parametrize("part", range(PARTS_FULL))
def test_a_crash_at_every_statement_loses_nothing_and_does_nothing_twice(
    part: int, reference: tuple[Counts, Ended], tmp_path: Path
) -> None:
    counts, ended = reference
    for number, point in enumerate(chosen(counts, every=True)[part::PARTS_FULL]):
        survive(tmp_path / str(number), point, ended)


@pytest.mark.parametrize("beginning", ["INSERT INTO ramet_tasks", "UPDATE ramet_tasks SET state"])
def test_without_transactions_a_crash_does_harm_and_is_found(
    beginning: str, reference: tuple[Counts, Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, ended = reference
    [sql] = [sql for sql, when in counts if sql.startswith(beginning) and when == "before"][:1]

    @contextmanager
    def no_savepoint(self: SqliteSession) -> Iterator[None]:
        yield

    monkeypatch.setattr(SqliteSession, "savepoint", no_savepoint)
    monkeypatch.setattr(SqliteSession, "begin", lambda self, write: None)
    monkeypatch.setattr(SqliteSession, "commit", lambda self: None)
    with pytest.raises((AssertionError, StoreError, TimeoutError)):
        survive(tmp_path / "harmed", Point(sql, 1, "before"), ended)
