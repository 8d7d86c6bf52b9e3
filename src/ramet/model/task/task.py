"""The values that describe a task.

All times are Unix seconds (``*_at``), all durations seconds (``*_seconds``). All values are frozen: a change is a
new value that :mod:`ramet.model.task.lifecycle` decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from ramet.model.lineage.branches import Budget
from ramet.model.paths import PathElements, PathRule
from ramet.model.reasons import Fact, code_of
from ramet.model.values import Json


class TaskState(StrEnum):
    """The state of a task (DESIGN §2). Scheduled, waiting and stale describe a task; they are not states."""

    PENDING = "pending"
    """It is to run: now, later, or when what it waits for has come."""
    PROCESSING = "processing"
    """A worker has it under a lease."""
    SUCCESS = "success"
    """Its handler returned."""
    FILTERED = "filtered"
    """Its handler rejected what it is about."""
    SKIPPED = "skipped"
    """It need not be done: so its handler said, a person, or a task that it waited for that did not succeed."""
    FAILED = "failed"
    """An error was the last one, a limit ended it, or its handler said so."""
    CANCELLED = "cancelled"
    """A person ended it, or its lineage."""

    @property
    def terminal(self) -> bool:
        """True for the five states that a task does not leave by itself."""
        return self in TERMINAL


OUTCOMES: Mapping[str, str] = {
    "success": "the handler returned",
    "filtered": "the handler rejected what the task is about",
    "skipped": "the handler found the work needless",
    "error": "the handler raised, ran past its time, or declared the task failed",
    "snooze": "the handler wants to be called again later, or a server named the time to come back",
    "continue": "the handler did a part and wants another invocation",
    "lost": "the lease expired, or the worker is known to be dead",
    "returned": "the claim was given back before its handler did anything that counts",
    "ended": "a limit or a person ended the task while it was claimed",
}
"""Outcomes of an attempt. The outcome of the task is its state."""

LIVE = frozenset({TaskState.PENDING, TaskState.PROCESSING})
TERMINAL = frozenset(TaskState) - LIVE
UNSUCCESSFUL = TERMINAL - {TaskState.SUCCESS}


class Wait(StrEnum):
    """Things that a pending task can wait for. A task that waits for nothing is claimable."""

    DUE = "due"
    """Its ``available_at`` has not come."""
    LINEAGE = "lineage"
    """Its lineage is not running."""
    RESOURCE = "resource"
    """It is free, and goes through its resource: a rate, a limit or a breaker decides when."""
    TICKET = "ticket"
    """Its ``available_at`` has not come, and then it is to take its place on its path."""
    PATH = "path"
    """A task before it on a conflicting path has to end first."""
    BOUND = "bound"
    """It was bound to a settling task, and only that one may settle it."""
    PAUSED = "paused"
    """Its path, or one above it, is paused."""
    TASKS = "tasks"
    """Other tasks of its lineage have to end first: it joined, or was created after them."""


def free_wait(resource: str | None) -> str | None:
    """Return the wait of a task that could be claimed: none, or its turn at its resource."""
    return None if resource is None else Wait.RESOURCE.value


class Standing(NamedTuple):
    """Standing of a task: the part of it that changes while it lives, and exactly the columns of the hot row.

    Terminal tasks have a standing too (rebuilt from the wide row), so that revive and exclude are decided like
    everything else. ``fence`` grows with every claim and never falls, across revives as well.
    """

    seq: int
    """Number of the task in its database; internal."""
    tracking_id: str
    kind: str
    queue: str
    rank: int
    """Smaller runs sooner (:func:`ramet.model.task.ordering.rank_of`)."""
    spawn_depth: int
    state: str
    wait: str | None
    """A :class:`Wait`, or None when nothing holds the task back."""
    available_at: float
    """Earliest moment of the next claim."""
    fence: int
    lease_until: float
    """End of the current claim's lease; 0.0 when not processing."""
    worker: str | None
    claimed_at: float
    started_at: float | None
    """First claim ever; the task deadline counts from here."""
    task_seconds: float | None
    deadline_at: float | None
    """Set at the first claim, never later than the lineage's."""
    attempts: int
    """Attempts that count against ``max_attempts``: snoozed, lost and handed-back ones were given back."""
    max_attempts: int | None
    losses: int
    """Claims that ended because their lease expired."""
    losses_alone: int
    """Those of them that ran alone in a probation child."""
    snoozes: int
    chain_depth: int
    max_chain_depth: int
    progressed: int
    """1 when something was committed since the claim (checkpoint, spawn, write, charge, item settlement)."""
    fan_out: int
    """Children granted so far, over all attempts."""
    stage: str | None
    on_end: int
    """1 when the kind has an ``on_end`` handler."""
    ending: str | None
    """The terminal state that the task enters after its ``on_end`` handler ran."""
    ending_reason: str | None
    """Code of the reason, or what a person gave as one (:func:`ramet.model.reasons.restored`)."""
    ending_facts: str | None
    bound_to: str | None
    """Id of the settling task. The task's fence is then the number of the binding."""
    turn: int
    """Place among tasks of the same rank: fair between lineages (:mod:`ramet.model.task.ordering`)."""
    unique_seconds: float | None = None
    """Seconds for which it holds its key over all lineages after a good end, for kinds with ``unique="global"``; else
    None.
    """
    resource: str | None = None
    """Resource that it shares with others: a host, a provider (:mod:`ramet.model.flow.resources`)."""
    holds_path: int | None = None
    """None without a path; 1 when no task before it conflicts, so that it may be claimed; else 0."""


