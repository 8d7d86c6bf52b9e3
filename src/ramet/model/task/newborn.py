"""How a task begins."""

from __future__ import annotations

from ramet.model.task.ordering import born_rank, rank_of
from ramet.model.task.task import NewTask, Standing, Wait, free_wait
from ramet.model.task.transitions import PENDING

_DUE, _TICKET = Wait.DUE.value, Wait.TICKET.value


def newborn(seq: int, tracking_id: str, new: NewTask, spawn_depth: int, now: float, *, turn: int = 0) -> Standing:
    """The standing of a task just submitted or spawned: pending, never claimed."""
    delayed = new.delay_seconds > 0
    available_at = now + new.delay_seconds if delayed else now
    return Standing(
        seq=seq,
        tracking_id=tracking_id,
        kind=new.kind,
        queue=new.queue,
        rank=born_rank(rank_of(new.priority, new.breadth, spawn_depth), available_at, turn),
        spawn_depth=spawn_depth,
        state=PENDING,
        # One with a path takes its place in line when it is due; the store sees to that, at once or by maintenance.
        wait=_TICKET if new.path is not None else _DUE if delayed else free_wait(new.resource),
        available_at=available_at,
        fence=0,
        lease_until=0.0,
        worker=None,
        claimed_at=0.0,
        started_at=None,
        task_seconds=new.task_seconds,
        deadline_at=None,
        attempts=0,
        max_attempts=new.max_attempts,
        losses=0,
        losses_alone=0,
        snoozes=0,
        chain_depth=0,
        max_chain_depth=new.max_chain_depth,
        progressed=0,
        fan_out=0,
        stage=None,
        on_end=new.on_end,
        ending=None,
        ending_reason=None,
        bound_to=None,
        turn=turn,
        unique_seconds=new.unique_seconds,
        resource=new.resource,
        holds_path=None if new.path is None else 0,
    )
