"""What questions about tasks are asked with, and answered with; see :mod:`ramet.store.base`."""

from __future__ import annotations

from typing import NamedTuple

from ramet.model.task.task import Task, TaskState

SEQ_MAX = 2**63 - 1
"""The largest number that a task can have."""


class TaskQuery(NamedTuple):
    """Which tasks to list. Empty fields do not filter; ``limit`` is bounded by the store (1,000)."""

    tracking_id: str | None = None
    states: frozenset[TaskState] = frozenset()
    kind: str | None = None
    key: str | None = None
    min_depth: int | None = None
    parent_id: str | None = None
    limit: int = 100
    after: int = 0
    """Continue behind this task number (see :attr:`TaskPage.next_after`); 0 begins."""
    newest: bool = False
    """List the newest first: each page goes on with smaller numbers."""

    @property
    def first(self) -> tuple[str, int]:
        """The comparison that a task's number must hold, and with what."""
        return ("<", self.after or SEQ_MAX) if self.newest else (">", self.after)


class TaskPage(NamedTuple):
    """Tasks in the order of their numbers, or the newest first, and where to go on."""

    tasks: tuple[Task, ...]
    next_after: int | None


class KindCount(NamedTuple):
    """How many tasks of a kind are in a state, with what they wait for; ``stale`` where a claim's lease expired."""

    kind: str
    state: str
    wait: str | None
    tasks: int
    mean_depth: float
