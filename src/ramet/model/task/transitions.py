"""The rows of the state table (DESIGN §4) as values, and what a decision looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ramet.model.task import events as ev
from ramet.model.task.task import Standing, TaskState

PENDING = TaskState.PENDING.value
PROCESSING = TaskState.PROCESSING.value
SUCCESS = TaskState.SUCCESS.value
FILTERED = TaskState.FILTERED.value
SKIPPED = TaskState.SKIPPED.value
FAILED = TaskState.FAILED.value
CANCELLED = TaskState.CANCELLED.value


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of DESIGN §4: which event takes a task from which states to which."""

    name: str
    event: type[Any]
    sources: frozenset[str]
    targets: frozenset[str]
    recorded: bool = False
    """True when the change gets a row of its own; claims and their outcomes are recorded by the attempt."""
    fields: tuple[str, ...] = ()
    """The only fields of the standing that it touches, for those that happen all the time; empty: any."""


class Change(NamedTuple):
    """A decided change, ready to be applied. ``before`` is also the condition under which it holds."""

    before: Standing
    after: Standing
    transition: Transition
    reason: str | None = None
    outcome: str | None = None
    """Outcome of the current attempt; None when none ended."""
    error: str | None = None
    error_class: str | None = None
    fingerprint: str | None = None
    by: str | None = None
    """The person or loop that asked, for recorded changes."""
    traceback: str | None = None
    hold_seconds: float | None = None
    """Most seconds for which the handler wants its unique key held; None leaves it to the kind."""


REFUSALS: Mapping[str, str] = {
    "is_<state>": "the table has no such row",
    "stale": "the fence is not the one of the current claim",
    "waits": "a claim of a task that is held back",
    "not_due": "a claim of a task whose time has not come",
    "lease_current": "a reclaim while the lease still runs",
    "overdue": "a binding of a task whose deadline has passed",
    "not_overdue": "its deadline has not passed",
    "in_hand": "a fresh claim, or a binding, whose outcome must be awaited",
    "not_polled": "a deadline of a kind with `max_attempts=None`, which is claimed once more first",
    "at_resource": "a deadline of a task that waits for its turn at its resource, while its own time does not run",
    "not_bound": "settled by a task that has no right to",
    "not_waiting": "skipped for a task that it does not wait for",
    "ending": "it is ending already: it is not ended a second time",
    "pulled": "another priority for a pulled kind, of which the task that has been due the longest comes first",
    "held": "another moment for a task that waits for other tasks, a settler, or its turn in line on a path",
}
"""Words for the reasons why an event does not apply, by :attr:`TransitionRefused.reason`."""


class TransitionRefused(NamedTuple):
    """The event does not apply to the task in its current state. An answer, not an exception."""

    reason: str
    """A name of :data:`REFUSALS`; ``is_<state>`` with the state that it has."""


def _states(*names: str) -> frozenset[str]:
    return frozenset(names)


_ENDS = _states(FILTERED, SKIPPED, FAILED, CANCELLED)

CLAIM = Transition(
    "claim",
    ev.Claim,
    _states(PENDING),
    _states(PROCESSING),
    fields=tuple("state fence lease_until worker claimed_at started_at deadline_at attempts progressed".split()),
)
HEARTBEAT = Transition("heartbeat", ev.Heartbeat, _states(PROCESSING), _states(PROCESSING), fields=("lease_until",))
PROGRESS = Transition("progress", ev.Progress, _states(PROCESSING), _states(PROCESSING))
CHECKPOINT = Transition("checkpoint", ev.Checkpoint, _states(PROCESSING), _states(PROCESSING))
COMPLETE = Transition("complete", ev.Complete, _states(PROCESSING), _states(SUCCESS, FAILED, CANCELLED))
FILTER = Transition("filter", ev.Filter, _states(PROCESSING), _states(FILTERED, FAILED, CANCELLED))
SKIP = Transition("skip", ev.Skip, _states(PROCESSING), _states(SKIPPED, FAILED, CANCELLED))
FAIL = Transition("fail", ev.Fail, _states(PROCESSING), _states(FAILED, CANCELLED))
ERROR = Transition("error", ev.Error, _states(PROCESSING), _states(PENDING, FAILED, CANCELLED))
SNOOZE = Transition("snooze", ev.Snooze, _states(PROCESSING), _states(PENDING, FAILED, CANCELLED))
JOIN = Transition("join", ev.Join, _states(PROCESSING), _states(PENDING, FAILED, CANCELLED))
WAKE = Transition("wake", ev.Wake, _states(PENDING), _states(PENDING), fields=("wait", "available_at", "deadline_at"))
CONTINUE = Transition("continue", ev.Continue, _states(PROCESSING), _states(PENDING, SUCCESS, FAILED, CANCELLED))
LEASE_EXPIRED = Transition("reclaim", ev.LeaseExpired, _states(PROCESSING), _states(PENDING, FAILED, CANCELLED))
HAND_BACK = Transition("hand_back", ev.HandBack, _states(PROCESSING), _states(PENDING))
TASK_DEADLINE = Transition(
    "task_deadline", ev.DeadlinePassed, _states(PENDING, PROCESSING), _states(FAILED, CANCELLED, PENDING), recorded=True
)
BIND = Transition(
    "bind",
    ev.Bind,
    _states(PENDING),
    _states(PENDING),
    fields=tuple("wait bound_to fence claimed_at deadline_at".split()),
)
SETTLED_BY = Transition("settled_by", ev.SettledBy, _states(PENDING), _states(SUCCESS, FAILED, CANCELLED, PENDING))
LINEAGE_ENDED = Transition(
    "lineage_ended", ev.LineageEnded, _states(PENDING, PROCESSING), _states(FAILED, CANCELLED, PENDING), recorded=True
)
OVER_CEILING = Transition(
    "over_ceiling", ev.OverCeiling, _states(PENDING, PROCESSING), _states(FAILED, PENDING), recorded=True
)
CANCEL = Transition("cancel", ev.Cancel, _states(PENDING, PROCESSING), _states(CANCELLED, PENDING), recorded=True)
SOURCE_DISABLED = Transition("source_disabled", ev.SourceDisabled, _states(PENDING), _states(SKIPPED), recorded=True)
DEPENDENCY_FAILED = Transition(
    "dependency_failed", ev.DependencyFailed, _states(PENDING), _states(SKIPPED), recorded=True
)
EXCLUDE = Transition("exclude", ev.Exclude, _states(PENDING, FAILED, CANCELLED), _states(SKIPPED), recorded=True)
REPRIORITISE = Transition("reprioritise", ev.Reprioritise, _states(PENDING), _states(PENDING), recorded=True)
RESCHEDULE = Transition("reschedule", ev.Reschedule, _states(PENDING), _states(PENDING), recorded=True)
REVIVE = Transition("revive", ev.Revive, _ENDS, _states(PENDING), recorded=True)

TRANSITIONS: tuple[Transition, ...] = (
    CLAIM,
    HEARTBEAT,
    PROGRESS,
    CHECKPOINT,
    COMPLETE,
    FILTER,
    SKIP,
    FAIL,
    ERROR,
    SNOOZE,
    JOIN,
    WAKE,
    CONTINUE,
    LEASE_EXPIRED,
    HAND_BACK,
    TASK_DEADLINE,
    BIND,
    SETTLED_BY,
    LINEAGE_ENDED,
    OVER_CEILING,
    CANCEL,
    SOURCE_DISABLED,
    DEPENDENCY_FAILED,
    EXCLUDE,
    REPRIORITISE,
    RESCHEDULE,
    REVIVE,
)
