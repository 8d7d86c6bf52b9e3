"""The spawn guard: may this parent create this task? (DESIGN §5)

A pure function over facts that the store read in the transaction that will create the task. The checks run in a
fixed order and the first that fails gives the reason, so that the same facts always give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from ramet.model.lineage import OPEN, Lineage
from ramet.model.task import LIVE


class BlockReason(StrEnum):
    """Why a spawn was blocked, in the order in which the guard looks."""

    CANCELLED = "cancelled"
    ENDED = "ended"
    STALE = "stale"
    DEPTH = "depth"
    CYCLE = "cycle"
    IN_FLIGHT = "in_flight"
    DONE = "done"
    BUDGET = "budget"
    FAN_OUT = "fan_out"
    DEADLINE = "deadline"


ORDINARY = frozenset({BlockReason.IN_FLIGHT, BlockReason.DONE})
"""Blocks that are everyday life in a graph; the others deserve a warning."""
REOFFERABLE = frozenset({BlockReason.DEPTH, BlockReason.BUDGET, BlockReason.FAN_OUT, BlockReason.DEADLINE})
"""Blocks by a limit that a person may raise: their payload is kept."""


class Allowed(NamedTuple):
    """The task may be created."""


class Blocked(NamedTuple):
    """The task may not be created."""

    reason: BlockReason
    detail: str
    winner: str | None = None
    """Id of the task that holds the identity or closes the cycle."""


Verdict = Allowed | Blocked


class Holder(NamedTuple):
    """A task of the lineage that has the candidate's key."""

    id: str
    kind: str
    state: str


class Facts(NamedTuple):
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


def check_spawn(facts: Facts) -> Verdict:
    """The guard's answer: :class:`Allowed`, or :class:`Blocked` with the first reason that applies.

    The caller takes identity, budget and fan-out together, and only for allowed spawns: a duplicate spends nothing.
    """
    for check in _CHECKS:
        verdict = check(facts)
        if verdict is not None:
            return verdict
    return _ALLOWED


_ALLOWED = Allowed()


def buried(tombstones: Mapping[str, int], task_id: str, ancestry_chain: tuple[str, ...]) -> str | None:
    """The tombstone that covers a task: the nearest mark on the way to the root decides, and may have been lifted."""
    for marked in (task_id, *reversed(ancestry_chain)):
        if marked in tombstones:
            return marked if tombstones[marked] else None
    return None


def _over(facts: Facts) -> Blocked | None:
    lineage = facts.lineage
    if facts.tombstones:
        grave = buried(facts.tombstones, facts.parent_id, facts.ancestry_chain)
        if grave is not None:
            return Blocked(BlockReason.CANCELLED, f"task {grave} and all below it were cancelled")
    if lineage.state not in OPEN:
        if lineage.state == "cancelled":
            return Blocked(BlockReason.CANCELLED, "the lineage was cancelled")
        return Blocked(BlockReason.ENDED, f"the lineage is {lineage.state}")
    if not facts.claim_current:
        return Blocked(BlockReason.STALE, "the claim of the spawning task is not current")
    return None


def _depth(facts: Facts) -> Blocked | None:
    depth, depth_max = facts.parent_depth + 1, facts.lineage.max_spawn_depth
    if depth > depth_max:
        return Blocked(BlockReason.DEPTH, f"depth {depth} is over max_spawn_depth {depth_max}")
    return None


def _cycle(facts: Facts) -> Blocked | None:
    for holder in facts.holders:
        if holder.id != facts.parent_id and holder.id not in facts.ancestry_chain:
            continue
        if holder.kind == facts.kind or facts.cycle_on == "key":
            return Blocked(
                BlockReason.CYCLE,
                f"ancestor {holder.id} ({holder.kind}) already works on this key",
                holder.id,
            )
    return None


def _duplicate(facts: Facts) -> Blocked | None:
    for holder in facts.holders:
        if holder.kind == facts.kind:
            live = holder.state in LIVE
            reason = BlockReason.IN_FLIGHT if live else BlockReason.DONE
            return Blocked(reason, f"task {holder.id} of this lineage is {holder.state}", holder.id)
    return None


def _budget(facts: Facts) -> Blocked | None:
    lineage = facts.lineage
    if lineage.tasks >= lineage.max_tasks:
        return Blocked(BlockReason.BUDGET, f"the lineage has created {lineage.tasks} of {lineage.max_tasks} tasks")
    return None


def _fan_out(facts: Facts) -> Blocked | None:
    if facts.parent_fan_out >= facts.lineage.max_fan_out:
        return Blocked(
            BlockReason.FAN_OUT,
            f"the parent has created {facts.parent_fan_out} of {facts.lineage.max_fan_out} children",
        )
    return None


def _deadline(facts: Facts) -> Blocked | None:
    if facts.now >= facts.lineage.deadline_at:
        return Blocked(BlockReason.DEADLINE, "the deadline of the lineage has passed")
    return None


# "The engine in full" puts `elsewhere` after `_duplicate`, and `stop_list` and `trap` at the end (DESIGN §5).
_CHECKS: tuple[Callable[[Facts], Blocked | None], ...] = (
    _over,
    _depth,
    _cycle,
    _duplicate,
    _budget,
    _fan_out,
    _deadline,
)
