"""The outbox of alerts: notices, written with the rows that make them true, and sent by workers.

A worker takes a notice for a while, sends it without any transaction, and stores the result. One that crashed in
between is followed by another, with the same ``delivery_id``: at least once, and receivers can tell.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ramet.model.alerts.notifications import (
    CHANNEL_SECONDS,
    CLAIM_SECONDS,
    ERROR_CHARACTERS_MAX,
    LOG,
    MESSAGE,
    WAIT_SECONDS_MAX,
    AlertChannel,
    AlertNotice,
    Message,
    NoticeRules,
    backoff_seconds,
    body_of,
    delivery_id,
    sample_message,
    summary_of,
)
from ramet.model.alerts.rules import Alert
from ramet.store.session import Row, Session

NOTICES_MAX = 1_000
NOT_SENT = "it was not sent within a day: no worker has this channel"
_LIST = ", ".join(AlertNotice._fields)


def notice_of(row: Row) -> AlertNotice:
    """Return a notice from a row of all its columns."""
    notice = AlertNotice._make(row)
    return notice._replace(tracking_id=notice.tracking_id or None, body=json.loads(row[6]))


class Outbox:
    """Notices of one transaction: a bounded number of alerts one by one, the critical ones first, and the sum of the
    others.
    """

    def __init__(self, session: Session, rules: NoticeRules) -> None:
        self._session = session
        self._rules = rules
        self._noted: list[tuple[Alert, str]] = []

    def add(self, alert: Alert, event: str) -> None:
        """Tell this, as it is now."""
        self._noted.append((alert, event))

    def write(self) -> None:
        """Write a notice of everything for every channel, and with each alert what people know of it now."""
        if not self._noted:
            return
        now = self._session.now
        rows = [(now, alert.state, alert.id) for alert, _ in self._noted]
        self._session.update("ramet_alerts", ("notified_at", "notified_state"), ("id",), rows)
        ordered = sorted(self._noted, key=lambda one: (one[0].severity != "critical", one[0].id))
        single, rest = ordered[: self._rules.each_look_max], ordered[self._rules.each_look_max :]
        for channel in channel_names(self._session):
            for alert, event in single:
                name = delivery_id(now, alert.id, alert.pattern, alert.tracking_id, alert.first_at, event, channel)
                body = body_of(alert, event, name, now)
                _insert(self._session, _NewNotice(event, channel, name, body, alert.id, alert.tracking_id))
            if rest:
                alerts = [alert for alert, _ in rest]
                name = delivery_id(now, [(alert.id, alert.first_at) for alert in alerts], "summary", channel)
                _insert(self._session, _NewNotice("summary", channel, name, summary_of(alerts, name, now)))
        self._noted = []


class _NewNotice(NamedTuple):
    """A notice to be written."""

    event: str
    channel: str
    delivery_id: str
    body: Mapping[str, Any]
    alert_id: int | None = None
    tracking_id: str | None = None


def _insert(session: Session, new: _NewNotice, *, taken_until: float | None = None) -> AlertNotice:
    """Write a notice; one with a time until which it is taken is already a worker's."""
    [(number,)] = session.rows(
        "UPDATE ramet_counters SET value = value + 1 WHERE name = 'alert_notice' RETURNING value"
    )
    attempts, until = (0, 0.0) if taken_until is None else (1, taken_until)
    row = (number, new.alert_id, new.tracking_id or "", new.event, new.channel, new.delivery_id, json.dumps(new.body),
           session.now, attempts, session.now, until, None, None, None)  # fmt: skip
    session.run(f"INSERT INTO ramet_alert_notices ({_LIST}) VALUES ({', '.join('?' * len(row))})", row)
    return notice_of(row)


def notify(session: Session, message: Message, *, key: str, tracking_id: str | None = None) -> bool:
    """Store a program's message for every channel; False, and nothing is stored, where it is there under this key."""
    names = {channel: delivery_id(MESSAGE, key, channel) for channel in channel_names(session)}
    # The row of the counter is locked first: of two transactions that report the same, the second finds it reported.
    session.run("UPDATE ramet_counters SET value = value WHERE name = 'alert_notice'")
    # Everybody has the log; a channel that was set up since hears of the next message.
    query = "SELECT 1 FROM ramet_alert_notices WHERE delivery_id = ?"
    if session.rows(query, (names[LOG],)):
        return False
    for channel, name in names.items():
        _insert(session, _NewNotice(MESSAGE, channel, name, message.body(name, session.now), None, tracking_id))
    return True


def try_channel(session: Session, channel: str, *, by: str) -> AlertNotice:
    """Store a notice that only tests a channel, taken already by the caller."""
    [(number,)] = session.rows("SELECT value FROM ramet_counters WHERE name = 'alert_notice'")
    name = delivery_id(session.now, "test", channel, by, number)
    new = _NewNotice("test", channel, name, sample_message(channel, by, name, session.now))
    return _insert(session, new, taken_until=session.now + CLAIM_SECONDS)


# --- channels -----------------------------------------------------------------------------------------------------


def record_channels(session: Session, targets: Mapping[str, str]) -> None:
    """Store a worker's channels and where they lead, without secrets; forget those that no worker has had for long."""
    session.insert(
        "ramet_alert_channels",
        ("name", "target", "seen_at"),
        [(name, target, session.now) for name, target in sorted(targets.items())],
        key=("name",),
        changes=("target", "seen_at"),
    )
    gone = [(one.name,) for one in channels(session) if one.seen_at < session.now - 7 * CHANNEL_SECONDS]
    session.delete("ramet_alert_channels", ("name",), gone)