standing_of: Callable[[Iterable[Any]], Standing] = partial(tuple.__new__, Standing)
"""The standing of a row that has all columns: `Standing._make`, in a third of its time."""

_PLACES = {name: place for place, name in enumerate(Standing._fields)}


def changed(task: Standing, **fields: Any) -> Standing:
    """Return the standing with these fields changed: what ``_replace`` does, in two thirds of its time."""
    values = list(task)
    for name, value in fields.items():
        values[_PLACES[name]] = value
    return standing_of(values)


EDGES_MAX = 100_000
"""Tasks that one task may come after."""


class After(NamedTuple):
    """The tasks of its lineage that a new task comes after (DESIGN §4, "Waiting for other tasks")."""

    on: tuple[tuple[str, ...], ...]
    """Tasks to wait for: each by its id, ``(id,)``, or its kind and key, ``(kind, key)``; the kind of a pipeline means
    any stage of it.
    """
    skips: bool = True
    """Whether the task is skipped when one of them did not succeed."""

    @classmethod
    def restored(cls, values: Sequence[Any]) -> After:
        """Return one from what JSON made of it."""
        on, skips = values
        return cls(tuple(map(tuple, on)), skips)


class NewTask(NamedTuple):
    """Request for a task: the values of a submit or a spawn, before the guard has decided.

    Tracking fields are not here on purpose: lineage, depth and ancestry come from the parent, never from a handler.
    """

    id: str
    kind: str
    key: str
    """Canonical (:mod:`ramet.model.keys`)."""
    payload: str
    """JSON text."""
    queue: str = "default"
    priority: int = 0
    delay_seconds: float = 0.0
    max_attempts: int | None = 4
    task_seconds: float | None = 7_200.0
    max_chain_depth: int = 2
    cycle_on: str = "kind+key"
    """``kind+key``: no ancestor of the same kind may have this key; ``key``: no ancestor of any kind may."""
    on_end: int = 0
    breadth: int = 0
    """1 in a queue in which a smaller depth goes before priority and age; 2 for a pulled kind, of which the task that
    has been due the longest comes first."""
    unique_seconds: float | None = None
    """None, or for ``unique="global"`` how long the key stays held over all lineages after a good end."""
    shape: str | None = None
    """Shape of the key for ``trap=True`` (:func:`ramet.model.keys.shape_of`)."""
    url: str | None = None
    """URL to compare with the deny list's hosts and domains, where the key itself is not a URL."""
    keep_edge: int = 0
    """1 to keep the edge to the task that exists already, when the spawn is refused because of it."""
    resource: str | None = None
    """A host, a provider: what it shares with others (:mod:`ramet.model.flow.resources`)."""
    base: str | None = None
    """Kind whose stage a stage's task is; its own kind is ``base.stage``."""
    places: int = 1
    """Places that it takes of the lineage's budget: for a first stage one per stage, for a later one none."""
    pipeline_state: str | None = None
    """JSON text that a later stage begins with."""
    path: PathRule | None = None
    """Path on which it waits in line; None constrains nothing (:mod:`ramet.model.paths`)."""
    required: int = 0
    """1 where the parent's work is not done without it: refused, but for a duplicate, it fails the parent's claim."""
    after: After | None = None
    """The tasks that have to end before it is claimed."""
    budget: Budget | None = None
    """The part of its lineage that is set aside for it and for what grows below it."""
    payload_version: int | None = None
    """Version of its kind's payload in the program that wrote it; None for the first."""
    retry: str | None = None
    """Its own back-off as a JSON list (:data:`ramet.model.task.retry.Waits`); None for its kind's."""
    tags: str | None = None
    """A JSON list; None where it has none."""

    @classmethod
    def restored(cls, fields: Mapping[str, Any]) -> NewTask:
        """From what JSON made of one, by name: fields that came later have their defaults, those that went are left
        out."""
        return _with_rule(cls(**{name: value for name, value in fields.items() if name in cls._fields}))

    @classmethod
    def listed(cls, values: Iterable[Any]) -> NewTask:
        """From what JSON made of one of this very version: all fields in their order."""
        return _with_rule(cls(*values))

    @property
    def unique_kind(self) -> str:
        """The kind that a unique key is held for: of a stage the base kind, from the first stage to the last."""
        return self.base or self.kind


