"""Lineages: what the tasks of one tracking_id share, how a lineage ends, and its totals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ramet.model.money import Ceiling

CANCELLED = "cancelled"
"""Among what was left out: tasks that a person cancelled. All others are reasons of the guard."""


class OutcomeKind(StrEnum):
    """Outcomes by which lineages can be filtered. One that has failures can be incomplete, too."""

    CLEAN = "clean"
    """Nothing failed, and nothing was left out."""
    FAILURES = "failures"
    """Some of its tasks are failed."""
    INCOMPLETE = "incomplete"
    """Spawns were refused by a limit, a cycle or the stop list, or tasks were cancelled."""


class LineageOutcome(NamedTuple):
    """Outcome of a lineage so far, or at its end: clean, with failures, or incomplete."""

    failures: int
    """Tasks that are failed now: a retry takes one back."""
    left_out: Mapping[str, int]
    """Wanted tasks that do not exist, counted by reason: refused spawns that were not granted later, and cancelled
    tasks. Duplicates do not count, nor does a link of a kind about a place back to its ancestor.
    """

    @property
    def clean(self) -> bool:
        """True when nothing failed and nothing was left out."""
        return not (self.failures or self.left_out)

    @property
    def kinds(self) -> tuple[OutcomeKind, ...]:
        """Every kind of outcome that it has."""
        found = ((OutcomeKind.FAILURES, self.failures), (OutcomeKind.INCOMPLETE, self.left_out))
        return tuple(kind for kind, there in found if there) or (OutcomeKind.CLEAN,)

    def __str__(self) -> str:
        """In words: ``clean``, ``with failures: 3``, ``incomplete: 12 refused by budget``, or the last two together."""
        parts = [f"with failures: {self.failures:,}"] if self.failures else []
        if self.left_out:
            counts = [
                f"{count:,} cancelled" if reason == CANCELLED else f"{count:,} refused by {reason}"
                for reason, count in sorted(self.left_out.items(), key=lambda item: (-item[1], item[0]))
            ]
            parts.append(f"incomplete: {', '.join(counts)}")
        return "; ".join(parts) or OutcomeKind.CLEAN.value


def combined_outcome(outcomes: list[LineageOutcome]) -> LineageOutcome:
    """Return the outcome of several lineages as one."""
    left_out: dict[str, int] = {}
    for outcome in outcomes:
        for reason, count in outcome.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    return LineageOutcome(sum(outcome.failures for outcome in outcomes), left_out)


class LineageState(StrEnum):
    """The state of a lineage. Revive returns any of the last three to ``running``."""

    RUNNING = "running"
    """It has live tasks, and they are claimed."""
    PAUSED = "paused"
    """A person paused it: nothing of it is claimed, and its clocks stand."""
    FINISHED = "finished"
    """No live task."""
    FAILED = "failed"
    """Ended by its own deadline."""
    CANCELLED = "cancelled"
    """Ended by a person."""


OPEN = frozenset({LineageState.RUNNING, LineageState.PAUSED})
"""States in which a lineage accepts spawns from handlers that still run."""


class Lineage(NamedTuple):
    """The lineage row. Counters are exact: they change in the transaction that changes what they count."""

    tracking_id: str
    state: str
    reason: str | None
    created_at: float
    deadline_at: float
    """Deadline, counted from the earliest root's first availability; no child's deadline is later."""
    ended_at: float | None
    max_spawn_depth: int
    max_tasks: int
    max_fan_out: int
    tasks: int
    """Places taken: those of all tasks ever created, what branches have set aside, and one for the task of its end
    where that is wanted."""
    live: int
    success: int
    filtered: int
    skipped: int
    failed: int
    cancelled: int
    blocks: int
    """Rows of stored blocks; at most ``max_tasks`` of them, then counters (DESIGN §5)."""
    tombstones: str
    """JSON object, task id to 1 where a person cancelled it and all below, to 0 where that was lifted again;
    empty string when there is none."""
    sweep: int
    """0, or one more than the last task number that the sweep after an end or a tombstone has looked at;
    -1 once pruning has begun."""
    retries_per_minute: int = 600
    retry_minute: int = 0
    """Minute since the epoch in which the next retry would be counted; may lie ahead of now."""
    retries: int = 0
    """Retries counted in that minute so far."""
    turns: str = ""
    """The lineage's next turn in each class that it is ahead in (:func:`ramet.model.task.ordering.read_positions`)."""
    max_shape: int = 1_000
    """Spawned keys of one shape, for kinds with ``trap=True``."""
    max_cost: int | None = None
    """Ceiling of ``spent + reserved``, nano-dollars; None for no ceiling."""
    spent: int = 0
    """Nano-dollars booked, open reservations of ended tasks included (DESIGN §1, I2)."""
    reserved: int = 0
    """Nano-dollars that live tasks keep for calls under way, and what branches have set aside."""
    under_reserved: int = 0
    """Nano-dollars that were spent beyond what had been reserved: the only way past the ceiling."""
    queue: str = "default"
    """Queue of its first root: while that is paused, the lineage's clock does not run."""
    paused_at: float | None = None
    paused_by: str | None = None
    paused_reason: str | None = None
    on_end: str | None = None
    """JSON list, the fields of the task that is wanted when the lineage has ended; None for none."""
    ends: int = 0
    """Tasks of ends so far; one for every time that it ended for good."""
    end_wanted: int = 0
    """1 until the task of the next end was created."""
    soft_cost: int | None = None
    """Nothing more is reserved above it, nano-dollars; None: above ``max_cost``."""
    left_out: str = ""
    """JSON object: refused spawns that leave work undone, by reason, without those that were granted later; empty
    string when there is none."""
    allowed_shapes: str = ""
    """JSON object: shapes that a person allowed, each with how many keys of it instead of ``max_shape``, null for any
    number; empty string when there is none."""
    generation: int = 0
    """Number of lineages that led to it, each of which began the next by a handler or by its end."""
    waits: int = 0
    """Tasks of it that have waited for others, or do: at 0 the search for waiting tasks is skipped."""
    edges: int = 0
    """Tasks that its tasks were created after, all together."""
    branches: int = 0
    """Branches that it ever had (:mod:`ramet.model.lineage.branches`)."""

    @property
    def shapes_allowed(self) -> dict[str, int | None]:
        """Shapes that a person allowed, and how many keys of each; None for any number."""
        return dict(json.loads(self.allowed_shapes)) if self.allowed_shapes else {}

    @property
    def outcome(self) -> LineageOutcome:
        """Outcome so far or at its end, beside its state."""
        left_out = dict(json.loads(self.left_out)) if self.left_out else {}
        if self.cancelled:
            left_out[CANCELLED] = self.cancelled
        return LineageOutcome(self.failed, left_out)

    @property
    def created(self) -> int:
        """The places of its own tasks: without the one that is kept for the task of its end."""
        return self.tasks - (self.on_end is not None)

    @property
    def cost_ceiling(self) -> Ceiling:
        """Money spent and reserved, and the ceilings in force."""
        return Ceiling("lineage", self.spent, self.reserved, self.max_cost, self.soft_cost)


