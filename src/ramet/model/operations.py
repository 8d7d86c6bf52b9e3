"""Operator actions on many tasks, and the audit log entry."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from ramet.model.paths import DEFAULT_QUEUE, path_of
from ramet.model.task.task import LIVE, TERMINAL, Task, TaskState
from ramet.model.values import NAME_BYTES_MAX, REASON_CHARACTERS_MAX, Json, check_text

TASK_IDS_MAX = 1_000
"""Most task ids of one filter."""


class BulkAction(StrEnum):
    """Actions on each of many tasks."""

    RETRY = "retry"
    """New attempts for ended tasks, under their old identity."""
    CANCEL = "cancel"
    """Cancel live tasks; what grew from them goes on."""
    EXCLUDE = "exclude"
    """Take tasks out for good; their identity stays taken."""


_POSSIBLE: Mapping[BulkAction, frozenset[TaskState]] = {
    BulkAction.RETRY: frozenset(TERMINAL - {TaskState.SUCCESS}),
    BulkAction.CANCEL: frozenset(LIVE),
    BulkAction.EXCLUDE: frozenset({TaskState.PENDING, TaskState.FAILED, TaskState.CANCELLED}),
}
"""The states from which an act leads anywhere."""

_MEANT: Mapping[BulkAction, frozenset[TaskState]] = {
    BulkAction.RETRY: frozenset({TaskState.FAILED}),
    BulkAction.CANCEL: frozenset(LIVE),
    BulkAction.EXCLUDE: frozenset({TaskState.FAILED}),
}
"""The states that are meant where none is named."""


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Filter of tasks: it selects those to which all given conditions apply.

    Raises:
        ValueError: a state does not exist, or a moment is not a finite number.
        InvalidPath: there is no such path.
        InvalidText: a text is too long, or cannot be stored.
    """

    states: Collection[TaskState | str] = ()
    """Left out: failed tasks to retry or exclude, live ones to cancel."""
    kind: str | None = None
    error: str | None = None
    """A part of the error or of the reason, in upper or lower case."""
    since: float | None = None
    """Ended at or after this moment, Unix seconds; live tasks: created."""
    lineage_prefix: str | None = None
    """Prefix of the tracking id."""
    tracking_id: str | None = None
    """Lineage of the tasks."""
    task_ids: Sequence[str] = ()
    """Ids of the only tasks that are meant, at most 1,000."""
    path: Sequence[str] = ()
    """Path of the tasks, or a prefix of it, in its queue."""
    queue: str | None = None
    """Queue of the tasks; with a path ``default`` where none is given."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", frozenset(TaskState(state) for state in self.states))
        if self.since is not None and not math.isfinite(self.since):
            raise ValueError(f"since is {self.since}: give a moment in Unix seconds")
        object.__setattr__(self, "path", path_of(self.path))
        if self.path and self.queue is None:
            object.__setattr__(self, "queue", DEFAULT_QUEUE)
        object.__setattr__(self, "task_ids", tuple(dict.fromkeys(self.task_ids)))
        if len(self.task_ids) > TASK_IDS_MAX:
            raise ValueError(f"{len(self.task_ids)} tasks: name at most {TASK_IDS_MAX}, or filter them")
        bounds = {
            "tracking_id": NAME_BYTES_MAX,
            "queue": NAME_BYTES_MAX,
            "kind": NAME_BYTES_MAX,
            "error": REASON_CHARACTERS_MAX,
            "lineage_prefix": NAME_BYTES_MAX,
        }
        for name, most in bounds.items():
            if (text := getattr(self, name)) is not None:
                check_text(name.replace("_", " "), text, characters_max=most)

    def wanted(self, act: BulkAction) -> frozenset[TaskState]:
        """Return the states of the tasks that an act is about.

        Raises:
            ValueError: a state was named from which the act leads nowhere.
        """
        states = frozenset(TaskState(state) for state in self.states)
        if wrong := sorted(states - _POSSIBLE[act]):
            raise ValueError(f"cannot {act} tasks that are {wrong[0]}: give {', '.join(sorted(_POSSIBLE[act]))}")
        return states or _MEANT[act]

    def matches(self, task: Task) -> bool:
        """Return whether a task matches, apart from its state."""
        moment = task.created_at if task.finished_at is None else task.finished_at
        text = self.error and f"{task.error or ''}\n{task.reason or ''}".casefold()
        return (
            (self.since is None or moment >= self.since)
            and (not self.error or self.error.casefold() in str(text))
            and task.tracking_id.startswith(self.lineage_prefix or "")
            and self.tracking_id in (None, task.tracking_id)
            and self.kind in (None, task.kind)
            and task.path[: len(self.path)] == self.path
            and self.queue in (None, task.queue)
        )

    def facts(self, act: BulkAction) -> dict[str, Any]:
        """Return the filter as JSON, for the record."""
        given = {
            "kind": self.kind, "error": self.error, "since": self.since, "lineage_prefix": self.lineage_prefix,
            "path": list(self.path), "queue": self.queue, "tracking_id": self.tracking_id,
            "task_ids": list(self.task_ids),
        }  # fmt: skip
        return {"states": sorted(self.wanted(act)), **{name: value for name, value in given.items() if value}}


class BulkSelection(NamedTuple):
    """The tasks that an act is about, as they were when they were counted."""

    act: BulkAction
    filter: TaskFilter
    task_ids: tuple[str, ...]
    """Ids in the order in which the tasks were created."""
    counts: Mapping[tuple[str, str], int]
    """Number of tasks of each kind and state."""
    more: bool = False
    """Whether a bound ended the search: there may be further tasks."""

    @classmethod
    def of(cls, act: BulkAction, wanted: TaskFilter, tasks: Collection[tuple[str, str, str]]) -> BulkSelection:
        """From (id, kind, state) of each."""
        counts = Counter((kind, state) for _, kind, state in tasks)
        return cls(act, wanted, tuple(task_id for task_id, _, _ in tasks), dict(sorted(counts.items())))


class BulkResult(NamedTuple):
    """Result of an act on many tasks."""

    done: tuple[str, ...]
    """Ids of those on which the act took effect."""
    left: Mapping[str, str]
    """Reasons why others were left as they are, by id."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that a person did to the engine. Acts on a single task are transitions of that task instead."""

    seq: int
    """Number of the act in its database; grows with time."""
    at: float
    """Unix seconds by the store's clock."""
    by: str
    act: str
    """Act that was done: ``raise_limits``, ``reoffer``, ``stop_list_add``, ..."""
    subject: str
    """Subject of the act: a tracking id, a setting, an entry of the deny list."""
    tracking_id: str | None
    """The lineage that it concerns; it is pruned with that lineage. None for what concerns all."""
    reason: str | None
    detail: Json
    """Change in detail; its shape depends on the act."""
