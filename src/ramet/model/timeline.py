"""The timeline of a lineage: what the time of its tasks went into, as a chart shows it row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from ramet.model.task.task import TaskState, Wait
from ramet.model.views import BoundedCount

TIMELINE_ROWS = 100
"""Tasks of one timeline."""
TIMELINE_CHILDREN = 8
"""Children of each task below the first level that are among them."""
SPAN_ATTEMPTS = 20
"""Attempts of one task with a span each, the newest; those before them share one span."""
SLOW_LOOKS_MAX = 20_000
"""Most tasks among which the slowest are searched."""
SLOWEST = 25
"""Number of tasks that count as the slowest."""
TOTAL_MAX = 100_000
"""Most roots or children that are counted."""
TIMELINE_FILTERS = ("failed", "slow")
"""Filters of a timeline."""


class SpanKind(StrEnum):
    """Activity of a task in a span of time."""

    WAITING = "waiting"
    """Waiting for a worker, its turn, or the time that it was submitted for."""
    RUNNING = "running"
    FAILED = "failed"
    """It ran, and the attempt ended with an error or was lost."""
    BACKING_OFF = "backing_off"
    """Waiting for the next attempt after an error, or because it snoozed."""
    JOINED = "joined"
    """Waiting for other tasks of its lineage."""
    EARLIER = "earlier"
    """Attempts before the newest :data:`SPAN_ATTEMPTS`."""


class TimelineSpan(NamedTuple):
    """A part of the time of a task; Unix seconds."""

    what: SpanKind
    begin: float
    end: float


class TimelineRow(NamedTuple):
    """A task on a timeline, behind its parent."""

    id: str
    parent_id: str | None
    kind: str
    key: str
    state: str
    depth: int
    """Its spawn depth."""
    created_at: float
    finished_at: float | None
    attempts: int
    spans: tuple[TimelineSpan, ...]
    """One behind the other, from its creation to its end, or until now."""
    hidden: BoundedCount
    """Its children that the timeline does not show."""
    failed_below: BoundedCount
    """Failed tasks that grew from it."""
    waits_for: int | None
    """Tasks that it waits for since its last join; None while it waits for none."""


class TimelineLink(NamedTuple):
    """A task that waits, or has waited, for another one."""

    waiting: str
    awaited: str


class Timeline(NamedTuple):
    """A part of the tree of a lineage, each task before what grew from it."""

    rows: tuple[TimelineRow, ...]
    top: TimelineRow | None
    """The task that was asked for; the rows are what grew from it. None for the roots of a lineage."""
    links: tuple[TimelineLink, ...]
    """Among the tasks that are shown."""
    total: BoundedCount
    """Roots of the lineage, or children of the task; with a filter those that match or lead to what matches."""
    failed: BoundedCount
    """Failed tasks of the whole lineage."""
    next_after: int | None
    """Given as ``after`` it continues behind this page; None at the end, and with a filter."""


class Ran(NamedTuple):
    """An attempt, as far as a timeline needs it."""

    claimed_at: float
    ended_at: float
    outcome: str
    reason: str | None
    """Its code."""


class Life(NamedTuple):
    """Present state of a task."""

    state: str
    created_at: float
    finished_at: float | None
    claimed_at: float | None
    """Begin of its current claim."""
    wait: str | None
    came_after: bool = False
    """It was created to wait for other tasks first."""


def spans_of(life: Life, attempts: Iterable[Ran], *, cut: bool, now: float) -> tuple[TimelineSpan, ...]:
    """Divide the time of a task.

    Args:
        life: where it is now.
        attempts: its newest attempts, the oldest first.
        cut: whether it had attempts before those.
        now: Unix seconds, the end of the last span of a live task.
    """
    return tuple(span for span in _divided(life, attempts, cut=cut, now=now) if span.end > span.begin)


def _divided(life: Life, attempts: Iterable[Ran], *, cut: bool, now: float) -> Iterator[TimelineSpan]:
    first = SpanKind.JOINED if life.came_after else SpanKind.WAITING
    at, until = life.created_at, SpanKind.EARLIER if cut else first
    for one in attempts:
        yield TimelineSpan(until, at, one.claimed_at)
        failed = one.outcome in ("error", "lost")
        yield TimelineSpan(SpanKind.FAILED if failed else SpanKind.RUNNING, max(at, one.claimed_at), one.ended_at)
        at, until = one.ended_at, _wait_after(one)
    if life.state == TaskState.PROCESSING and life.claimed_at is not None:
        yield TimelineSpan(until, at, life.claimed_at)
        yield TimelineSpan(SpanKind.RUNNING, max(at, life.claimed_at), now)
    elif life.state == TaskState.PENDING:
        yield TimelineSpan(SpanKind.JOINED if life.wait == Wait.TASKS else until, at, now)
    elif life.finished_at is not None:
        yield TimelineSpan(until, at, life.finished_at)


def _wait_after(attempt: Ran) -> SpanKind:
    """Return the activity after an attempt that did not end the task."""
    if attempt.reason == "joined":
        return SpanKind.JOINED
    return SpanKind.BACKING_OFF if attempt.outcome in ("error", "snooze") else SpanKind.WAITING
