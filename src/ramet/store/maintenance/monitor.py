"""The monitor's verbs: read what changed since the last look, judge it, and keep alerts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ramet.model.alerts.notifications import LINK_SETTING, NoticeRules, event_of, link_to
from ramet.model.alerts.rules import (
    LIVE,
    STANDING,
    WORST_MAX,
    Alert,
    AlertFinding,
    MonitorLimits,
    Pattern,
    judge_key,
    merge_worst,
    resolved,
    severity_of,
    subject_of,
    subject_of_live,
)
from ramet.model.money import ALL_DAYS, day_of
from ramet.store.answers import MonitorStepResult
from ramet.store.maintenance.monitor_facts import ALERTED, budgets, current_findings, grown, shares
from ramet.store.maintenance.notification_outbox import Outbox
from ramet.store.rows.blocks import BLOCK_KEY, demands_of
from ramet.store.rows.lineages import LINEAGE_LIST, lineage_of
from ramet.store.rows.settings import record_audit_entry
from ramet.store.session import Row, Session
from ramet.store.verbs.over_ceiling import days_passed

ALERTS_MAX = 1_000
_ALERT_LIST = (
    "id, pattern, tracking_id, subject, evidence, severity, first_at, last_at, resolved_at, state, count, "
    "notified_at, notified_state, acknowledged_at, acknowledged_by"
)


def link_base(session: Session) -> str | None:
    """Return the address of the dashboard, where it is set."""
    rows = session.rows("SELECT value FROM ramet_settings WHERE key = ?", (LINK_SETTING,))
    return str(rows[0][0]) if rows else None


def alert_of(row: Row, base: str | None) -> Alert:
    """Return an alert from a row of ``_ALERT_LIST``."""
    number, pattern, tracking_id, subject, evidence, severity, first_at, last_at, resolved_at, state, count = row[:11]
    return Alert(
        number, pattern, tracking_id or None, subject, json.loads(evidence), severity, first_at, last_at, resolved_at,
        state, count, link_to(base, number), *row[11:],
    )  # fmt: skip


class AlertWriter:
    """Alerts of one transaction: findings become rows, and what is new about them goes into the outbox."""

    def __init__(self, session: Session, rules: NoticeRules) -> None:
        self._session = session
        self._rules = rules
        self._base = link_base(session)
        self.outbox = Outbox(session, rules)

    def tell(self, findings: Sequence[AlertFinding]) -> tuple[Alert, ...]:
        """Add findings to the alerts that fire, or let new ones fire: one per (lineage, pattern).

        Returns:
            Those that began to fire, or began again.
        """
        by_alert: dict[tuple[str, Pattern], list[dict[str, Any]]] = defaultdict(list)
        for finding in findings:
            by_alert[finding.tracking_id, finding.pattern].append(finding.entry)
        alerts = []
        for (tracking_id, pattern), entries in sorted(by_alert.items()):
            before = self._known(tracking_id, pattern)
            alert = self._write(before, tracking_id, pattern, entries)
            event = event_of(before, alert, self._session.now, self._rules)
            if event is not None:
                self.outbox.add(alert, event)
            if before is None or before.state != "firing":
                alerts.append(alert)
        return tuple(alerts)

    def _known(self, tracking_id: str, pattern: Pattern) -> Alert | None:
        """Return the alert that fires, or the one that resolved so lately that this is the same incident."""
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
        # Some are found again at every look; everything else only grows.
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
        record_audit_entry(session, by=by, act="acknowledge_alert", subject=f"alert {alert_id}",
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


WINDOW = 20_000
"""Tasks that one step reads."""
SUSPECTS_MAX = 500
"""Keys that one step judges, of each source."""
STORM_MAX = 10_000
"""Most retries put off that one look counts; a larger number is reported as this one."""

Marks = dict[str, tuple[float, int]]
"""Positions at which the last look stopped, by source: a moment and a task number."""


class MonitorWindow(NamedTuple):
    """Values gathered by a step."""

    marks: Marks
    """Marks as they were when it began; the step is valid only while they still are."""
    newest: int
    """The task number up to which it read."""
    whole: bool
    """True when it read up to the newest task there is."""
    keys: tuple[tuple[str, str], ...]
    """(tracking_id, key) of several kinds."""
    deep: tuple[tuple[str, str, str, int], ...]
    """(tracking_id, id, kind, spawn_depth) of tasks that are too deep."""
    grown: tuple[AlertFinding, ...] = ()
    """Lineages that these tasks brought near to a limit."""


def _marks(session: Session) -> Marks:
    return {name: (at, number) for name, at, number in session.rows("SELECT name, at, number FROM ramet_monitor")}


def _set_mark(session: Session, name: str, at: float, number: int) -> None:
    session.run(
        "INSERT INTO ramet_monitor (name, at, number) VALUES (?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET at = excluded.at, number = excluded.number",
        (name, at, number),
    )


def gather(session: Session, limits: MonitorLimits, *, force: bool = False) -> MonitorWindow | None:
    """Read the next window of new tasks; return None when no look is due."""
    marks = _marks(session)
    looked_at, _ = marks.get("look", (-1e18, 0))
    # A clock that was set back must not silence the monitor until it has caught up.
    if not force and looked_at <= session.now < looked_at + limits.seconds:
        return None
    _, last = marks.get("tasks", (0.0, 0))
    [(newest,)] = session.rows("SELECT COALESCE(MAX(seq), 0) FROM ramet_tasks")
    end = min(newest, last + WINDOW)
    rows = session.rows(
        "SELECT t.seq, t.tracking_id, t.key, t.id, t.kind, t.spawn_depth FROM ramet_tasks t "
        f"WHERE t.seq > ? AND t.seq <= ? AND {ALERTED} AND (t.spawn_depth > ? OR ("
        "(SELECT COUNT(*) FROM ramet_identities i "
        # A task that was handed on is not a further demand: a pipeline of many stages is not judged task by task.
        "WHERE i.key = t.key AND i.tracking_id = t.tracking_id) > ? AND (SELECT COUNT(*) FROM ramet_identities i "
        "JOIN ramet_tasks c ON c.seq = i.seq LEFT JOIN ramet_tasks p ON p.id = c.parent_id WHERE i.key = t.key "
        "AND i.tracking_id = t.tracking_id AND (p.key IS NULL OR p.key <> t.key)) > ?)) ORDER BY t.seq LIMIT ?",
        (last, end, limits.depth_max, limits.key_demands_max, limits.key_demands_max, SUSPECTS_MAX),
    )
    if len(rows) == SUSPECTS_MAX:
        end = rows[-1][0]
    return MonitorWindow(
        marks,
        end,
        end >= newest,
        tuple(sorted({(tracking_id, key) for _, tracking_id, key, _, _, _ in rows})),
        tuple((tracking_id, task_id, kind, depth) for _, tracking_id, _, task_id, kind, depth in rows
              if depth > limits.depth_max),
        tuple(grown(session, last, end, limits)),
    )  # fmt: skip


def judge(session: Session, seen: MonitorWindow, limits: MonitorLimits, rules: NoticeRules) -> MonitorStepResult:
    """Judge what was gathered and what only the write lock shows exactly; store the alerts."""
    if _marks(session) != seen.marks:
        return MonitorStepResult(ran=False)
    _set_mark(session, "tasks", session.now, seen.newest)
    unseen = session.rows(
        "SELECT tracking_id, kind, key, reason FROM ramet_blocks WHERE demands > demands_seen LIMIT ?", (SUSPECTS_MAX,)
    )
    revived, all_revived = _revived(session, seen.marks)
    keys = {*seen.keys, *((tracking_id, key) for tracking_id, _, key, _ in unseen), *revived}
    found = [
        AlertFinding(Pattern.DEEP_SPAWN, tracking_id,
                {"name": task_id, "weight": depth, "limit": limits.depth_max, "kind": kind})
        for tracking_id, task_id, kind, depth in seen.deep
    ]  # fmt: skip
    found += seen.grown
    own = thresholds(session) if keys else {}
    for (tracking_id, _), demands in demands_of(session, keys).items():
        found += judge_key(tracking_id, demands, limits, own)
    session.update("ramet_blocks", ("demands_seen = demands",), BLOCK_KEY, unseen)
    more = not seen.whole or len(unseen) == SUSPECTS_MAX or not all_revived
    telling = AlertWriter(session, rules)
    over: tuple[Alert, ...] = ()
    if more:
        fired = telling.tell(found)
    else:
        found += [*_storms(session, seen.marks, limits), *_over_ceilings(session), *budgets(session, limits)]
        now = [*_lost_leases(session, limits), *shares(session, limits), *current_findings(session, limits)]
        fired = telling.tell([*found, *now])
        _set_mark(session, "look", session.now, 0)
        over = telling.resolve(limits, {finding.pattern for finding in now})
    telling.outbox.write()
    return MonitorStepResult(True, more, fired, over)


def _revived(session: Session, marks: Marks) -> tuple[set[tuple[str, str]], bool]:
    """Identities of tasks revived since the last look, and whether these are all."""
    at, number = marks.get("revives", (-1e18, 0))
    if at > session.now:
        at, number = -1e18, 0
    rows = session.rows(
        "SELECT r.at, r.seq, t.tracking_id, t.key FROM ramet_transitions r JOIN ramet_tasks t ON t.seq = r.seq "
        "WHERE r.name = 'revive' AND (r.at, r.seq) > (?, ?) ORDER BY r.at, r.seq LIMIT ?",
        (at, number, SUSPECTS_MAX),
    )
    if rows:
        _set_mark(session, "revives", rows[-1][0], rows[-1][1])
    return {(tracking_id, key) for _, _, tracking_id, key in rows}, len(rows) < SUSPECTS_MAX


def _storms(session: Session, marks: Marks, limits: MonitorLimits) -> list[AlertFinding]:
    """Lineages of which retries were put off since the last look."""
    since, _ = marks.get("look", (-1e18, 0))
    if since > session.now:
        since = session.now - limits.seconds
    rows = session.rows(
        "SELECT a.tracking_id, COUNT(*), MAX(a.ended_at) FROM (SELECT tracking_id, ended_at FROM ramet_attempts "
        "WHERE reason = 'retry_storm' AND ended_at >= ? ORDER BY ended_at LIMIT ?) a GROUP BY a.tracking_id",
        (since, STORM_MAX),
    )
    listed, values = session.members(sorted(tracking_id for tracking_id, _, _ in rows))
    bounds: dict[str, int] = {}
    if rows:
        bounds = dict(
            session.rows(
                f"SELECT tracking_id, retries_per_minute FROM ramet_lineages WHERE tracking_id {listed}", (values,)
            )
        )
    return [
        AlertFinding(Pattern.RETRY_STORM, tracking_id,
                {"name": f"until {last:.0f}", "weight": count, "limit": bounds.get(tracking_id, 0), "until": last})
        for tracking_id, count, last in rows
        if count > limits.storm_max
    ]  # fmt: skip


def _lost_leases(session: Session, limits: MonitorLimits) -> list[AlertFinding]:
    rows: list[tuple[Any, ...]] = session.rows(
        "SELECT t.id, l.kind, l.lease_until, l.worker, l.tracking_id FROM ramet_live l "
        "JOIN ramet_tasks t ON t.seq = l.seq WHERE l.state = 'processing' AND l.lease_until <= ? "
        "ORDER BY l.lease_until LIMIT ?",
        (session.now - limits.grace_seconds, WORST_MAX),
    )
    return [
        AlertFinding(Pattern.LOST_LEASE, "", {
            "name": task_id, "weight": round(session.now - until), "limit": limits.grace_seconds, "kind": kind,
            "worker": worker, "tracking_id": tracking_id,
        })
        for task_id, kind, until, worker, tracking_id in rows
    ]  # fmt: skip


def _over_ceilings(session: Session) -> list[AlertFinding]:
    """Lineages that run although they have spent more than they may; the day and the database, while they have."""
    rows: list[tuple[Any, ...]] = session.rows(
        "SELECT tracking_id, spent, max_cost FROM ramet_lineages INDEXED BY ramet_lineages_over "
        "WHERE spent > max_cost AND live > 0 LIMIT ?",
        (SUSPECTS_MAX,),
    )
    found = [
        AlertFinding(Pattern.OVER_CEILING, tracking_id, {"name": "lineage", "weight": spent, "limit": most})
        for tracking_id, spent, most in rows
    ]
    for day, ceiling in days_passed(session).items():
        if day in (ALL_DAYS, day_of(session.now)):
            name = "database" if day == ALL_DAYS else "day"
            found.append(
                AlertFinding(Pattern.OVER_CEILING, "", {"name": name, "weight": ceiling.spent, "limit": ceiling.most})
            )
    return found


def prune_alerts(session: Session, before: float, limit: int) -> int:
    """Delete resolved alerts in which nothing happened since a moment; those of pruned lineages go with them."""
    listed, values = session.members(
        alert_id
        for (alert_id,) in session.rows(
            "SELECT id FROM ramet_alerts WHERE state = 'resolved' AND last_at < ? ORDER BY last_at LIMIT ?",
            (before, limit),
        )
    )
    return session.run(f"DELETE FROM ramet_alerts WHERE id {listed}", (values,))
