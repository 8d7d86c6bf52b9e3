"""In which order tasks are claimed: rank, then turn, then age (DESIGN §10).

*Rank* is what a person decided: priority, and in a breadth queue first the depth. *Turn* is fairness between lineages:
every task of a lineage takes the next turn after the lineage's last, so that of two lineages with the same rank each
gets every other claim, however many tasks the other has waiting. A lineage that was away begins at the present
*level*, the turn that claims have reached, so that it neither catches up on the past nor waits for the others' future.
Levels and turns belong to a class: tasks of one queue, kind and rank, which compete for the same claims.

Pulled kinds (docs/concepts/invocations.md) are ranked by time instead: the one that has been due the longest comes
first, over all lineages. A lineage's new tasks come due one step after the other in this order, though all of them may
be claimed at once, so that a large one leaves room for what others want and for what it has begun.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ramet.model.task.task import NewTask, Standing

BREADTH_STEP = 1_000_000
"""Weight of one level of depth in a breadth queue: more than any priority in use."""
BY_DUE = 2
"""The value of ``breadth`` that ranks tasks by when they are due: pulled kinds."""
PULLED_RANK = 1_000_000_000_000
"""Ranks from here on are those of pulled kinds, and count milliseconds since 1970. No worker claims them."""
STEP_SECONDS = 0.1
"""Between the new tasks of a lineage: as fast as invocations of 1,000 items, three every five minutes, take them."""
POSITIONS_MAX = 100
"""Classes in which a lineage's place is remembered; beyond that the oldest is forgotten, which only favours it."""


class TurnClass(NamedTuple):
    """Tasks that compete for the same claims."""

    queue: str
    kind: str
    rank: int
    resource: str = ""
    """Empty for tasks without one. A slow host's backlog is not a measure for the others."""

    def key(self) -> str:
        """One text for it, unambiguous for any names."""
        return f"{self.rank}:{len(self.queue)}:{len(self.kind)}:{self.queue}{self.kind}{self.resource}"


def rank_of(priority: int, breadth: int, spawn_depth: int) -> int:
    """Return the rank; the smaller runs sooner: by larger priority, in a breadth queue before that by smaller depth."""
    if breadth == BY_DUE:
        return PULLED_RANK
    return spawn_depth * BREADTH_STEP - priority if breadth else -priority


def is_pulled(rank: int) -> bool:
    """Return whether a task of this rank waits for an invocation, or a program that pulls it, and no worker claims
    it.
    """
    return rank >= PULLED_RANK


def due_rank(rank: int, available_at: float) -> int:
    """Return the rank of a task that comes back then: of a pulled kind by that moment, of any other what it was."""
    return PULLED_RANK + int(available_at * 1_000) if is_pulled(rank) else rank


def initial_rank(rank: int, available_at: float, turn: int) -> int:
    """Return the rank of a new task: of a pulled kind by its turn, which counts steps, but not before it is due."""
    return max(due_rank(rank, available_at), due_rank(rank, turn * STEP_SECONDS))


def level_at(now: float) -> int:
    """Return the level of every class of pulled tasks: it moves with time, not with claims."""
    return int(now / STEP_SECONDS)


def class_of(new: NewTask, spawn_depth: int) -> TurnClass:
    """Return the class of a task to be created at this depth."""
    return TurnClass(new.queue, new.kind, rank_of(new.priority, new.breadth, spawn_depth), new.resource or "")


def class_of_standing(standing: Standing) -> TurnClass:
    """Return the class of a live task."""
    return TurnClass(standing.queue, standing.kind, standing.rank, standing.resource or "")


def read_positions(text: str) -> dict[str, int]:
    """Return the next turn of a lineage by :meth:`TurnClass.key`, as its row stores it; empty text means none."""
    return dict(json.loads(text)) if text else {}


def write_positions(positions: dict[str, int]) -> str:
    """Return the text for the lineage's row."""
    if not positions:
        return ""
    return json.dumps(dict(list(positions.items())[-POSITIONS_MAX:]), separators=(",", ":"))
