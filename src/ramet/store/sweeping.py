"""Maintenance: what must happen although nobody asks for it. A loop of the worker, never a task of its own.

Each verb takes a bounded batch in one transaction and may run in every worker at once: each reads standings, lets the
model decide, and changes only what still stands as it was read.
"""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model import events as ev
from ramet.model.guard import buried
from ramet.model.lineage import Lineage, LineageState
from ramet.model.task import Standing, Wait
from ramet.store.apply import free
from ramet.store.base import Swept
from ramet.store.claiming import promote_due
from ramet.store.clocks import queue_offsets
from ramet.store.holds import release_lapsed
from ramet.store.items import expire_polled, let_go
from ramet.store.lineage_ends import start_ends
from ramet.store.lineages import DEADLINE_REASON, LINEAGE_LIST, end_lineage, lock_lineages, tombstones_of
from ramet.store.reclaiming import DeadWorkers, apply_events, reclaim
from ramet.store.resources import forget_idle, skip_disabled
from ramet.store.schema import LIVE_LIST
from ramet.store.session import Session
from ramet.store.spawning import load_parents
from ramet.store.turns import forget_levels


def sweep(session: Session, limit: int, dead_workers: DeadWorkers | None = None) -> Swept:
    """One round of everything. A field that is not 0 says that another round may find more."""
    due = promote_due(session, limit)
    reclaimed, poisoned = reclaim(session, limit, dead_workers or {})
    expired = expire(session, limit)
    ended_lineages = end_overdue_lineages(session, limit)
    ended, followed = follow_ends(session, limit)
    expired += expire_polled(session, limit)
    unbound = let_go(session, limit)
    followed += start_ends(session, limit)
    forget_levels(session)
    release_lapsed(session, limit)
    forget_idle(session)
    ended += skip_disabled(session, limit)
    if due or reclaimed:
        session.wake()
    return Swept(due, reclaimed, poisoned, expired, ended_lineages, ended, followed, unbound)


def expire(session: Session, limit: int) -> int:
    """Pending tasks past their own deadline fail. Claimed ones are judged when their attempt's outcome is known.

    A task that is ending has an hour for its last handler, and no pause of its queue makes that longer (promise I6).
    """
    rows = session.rows(
        # A bound task is in its settler's hands.
        # Left to itself SQLite takes another index, and every sweep reads the whole backlog.
        f"SELECT {LIVE_LIST} FROM ramet_live INDEXED BY ramet_live_overdue WHERE state = 'pending' "
        f"AND deadline_at IS NOT NULL AND deadline_at <= ? AND bound_to IS NULL LIMIT ?",
        (session.now, limit),
    )
    return len(apply_events(session, [(Standing._make(row), ev.DeadlinePassed()) for row in rows]))


_OVERDUE = "SELECT tracking_id FROM ramet_lineages INDEXED BY ramet_lineages_open WHERE state IN ('running', 'paused')"


def end_overdue_lineages(session: Session, limit: int) -> int:
    """Lineages past their deadline fail: the row first, in this transaction; their tasks follow."""
    offsets = queue_offsets(session)
    apart, values = "", []
    if offsets:
        listed, members = session.members(sorted(offsets))
        apart, values = f"AND queue NOT IN {listed}", [members]
    rows = session.rows(f"{_OVERDUE} AND deadline_at <= ? {apart} LIMIT ?", (session.now, *values, limit))
    for queue, seconds in sorted(offsets.items()):
        rows += session.rows(
            f"{_OVERDUE} AND deadline_at <= ? AND queue = ? LIMIT ?", (session.now - seconds, queue, limit)
        )
    for (tracking_id,) in rows:
        end_lineage(session, tracking_id, LineageState.FAILED, DEADLINE_REASON)
    return len(rows)


FINISH_BATCH = 5_000


def follow_ends(session: Session, limit: int) -> tuple[int, int]:
    """End the tasks of lineages that ended, and those under a tombstone, batch by batch; free those of resumed ones.

    Returns:
        How many ended, and how many were looked at.
    """
    rows = session.rows(f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE sweep > 0 LIMIT 20")
    told = [_follow_end(session, Lineage._make(row), limit) for row in rows]
    return sum(ended for ended, _ in told), sum(followed for _, followed in told)


def finish_ends(session: Session, lineage: Lineage) -> None:
    """Follow the end of one lineage to its last task, now: before a revive says that the lineage runs again."""
    while lineage.sweep > 0:
        _follow_end(session, lineage, FINISH_BATCH)
        lineage = lock_lineages(session, [lineage.tracking_id])[lineage.tracking_id]


def _follow_end(session: Session, lineage: Lineage, limit: int) -> tuple[int, int]:
    found = session.rows(
        f"SELECT {LIVE_LIST} FROM ramet_live WHERE tracking_id = ? AND seq >= ? ORDER BY seq LIMIT ?",
        (lineage.tracking_id, lineage.sweep, limit),
    )
    standings = [Standing._make(item) for item in found]
    ended = len(apply_events(session, _ends_of(session, lineage, standings)))
    if lineage.state == LineageState.RUNNING:
        free(session, [s.seq for s in standings if s.wait == Wait.LINEAGE])
        session.wake()
    session.run(
        "UPDATE ramet_lineages SET sweep = ? WHERE tracking_id = ?",
        (standings[-1].seq + 1 if standings else 0, lineage.tracking_id),
    )
    return ended, len(standings)


def _ends_of(session: Session, lineage: Lineage, standings: Sequence[Standing]) -> list[tuple[Standing, ev.Event]]:
    if lineage.state in (LineageState.FAILED, LineageState.CANCELLED):
        end = ev.LineageEnded(lineage.state, lineage.reason or f"lineage_{lineage.state}")
        return [(s, end) for s in standings if s.ending is None]
    marks = tombstones_of(lineage)
    parents = load_parents(session, [s.seq for s in standings])
    ends: list[tuple[Standing, ev.Event]] = []
    for standing in standings:
        task_id, _, chain, _ = parents[standing.seq]
        grave = buried(marks, task_id, chain)
        if grave is not None and standing.ending is None:
            ends.append((standing, ev.LineageEnded("cancelled", f"cancel_tree: {grave}")))
    return ends