def channels(session: Session) -> list[AlertChannel]:
    """Return the channels that workers had within the last week, by name; all workers have the log."""
    rows = session.rows("SELECT name, target, seen_at FROM ramet_alert_channels ORDER BY name")
    return [AlertChannel._make(row) for row in rows]


def channel_names(session: Session) -> list[str]:
    """Return the names of the channels that notices go to."""
    lately = session.now - CHANNEL_SECONDS
    return [LOG, *(channel.name for channel in channels(session) if channel.name != LOG and channel.seen_at > lately)]


# --- sending ------------------------------------------------------------------------------------------------------

_WAITING = (
    "FROM ramet_alert_notices n WHERE n.next_at IS NOT NULL AND n.next_at <= ? AND n.claimed_until <= ? AND {} "
    # An end is reported only to those who read about the begin.
    "AND NOT EXISTS (SELECT 1 FROM ramet_alert_notices e WHERE e.alert_id = n.alert_id AND e.channel = n.channel "
    "AND e.id < n.id AND e.next_at IS NOT NULL)"
)


def notices_due(session: Session, names: Collection[str]) -> bool:
    """Return whether a notice is to be sent now through one of these channels, or to be given up. Writes nothing."""
    listed, values = session.members(sorted(names))
    sql = _WAITING.format(f"(n.channel {listed} OR n.created_at <= ?)")
    old = session.now - WAIT_SECONDS_MAX
    return bool(session.rows(f"SELECT 1 {sql} LIMIT 1", (session.now, session.now, values, old)))


def take_notices(session: Session, names: Collection[str], rules: NoticeRules, *, limit: int = 10) -> list[AlertNotice]:
    """Take notices of these channels that are to be sent now, the oldest first, for two minutes.

    The caller reports the outcome of each by :meth:`~ramet.store.store.Store.settle_notice`; a notice without a report
    is taken again after that, with the same ``delivery_id``. Notices of one alert and channel are taken one after the
    other, in their order. A notice that was tried often enough is given up.
    """
    _give_up(session, rules)
    listed, values = session.members(sorted(names))
    columns = ", ".join(f"n.{name}" for name in AlertNotice._fields)
    rows = session.rows(
        f"SELECT {columns} {_WAITING.format(f'n.channel {listed}')} ORDER BY n.id LIMIT ?{session.skip_locked}",
        (session.now, session.now, values, limit),
    )
    until = session.now + CLAIM_SECONDS
    claimed = [(until, row[0]) for row in rows]
    session.update("ramet_alert_notices", ("claimed_until", "attempts = attempts + 1"), ("id",), claimed)
    taken = map(notice_of, rows)
    return [notice._replace(claimed_until=until, attempts=notice.attempts + 1) for notice in taken]


def _give_up(session: Session, rules: NoticeRules) -> None:
    """Give up notices that waited for too long, and those whose last attempt crashed a worker."""
    session.run(
        "UPDATE ramet_alert_notices SET next_at = NULL, claimed_until = 0.0, given_up_at = ?, error = "
        "COALESCE(error, CASE WHEN attempts = 0 THEN ? ELSE 'the worker that sent it ended' END) "
        "WHERE next_at IS NOT NULL AND claimed_until <= ? AND (created_at <= ? OR attempts >= ?)",
        (session.now, NOT_SENT, session.now, session.now - WAIT_SECONDS_MAX, rules.attempts_max),
    )


def settle_notice(
    session: Session, notice: AlertNotice, rules: NoticeRules, *, error: str | None = None, again: bool = True
) -> None:
    """Store the outcome of an attempt: delivered without ``error``, else tried again later, or given up."""
    if error is None:
        session.run(
            "UPDATE ramet_alert_notices SET delivered_at = ?, next_at = NULL, claimed_until = 0.0, given_up_at = NULL, "
            "error = NULL WHERE id = ? AND delivered_at IS NULL",
            (session.now, notice.id),
        )
        return
    given_up = not again or notice.attempts >= rules.attempts_max
    session.run(
        # One that was late must not touch what another worker is doing since.
        "UPDATE ramet_alert_notices SET next_at = ?, claimed_until = 0.0, given_up_at = ?, error = ? "
        "WHERE id = ? AND attempts = ? AND next_at IS NOT NULL",
        (None if given_up else session.now + backoff_seconds(notice.attempts), session.now if given_up else None,
         error[:ERROR_CHARACTERS_MAX], notice.id, notice.attempts),
    )  # fmt: skip


def notices(
    session: Session, alert_id: int | None = None, *, waiting: bool = False, limit: int = 100
) -> list[AlertNotice]:
    """Return notices, newest first (at most 1,000): of one alert or any; with ``waiting`` those still to be sent."""
    conditions: list[str] = []
    parameters: list[int] = []
    if alert_id is not None:
        conditions.append("alert_id = ?")
        parameters.append(alert_id)
    if waiting:
        conditions.append("next_at IS NOT NULL")
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    rows = session.rows(
        f"SELECT {_LIST} FROM ramet_alert_notices {where}ORDER BY id DESC LIMIT ?",
        (*parameters, max(1, min(limit, NOTICES_MAX))),
    )
    return [notice_of(row) for row in rows]


def prune_notices(session: Session, before: float, limit: int) -> int:
    """Delete notices that were written before a moment and have nothing left to do."""
    listed, values = session.members(
        number
        for (number,) in session.rows(
            "SELECT id FROM ramet_alert_notices WHERE created_at < ? AND next_at IS NULL ORDER BY created_at LIMIT ?",
            (before, limit),
        )
    )
    return session.run(f"DELETE FROM ramet_alert_notices WHERE id {listed}", (values,))
