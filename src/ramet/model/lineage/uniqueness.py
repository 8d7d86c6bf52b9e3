"""How long a task of a kind with ``unique="global"`` holds its key over all lineages (DESIGN §5, check 5).

While it lives it holds it. After that it depends on how it ended: work that was done, or that was found needless, need
not be done again within the kind's freshness window, or the shorter time that its handler asked for; what failed may be
tried again after a day; what was ended by a limit or a person never got its chance, so the key is free at once.
"""

from __future__ import annotations

from ramet.model.task.transitions import (
    CANCELLED,
    EXCLUDE,
    FAILED,
    LINEAGE_ENDED,
    OVER_CEILING,
    SKIP,
    SKIPPED,
    TASK_DEADLINE,
    Change,
)

FOR_GOOD_SECONDS = 1e10
"""Three centuries: the window of kinds that name none."""
FAILED_HELD_SECONDS = 86_400.0
LIMIT_REASONS = frozenset({"task_deadline", "lineage_deadline", "cost"})
"""First words of the reasons of ends by a limit (up to a colon), where the transition alone does not tell."""


def held_seconds(end: Change) -> float | None:
    """How long the key stays held after a decided end.

    Args:
        end: a change to a terminal state of a task with ``unique_seconds``.

    Returns:
        Seconds from now; None when the key is free at once.
    """
    window, state = end.before.unique_seconds, end.after.state
    assert window is not None, "only unique tasks hold a key"
    if end.transition is EXCLUDE:
        return window
    if state == CANCELLED or _by_limit(end):
        return None
    if state == FAILED:
        return FAILED_HELD_SECONDS
    if state == SKIPPED and end.transition is not SKIP:
        return None
    if end.hold_seconds is None:
        return window
    return min(window, end.hold_seconds) if end.hold_seconds > 0 else None


def imported_seconds(state: str, window: float) -> float | None:
    """How long the key of a task stays held that ended in another queue.

    Args:
        state: the terminal state that it arrives in; skips were its handler's, limits are not known.
        window: ``unique_seconds`` of its kind.

    Returns:
        Seconds from its end; None when the key is free.
    """
    if state == CANCELLED:
        return None
    return FAILED_HELD_SECONDS if state == FAILED else window


def _by_limit(end: Change) -> bool:
    # Only limits and persons mark a task as ending.
    if end.transition in (TASK_DEADLINE, LINEAGE_ENDED, OVER_CEILING) or end.before.ending is not None:
        return True
    return (end.reason or "").partition(":")[0] in LIMIT_REASONS and end.after.state == FAILED
