"""Retention: ended lineages go with all their rows, a part at a time, so that nothing waits for it.

The first part marks the lineage row (``sweep = -1``); from then on it cannot be revived, and its tracking id is still
taken. The row itself goes last: whatever crashes, the next call goes on.
"""

from __future__ import annotations

from ramet.store.answers import Prunable
from ramet.store.maintenance.monitor import prune_alerts
from ramet.store.maintenance.notification_outbox import prune_notices
from ramet.store.rows.keys import forget_expired
from ramet.store.rows.lineages import PRUNING
from ramet.store.session import Session

PRUNED_BY_TASK = (
    "ramet_attempts",
    "ramet_transitions",
    "ramet_checkpoints",
    "ramet_holds",
    "ramet_stages",
    "ramet_unsuccessful",
    "ramet_waits",
    "ramet_awaited",
    "ramet_wakes",
    "ramet_branch_tasks",
    "ramet_tags",
    "ramet_handler_waits",
    "ramet_task_logs",
)
"""Tables with a ``seq``, whose rows go with their task."""
PRUNED_BY_LINEAGE: dict[str, str] = {
    "ramet_blocks": "tracking_id, kind, key, reason",
    "ramet_block_counts": "tracking_id, parent_id, kind, reason",
    "ramet_shapes": "tracking_id, kind, shape",
    "ramet_edges": "tracking_id, parent_id, child_id",
    "ramet_acts": "seq",
    "ramet_alerts": "id",
    "ramet_alert_notices": "id",
    "ramet_reservations": "id",
    "ramet_blobs": "tracking_id, sha256",
    "ramet_path_skips": "because, seq",
    "ramet_branches": "id",
    "ramet_paused_paths": "node",
}
"""Tables with a ``tracking_id`` whose rows go with their lineage -> the columns of their primary key."""
OPEN_SECONDS = 86_400.0
"""A call that a lineage left open can be settled for so long at least, however short the retention."""
KEPT = {"ramet_reservations": "settled_at IS NULL"}
"""Rows that are kept all the same: money that was spent is booked whenever it is reported (promise I2)."""
LET_GO = (
    "NOT EXISTS (SELECT 1 FROM ramet_holds h JOIN ramet_paths p ON p.seq = h.seq "
    "WHERE h.tracking_id = ramet_lineages.tracking_id) AND "
    "NOT EXISTS (SELECT 1 FROM ramet_path_waves w JOIN ramet_tasks b ON b.seq = w.because "
    "WHERE w.what IN ('skip', 'away', 'back', 'revive') AND b.tracking_id = ramet_lineages.tracking_id)"
)
"""Condition of pruning: no worker may still run a task of the lineage that has a path, and no end is still to be
reported: a process that waits for such a task learns of its end by its rows.
"""


def prune(session: Session, before: float, *, limit: int = 100, rows: int = 5_000) -> int:
    """Delete lineages that ended before the given time, with everything of theirs; the oldest first.

    Also deletes slots of schedules and resolved alerts of that age, and expired holds of global identities.

    One call deletes up to ``limit`` lineages and looks at up to about ``rows`` tasks, so that it delays no other
    transaction for long. A larger lineage is deleted by several calls, in any number of workers at once; from the first
    of them on it cannot be revived, and its tracking id stays taken until the last.

    Returns:
        How many lineages are gone entirely. 0 may mean that a large one is under way: ask
        :meth:`~ramet.store.store.Store.prunable`.
    """
    _prune_slots(session, before, rows)
    forget_expired(session, rows)
    prune_alerts(session, before, rows)
    prune_notices(session, before, rows)
    _prune_reservations(session, before, rows)
    found = session.rows(
        f"SELECT tracking_id FROM ramet_lineages WHERE ended_at < ? AND live = 0 AND end_wanted = 0 AND {LET_GO} "
        "ORDER BY ended_at LIMIT ?",
        (before, limit),
    )
    gone, left = 0, rows
    for (tracking_id,) in found:
        session.run("UPDATE ramet_lineages SET sweep = ? WHERE tracking_id = ?", (PRUNING, tracking_id))
        left -= _prune_part(session, tracking_id, left)
        if left <= 0:
            break
        # The kept rows belong to no lineage any more, also when another one of that name comes.
        session.run("UPDATE ramet_reservations SET tracking_id = '' WHERE tracking_id = ?", (tracking_id,))
        session.run("DELETE FROM ramet_lineages WHERE tracking_id = ?", (tracking_id,))
        gone += 1
    return gone


