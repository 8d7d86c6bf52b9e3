"""Rows of tasks: live ones locked in order, ended ones as standings, recorded changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ramet.model.reasons import stored
from ramet.model.task.ordering import TurnClass, rank_of
from ramet.model.task.task import Standing
from ramet.store.rows.paths import hold_slots
from ramet.store.rows.turns import Turns
from ramet.store.schema.tables import LIVE_LIST
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
        ending_reason=None, ending_facts=None, bound_to=None, turn=Turns(session).level(kin), resource=resource,
        unique_seconds=unique_seconds, holds_path=None if path is None else 0,
    )  # fmt: skip
    return standing, print_


_RECORD = (
    "INSERT INTO ramet_transitions (seq, number, tracking_id, name, from_state, to_state, at, by, reason, "
    "reason_facts, fingerprint) SELECT CAST(? AS BIGINT), COALESCE(MAX(number), 0) + 1, CAST(? AS TEXT), "
    "CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS DOUBLE PRECISION), CAST(? AS TEXT), CAST(? AS TEXT), "
    "CAST(? AS TEXT), CAST(? AS TEXT) "
    "FROM ramet_transitions WHERE seq = ?"
)


class Record(NamedTuple):
    """One line of a task's history."""

    seq: int
    tracking_id: str
    name: str
    from_state: str
    to_state: str
    by: str | None = None
    reason: str | None = None
    fingerprint: str | None = None


def record(session: Session, rows: Sequence[Record]) -> None:
    """Write lines of history, each after the last of its task."""
    if rows:
        session.run_many(
            _RECORD, [(*row[:5], session.now, row.by, *stored(row.reason), row.fingerprint, row.seq) for row in rows]
        )


def take_live(session: Session, where: str, parameters: Sequence[object], limit: int) -> list[Standing]:
    """Tasks that a condition finds, held until the transaction ends; those that somebody else holds are left out.

    Args:
        session: see :class:`ramet.store.session.Session`.
        where: what comes after the name of the table, an order of the rows perhaps included.
        parameters: of the condition.
        limit: how many at most.
    """
    if session.for_update:
        found = session.rows(f"SELECT seq, holds_path FROM ramet_live {where} LIMIT ?", (*parameters, limit))
        if not found:
            return []
        pathed = [seq for seq, holds_path in found if holds_path is not None]
        hold_slots(session, pathed)
        # Others without a path may be found now, but none whose slot is not held.
        listed, values = session.members(pathed)
        where = where.replace("WHERE ", f"WHERE (holds_path IS NULL OR seq IN {listed}) AND ", 1)
        parameters = (values, *parameters)
    rows = session.rows(
        f"SELECT {LIVE_LIST} FROM ramet_live {where} LIMIT ?{session.skip_locked}", (*parameters, limit)
    )
    return [Standing._make(row) for row in rows]
