"""Tasks that waited for others go on, are skipped, or come back; called by claims and by maintenance."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.lineage.lineage import LineageState
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.task import Standing
from ramet.model.task.transitions import Change
from ramet.store.errors import UniqueHeld
from ramet.store.rows import keys, waits
from ramet.store.rows.branches import deadlines
from ramet.store.rows.lineages import PRUNING, lock_lineages, read_lineages
from ramet.store.rows.tasks import ended_standing
from ramet.store.rows.waits import REVIVAL, WAKE_LIST, WakeRow
from ramet.store.schema.columns import LIVE_LIST
from ramet.store.session import Session
from ramet.store.state.apply import apply
from ramet.store.verbs.spawn import load_parents

WANTED = f"SELECT 1 FROM ramet_waits WHERE {waits.OVER} UNION ALL SELECT 1 FROM ramet_wakes"
"""SQL that finds a row where there is something to do."""


def wake_waiting(session: Session, limit: int = waits.TOGETHER_MAX) -> int:
    """Let tasks go on whose round is over; return how many there were. Rows that others hold are passed over."""
    limit = min(limit, waits.TOGETHER_MAX)
    taken_off = _follow_wake(session)
    over = session.rows(f"SELECT seq FROM ramet_waits WHERE {waits.OVER} LIMIT ?", (limit,))
    return taken_off + _wake(session, [seq for (seq,) in over])


def _wake(session: Session, over: Sequence[int]) -> int:
    if not over:
        return 0
    listed, values = session.members(over)
    found = session.rows(
        f"SELECT {LIVE_LIST} FROM ramet_live WHERE seq {listed} AND wait = 'tasks' ORDER BY seq{session.skip_locked}",
        (values,),
    )
    standings = [*map(Standing._make, found)]
    rows = waits.load(session, [standing.seq for standing in standings])
    # Another claim may bring back what they were to be skipped for: that is decided under the lineage's lock.
    if failed := {row.tracking_id for row in rows.values() if row.failed is not None}:
        lock_lineages(session, failed)
        rows = waits.load(session, [*rows])
    standings = [each for each in standings if rows[each.seq].over]
    names = load_parents(session, [row.failed for row in rows.values() if row.failed is not None])
    lineages = read_lineages(session, {standing.tracking_id for standing in standings})
    bounded = deadlines(session, [each.seq for each in standings if lineages[each.tracking_id].branches])
    changes = []
    for standing in standings:
        row, until = rows[standing.seq], lineages[standing.tracking_id].deadline_at
        until = min(until, bounded.get(standing.seq, until))
        event: ev.Event = ev.Wake(until, row.seconds_left)
        if row.failed is not None:
            event = ev.DependencyFailed(Reason("dependency_failed", task=names[row.failed][0]))
        change = decide(standing, event, session.now)
        assert isinstance(change, Change), f"task {standing.seq} waits, and cannot go on: {change}"
        changes.append(change)
    apply(session, changes)
    return len(changes)


def _follow_wake(session: Session) -> int:
    """Follow one row of ``ramet_wakes`` for a part; return how many waiting tasks were written."""
    found = session.rows(f"SELECT {WAKE_LIST} FROM ramet_wakes WHERE seq > 0 ORDER BY seq, what LIMIT 1", ())
    if not found:
        return 0
    wake = WakeRow._make(found[0])
    # All of it is written under the lock of the lineage. Where another transaction has that, a later call goes on.
    if not session.rows(
        f"SELECT tracking_id FROM ramet_lineages WHERE tracking_id = ?{session.skip_locked}", (wake.tracking_id,)
    ):
        return 0
    found = session.rows(f"SELECT {WAKE_LIST} FROM ramet_wakes WHERE seq = ? AND what = ?", (wake.seq, wake.what))
    if not found:
        return 0
    wake = WakeRow._make(found[0])
    return _bring_back(session, wake) if wake.what == REVIVAL else waits.take_off_some(session, wake)


def _has_key(session: Session, standing: Standing) -> bool:
    """Take the unique key of a task again; return False where another task holds it, so that this one stays skipped."""
    if standing.unique_seconds is None:
        return True
    try:
        keys.take_again(session, standing.seq)
    except UniqueHeld:
        return False
    return True


def _bring_back(session: Session, wake: WakeRow) -> int:
    """Revive tasks that were skipped for a task that was revived; each brings back those skipped for it in turn."""
    lineage = lock_lineages(session, [wake.tracking_id])[wake.tracking_id]
    open_ = lineage.state not in (LineageState.CANCELLED, LineageState.FAILED) and lineage.sweep != PRUNING
    skipped = waits.skipped_for(session, wake.seq) if open_ and session.now < lineage.deadline_at else []
    changes, left = [], []
    for seq in skipped:
        standing, print_ = ended_standing(session, seq)
        if standing is None or not _has_key(session, standing):
            left.append((seq,))
            continue
        change = decide(standing, ev.Revive(wake.by or "", wake.reason, True), session.now)
        assert isinstance(change, Change), f"task {seq} was skipped, and cannot come back: {change}"
        changes.append(change._replace(fingerprint=print_))
    apply(session, changes)
    session.update("ramet_waits", ("waiting = 0",), ("seq",), left)
    if len(skipped) < waits.TOGETHER_MAX:
        session.delete("ramet_wakes", ("seq", "what"), [(wake.seq, wake.what)])
    return max(1, len(changes))
