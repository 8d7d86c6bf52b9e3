"""The bare loop: what SQLite itself gives for the rows that the engine has to write.

No engine, no worker, no guard: the rows of a lineage's tasks (wide row, hot row, identity, one history row per task),
with the durability the engine promises, in one thread. It claims a batch and settles it, in two commits. Only the
indexes that such a loop needs are there. The engine is held to the ratio against this, measured in turns.

It is a yardstick: it changes when the rows change, and not when the engine becomes faster or slower.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ramet.model.task.task import Standing
from ramet.store.schema.columns import WIDE_COLUMNS

VERSION = sqlite3.sqlite_version
HOT = Standing._fields
WIDE = [*WIDE_COLUMNS]
IDENTITY = "key tracking_id kind seq".split()
HISTORY = (
    "seq fence tracking_id worker claimed_at ended_at outcome reason reason_facts error error_class fingerprint "
    "traceback"
).split()
BORN = WIDE[: WIDE.index("state")]

KIND, QUEUE, WORKER = "bench.noop", "default", "bench-worker"


def _table(name: str, columns: Sequence[str], key: str, tail: str = "") -> str:
    listed = ", ".join(f"{column} INTEGER PRIMARY KEY" if key == column else column for column in columns)
    primary = "" if key in columns else f", PRIMARY KEY ({key})"
    return f"CREATE TABLE {name} ({listed}{primary}) {tail}"


def _insert(name: str, columns: Sequence[str]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({marks})"


TABLES = (
    _table("bare_tasks", WIDE, "seq"),
    _table("bare_live", HOT, "seq"),
    _table("bare_identities", IDENTITY, "key, tracking_id, kind", "WITHOUT ROWID"),
    _table("bare_attempts", HISTORY, "seq, fence", "WITHOUT ROWID"),
    "CREATE UNIQUE INDEX bare_tasks_id ON bare_tasks (id)",
    "CREATE INDEX bare_live_claimable ON bare_live (queue, kind, rank, turn, seq) WHERE state = 'pending'",
    "CREATE INDEX bare_live_leased ON bare_live (lease_until) WHERE state = 'processing'",
)
_NEW_TASK = _insert("bare_tasks", BORN)
_NEW_LIVE = _insert("bare_live", HOT)
_NEW_IDENTITY = _insert("bare_identities", IDENTITY)
_NEW_ATTEMPT = _insert("bare_attempts", HISTORY)
_CLAIMABLE = (
    "SELECT seq, tracking_id, fence FROM bare_live WHERE queue = ? AND kind = ? AND state = 'pending' "
    "ORDER BY rank, turn, seq LIMIT ?"
)
_CLAIM = (
    "UPDATE bare_live SET state = 'processing', fence = fence + 1, lease_until = ?, worker = ?, claimed_at = ?, "
    "started_at = ?, deadline_at = ?, attempts = attempts + 1 WHERE seq = ? AND fence = ?"
)
_READ = "SELECT id, key, payload FROM bare_tasks WHERE seq = ?"
_LEAVE = "DELETE FROM bare_live WHERE seq = ? AND fence = ?"
_CLOSE = (
    "UPDATE bare_tasks SET state = 'success', fence = ?, attempts = 1, losses = 0, snoozes = 0, chain_depth = 0, "
    "fan_out = 0, started_at = ?, deadline_at = ?, finished_at = ? WHERE seq = ?"
)


class Bare(NamedTuple):
    """One run of the bare loop."""

    submit_per_s: float
    drain_per_s: float
    drain_cpu_us: float
    """Processor microseconds per task."""


def run(folder: Path, tasks: int, batch: int, text: str) -> Bare:
    """Insert ``tasks`` rows and drain them, ``batch`` at a time, in a new database in ``folder``."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None, cached_statements=256)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")
        for statement in TABLES:
            connection.execute(statement)
        began = time.perf_counter()
        _submit(connection, tasks, batch, text)
        submitted = time.perf_counter()
        cpu = time.process_time()
        _drain(connection, batch)
        drained = time.perf_counter()
        cpu = time.process_time() - cpu
        [(left,)] = connection.execute("SELECT COUNT(*) FROM bare_live")
        [(done,)] = connection.execute("SELECT COUNT(*) FROM bare_tasks WHERE state = 'success'")
        assert (left, done) == (0, tasks), "the bare loop lost tasks: its numbers mean nothing"
    finally:
        connection.close()
    return Bare(tasks / (submitted - began), tasks / (drained - submitted), cpu / tasks * 1e6)