def _prune_part(session: Session, tracking_id: str, rows: int) -> int:
    """Delete up to ``rows`` rows of a lineage; fewer than that were left when fewer are returned."""
    done = _prune_tasks(session, tracking_id, rows)
    for table, key in PRUNED_BY_LINEAGE.items():
        if done >= rows:
            break
        but = f" AND NOT ({KEPT[table]})" if table in KEPT else ""
        done += session.run(
            f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE tracking_id = ?{but} LIMIT ?)",
            (tracking_id, rows - done),
        )
    return done


def _prune_tasks(session: Session, tracking_id: str, rows: int) -> int:
    found = session.rows(
        "SELECT seq, key, kind FROM ramet_tasks WHERE tracking_id = ? AND state IS NOT NULL LIMIT ?",
        (tracking_id, rows),
    )
    if found:
        listed, values = session.members(seq for seq, _, _ in found)
        for table in PRUNED_BY_TASK:
            session.run(f"DELETE FROM {table} WHERE seq {listed}", (values,))
        session.delete(
            "ramet_identities", ("key", "tracking_id", "kind"), [(key, tracking_id, kind) for _, key, kind in found]
        )
        session.run(f"DELETE FROM ramet_tasks WHERE seq {listed}", (values,))
    return len(found)


def _prune_slots(session: Session, before: float, rows: int) -> None:
    """Delete outcomes of slots with the runs that they started."""
    session.run(
        "DELETE FROM ramet_slots WHERE (schedule, slot_at) IN (SELECT schedule, slot_at FROM ramet_slots "
        "WHERE decided_at < ? ORDER BY decided_at LIMIT ?)",
        (before, rows),
    )


def _prune_reservations(session: Session, before: float, rows: int) -> None:
    """Delete rows of reservations of pruned lineages: calls that were not settled for a day and the retention, or were
    since.

    They count as spent in the sums of the day and of the database, which stay as they are.
    """
    session.run(
        "DELETE FROM ramet_reservations WHERE id IN (SELECT r.id FROM ramet_reservations r "
        "WHERE r.closed_at < ? AND (r.settled_at IS NULL OR r.settled_at < ?) "
        "AND NOT EXISTS (SELECT 1 FROM ramet_tasks t WHERE t.seq = r.seq) "
        "ORDER BY r.closed_at LIMIT ?)",
        (min(before, session.now - OPEN_SECONDS), before, rows),
    )


def prunable(session: Session, before: float, *, limit: int = 1_000_000_000) -> Prunable:
    """Return how much :meth:`~ramet.store.store.Store.prune` would delete, counted up to ``limit`` lineages."""
    [(lineages, tasks)] = session.rows(
        "SELECT COUNT(*), COALESCE(SUM(tasks), 0) FROM (SELECT tasks - CASE WHEN on_end IS NULL THEN 0 ELSE 1 END "
        f"AS tasks FROM ramet_lineages WHERE ended_at < ? AND live = 0 AND end_wanted = 0 AND {LET_GO} "
        "ORDER BY ended_at LIMIT ?) AS ended",
        (before, limit),
    )
    [(slots,)] = session.rows(
        "SELECT COUNT(*) FROM (SELECT 1 FROM ramet_slots WHERE decided_at < ? ORDER BY decided_at LIMIT ?) AS old",
        (before, limit),
    )
    return Prunable(lineages, tasks, slots)
