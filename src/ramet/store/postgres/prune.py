"""PostgreSQL: prune whole parts of the history by dropping them (docs/decisions/0035)."""

from __future__ import annotations

from typing import NamedTuple

import psycopg

from ramet.store.maintenance import prune as pruning
from ramet.store.postgres.partitions import PARTED
from ramet.store.postgres.session import PostgresSession
from ramet.store.rows.lineages import PRUNING
from ramet.store.session import Session

DROP_SECONDS_MAX = 0.2
"""Most seconds that a drop waits for readers of the part: every other transaction waits for it meanwhile."""
PARTS_LOOKED_AT = 20
_MAY_GO = "g.live = 0 AND g.end_wanted = 0 AND g.ended_at < ? AND " + pruning.LET_GO.replace("ramet_lineages.", "g.")
_STATES = "('running', 'paused', 'finished', 'failed', 'cancelled')"
_BY_TASK = tuple(table for table in pruning.PRUNED_BY_TASK if table not in PARTED)


class PruneRange(NamedTuple):
    """A range of task numbers, or what is left to do of it."""

    number: int
    first: int
    end: int


def prune(session: Session, before: float, *, limit: int = 100, rows: int = 5_000) -> int:
    """Delete as :func:`ramet.store.maintenance.prune.prune` does, whole parts first.

    Of a part, only the small tables are gone through row by row.
    """
    assert isinstance(session, PostgresSession)
    if _drop_parts(session, before, rows):
        return 0
    return pruning.prune(session, before, limit=limit, rows=rows)


def _drop_parts(session: PostgresSession, before: float, rows: int) -> bool:
    """Return True while one is on its way out: then nothing is deleted by row that would go with it."""
    parts = session.rows("SELECT number, size, emptied_to FROM ramet_parts ORDER BY number LIMIT ?", (PARTS_LOOKED_AT,))
    [(next_number,)] = session.rows("SELECT number FROM ramet_next_number")
    for number, size, emptied_to in parts:
        first, end = number * size, (number + 1) * size
        if end > next_number:
            break
        if session.rows("SELECT 1 FROM ramet_live WHERE seq >= ? AND seq < ? LIMIT 1", (first, end)):
            continue
        if not _may_go(session, first, end, before):
            continue
        left = _empty(session, PruneRange(number, max(first, emptied_to), end), before, rows)
        if left is None:
            continue
        if left == rows:
            return True
        if not _dropped(session, number) or left:
            break
    return False


def _may_go(session: PostgresSession, first: int, end: int, before: float) -> bool:
    """Is every lineage with a task in this range one that may be pruned?"""
    newest = session.rows(
        "SELECT created_at FROM ramet_tasks WHERE seq >= ? AND seq < ? ORDER BY seq DESC LIMIT 1", (first, end)
    )
    if not newest:
        return True
    if newest[0][0] >= before:
        return False
    return not session.rows(
        f"SELECT 1 FROM ramet_lineages g WHERE g.state IN {_STATES} AND g.created_at <= ? AND g.sweep <> ? "
        f"AND NOT ({_MAY_GO.replace('g.ended_at < ?', 'COALESCE(g.ended_at < ?, FALSE)')}) AND EXISTS (SELECT 1 "
        "FROM ramet_tasks t WHERE t.tracking_id = g.tracking_id AND t.seq >= ? AND t.seq < ?) "
        "LIMIT 1",
        (newest[0][0], PRUNING, before, first, end),
    )


def _empty(session: PostgresSession, part: PruneRange, before: float, rows: int) -> int | None:
    """Take away what does not go with the part, for up to ``rows`` of its tasks; how many there were.

    None when one of them belongs to a lineage that may not be pruned. From here on none of the others is revived.
    """
    found = session.rows(
        "SELECT seq, key, kind, tracking_id FROM ramet_tasks WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?",
        (part.first, part.end, rows),
    )
    if not found:
        return 0
    names = {tracking_id for _, _, _, tracking_id in found}
    listed, values = session.members(sorted(names))
    open_ones = session.rows(
        f"SELECT g.tracking_id FROM ramet_lineages g WHERE g.tracking_id {listed} AND "
        f"(g.sweep = ? OR ({_MAY_GO})) ORDER BY g.tracking_id{session.for_update}",
        (values, PRUNING, before),
    )
    if len(open_ones) < len(names):
        return None
    session.run(
        f"UPDATE ramet_lineages SET sweep = ? WHERE tracking_id {listed} AND sweep <> ?", (PRUNING, values, PRUNING)
    )
    session.delete(
        "ramet_identities",
        ("key", "tracking_id", "kind"),
        [(key, tracking_id, kind) for _, key, kind, tracking_id in found],
    )
    numbers, of = session.members(seq for seq, *_ in found)
    for table in _BY_TASK:
        session.run(f"DELETE FROM {table} WHERE seq {numbers}", (of,))
    session.run("UPDATE ramet_parts SET emptied_to = ? WHERE number = ?", (found[-1][0] + 1, part.number))
    return len(found)


def _dropped(session: PostgresSession, number: int) -> bool:
    """Drop a part; False while it is being read: it is dropped another time."""
    connection = session.connection
    connection.execute(f"SAVEPOINT drop_part; SET LOCAL lock_timeout = '{DROP_SECONDS_MAX}s'".encode())
    try:
        session.run("SELECT ramet_drop_part(?)", (number,))
    except psycopg.errors.LockNotAvailable:
        connection.execute(b"ROLLBACK TO drop_part; RELEASE drop_part")
        return False
    connection.execute(b"RELEASE drop_part; SET LOCAL lock_timeout = DEFAULT")
    return True
