"""The spawn guard: may this parent create this task? (DESIGN §5)

A pure function over facts that the store read in the transaction that will create the task. The checks run in a
fixed order and the first that fails gives the reason, so that the same facts always give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from ramet.model.lineage.branches import Booked, Branch, beyond_limit, over_limit
from ramet.model.lineage.lineage import OPEN, Lineage
from ramet.model.reasons import NO_FACTS, Fact, block_words, code_of, winner_of
from ramet.model.task.task import LIVE, NewTask
from ramet.model.task.transitions import (
    CANCELLED,
    EXCLUDE,
    FAILED,
    LINEAGE_ENDED,
    OVER_CEILING,
    SKIP,
    SKIPPED,
    TASK_DEADLINE,
    Change,
)


class BlockReason(StrEnum):
    """Why a spawn was blocked, in the order in which the guard looks."""

    CANCELLED = "cancelled"
    ENDED = "ended"
    STALE = "stale"
    DEPTH = "depth"
    CYCLE = "cycle"
    IN_FLIGHT = "in_flight"
    DONE = "done"
    ELSEWHERE = "elsewhere"
    BRANCH_BUDGET = "branch_budget"
    BUDGET = "budget"
    FAN_OUT = "fan_out"
    DEADLINE = "deadline"
    COST = "cost"
    STOP_LIST = "stop_list"
    TRAP = "trap"
    WAIT_CYCLE = "wait_cycle"
    """It comes after a task that would wait for it."""
    DEPENDENCY = "dependency"
    """It comes after a task that is not there."""
    RESERVE = "reserve"
    """No spawn: a task asked for money that a ceiling did not leave. Stored under the task's own kind and key."""


ORDINARY = frozenset({BlockReason.IN_FLIGHT, BlockReason.DONE, BlockReason.ELSEWHERE})
"""Blocks that are everyday life in a graph; the others deserve a warning."""
REOFFERABLE = frozenset(
    {
        BlockReason.DEPTH,
        BlockReason.BRANCH_BUDGET,
        BlockReason.BUDGET,
        BlockReason.FAN_OUT,
        BlockReason.DEADLINE,
        BlockReason.COST,
        BlockReason.STOP_LIST,
        BlockReason.TRAP,
        BlockReason.DEPENDENCY,
    }
)
"""Blocks by something that a person may change: what was wanted is kept, to be offered again."""


LEAVES_OUT = REOFFERABLE | {BlockReason.CYCLE, BlockReason.WAIT_CYCLE}
"""Blocks that may leave work undone (:func:`leaves_work_undone`): their lineage did not end clean."""


EDGES_PER_TASK = 10
"""Edges to tasks that others come after, for each task that a lineage may have."""


class Allowed(NamedTuple):
    """The task may be created."""


class Blocked(NamedTuple):
    """The task may not be created."""

    reason: BlockReason
    facts: Mapping[str, Fact] = NO_FACTS
    """The values behind the reason, as they are stored; :func:`ramet.model.reasons.block_words` writes them out."""

    @property
    def detail(self) -> str:
        """The reason in words."""
        return block_words(self.reason, self.facts)

    @property
    def winner(self) -> str | None:
        """Return the id of the task that holds the identity or closes the cycle."""
        return winner_of(self.facts)


Verdict = Allowed | Blocked


class Holder(NamedTuple):
    """A task of the lineage that has the candidate's key."""

    id: str
    kind: str
    state: str
    seq: int = 0
    """Its number; 0 for one that the same transaction is about to create."""


class GlobalHolder(NamedTuple):
    """The task that holds the candidate's (kind, key) over all lineages."""

    id: str
    tracking_id: str
    state: str | None
    """State in which the holder ended; None while it lives."""
    held_until: float | None
    """End of its hold, Unix seconds; None while it lives."""


