"""Settings as rows: typed, and every change recorded with who and what was before."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ramet.store.base_operations import SettingChange, SettingRow
from ramet.store.rows.audit_log import record_act
from ramet.store.session import Session

_READERS: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "string": str, "json": json.loads}


def setting_rows(session: Session) -> list[SettingRow]:
    """All stored settings."""
    rows = session.rows("SELECT key, value, value_type, description, updated_at FROM ramet_settings ORDER BY key")
    return [SettingRow(key, _READERS[kind](value), kind, text, at) for key, value, kind, text, at in rows]


def settings(session: Session) -> dict[str, Any]:
    """All stored settings, typed by their ``value_type``."""
    rows = session.rows("SELECT key, value, value_type FROM ramet_settings ORDER BY key")
    return {key: _READERS[value_type](value) for key, value, value_type in rows}


def put_setting(session: Session, key: str, value: Any, value_type: str, description: str) -> None:
    """Store one setting."""
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


def change_settings(session: Session, changes: Sequence[SettingChange], by: str, reason: str | None) -> int:
    """Store and remove settings; what is as it should be already is left alone and not recorded."""
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
        record_act(session, by=by, act=act, subject=change.key, reason=reason, detail=detail)
        changed += 1
    return changed