def _with_rule(new: NewTask) -> NewTask:
    if new.after is not None:
        new = new._replace(after=After.restored(new.after))
    if new.budget is not None:
        new = new._replace(budget=Budget(*new.budget))
    return new if new.path is None else new._replace(path=PathRule.restored(new.path))


_SAID_BY_THE_ERROR = frozenset({"permanent_error", "repeated_error", "attempts_exhausted"})
"""Reasons that tell why there was no other attempt, and nothing of what went wrong."""


def first_line(text: str | None) -> str | None:
    """Return the first line of an error that has anything on it; None where there is none."""
    return next((line.strip() for line in (text or "").splitlines() if line.strip()), None)


@dataclass(frozen=True, slots=True)
class Task:
    """A task as people and handlers see it."""

    id: str
    tracking_id: str
    parent_id: str | None
    kind: str
    key: str
    queue: str
    priority: int
    payload: Json
    ancestry_chain: tuple[str, ...]
    """Task ids from the root to the parent; empty for a root."""
    spawn_depth: int
    max_spawn_depth: int
    state: TaskState
    reason: str | None
    """Reason of its state, where that is not plain success."""
    error: str | None
    result: Json
    created_at: float
    available_at: float | None
    finished_at: float | None
    attempts: int
    max_attempts: int | None
    losses: int
    snoozes: int
    chain_depth: int
    stage: str | None
    fence: int
    lease_until: float | None
    worker: str | None
    deadline_at: float | None
    wait: str | None
    bound_to: str | None = None
    """Id of the task that is to settle this one."""
    resource: str | None = None
    path: PathElements = ()
    """Path on which it waits in line; empty constrains nothing."""
    pulled: bool = False
    """True for one that no worker claims, but an invocation."""
    claimed_at: float | None = None
    """Begin of the current claim, Unix seconds; None while it is not processing."""
    tags: tuple[str, ...] = ()

    @property
    def why(self) -> str | None:
        """Why it is in this state, on one line: of a failed one its error, with the reason where that says more."""
        line, reason = first_line(self.error), self.reason
        if self.state is not TaskState.FAILED or line is None or reason is None or line in reason:
            return reason or line
        return line if code_of(reason) in _SAID_BY_THE_ERROR else f"{line} ({reason})"

    @property
    def reason_code(self) -> str | None:
        """Code of the reason; None where a person or a handler gave it as text."""
        return code_of(self.reason)

    @property
    def retry_count(self) -> int:
        """Retries made so far: attempts that count, less the first."""
        return max(0, self.attempts - 1)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim and its outcome."""

    fence: int
    worker: str | None
    """The worker that held the claim; for a bound task the id of its settler."""
    claimed_at: float
    ended_at: float
    outcome: str
    """success, filtered, skipped, error, snooze, continue, lost, returned or ended."""
    reason: str | None
    error: str | None
    error_class: str | None
    fingerprint: str | None
    traceback: str | None = None
    """Traceback of its error, at most 16 KB; kept for the newest 20 failed attempts."""


@dataclass(frozen=True, slots=True)
class Block:
    """A stored refusal of the spawn guard: one row per (lineage, kind, key, reason)."""

    tracking_id: str
    kind: str
    key: str
    reason: str
    detail: str
    """The reason and its facts in words."""
    facts: Mapping[str, Fact]
    """The values behind the reason."""
    count: int
    first_parent: str
    last_parent: str
    winner: str | None
    """Id of the task that holds the identity, where there is one."""
    first_at: float
    last_at: float
    reoffered_at: float | None = None
    """Moment at which a person offered it again and it was created, or a task for it existed; None until then."""
    reoffered_by: str | None = None


class BlockCount(NamedTuple):
    """Refusals beyond the rows that a lineage may have: counted by parent, without their keys."""

    kind: str
    reason: str
    times: int


class ParentBlockCount(NamedTuple):
    """Refusals to one parent beyond the rows that its lineage may have: counted, without their keys."""

    tracking_id: str
    kind: str
    """Kind of the refused tasks."""
    reason: str
    times: int
    parent_id: str
    parent_kind: str
    parent_key: str
    rows_max: int
    """Rows of refusals that its lineage keeps, at most."""
    limit_name: str | None
    """The limit behind the reason; None where it is not a number of tasks, generations or keys."""
    limit: int | None
    """Its value now: it may have been raised or lowered since."""


@dataclass(frozen=True, slots=True)
class TransitionRecord:
    """A stored change of state that no attempt tells: cancel, revive, expiry and their like."""

    name: str
    from_state: str
    to_state: str
    at: float
    by: str | None
    reason: str | None


class LogLine(NamedTuple):
    """A line that a handler's code logged."""

    at: float
    """Unix seconds by the clock of the worker's machine."""
    level: str
    logger: str
    message: str
    """Message without known secrets."""


