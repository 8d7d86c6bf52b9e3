"""In which order tasks are claimed: rank, then turn, then age (DESIGN §10).

*Rank* is what a person decided: priority, and in a breadth queue first the depth. *Turn* is fairness between lineages:
every task of a lineage takes the next turn after the lineage's last, so that of two lineages with the same rank each
gets every other claim, however many tasks the other has waiting. A lineage that was away begins at the present
*level*, the turn that claims have reached, so that it neither catches up on the past nor waits for the others' future.
Levels and turns belong to a class: tasks of one queue, kind and rank, which compete for the same claims.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ramet.model.task import NewTask, Standing

BREADTH_STEP = 1_000_000
"""What one level of depth weighs in a breadth queue: more than any priority in use."""
POSITIONS_MAX = 100
"""Classes in which a lineage's place is remembered; beyond that the oldest is forgotten, which only favours it."""


class TurnClass(NamedTuple):
    """Tasks that compete for the same claims."""

    queue: str
    kind: str
    rank: int
    resource: str = ""
    """Empty for tasks without one. A slow host's backlog is no measure for the others."""

    def key(self) -> str:
        """One text for it, unambiguous for any names."""
        return f"{self.rank}:{len(self.queue)}:{len(self.kind)}:{self.queue}{self.kind}{self.resource}"


def rank_of(priority: int, breadth: int, spawn_depth: int) -> int:
    """The smaller runs sooner: a larger priority, in a breadth queue before that a smaller depth."""
    return spawn_depth * BREADTH_STEP - priority if breadth else -priority


def class_of(new: NewTask, spawn_depth: int) -> TurnClass:
    """The class of a task to be created at this depth."""
    return TurnClass(new.queue, new.kind, rank_of(new.priority, new.breadth, spawn_depth), new.resource or "")


def class_of_standing(standing: Standing) -> TurnClass:
    """The class of a live task."""
    return TurnClass(standing.queue, standing.kind, standing.rank, standing.resource or "")


def read_positions(text: str) -> dict[str, int]:
    """The next turn of a lineage by :meth:`TurnClass.key`, as its row stores it; empty text means none."""
    return dict(json.loads(text)) if text else {}


def write_positions(positions: dict[str, int]) -> str:
    """The text for the lineage's row."""
    if not positions:
        return ""
    return json.dumps(dict(list(positions.items())[-POSITIONS_MAX:]), separators=(",", ":"))
