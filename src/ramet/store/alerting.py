"""Alert rows: telling a finding once, adding to it, resolving it, listing."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ramet.model.alerts import (
    STANDING,
    Alert,
    Finding,
    MonitorLimits,
    Pattern,
    merge_worst,
    resolved,
    severity_of,
    subject_of,
)
from ramet.store.session import Row, Session

ALERTS_MAX = 1_000
_ALERT_LIST = "id, pattern, tracking_id, subject, evidence, severity, first_at, last_at, resolved_at, state, count"


def alert_of(row: Row) -> Alert:
    """An alert from a row of ``_ALERT_LIST``."""
    values = list(row)
    values[2] = values[2] or None
    values[4] = json.loads(values[4])
    return Alert(*values)


def tell(session: Session, findings: Sequence[Finding]) -> tuple[Alert, ...]:
    """Add findings to the alerts that fire, or let new ones fire: one per (lineage, pattern); returns the new ones."""
    by_alert: dict[tuple[str, Pattern], list[dict[str, Any]]] = defaultdict(list)
    for finding in findings:
        by_alert[finding.tracking_id, finding.pattern].append(finding.entry)
    told = []
    for (tracking_id, pattern), entries in sorted(by_alert.items()):
        new = _tell(session, tracking_id, pattern, entries)
        if new is not None:
            told.append(new)
    return tuple(told)


def _tell(session: Session, tracking_id: str, pattern: Pattern, entries: Sequence[Mapping[str, Any]]) -> Alert | None:
    """The alert when it begins to fire; None when it was firing already."""
    found = session.rows(
        f"SELECT {_ALERT_LIST} FROM ramet_alerts WHERE tracking_id = ? AND pattern = ? AND state = 'firing'",
        (tracking_id, pattern.value),
    )
    # Some are known anew at every look; everything else only grows.
    kept = found and pattern not in {*STANDING, Pattern.OVER_CEILING}
    worst = merge_worst(json.loads(found[0][4])["worst"] if kept else (), entries)
    subject, severity = subject_of(pattern, worst), severity_of(pattern, worst)
    evidence = json.dumps({"limit": worst[0]["limit"], "worst": worst})
    if found:
        session.run(
            "UPDATE ramet_alerts SET subject = ?, evidence = ?, severity = ?, last_at = ?, count = count + 1 "
            "WHERE id = ?",
            (subject, evidence, severity, session.now, found[0][0]),
        )
        return None
    [(number,)] = session.rows("UPDATE ramet_counters SET value = value + 1 WHERE name = 'alert' RETURNING value")
    row = (number, pattern.value, tracking_id, subject, evidence, severity, session.now, session.now, None, "firing", 1)
    session.run(f"INSERT INTO ramet_alerts ({_ALERT_LIST}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    return alert_of(row)


def resolve(session: Session, limits: MonitorLimits, standing: Collection[Pattern]) -> tuple[Alert, ...]:
    """End the alerts whose condition is gone, those first in which nothing happened for longest."""
    rows = session.rows(
        f"SELECT {', '.join(f'a.{name}' for name in _ALERT_LIST.split(', '))}, g.state FROM ramet_alerts a "
        "LEFT JOIN ramet_lineages g ON g.tracking_id = a.tracking_id WHERE a.state = 'firing' "
        "ORDER BY a.last_at LIMIT ?",
        (ALERTS_MAX,),
    )
    over = [
        alert for *row, state in rows if resolved(alert := alert_of(tuple(row)), state, session.now, limits, standing)
    ]
    session.run_many(
        "UPDATE ramet_alerts SET state = 'resolved', resolved_at = ? WHERE id = ?",
        [(session.now, alert.id) for alert in over],
    )
    return tuple(replace(alert, state="resolved", resolved_at=session.now) for alert in over)


def alerts(session: Session, firing: bool, tracking_id: str | None, limit: int) -> list[Alert]:
    """Alerts, newest first."""
    conditions = []
    parameters: list[Any] = []
    if tracking_id is not None:
        conditions.append("tracking_id = ?")
        parameters.append(tracking_id)
    if firing:
        conditions.append("state = 'firing'")
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    rows = session.rows(
        f"SELECT {_ALERT_LIST} FROM ramet_alerts {where}ORDER BY id DESC LIMIT ?",
        (*parameters, max(1, min(limit, ALERTS_MAX))),
    )
    return [alert_of(row) for row in rows]


def thresholds(session: Session) -> dict[str, int | None]:
    """Kinds' own largest number of demands."""
    return dict(session.rows("SELECT kind, demands FROM ramet_alert_thresholds"))


def put_thresholds(session: Session, thresholds: Mapping[str, int | None]) -> None:
    """Store kinds' own largest number of demands, over what was stored before."""
    session.run_many(
        "INSERT INTO ramet_alert_thresholds (kind, demands) VALUES (?, ?) "
        "ON CONFLICT (kind) DO UPDATE SET demands = excluded.demands",
        sorted(thresholds.items()),
    )