class AttemptLog(NamedTuple):
    """The last log lines of an attempt, kept where its kind says so (``log_lines``)."""

    fence: int
    """Fence of its claim."""
    lines: tuple[LogLine, ...]
    left_out: int
    """Number of lines before these that were not kept."""


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Stored history of one task, in order of time: of each list the newest, or the first, thousand."""

    task: Task
    attempts: tuple[Attempt, ...] = ()
    transitions: tuple[TransitionRecord, ...] = ()
    blocks: tuple[Block, ...] = field(default=())
    """Spawns that this task asked for and did not get. Of one that several tasks asked for, the first and last of them
    are known, and sometimes one between."""
    links: tuple[str, ...] = ()
    """Ids of existing tasks that it asked for with ``keep_edge``."""
    more_blocks: tuple[BlockCount, ...] = ()
    """Number of other blocks that are not listed."""
    cut: tuple[str, ...] = ()
    """Names of those lists of which more is stored, or may be, than is here. Of ``blocks`` what this task was the
    first to ask for is all there, up to the thousand."""

    @property
    def traceback(self) -> str | None:
        """Traceback of a failed task; None for any other, and where it is not known."""
        last = self.attempts[-1] if self.attempts else None
        return last.traceback if last is not None and self.task.state is TaskState.FAILED else None
