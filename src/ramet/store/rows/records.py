"""Recorded changes: what happened to a task that no attempt tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ramet.store.session import Session

_RECORD = (
    "INSERT INTO ramet_transitions (seq, number, tracking_id, name, from_state, to_state, at, by, reason, "
    "fingerprint) SELECT CAST(? AS BIGINT), COALESCE(MAX(number), 0) + 1, CAST(? AS TEXT), CAST(? AS TEXT), "
    "CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS DOUBLE PRECISION), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT) "
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
        session.run_many(_RECORD, [(*row[:5], session.now, *row[5:], row.seq) for row in rows])
