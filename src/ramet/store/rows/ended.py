"""Ended tasks as standings, for decisions of people about them."""

from __future__ import annotations

from ramet.model.task.ordering import TurnClass, rank_of
from ramet.model.task.task import Standing
from ramet.store.rows.turns import Turns
from ramet.store.session import Session


def ended_standing(session: Session, seq: int) -> tuple[Standing | None, str | None]:
    """The standing of an ended task, rebuilt from its wide row, and the fingerprint of its last error."""
    found = session.rows(
        "SELECT tracking_id, kind, queue, priority, breadth, resource, spawn_depth, state, fence, task_seconds, "
        "max_attempts, losses, snoozes, chain_depth, max_chain_depth, fan_out, stage, on_end, fingerprint, "
        "unique_seconds, path FROM ramet_tasks WHERE seq = ? AND state IS NOT NULL",
        (seq,),
    )
    if not found:
        return None, None
    (tracking_id, kind, queue, priority, breadth, resource, depth, state, fence, task_seconds, max_attempts, losses,
     snoozes, chain, max_chain, fan_out, stage, on_end, print_, unique_seconds, path) = found[0]  # fmt: skip
    kin = TurnClass(queue, kind, rank_of(priority, breadth, depth), resource or "")
    standing = Standing(
        seq=seq, tracking_id=tracking_id, kind=kind, queue=queue, rank=kin.rank, spawn_depth=depth,
        state=state, wait=None, available_at=session.now, fence=fence, lease_until=0.0, worker=None,
        claimed_at=0.0, started_at=None, task_seconds=task_seconds, deadline_at=None, attempts=0,
        max_attempts=max_attempts, losses=losses, losses_alone=0, snoozes=snoozes, chain_depth=chain,
        max_chain_depth=max_chain, progressed=0, fan_out=fan_out, stage=stage, on_end=on_end, ending=None,
        ending_reason=None, bound_to=None, turn=Turns(session).level(kin), resource=resource,
        unique_seconds=unique_seconds, holds_path=None if path is None else 0,
    )  # fmt: skip
    return standing, print_