class SpawnFacts(NamedTuple):
    """Everything that the guard may look at."""

    lineage: Lineage
    tombstones: Mapping[str, int]
    parent_id: str
    ancestry_chain: tuple[str, ...]
    parent_depth: int
    parent_fan_out: int
    """Children of the parent so far, over all attempts."""
    claim_current: bool
    kind: str
    cycle_on: str
    holders: tuple[Holder, ...]
    now: float
    elsewhere: GlobalHolder | None = None
    """Current holder of the key in whatever lineage, for kinds with ``unique="global"``."""
    stopped_by: str | None = None
    """The entry of the stop list that covers the candidate, in words."""
    shape: str | None = None
    """Shape of the key (:mod:`ramet.model.keys`), for kinds with ``trap=True``."""
    shape_count: int = 0
    """Tasks of this kind and shape that were spawned in the lineage so far."""
    max_attempts: int | None = 4
    """Most attempts of the candidate."""
    base: str | None = None
    """The candidate's base kind, where it is a stage."""
    places: int = 1
    """Places of the budget that the candidate takes; 0 for a later stage, whose place was taken with the first."""
    edges: int = 0
    """Tasks that the candidate comes after."""
    missing: str | None = None
    """One of them that is not there, in words."""
    waits_for_it: tuple[str, str] | None = None
    """Kind and id of one of them that would wait for the candidate."""
    around: tuple[Branch, ...] = ()
    """The branches that the candidate would be in, from the inside, without one of its own."""
    booked: Booked | None = None
    """Places of them, and of the lineage, that it takes with its own budget; None where there is no branch."""


def check_spawn(facts: SpawnFacts) -> Verdict:
    """Return the guard's answer: :class:`Allowed`, or :class:`Blocked` with the first reason that applies.

    The caller takes identity, global identity, budget, fan-out and shape together, and only for allowed spawns: a
    duplicate spends nothing.
    """
    try:
        for check in _CHECKS if facts.places else _NEXT_STAGE_CHECKS:
            verdict = check(facts)
            if verdict is not None:
                return verdict
    except TypeError:
        unreadable = _unreadable(facts)
        if not unreadable:
            raise
        return Blocked(BlockReason.BUDGET, {"unreadable": unreadable})
    return _ALLOWED


def all_allowed(facts: SpawnFacts, news: Sequence[NewTask]) -> bool:
    """Return True when :func:`check_spawn` allows each of these in turn; False where each must be asked.

    For keys that no task of the lineage has and none of the others wants, of kinds that are not unique, trapped or
    covered by the stop list. Of equal askers the last one has the least room: what it gets, all get.

    Args:
        facts: of the parent, as the first of them meets them.
    """
    if any(new.base is not None or new.places != 1 or new.after is not None or new.budget for new in news):
        return False
    unbounded = any(new.max_attempts is None for new in news)
    more, lineage = len(news) - 1, facts.lineage
    try:
        last = facts._replace(
            lineage=lineage._replace(tasks=lineage.tasks + more),
            parent_fan_out=facts.parent_fan_out + more,
            holders=(),
            max_attempts=None if unbounded else news[0].max_attempts,
        )
    except TypeError:
        return False  # A damaged row: which bound it is, check_spawn tells each.
    return check_spawn(last) is _ALLOWED


def leaves_work_undone(facts: SpawnFacts, blocked: Blocked) -> bool:
    """Whether a refusal leaves work undone (I8): no task of the lineage is about what was wanted.

    A cycle does, since the parent wanted more than its ancestor had done; but a page's link back to itself or to an
    ancestor is everyday life.
    """
    if blocked.reason not in LEAVES_OUT:
        return False
    if blocked.reason is BlockReason.CYCLE:
        return facts.cycle_on != "key"
    return not any(holder.kind == facts.kind or _of_base(holder, facts.base) for holder in facts.holders)


_ALLOWED = Allowed()


def _unreadable(facts: SpawnFacts) -> tuple[str, ...]:
    """Return the bounds that are not numbers: a damaged row must not lift a limit."""
    lineage = facts.lineage
    counts = ("max_spawn_depth", "tasks", "max_tasks", "max_fan_out", "max_shape", "deadline_at")
    values: dict[str, object] = {name: getattr(lineage, name) for name in counts}
    values["the parent's fan_out"] = facts.parent_fan_out
    return tuple(name for name, value in values.items() if not isinstance(value, int | float))


def tombstone_over(tombstones: Mapping[str, int], task_id: str, ancestry_chain: tuple[str, ...]) -> str | None:
    """Return the tombstone that covers a task: the nearest mark on the way to the root decides, and may have been
    lifted.
    """
    for marked in (task_id, *reversed(ancestry_chain)):
        if marked in tombstones:
            return marked if tombstones[marked] else None
    return None


