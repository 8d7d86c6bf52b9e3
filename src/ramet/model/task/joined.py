"""Answers to a task that joined: the tasks that it has waited for, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ramet.model.task.task import TaskState
from ramet.model.values import Json
from ramet.model.views import BoundedCount


@dataclass(frozen=True, slots=True)
class JoinedTask:
    """A task of a round, or a spawn of it that the guard refused."""

    kind: str
    key: str
    id: str | None
    """Id of the task; of a refused spawn, that of the existing task, or None where there is none."""
    state: TaskState | None
    """None where there is no such task. Of a refused spawn, that of the task that was there already: it may be live."""
    result: Json = None
    """Result that its handler returned."""
    error: str | None = None
    reason: str | None = None
    """Reason of its state, where that is not plain success."""
    refused: str | None = None
    """Reason of the guard for refusing the spawn, in words; None for a task that was granted."""
    refused_code: str | None = None
    """A :class:`ramet.model.lineage.guard.BlockReason`."""

    @property
    def ok(self) -> bool:
        """True where it succeeded."""
        return self.state is TaskState.SUCCESS


class JoinPlace(NamedTuple):
    """A place in a round, to read on behind it."""

    place: int
    behind: int


class JoinPage(NamedTuple):
    """Some of a round, in the order of their spawns."""

    rows: tuple[JoinedTask, ...]
    next: JoinPlace | None
    """Position to read on from; None at the end."""


class JoinTotals(NamedTuple):
    """Number of tasks of a round."""

    states: Mapping[str, int]
    """Tasks that were granted, by state."""
    refused: int
    """Spawns that the guard refused."""


class JoinRound(NamedTuple):
    """One of the joins of a task: what it waits for, or has waited for, and what became of it."""

    round: int
    """Number of the join, from 1."""
    rounds: int
    """Number of joins so far."""
    waiting: bool
    """True while it waits in this round."""
    branch: bool
    """True where it waits for all that grows below its children, too."""
    since: float | None
    """Unix seconds of the join; None of an earlier one than the last."""
    remaining: int
    """Tasks that have not ended; 0 of an earlier round."""
    total: BoundedCount
    """Tasks of the round."""
    rows: tuple[JoinedTask, ...]
    """A page of them, in the order of their spawns, refused ones among them."""
    next: JoinPlace | None
    """Position to read on from; None at the end."""


class AwaitedTask(NamedTuple):
    """A task that another one waits for."""

    id: str
    kind: str
    key: str
    state: TaskState
    since: float
    """Unix seconds: of its claim while it is processing, else when it may be claimed."""
    wait: str | None
    """Wait of a pending one, a :class:`ramet.model.task.task.Wait`."""


class JoinWait(NamedTuple):
    """Tasks that a task waits for now."""

    since: float
    """Unix seconds of the join."""
    remaining: int
    """Tasks that have not ended."""
    total: BoundedCount
    """Tasks of the round."""
    oldest: tuple[AwaitedTask, ...]
    """The first of those that have not ended, in the order of their spawns."""
    branch: bool = False
    """True where it waits for all that grows below its children, too."""


def joined_task(row: Mapping[str, Any]) -> JoinedTask:
    """Return a joined task from JSON values by field."""
    state = row["state"]
    return JoinedTask(**{**row, "state": None if state is None else TaskState(state)})
