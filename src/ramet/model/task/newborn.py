"""The standing of a task that was just created: pending, never claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ramet.model.paths import PathRule
from ramet.model.task.ordering import initial_rank, is_pulled, rank_of
from ramet.model.task.task import After, NewTask, Standing, Wait, free_wait
from ramet.model.task.transitions import PENDING

_WAIT_DUE, _WAIT_TICKET = Wait.DUE.value, Wait.TICKET.value


NEWBORN: Mapping[str, Any] = {
    "state": PENDING, "fence": 0, "lease_until": 0.0, "worker": None, "claimed_at": 0.0, "started_at": None,
    "deadline_at": None, "attempts": 0, "losses": 0, "losses_alone": 0, "snoozes": 0, "chain_depth": 0, "progressed": 0,
    "fan_out": 0, "stage": None, "ending": None, "ending_reason": None, "ending_facts": None, "bound_to": None,
}  # fmt: skip
"""Equal in every task that was never claimed."""
_TAKEN_OVER = ("kind", "queue", "task_seconds", "max_attempts", "max_chain_depth", "on_end", "unique_seconds",
               "resource")  # fmt: skip
"""Fields copied from the new task."""


def new_standing(
    seq: int,
    tracking_id: str,
    new: NewTask,
    spawn_depth: int,
    now: float,
    *,
    turn: int = 0,
    deadline_at: float | None = None,
) -> Standing:
    """Return the standing of a task just submitted or spawned: pending, never claimed."""
    available_at = now + new.delay_seconds if new.delay_seconds > 0 else now
    return Standing(
        **{**NEWBORN, "deadline_at": deadline_at},
        **{name: getattr(new, name) for name in _TAKEN_OVER},
        seq=seq,
        tracking_id=tracking_id,
        rank=initial_rank(rank_of(new.priority, new.breadth, spawn_depth), available_at, turn),
        spawn_depth=spawn_depth,
        wait=_first_wait(new.path, new.delay_seconds, new.resource, new.after),
        available_at=available_at,
        turn=turn,
        holds_path=None if new.path is None else 0,
    )


def _first_wait(path: PathRule | None, delay_seconds: float, resource: str | None, after: After | None) -> str | None:
    if after is not None:
        return Wait.TASKS.value  # Also where all of them have ended: the next claim lets it go on.
    # One with a path takes its place in line when it is due; the store sees to that, at once or by maintenance.
    return _WAIT_TICKET if path is not None else _WAIT_DUE if delay_seconds > 0 else free_wait(resource)


def new_standings(
    new: Mapping[str, Sequence[Any]],
    tracking_ids: Sequence[str],
    spawn_depths: Sequence[int],
    now: float,
    *,
    first: int,
    turns: Sequence[int],
    deadlines: Sequence[float | None],
) -> dict[str, Sequence[Any]]:
    """Return the standings of many new tasks with consecutive numbers: :func:`new_standing` of each, as columns.

    Args:
        new: the fields of :class:`NewTask` as columns.
        first: number of the first task.
        deadlines: where branches give them one, Unix seconds.
    """
    count, delays = len(turns), new["delay_seconds"]
    available_at = [now + delay if delay > 0 else now for delay in delays] if any(delays) else [now] * count
    ranked = [*zip(new["priority"], new["breadth"], spawn_depths, strict=True)]
    ranks_of = {key: rank_of(*key) for key in {*ranked}}
    ranks = [*map(ranks_of.__getitem__, ranked)]
    if any(map(is_pulled, ranks_of.values())):
        ranks = [*map(initial_rank, ranks, available_at, turns)]
    none = [None] * count
    held = ("path", "resource", "after")
    waiting = any(delays) or any(new[name].count(None) < count for name in held)
    return {
        **{name: [value] * count for name, value in NEWBORN.items()},
        **{name: new[name] for name in _TAKEN_OVER},
        "seq": range(first, first + count),
        "tracking_id": tracking_ids,
        "rank": ranks,
        "spawn_depth": spawn_depths,
        "wait": [*map(_first_wait, new["path"], delays, new["resource"], new["after"])] if waiting else none,
        "available_at": available_at,
        "turn": turns,
        "deadline_at": deadlines,
        "holds_path": [None if rule is None else 0 for rule in new["path"]] if waiting else none,
    }
