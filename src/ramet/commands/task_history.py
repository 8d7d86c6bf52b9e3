"""All that happened to a task, in order of time, for terminals and pages."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from ramet import TaskHistory


class Moment(NamedTuple):
    """One line of a task's story."""

    at: float
    """Unix seconds."""
    what: str
    """A word: ``claimed``, an outcome, the name of a transition, at last the state in which it ended."""
    detail: str
    error: str | None = None
    is_end: bool = False
    traceback: str | None = None


def story(found: TaskHistory, *, most: int | None = None) -> list[Moment]:
    """Creation, claims, outcomes, what people did and the end; of more than ``most`` attempts or changes the newest."""
    # Stable: what is stored under one moment stays in the order of its story.
    return sorted(_moments(found, most or 0), key=attrgetter("at"))


def _moments(found: TaskHistory, most: int) -> Iterator[Moment]:
    task = found.task
    yield Moment(task.created_at, *(("spawned", f"by task {task.parent_id}") if task.parent_id else ("submitted", "")))
    for attempt in found.attempts[-most:]:
        yield Moment(attempt.claimed_at, "claimed", f"claim {attempt.fence} by {attempt.worker}")
        error_class = f"class {attempt.error_class}" if attempt.error_class else None
        detail = "; ".join(part for part in (attempt.reason, error_class) if part)
        error = attempt.error if attempt.error != attempt.reason else None
        yield Moment(attempt.ended_at, attempt.outcome, detail, error, traceback=attempt.traceback)
    if task.claimed_at is not None:
        yield Moment(task.claimed_at, "claimed", f"claim {task.fence} by {task.worker}, which still has it")
    for change in found.transitions[-most:]:
        parts = (f"{change.from_state} to {change.to_state}", f"by {change.by}" if change.by else "", change.reason)
        yield Moment(change.at, change.name, ", ".join(part for part in parts if part))
    if task.finished_at is not None:
        yield Moment(task.finished_at, str(task.state), task.reason or "", is_end=True)
