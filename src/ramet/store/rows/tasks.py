"""Rows of tasks: live ones locked in order, ended ones as standings, recorded changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ramet.model.reasons import stored
from ramet.model.task.newborn import NEWBORN
from ramet.model.task.ordering import TurnClass, rank_of
from ramet.model.task.task import Standing, standing_of
from ramet.store.requests import SEQ_MAX
from ramet.store.rows.paths import lock_stripes
from ramet.store.rows.turns import Turns
from ramet.store.schema.columns import LIVE_COLUMNS, LIVE_LIST, WIDE_COLUMNS, picker
from ramet.store.session import Session

_BEGINS_AGAIN = {"attempts", "started_at", "deadline_at"}
_KEPT = tuple(name for name in LIVE_COLUMNS if name in WIDE_COLUMNS and name not in _BEGINS_AGAIN)
"""Columns that a revived task keeps of its first life."""


def ended_standing(session: Session, seq: int) -> tuple[Standing | None, str | None]:
    """Return the standing of an ended task, rebuilt from its wide row, and the fingerprint of its last error."""
    columns = (*_KEPT, "priority", "breadth", "path", "fingerprint")
    found = session.rows(f"SELECT {', '.join(columns)} FROM ramet_tasks WHERE seq = ? AND state IS NOT NULL", (seq,))
    if not found:
        return None, None
    wide = dict(zip(columns, found[0], strict=True))
    rank = rank_of(wide["priority"], wide["breadth"], wide["spawn_depth"])
    kin = TurnClass(wide["queue"], wide["kind"], rank, wide["resource"] or "")
    standing = Standing(
        **{name: wide[name] for name in _KEPT}, rank=rank, wait=None, available_at=session.now, lease_until=0.0,
        worker=None, claimed_at=0.0, started_at=None, deadline_at=None, attempts=0, losses_alone=0, progressed=0,
        ending=None, ending_reason=None, ending_facts=None, bound_to=None, turn=Turns(session).level(kin),
        holds_path=None if wide["path"] is None else 0,
    )  # fmt: skip
    return standing, wide["fingerprint"]


_RECORD = (
    "INSERT INTO ramet_transitions (seq, number, tracking_id, name, from_state, to_state, at, by, reason, "
    "reason_facts, fingerprint) SELECT CAST(? AS BIGINT), COALESCE(MAX(number), 0) + 1, CAST(? AS TEXT), "
    "CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS DOUBLE PRECISION), CAST(? AS TEXT), CAST(? AS TEXT), "
    "CAST(? AS TEXT), CAST(? AS TEXT) "
    "FROM ramet_transitions WHERE seq = ?"
)


class HistoryRecord(NamedTuple):
    """One line of a task's history."""

    seq: int
    tracking_id: str
    name: str
    from_state: str
    to_state: str
    by: str | None = None
    reason: str | None = None
    fingerprint: str | None = None


def record(session: Session, rows: Sequence[HistoryRecord]) -> None:
    """Write lines of history, each after the last of its task."""
    if rows:
        session.run_many(
            _RECORD, [(*row[:5], session.now, row.by, *stored(row.reason), row.fingerprint, row.seq) for row in rows]
        )


def claims_of(columns: str, where: str = "") -> str:
    """Return a table of the claimed tasks, which the workers' slots bound, from their own index whatever is asked of
    it.

    The limit takes nothing away: without it a planner may walk the backlog by number to find the first few of these.
    """
    claims = "ramet_live INDEXED BY ramet_live_by_depth WHERE state = 'processing'"
    return f"(SELECT {columns} FROM {claims}{where} LIMIT {SEQ_MAX})"


def load_standings(session: Session, seqs: Iterable[int]) -> dict[int, Standing]:
    """Hot rows by task number, held until the transaction ends; a task that is not live is absent."""
    listed, values = session.members(seqs)
    found = session.rows(
        f"SELECT {LIVE_LIST} FROM ramet_live WHERE seq {listed} ORDER BY seq{session.for_update}", (values,)
    )
    return {row[0]: standing_of(row) for row in found}


def take_live(session: Session, where: str, parameters: Sequence[object], limit: int) -> list[Standing]:
    """Return tasks that a condition finds, locked until the transaction ends; those that others have locked are left
    out.

    Args:
        session: see :class:`ramet.store.session.Session`.
        where: what comes after the name of the table, an order of the rows perhaps included.
        parameters: of the condition.
        limit: the most tasks.
    """
    if session.for_update:
        found = session.rows(f"SELECT seq, holds_path FROM ramet_live {where} LIMIT ?", (*parameters, limit))
        if not found:
            return []
        pathed = [seq for seq, holds_path in found if holds_path is not None]
        lock_stripes(session, pathed)
        # This query may find more tasks without a path, but none whose slot is not locked.
        listed, values = session.members(pathed)
        where = where.replace("WHERE ", f"WHERE (holds_path IS NULL OR seq {listed}) AND ", 1)
        parameters = (values, *parameters)
    rows = session.rows(
        f"SELECT {LIVE_LIST} FROM ramet_live {where} LIMIT ?{session.skip_locked}", (*parameters, limit)
    )
    return [Standing._make(row) for row in rows]


_BORN_WITH = {name: value for name, value in NEWBORN.items() if name not in ("state", "fence")}
_NEVER_CLAIMED = " AND ".join(
    f"{name} IS NULL" if value is None else f"{name} = {value}" for name, value in _BORN_WITH.items()
)
_DIFFERENT = tuple(name for name in LIVE_COLUMNS if name not in _BORN_WITH)
_DIFFERENT_LIST = ", ".join(_DIFFERENT)
_never_claimed = picker((*_DIFFERENT, "never claimed", *_BORN_WITH), LIVE_COLUMNS)
_BORN_VALUES = tuple(_BORN_WITH.values())


def read_pending(session: Session, where: str, parameters: Sequence[object]) -> list[Standing]:
    """Return the pending tasks that a condition finds, in its order.

    Most were never claimed. Of those, what is the same in all is compared by the database and not read: reading a
    column takes as long as comparing several.

    Args:
        session: the transaction.
        where: what comes after the name of the table.
        parameters: of it.
    """
    rows = session.rows(
        f"SELECT {_DIFFERENT_LIST}, CASE WHEN {_NEVER_CLAIMED} THEN 1 ELSE 0 END FROM ramet_live {where}", parameters
    )
    found = [standing_of(_never_claimed(row + _BORN_VALUES)) for row in rows]
    if claimed := {row[0]: at for at, row in enumerate(rows) if not row[-1]}:
        listed, values = session.members(claimed)
        for row in session.rows(f"SELECT {LIVE_LIST} FROM ramet_live WHERE seq {listed}", (values,)):
            found[claimed[row[0]]] = standing_of(row)
    return found
