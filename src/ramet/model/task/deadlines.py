"""When a task's deadline ends it, and whose it was: its own, or its lineage's (DESIGN §8).

A kind with ``max_attempts=None`` is ended by nothing but time: it polls something that is done when it is done. What
it waits for may have come since it last looked, so it is looked at once more: its deadline is judged by the outcome of
a claim that began after it, and the pause before that claim ends at the deadline.
"""

from __future__ import annotations

from ramet.model.task.task import Standing
from ramet.model.task.transitions import LINEAGE_ENDED, TASK_DEADLINE, Change

OF_TASK = "task_deadline"
OF_LINEAGE = "lineage_deadline"
TOLERANCE_SECONDS = 0.001
"""Deadlines are moved by sums of floats when a queue was paused."""


def fails_by_time(task: Standing) -> bool:
    """Whether no deadline ends this task before it was claimed once more; its last handler has an hour like any."""
    return task.max_attempts is None and task.ending is None


def is_judged(task: Standing, now: float, *, known: bool = True) -> bool:
    """Whether a claim that asks for another was the last, because the task's deadline passed.

    Args:
        task: as it was in hand.
        now: Unix seconds, when the claim ended.
        known: False for a claim of which nobody knows what it came to: it was lost, or its settler ended.
    """
    if task.deadline_at is None or now < task.deadline_at:
        return False
    if not fails_by_time(task):
        return True
    # A settler says what came of a bound task, which was bound before.
    return known and (task.bound_to is not None or task.claimed_at >= task.deadline_at)


def not_after_deadline(task: Standing, available_at: float, now: float) -> float:
    """When a task may be claimed again that asked for this moment: one that time ends at its deadline at the latest."""
    if task.deadline_at is None or not fails_by_time(task) or task.claimed_at >= task.deadline_at:
        return available_at
    return min(available_at, max(now, task.deadline_at))


def by_its_lineage(change: Change, lineage_deadline_at: float) -> bool:
    """True for an end by deadline of a task whose time was cut by its lineage's."""
    if change.reason != OF_TASK or change.before.ending is not None:
        return False  # One that is ending has the deadline of its last handler; why it ends was told before.
    deadline_at = change.before.deadline_at
    return deadline_at is not None and deadline_at >= lineage_deadline_at - TOLERANCE_SECONDS


def told_of_lineage(change: Change) -> Change:
    """The same end, told as what it is: by the deadline of the lineage (promise I8)."""
    after = change.after
    if after.ending_reason == OF_TASK:
        after = after._replace(ending_reason=OF_LINEAGE)
    transition = LINEAGE_ENDED if change.transition is TASK_DEADLINE else change.transition
    return change._replace(after=after, transition=transition, reason=OF_LINEAGE)
