"""Settings as rows, and the audit log: who changed what, written in the transaction that changes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ramet.model.operations import AuditEntry
from ramet.store.answers import SettingRow
from ramet.store.requests import SettingChange
from ramet.store.session import Session

_READERS: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "string": str, "json": json.loads}


def setting_rows(session: Session) -> list[SettingRow]:
    """Return all stored settings with everything that is known of them, by key."""
    rows = session.rows("SELECT key, value, value_type, description, updated_at FROM ramet_settings ORDER BY key")
    return [SettingRow(key, _READERS[kind](value), kind, text, at) for key, value, kind, text, at in rows]


def settings(session: Session) -> dict[str, Any]:
    """Return all stored settings by key, typed by their ``value_type``."""
    rows = session.rows("SELECT key, value, value_type FROM ramet_settings ORDER BY key")
    return {key: _READERS[value_type](value) for key, value, value_type in rows}


def put_setting(session: Session, key: str, value: Any, value_type: str, description: str) -> None:
    """Store one setting; ``value_type`` is ``int``, ``float``, ``string`` or ``json``."""
    if value_type not in _READERS:
        raise ValueError(f"setting {key}: value_type {value_type!r} is not one of {sorted(_READERS)}")
    text = json.dumps(value) if value_type == "json" else str(value)
    _READERS[value_type](text)
    session.run(
        "INSERT INTO ramet_settings (key, value, value_type, description, updated_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value, value_type = excluded.value_type, "
        "description = excluded.description, updated_at = excluded.updated_at",
        (key, text, value_type, description, session.now),
    )


def change_settings(session: Session, changes: Sequence[SettingChange], *, by: str, reason: str | None = None) -> int:
    """Store and remove settings, all or none; return how many changed.

    Each change is recorded with its author and the value before. A setting that has the value already is left alone and
    not recorded. Workers and clients act on changes within a few seconds.

    Raises:
        ValueError: a value is not of its type.
    """
    before = settings(session)
    changed = 0
    for change in changes:
        was = before.get(change.key)
        if change.remove:
            if not session.run("DELETE FROM ramet_settings WHERE key = ?", (change.key,)):
                continue
            detail = {"was": was}
        else:
            if change.key in before and was == change.value:
                continue
            put_setting(session, change.key, change.value, change.value_type, change.description)
            detail = {"value": change.value} | ({"was": was} if change.key in before else {})
        act = "unset_setting" if change.remove else "set_setting"
        record_audit_entry(session, by=by, act=act, subject=change.key, reason=reason, detail=detail)
        changed += 1
    return changed


ACTS_MAX = 1_000


def record_audit_entry(
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


def acts(
    session: Session, tracking_id: str | None = None, *, limit: int = 100, before: int | None = None
) -> list[AuditEntry]:
    """Return the audit log of one lineage, or of everything; newest first, at most 1,000, before an entry's number."""
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
        AuditEntry(seq, at, by, act, subject, of, reason, None if detail is None else json.loads(detail))
        for seq, at, by, act, subject, of, reason, detail in rows
    ]
