"""The record of what people did, written in the transaction that does it."""

from __future__ import annotations

import json
from typing import Any

from ramet.model.audit_log import Act
from ramet.store.session import Session

ACTS_MAX = 1_000


def record_act(
    session: Session,
    *,
    by: str,
    act: str,
    subject: str,
    tracking_id: str | None = None,
    reason: str | None = None,
    detail: Any = None,
) -> None:
    """Record what a person does, in the transaction that does it: both or neither become durable (promise I8).

    Args:
        by: who.
        act: what, as a word that stays (``raise_limits``).
        subject: what it is done to.
        tracking_id: the lineage it concerns, with which the record is pruned; None keeps it.
        reason: why, in the person's words.
        detail: JSON; what exactly changed. No secrets: people read it.
    """
    [(seq,)] = session.rows("UPDATE ramet_counters SET value = value + 1 WHERE name = 'act' RETURNING value")
    session.run(
        "INSERT INTO ramet_acts (seq, at, by, act, subject, tracking_id, reason, detail) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (seq, session.now, by, act, subject, tracking_id, reason, None if detail is None else json.dumps(detail)),
    )


def acts(session: Session, tracking_id: str | None, limit: int, before: int | None) -> list[Act]:
    """What people did, newest first: to one lineage, or to anything."""
    where = "seq < ?"
    parameters: list[int | str] = [2**62 if before is None else before]
    if tracking_id is not None:
        where, parameters = f"tracking_id = ? AND {where}", [tracking_id, *parameters]
    rows = session.rows(
        f"SELECT seq, at, by, act, subject, tracking_id, reason, detail FROM ramet_acts WHERE {where} "
        "ORDER BY seq DESC LIMIT ?",
        (*parameters, max(1, min(limit, ACTS_MAX))),
    )
    return [
        Act(seq, at, by, act, subject, of, reason, None if detail is None else json.loads(detail))
        for seq, at, by, act, subject, of, reason, detail in rows
    ]
