"""Alert rows: telling a finding once, adding to it, resolving it, listing."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ramet.model.alerts.notifications import LINK_SETTING, NoticeRules, event_of, link_to
from ramet.model.alerts.rules import (
    LIVE,
    STANDING,
    Alert,
    Finding,
    MonitorLimits,
    Pattern,
    merge_worst,
    resolved,
    severity_of,
    subject_of,
    subject_of_live,
)
from ramet.store.maintenance.notification_outbox import Outbox
from ramet.store.rows.lineages import LINEAGE_LIST, lineage_of
from ramet.store.rows.settings import record_act
from ramet.store.session import Row, Session

ALERTS_MAX = 1_000
_ALERT_LIST = (
    "id, pattern, tracking_id, subject, evidence, severity, first_at, last_at, resolved_at, state, count, "
    "notified_at, notified_state, acknowledged_at, acknowledged_by"
)


def link_base(session: Session) -> str | None:
    """Where the dashboard is, where somebody said so."""
    rows = session.rows("SELECT value FROM ramet_settings WHERE key = ?", (LINK_SETTING,))
    return str(rows[0][0]) if rows else None


def alert_of(row: Row, base: str | None) -> Alert:
    """An alert from a row of ``_ALERT_LIST``."""
    number, pattern, tracking_id, subject, evidence, severity, first_at, last_at, resolved_at, state, count = row[:11]
    return Alert(
        number, pattern, tracking_id or None, subject, json.loads(evidence), severity, first_at, last_at, resolved_at,
        state, count, link_to(base, number), *row[11:],
    )  # fmt: skip


class Telling:
    """Alerts of one transaction: findings become rows, and what is new about them goes into the outbox."""

    def __init__(self, session: Session, rules: NoticeRules) -> None:
        self._session = session
        self._rules = rules
        self._base = link_base(session)
        self.outbox = Outbox(session, rules)

    def tell(self, findings: Sequence[Finding]) -> tuple[Alert, ...]:
        """Add findings to the alerts that fire, or let new ones fire: one per (lineage, pattern).

        Returns:
            Those that began to fire, or began again.
        """
        by_alert: dict[tuple[str, Pattern], list[dict[str, Any]]] = defaultdict(list)
        for finding in findings:
            by_alert[finding.tracking_id, finding.pattern].append(finding.entry)
        told = []
        for (tracking_id, pattern), entries in sorted(by_alert.items()):
            before = self._known(tracking_id, pattern)
            alert = self._write(before, tracking_id, pattern, entries)
            event = event_of(before, alert, self._session.now, self._rules)
            if event is not None:
                self.outbox.add(alert, event)
            if before is None or before.state != "firing":
                told.append(alert)
        return tuple(told)

    def _known(self, tracking_id: str, pattern: Pattern) -> Alert | None:
        """The alert that fires, or the one that resolved so lately that this is the same incident."""
        of_it = f"SELECT {_ALERT_LIST} FROM ramet_alerts WHERE tracking_id = ? AND pattern = ?"
        names = (tracking_id, pattern.value)
        # One that fires has an index of its own: what fires on is not looked for among all that are over.
        rows = self._session.rows(f"{of_it} AND state = 'firing'", names) or self._session.rows(
            f"{of_it} ORDER BY id DESC LIMIT 1", names
        )
        if not rows:
            return None
        newest = alert_of(rows[0], self._base)
        lately = self._session.now - self._rules.cooldown_seconds
        return newest if newest.resolved_at is None or newest.resolved_at > lately else None

    def _write(
        self, before: Alert | None, tracking_id: str, pattern: Pattern, entries: Sequence[Mapping[str, Any]]
    ) -> Alert:
        # Some are known anew at every look; everything else only grows.
        grows = before is not None and before.state == "firing" and pattern not in {*STANDING, Pattern.OVER_CEILING}
        worst = merge_worst(before.evidence["worst"] if before is not None and grows else (), entries)
        subject = subject_of_live(pattern, worst[0], len(worst)) if pattern in LIVE else subject_of(pattern, worst)
        severity = severity_of(pattern, worst)
        evidence, now = {"limit": worst[0]["limit"], "worst": worst}, self._session.now
        if before is not None:
            self._session.run(
                "UPDATE ramet_alerts SET subject = ?, evidence = ?, severity = ?, last_at = ?, state = 'firing', "
                "resolved_at = NULL, count = count + 1 WHERE id = ?",
                (subject, json.dumps(evidence), severity, now, before.id),
            )
            return replace(
                before, subject=subject, evidence=evidence, severity=severity, last_at=now, state="firing",
                resolved_at=None, count=before.count + 1,
            )  # fmt: skip
        [(number,)] = self._session.rows(
            "UPDATE ramet_counters SET value = value + 1 WHERE name = 'alert' RETURNING value"
        )
        row = (number, pattern.value, tracking_id, subject, json.dumps(evidence), severity, now, now, None, "firing",
               1, None, None, None, None)  # fmt: skip
        self._session.run(f"INSERT INTO ramet_alerts ({_ALERT_LIST}) VALUES ({', '.join('?' * len(row))})", row)
        return alert_of(row, self._base)

    def resolve(self, limits: MonitorLimits, standing: Collection[Pattern]) -> tuple[Alert, ...]:
        """End the alerts whose condition is gone, those first in which nothing happened for longest."""
        session = self._session
        rows = session.rows(
            f"SELECT {_ALERT_LIST} FROM ramet_alerts WHERE state = 'firing' ORDER BY last_at LIMIT ?", (ALERTS_MAX,)
        )
        firing = [alert_of(row, self._base) for row in rows]
        listed, values = session.members(sorted({alert.tracking_id for alert in firing if alert.tracking_id}))
        found = session.rows(f"SELECT {LINEAGE_LIST} FROM ramet_lineages WHERE tracking_id {listed}", (values,))
        lineages = {lineage.tracking_id: lineage for lineage in map(lineage_of, found)}
        over = [
            replace(alert, state="resolved", resolved_at=session.now)
            for alert in firing
            if resolved(alert, lineages.get(alert.tracking_id or ""), session.now, limits, standing)
        ]
        rows = [(session.now, alert.id) for alert in over]
        session.update("ramet_alerts", ("state = 'resolved'", "resolved_at"), ("id",), rows)
        for alert in over:
            if alert.notified_state == "firing":
                self.outbox.add(alert, "resolved")
        return tuple(over)


def acknowledge(session: Session, alert_id: int, *, by: str = "client", reason: str | None = None) -> bool:
    """Acknowledge a firing alert, recorded as an act: it is not repeated.

    Returns False when it does not fire, or is acknowledged already.
    """
    rows = session.rows(
        "UPDATE ramet_alerts SET acknowledged_at = ?, acknowledged_by = ? WHERE id = ? AND state = 'firing' "
        "AND acknowledged_at IS NULL RETURNING pattern, tracking_id",
        (session.now, by, alert_id),
    )
    for pattern, tracking_id in rows:
        record_act(session, by=by, act="acknowledge_alert", subject=f"alert {alert_id}",
                   tracking_id=tracking_id or None, reason=reason, detail={"pattern": pattern})  # fmt: skip
    return bool(rows)


def alert(session: Session, alert_id: int) -> Alert | None:
    """Return one alert, or None."""
    rows = session.rows(f"SELECT {_ALERT_LIST} FROM ramet_alerts WHERE id = ?", (alert_id,))
    return alert_of(rows[0], link_base(session)) if rows else None


def alerts(
    session: Session,
    *,
    firing: bool = True,
    resolved: bool = False,
    tracking_id: str | None = None,
    limit: int = 100,
    before: int | None = None,
) -> list[Alert]:
    """Return alerts, newest first (at most 1,000), of one lineage or any, before the alert of this number.

    Those that fire; with ``resolved=True`` those that are over; with ``firing=False`` alone all.
    """
    conditions = []
    parameters: list[Any] = []
    if before is not None:
        conditions.append("id < ?")
        parameters.append(before)
    if tracking_id is not None:
        conditions.append("tracking_id = ?")
        parameters.append(tracking_id)
    if resolved or firing:
        conditions.append(f"state = '{'resolved' if resolved else 'firing'}'")
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    # Those that fire are few and have an index of their own; by number one would pass all that are over.
    order = "id + 0" if firing and not resolved else "id"
    rows = session.rows(
        f"SELECT {_ALERT_LIST} FROM ramet_alerts {where}ORDER BY {order} DESC LIMIT ?",
        (*parameters, max(1, min(limit, ALERTS_MAX))),
    )
    base = link_base(session)
    return [alert_of(row, base) for row in rows]


def thresholds(session: Session) -> dict[str, int | None]:
    """Kinds' own largest number of demands."""
    return dict(session.rows("SELECT kind, demands FROM ramet_alert_thresholds"))


def put_thresholds(session: Session, thresholds: Mapping[str, int | None]) -> None:
    """Store kinds' own largest number of demands, over what was stored before; None: never alert about the kind."""
    rows = sorted(thresholds.items())
    session.insert("ramet_alert_thresholds", ("kind", "demands"), rows, key=("kind",), changes=("demands",))
