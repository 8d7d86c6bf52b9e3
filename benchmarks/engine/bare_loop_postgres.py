"""The bare loop on PostgreSQL: what the server itself gives for the rows that the engine has to write.

The twin of :mod:`benchmarks.engine.bare_loop`: the same rows (wide row, hot row, identity, one history row per task),
the same order (claim a batch and read what a handler would read, commit; settle it, commit), in one thread over one
connection, with the server's own durability. Everything is set-based: a batch is one statement to claim and one to
settle, and a submit is three COPYs. It is a yardstick: it changes when the rows change, and not when the engine does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg

from benchmarks.engine.bare_loop import BORN, HISTORY, HOT, IDENTITY, KIND, QUEUE, WIDE, WORKER, hot, new_id, wide
from benchmarks.engine.processes import cpu_seconds, postmaster

REALS = {name for name in (*WIDE, *HOT, *HISTORY) if name.endswith(("_at", "_seconds", "_until"))}
WHOLE = set(
    "seq rank priority spawn_depth max_attempts max_chain_depth on_end breadth fence attempts losses losses_alone "
    "snoozes chain_depth fan_out progressed turn holds_path payload_version".split()
)


def _table(name: str, columns: Sequence[str], key: str, settings: str = "") -> str:
    def kind(column: str) -> str:
        return "bigint" if column in WHOLE else "double precision" if column in REALS else 'text COLLATE "C"'

    listed = ", ".join(f"{column} {kind(column)}" for column in columns)
    return f"CREATE TABLE {name} ({listed}, PRIMARY KEY ({key})) {settings}"


# Room for the second version of a row on its page, as the engine's tables have it.
TABLES = (
    _table("bare_tasks", WIDE, "seq", "WITH (fillfactor = 80)"),
    _table("bare_live", HOT, "seq", "WITH (fillfactor = 70)"),
    _table("bare_identities", IDENTITY, "key, tracking_id, kind"),
    _table("bare_attempts", HISTORY, "seq, fence"),
    "CREATE UNIQUE INDEX bare_tasks_id ON bare_tasks (id)",
    "CREATE INDEX bare_live_claimable ON bare_live (queue, kind, rank, turn, seq) WHERE state = 'pending'",
    "CREATE INDEX bare_live_leased ON bare_live (lease_until) WHERE state = 'processing'",
)
_CLAIM = """
    WITH chosen AS (
        SELECT seq FROM bare_live WHERE queue = %s AND kind = %s AND state = 'pending'
        ORDER BY rank, turn, seq LIMIT %s FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE bare_live SET state = 'processing', fence = fence + 1, lease_until = %s, worker = %s, claimed_at = %s,
            started_at = %s, deadline_at = %s, attempts = attempts + 1
        FROM chosen WHERE bare_live.seq = chosen.seq RETURNING bare_live.seq, bare_live.fence
    )
    SELECT taken.seq, taken.fence, id, key, payload FROM taken JOIN bare_tasks ON bare_tasks.seq = taken.seq
"""
_SETTLE = """
    WITH gone AS (
        DELETE FROM bare_live USING unnest(%s::bigint[], %s::bigint[]) AS held (seq, fence)
        WHERE bare_live.seq = held.seq AND bare_live.fence = held.fence
        RETURNING bare_live.seq, bare_live.fence, tracking_id, worker, claimed_at
    ), closed AS (
        UPDATE bare_tasks SET state = 'success', fence = gone.fence, attempts = 1, losses = 0, snoozes = 0,
            chain_depth = 0, fan_out = 0, started_at = %s, deadline_at = %s, finished_at = %s
        FROM gone WHERE bare_tasks.seq = gone.seq
    )
    INSERT INTO bare_attempts (seq, fence, tracking_id, worker, claimed_at, ended_at, outcome)
    SELECT seq, fence, tracking_id, worker, claimed_at, %s, 'success' FROM gone
"""


class Bare(NamedTuple):
    """One run of the bare loop."""

    submit_per_s: float
    """By COPY into all three tables, a commit for each batch."""
    drain_per_s: float
    drain_cpu_us: float
    """Processor microseconds per task of the loop's own process."""
    server_cpu_us: float | None
    """Of all processes of the server; None where it runs on another machine."""
    wal_bytes: float
    """Written ahead per task drained."""


def run(address: str, tasks: int, batch: int, text: str) -> Bare:
    """Copy ``tasks`` rows into an empty database and drain them, ``batch`` at a time."""
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in TABLES:
            connection.execute(statement.encode())
        began = time.perf_counter()
        _submit(connection, tasks, batch, text)
        submitted = time.perf_counter() - began
        connection.execute("ANALYZE")
        connection.execute("CHECKPOINT")
        server = postmaster(connection.info.backend_pid)
        wal, server_cpu, cpu = _wal(connection), cpu_seconds(server) if server else 0.0, time.process_time()
        began = time.perf_counter()
        _drain(connection, batch)
        drained = time.perf_counter() - began
        cpu, server_cpu = time.process_time() - cpu, (cpu_seconds(server) if server else 0.0) - server_cpu
        wal = _wal(connection) - wal
        left = _one(connection, "SELECT count(*) FROM bare_live")
        done = _one(
            connection, "SELECT count(*) FROM bare_tasks JOIN bare_attempts USING (seq) WHERE state = 'success'"
        )
        assert (left, done) == (0, tasks), "the bare loop lost tasks: its numbers mean nothing"
    return Bare(
        tasks / submitted,
        tasks / drained,
        cpu / tasks * 1e6,
        server_cpu / tasks * 1e6 if server else None,
        wal / tasks,
    )


def _submit(connection: psycopg.Connection[Any], tasks: int, batch: int, text: str) -> None:
    """Each batch is a lineage of its own, as the engine's submits are. NULL columns are left out."""
    cursor = connection.cursor()
    for first in range(1, tasks + 1, batch):
        tracking_id, now = new_id(), time.time()
        numbers = range(first, min(first + batch, tasks + 1))
        with connection.transaction():
            _copy(cursor, "bare_identities", IDENTITY, [(str(n), tracking_id, KIND, n) for n in numbers])
            _copy(cursor, "bare_tasks", BORN, [wide(n, tracking_id, text, now) for n in numbers])
            _copy(cursor, "bare_live", HOT, [hot(n, tracking_id, now) for n in numbers])


def _copy(cursor: psycopg.Cursor[Any], table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    kept = [at for at, value in enumerate(rows[0]) if value is not None]
    names = ", ".join(columns[at] for at in kept)
    with cursor.copy(f"COPY {table} ({names}) FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row([row[at] for at in kept])


def _drain(connection: psycopg.Connection[Any], batch: int) -> None:
    """Each statement is a transaction: one round trip to claim, one to settle."""
    cursor = connection.cursor(binary=True)
    while True:
        now = time.time()
        claim = (QUEUE, KIND, batch, now + 300.0, WORKER, now, now, now + 7_200.0)
        works = cursor.execute(_CLAIM, claim, prepare=True).fetchall()
        if not works:
            return
        now = time.time()
        held = [work[0] for work in works], [work[1] for work in works]
        cursor.execute(_SETTLE, (*held, now, now + 7_200.0, now, now), prepare=True)


def _wal(connection: psycopg.Connection[Any]) -> int:
    return _one(connection, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")


def _one(connection: psycopg.Connection[Any], query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])