def _over(facts: SpawnFacts) -> Blocked | None:
    lineage = facts.lineage
    if facts.tombstones:
        grave = tombstone_over(facts.tombstones, facts.parent_id, facts.ancestry_chain)
        if grave is not None:
            return Blocked(BlockReason.CANCELLED, {"task": grave})
    if lineage.state not in OPEN:
        if lineage.state == "cancelled":
            return Blocked(BlockReason.CANCELLED)
        return Blocked(BlockReason.ENDED, {"lineage_state": str(lineage.state)})
    if not facts.claim_current:
        return Blocked(BlockReason.STALE)
    return None


def _depth(facts: SpawnFacts) -> Blocked | None:
    depth, depth_max = facts.parent_depth + 1, facts.lineage.max_spawn_depth
    if depth > depth_max:
        return Blocked(BlockReason.DEPTH, {"value": depth, "limit": depth_max})
    return None


def _cycle(facts: SpawnFacts) -> Blocked | None:
    for holder in facts.holders:
        if holder.id != facts.parent_id and holder.id not in facts.ancestry_chain:
            continue
        loose = facts.cycle_on != "key" or not facts.places  # Only its own kind closes a cycle.
        if not loose or holder.kind == facts.kind or (facts.places and _of_base(holder, facts.base)):
            return Blocked(BlockReason.CYCLE, {"winner": holder.id, "winner_kind": holder.kind})
    return None


def _of_base(holder: Holder, base: str | None) -> bool:
    return base is not None and holder.kind.startswith(f"{base}.")


def _duplicate(facts: SpawnFacts) -> Blocked | None:
    if facts.base is not None and facts.places:
        return _duplicate_of_stages(facts)
    for holder in facts.holders:
        if holder.kind == facts.kind:
            live = holder.state in LIVE
            reason = BlockReason.IN_FLIGHT if live else BlockReason.DONE
            return Blocked(reason, {"winner": holder.id, "winner_state": str(holder.state)})
    return None


def _duplicate_of_stages(facts: SpawnFacts) -> Blocked | None:
    """Return the block of a duplicate: a staged kind is in flight while any of its stages is live, and done when none
    is.
    """
    stages = [holder for holder in facts.holders if _of_base(holder, facts.base)]
    for holder in stages:
        if holder.state in LIVE:
            return Blocked(BlockReason.IN_FLIGHT, {"winner": holder.id, "stage": holder.kind})
    if stages:
        last = stages[-1]
        return Blocked(BlockReason.DONE, {"winner": last.id, "stage": last.kind, "winner_state": str(last.state)})
    return None


def _elsewhere(facts: SpawnFacts) -> Blocked | None:
    holder = facts.elsewhere
    if holder is None:
        return None
    found: dict[str, Fact] = {"winner": holder.id, "winner_tracking_id": holder.tracking_id}
    if holder.state is not None:
        found["winner_state"] = str(holder.state)
    return Blocked(BlockReason.ELSEWHERE, found)


def _branch_budget(facts: SpawnFacts) -> Blocked | None:
    if facts.booked is None:
        return None
    limit = beyond_limit(facts.around, facts.parent_depth + 1, facts.now) or over_limit(facts.booked)
    if limit is None:
        return None
    found: dict[str, Fact] = {"name": limit.name, "value": limit.value, "limit": limit.limit}
    return Blocked(BlockReason.BRANCH_BUDGET, {"branch": limit.branch.id, **found})


def _budget(facts: SpawnFacts) -> Blocked | None:
    lineage = facts.lineage
    places = facts.places if facts.booked is None else facts.booked.rest.tasks
    if lineage.tasks + places > lineage.max_tasks:
        more: dict[str, Fact] = {} if places == 1 else {"places" if facts.booked is None else "set_aside": places}
        return Blocked(BlockReason.BUDGET, {"value": lineage.tasks, "limit": lineage.max_tasks, **more})
    most = lineage.max_tasks * EDGES_PER_TASK
    if facts.edges and lineage.edges + facts.edges > most:
        return Blocked(BlockReason.BUDGET, {"edges": lineage.edges, "limit": most})
    return None


def _fan_out(facts: SpawnFacts) -> Blocked | None:
    if facts.parent_fan_out >= facts.lineage.max_fan_out:
        return Blocked(BlockReason.FAN_OUT, {"value": facts.parent_fan_out, "limit": facts.lineage.max_fan_out})
    return None


def _deadline(facts: SpawnFacts) -> Blocked | None:
    if facts.now >= facts.lineage.deadline_at:
        return Blocked(BlockReason.DEADLINE)
    return None