def shapes_text(shapes: Mapping[str, int | None]) -> str:
    """Return allowed shapes as a lineage's row stores them."""
    return json.dumps(dict(sorted(shapes.items())), ensure_ascii=False, separators=(",", ":")) if shapes else ""


class Placement(NamedTuple):
    """Place of a new task in its lineage."""

    tracking_id: str
    parent_id: str | None
    ancestry_chain: tuple[str, ...]
    spawn_depth: int
    deadline_at: float | None = None
    """Deadline that a branch sets, Unix seconds."""


def root_of(tracking_id: str) -> Placement:
    """Return the place of a submitted task: depth 0, no ancestors."""
    return Placement(tracking_id, None, (), 0)


def child_of(tracking_id: str, parent_id: str, ancestry_chain: tuple[str, ...], spawn_depth: int) -> Placement:
    """Return the place of a task spawned by the given parent: same lineage, one deeper, the parent added to the
    chain.
    """
    return Placement(tracking_id, parent_id, (*ancestry_chain, parent_id), spawn_depth + 1)


RETRY_MINUTE_SECONDS = 60.0


def retry_slot(lineage: Lineage, now: float) -> tuple[Lineage, float | None]:
    """Count one retry against its lineage's bound per minute (DESIGN §6).

    Returns:
        The lineage with the retry counted in the first minute that has room, and when that minute begins: None for
        the present one, else the earliest moment of the retry.
    """
    minute = int(now // RETRY_MINUTE_SECONDS)
    at, used = (minute, 0) if lineage.retry_minute < minute else (lineage.retry_minute, lineage.retries)
    if used >= max(1, lineage.retries_per_minute):
        at, used = at + 1, 0
    counted = lineage._replace(retry_minute=at, retries=used + 1)
    return counted, None if at == minute else at * RETRY_MINUTE_SECONDS


def finished_if_empty(lineage: Lineage) -> LineageState:
    """Return the state after some tasks ended: a running lineage with no live task is finished, any other stays."""
    if lineage.live == 0 and lineage.state == LineageState.RUNNING:
        return LineageState.FINISHED
    return LineageState(lineage.state)


def reopened(lineage: Lineage) -> LineageState:
    """Return the state after a task was revived."""
    return LineageState.PAUSED if lineage.state == LineageState.PAUSED else LineageState.RUNNING


END_SECONDS = 172_800.0
"""Seconds for which the task of a lineage's end may wait and run."""


@dataclass(frozen=True, slots=True)
class LineageTotals:
    """A lineage at the moment when it had ended and its last task had too."""

    tracking_id: str
    number: int
    """1 at its first end; a revive that reopens the lineage leads to another one."""
    state: str
    """``finished``, ``failed`` (its deadline) or ``cancelled``."""
    reason: str | None
    started_at: float
    """Unix seconds."""
    ended_at: float
    tasks: int
    success: int
    filtered: int
    skipped: int
    failed: int
    cancelled: int
    blocks: dict[str, int]
    """Refused spawns by reason."""
    spent: int
    """Nano-dollars; what was not settled yet counts in full."""
    under_reserved: int


def end_name(tracking_id: str, number: int) -> str:
    """Return the tracking id of the lineage in which the task of an end runs."""
    return f"{tracking_id}#end{number}"
