"""Ends by a deadline name the one that passed; where it was the lineage's, the lineage ends by it first.

A task learns its deadline with its first claim and keeps it, so it may be found overdue before the row of its lineage
is. Without this it would be told to have had its own time, and its lineage to have finished.
"""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.lineage.lineage import OPEN, LineageState
from ramet.model.task.deadlines import OF_TASK, by_its_lineage, told_of_lineage
from ramet.model.task.transitions import Change
from ramet.store.rows.lineages import DEADLINE_REASON, end_lineage, lock_lineages
from ramet.store.session import Session

LEFT, BOUND = 0, 2
"""What becomes of a pending task at its deadline: the sweep ends it; its settler is asked first. The others, 1, are
claimed once more, and no sweep reads them, however many there are."""


def overdue(row: str, what: int) -> str:
    """SQL of a pending task's deadline, to be compared: of these tasks only, by an index that keeps each sort apart."""
    return (
        f"{row}state = 'pending' AND {row}deadline_at IS NOT NULL AND (CASE WHEN {row}bound_to IS NOT NULL THEN 2 "
        f"WHEN {row}max_attempts IS NULL AND {row}ending IS NULL THEN 1 ELSE 0 END) = {what} AND {row}deadline_at"
    )


def name_deadlines(session: Session, changes: Sequence[Change]) -> Sequence[Change]:
    """Decided changes as they are to be applied, one for each; costs nothing where no deadline passed."""
    if not any(change.reason == OF_TASK for change in changes):
        return changes
    rows = lock_lineages(session, {change.before.tracking_id for change in changes if change.reason == OF_TASK})
    told: list[Change] = []
    over: set[str] = set()
    for change in changes:
        row = rows.get(change.before.tracking_id)
        cut = row is not None and by_its_lineage(change, row.deadline_at)
        told.append(told_of_lineage(change) if cut else change)
        if cut:
            over.add(change.before.tracking_id)
    for tracking_id in sorted(over):
        if rows[tracking_id].state in OPEN and rows[tracking_id].deadline_at <= session.now:
            end_lineage(session, tracking_id, LineageState.FAILED, DEADLINE_REASON)
    return told
