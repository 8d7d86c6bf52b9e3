"""Tasks that another task settles: a provider's batch over many items (DESIGN §4)."""

from __future__ import annotations

from typing import Any, NamedTuple

from ramet.model.task import events as ev
from ramet.model.task.task import Standing, Wait, free_wait
from ramet.model.task.transitions import SUCCESS, Change, Transition, TransitionRefused

ITEM_STATES = ("success", "failed", "cancelled", "pending")
"""States that a settler can give a bound task; ``pending`` releases it."""


class BindResult(NamedTuple):
    """The answer for one task that was to be bound."""

    task_id: str
    number: int | None
    """Number to give when the task is settled; None when it was not bound."""
    refused: str | None = None
    """``unknown``, ``stale`` (the settler's claim), why its lineage is closed, or why the task cannot be bound."""


class BoundTask(NamedTuple):
    """A task that is bound, as its settler sees it."""

    task_id: str
    number: int
    tracking_id: str
    kind: str
    key: str
    payload: str
    """JSON text."""


class ItemSettlement(NamedTuple):
    """Settlement of one bound task by its settler."""

    task_id: str
    binding: int
    """The number that binding it gave."""
    state: str
    result: str | None = None
    """JSON text; kept with ``success``."""
    reason: str | None = None
    delay_seconds: float = 0.0
    """Seconds for which it cannot be claimed or bound, with ``pending``."""
    uses_time: bool = True
    """True when, with ``pending``, the delay counts in the task's own time."""
    writes: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Statements on own tables with their parameters: they run where this settlement is accepted, and nowhere else."""

    @property
    def only_succeeded(self) -> bool:
        """True for a success that says nothing else."""
        return self.state == SUCCESS and self.reason is None and not self.writes


class ItemResult(NamedTuple):
    """Result of one item settlement."""

    task_id: str
    state: str | None
    """The state that the task is in now; None when the settlement was refused."""
    refused: str | None = None
    """Reason of a refusal: ``unknown``, ``not_bound``, ``stale`` (bound again since), ``is_<state>``, or how its
    lineage ended.
    """


class StageCount(NamedTuple):
    """Number of tasks of a staged kind that are at a stage, in a state."""

    stage: str | None
    """Stage that the last checkpoint of a task that gathers state moved to, None before the first; of a task per stage
    its stage.
    """
    state: str
    tasks: int


def bind(row: Transition, task: Standing, event: ev.Bind, now: float) -> Change | TransitionRefused:
    """Being bound is a claim by another task: it has a fence, and the task's time runs; but no attempt is counted."""
    if task.ending is not None:
        return TransitionRefused("ending")
    if task.wait != free_wait(task.resource):
        return TransitionRefused("waits")
    if task.available_at > now:
        return TransitionRefused("not_due")
    if task.deadline_at is not None and now >= task.deadline_at:
        return TransitionRefused("overdue")
    deadline_at = task.deadline_at
    if deadline_at is None:
        deadline_at = event.lineage_deadline_at
        if task.task_seconds is not None:
            deadline_at = min(now + task.task_seconds, deadline_at)
    after = task._replace(
        wait=Wait.BOUND.value, bound_to=event.settler, fence=task.fence + 1, claimed_at=now, deadline_at=deadline_at
    )
    return Change(task, after, row)
