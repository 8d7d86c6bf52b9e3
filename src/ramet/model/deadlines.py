"""Whose deadline ended a task: its own, or its lineage's, which is where a child's ends at the latest (DESIGN §8)."""

from __future__ import annotations

from ramet.model.transitions import LINEAGE_ENDED, TASK_DEADLINE, Change

OF_TASK = "task_deadline"
OF_LINEAGE = "lineage_deadline"
TOLERANCE_SECONDS = 0.001
"""Deadlines are moved by sums of floats when a queue was paused."""


def by_its_lineage(change: Change, lineage_deadline_at: float) -> bool:
    """True for an end by deadline of a task whose time was cut by its lineage's."""
    deadline_at = change.before.deadline_at
    return (
        change.reason == OF_TASK and deadline_at is not None and deadline_at >= lineage_deadline_at - TOLERANCE_SECONDS
    )


def told_of_lineage(change: Change) -> Change:
    """The same end, told as what it is: by the deadline of the lineage (promise I8)."""
    after = change.after
    if after.ending_reason == OF_TASK:
        after = after._replace(ending_reason=OF_LINEAGE)
    transition = LINEAGE_ENDED if change.transition is TASK_DEADLINE else change.transition
    return change._replace(after=after, transition=transition, reason=OF_LINEAGE)