def _submit(connection: sqlite3.Connection, tasks: int, batch: int, text: str) -> None:
    """Each batch is a lineage of its own, as the engine's submits are."""
    for first in range(1, tasks + 1, batch):
        tracking_id, now = new_id(), time.time()
        numbers = range(first, min(first + batch, tasks + 1))
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_NEW_IDENTITY, ((str(n), tracking_id, KIND, n) for n in numbers))
        connection.executemany(_NEW_TASK, (wide(n, tracking_id, text, now) for n in numbers))
        connection.executemany(_NEW_LIVE, (hot(n, tracking_id, now) for n in numbers))
        connection.execute("COMMIT")


def _drain(connection: sqlite3.Connection, batch: int) -> None:
    while True:
        now = time.time()
        connection.execute("BEGIN IMMEDIATE")
        rows = connection.execute(_CLAIMABLE, (QUEUE, KIND, batch)).fetchall()
        connection.executemany(
            _CLAIM, ((now + 300.0, WORKER, now, now, now + 7_200.0, seq, fence) for seq, _, fence in rows)
        )
        works = [connection.execute(_READ, (seq,)).fetchone() for seq, _, _ in rows]
        connection.execute("COMMIT")
        if not works:
            return
        now = time.time()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_LEAVE, ((seq, fence + 1) for seq, _, fence in rows))
        connection.executemany(_CLOSE, ((fence + 1, now, now + 7_200.0, now, seq) for seq, _, fence in rows))
        connection.executemany(_NEW_ATTEMPT, _history(rows, now))
        connection.execute("COMMIT")


def _history(rows: Sequence[tuple[int, str, int]], now: float) -> Iterator[tuple[object, ...]]:
    for seq, tracking_id, fence in rows:
        yield (seq, fence + 1, tracking_id, WORKER, now, now, "success", None, None, None, None, None, None)


def wide(number: int, tracking_id: str, text: str, now: float) -> tuple[object, ...]:
    """What is written of a task when it is born: the columns ``BORN``."""
    payload = json.dumps({"number": number, "text": text})
    return (
        number,
        new_id(),
        tracking_id,
        None,
        KIND,
        str(number),
        QUEUE,
        0,
        payload,
        "[]",
        0,
        4,
        2,
        7_200.0,
        0,
        0,
        now,
    )


def hot(number: int, tracking_id: str, now: float) -> Standing:
    """What changes while it lives: the columns ``HOT``."""
    return Standing(
        seq=number, tracking_id=tracking_id, kind=KIND, queue=QUEUE, rank=0, spawn_depth=0, state="pending",
        wait=None, available_at=now, fence=0, lease_until=0.0, worker=None, claimed_at=0.0, started_at=None,
        task_seconds=7_200.0, deadline_at=None, attempts=0, max_attempts=4, losses=0, losses_alone=0, snoozes=0,
        chain_depth=0, max_chain_depth=2, progressed=0, fan_out=0, stage=None, on_end=0, ending=None,
        ending_reason=None, ending_facts=None, bound_to=None, turn=number,
    )  # fmt: skip


def new_id() -> str:
    """As long as the engine's ids, and in order as they are."""
    chance = os.urandom(10).hex()
    stamp = f"{time.time_ns() // 1_000_000:012x}"
    return f"{stamp[:8]}-{stamp[8:]}-7{chance[:3]}-8{chance[3:6]}-{chance[6:18]}"