def _cost(facts: SpawnFacts) -> Blocked | None:
    most, spent = facts.lineage.cost_ceiling.reservable, facts.lineage.spent
    wanted = 0 if facts.booked is None else facts.booked.rest.reserved
    if most is not None and wanted and spent + facts.lineage.reserved + wanted > most:
        return Blocked(BlockReason.COST, {"value": spent + facts.lineage.reserved, "limit": most, "wanted": wanted})
    if most is not None and 0 < spent >= most:
        return Blocked(BlockReason.COST, {"value": spent, "limit": most})
    if facts.lineage.max_cost is None and facts.max_attempts is None:
        return Blocked(BlockReason.COST)
    return None


def _stop_list(facts: SpawnFacts) -> Blocked | None:
    if facts.stopped_by is not None:
        return Blocked(BlockReason.STOP_LIST, {"entry": facts.stopped_by})
    return None


def _trap(facts: SpawnFacts) -> Blocked | None:
    if facts.shape is None:
        return None
    if facts.shape_count >= facts.lineage.max_shape and not _allowed(facts.lineage, facts.shape, facts.shape_count):
        return Blocked(BlockReason.TRAP, {"value": facts.shape_count, "shape": facts.shape})
    return None


def _wait_cycle(facts: SpawnFacts) -> Blocked | None:
    if facts.waits_for_it is None:
        return None
    wanted, task_id = facts.waits_for_it
    return Blocked(BlockReason.WAIT_CYCLE, {"wanted": wanted, "task": task_id})


def _dependency(facts: SpawnFacts) -> Blocked | None:
    return None if facts.missing is None else Blocked(BlockReason.DEPENDENCY, {"wanted": facts.missing})


def _allowed(lineage: Lineage, shape: str, count: int) -> bool:
    """Whether a person allowed this shape, and more keys of it than there are."""
    shapes = lineage.shapes_allowed
    most = shapes.get(shape, 0)
    return most is None or count < most


_CHECKS: tuple[Callable[[SpawnFacts], Blocked | None], ...] = (
    _over,
    _depth,
    _cycle,
    _duplicate,
    _elsewhere,
    _branch_budget,
    _budget,
    _fan_out,
    _deadline,
    _cost,
    _stop_list,
    _trap,
    _wait_cycle,
    _dependency,
)

_NEXT_STAGE_CHECKS: tuple[Callable[[SpawnFacts], Blocked | None], ...] = (_over, _cycle, _duplicate, _deadline)
"""Checks of a later stage. The limits were checked when the first stage was created, so that none can strand it."""


FOR_GOOD_SECONDS = 1e10
"""Three centuries: the window of kinds that name none."""
FAILED_HELD_SECONDS = 86_400.0
LIMIT_REASONS = frozenset({"task_deadline", "lineage_deadline", "cost"})
"""Codes of the reasons of ends by a limit, where the transition alone does not tell."""


def held_seconds(end: Change) -> float | None:
    """Return the seconds for which the key stays held after a decided end.

    Args:
        end: a change to a terminal state of a task with ``unique_seconds``.

    Returns:
        Seconds from now; None when the key is free at once.
    """
    window, state = end.before.unique_seconds, end.after.state
    assert window is not None, "only unique tasks hold a key"
    if end.transition is EXCLUDE:
        return window
    if state == CANCELLED or _by_limit(end):
        return None
    if state == FAILED:
        return FAILED_HELD_SECONDS
    if state == SKIPPED and end.transition is not SKIP:
        return None
    if end.hold_seconds is None:
        return window
    return min(window, end.hold_seconds) if end.hold_seconds > 0 else None


def imported_seconds(state: str, window: float) -> float | None:
    """Return the seconds for which the key of a task stays held that ended in another queue.

    Args:
        state: the terminal state that it arrives in; skips were its handler's, limits are not known.
        window: ``unique_seconds`` of its kind.

    Returns:
        Seconds from its end; None when the key is free.
    """
    if state == CANCELLED:
        return None
    return FAILED_HELD_SECONDS if state == FAILED else window


def _by_limit(end: Change) -> bool:
    # Only limits and persons mark a task as ending.
    if end.transition in (TASK_DEADLINE, LINEAGE_ENDED, OVER_CEILING) or end.before.ending is not None:
        return True
    return code_of(end.reason) in LIMIT_REASONS and end.after.state == FAILED
