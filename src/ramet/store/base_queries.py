"""What questions about tasks are asked with, and answered with; see :mod:`ramet.store.base`."""

from __future__ import annotations

from typing import NamedTuple

from ramet.model.task import Task, TaskState


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
    """Continue behind this task number (see :attr:`TaskPage.next_after`)."""


class TaskPage(NamedTuple):
    """Tasks in the order of their numbers, and where to go on."""

    tasks: tuple[Task, ...]
    next_after: int | None


class KindCount(NamedTuple):
    """How many tasks of a kind are in a state, with what they wait for; ``stale`` where a claim's lease expired."""

    kind: str
    state: str
    wait: str | None
    tasks: int
    mean_depth: float
