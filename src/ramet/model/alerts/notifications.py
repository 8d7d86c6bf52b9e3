"""Rules of notices about alerts: the recipients, the moments, and the rows that workers send (DESIGN §2, alert).

A person who gets the same message every five minutes stops reading; one who read that an incident is over must hear
when it is not. So an alert that fires again soon after it was resolved is the same incident and sends no second notice;
the last state sent is stored with the alert.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from ramet.model.alerts.rules import NAMED, Alert
from ramet.model.values import storable

LOG = "log"
"""The channel that everybody has: the program's own log."""
BACKOFF_SECONDS = 15.0
BACKOFF_SECONDS_MAX = 3_600.0
CLAIM_SECONDS = 120.0
"""A notice that a worker took and said nothing of is sent by another after so long."""
WAIT_SECONDS_MAX = 86_400.0
"""Age in seconds at which an unsent notice is given up: it is no longer news."""
CHANNEL_SECONDS = 86_400.0
"""A channel that no worker has had for so long is not written to any more."""
ERROR_CHARACTERS_MAX = 500
LINK_SETTING = "dashboard.url"
"""Setting with the address of the dashboard as people reach it; links to alerts begin with it."""


class NoticeRules(NamedTuple):
    """Times at which notices are sent. Each field is a setting ``alerts.<name>``."""

    cooldown_seconds: float = 1_800.0
    """An alert that fires again so soon after it resolved is re-opened and not sent again; a firing one that got a
    new subject is not sent again so soon."""
    repeat_seconds: float | None = 14_400.0
    """Least seconds between two notices about an alert that keeps firing and is not acknowledged; None: never
    repeated.
    """
    attempts_max: int = 10
    """Attempts to send a notice before it is given up."""
    each_look_max: int = 20
    """Alerts that one look tells of, one by one; further ones are summed up in one notice."""


class AlertNotice(NamedTuple):
    """One thing to tell through one channel: written in the transaction that makes it true, sent at least once."""

    id: int
    alert_id: int | None
    """None for a test, for a message of a program, and for the sum of many alerts."""
    tracking_id: str | None
    event: str
    """``fired``, ``repeated``, ``resolved``, ``summary``, ``message`` or ``test``."""
    channel: str
    delivery_id: str
    """The same in every attempt, and of no other notice: receivers drop what they had already by it."""
    body: Mapping[str, Any]
    """Content of the notice, as it was when the event happened: a JSON object."""
    created_at: float
    attempts: int
    """Begun, those of workers that crashed included."""
    next_at: float | None
    """Moment at which it may be sent next; None when it is delivered or given up."""
    claimed_until: float
    """A worker is sending it until then, at most; 0.0 when none is."""
    delivered_at: float | None
    given_up_at: float | None
    error: str | None
    """Error of the last attempt that failed, without secrets."""

    @property
    def state(self) -> str:
        """``waiting``, ``delivered`` or ``given_up``."""
        if self.delivered_at is not None:
            return "delivered"
        return "waiting" if self.given_up_at is None else "given_up"


class AlertChannel(NamedTuple):
    """A way to people that a worker has lately had."""

    name: str
    target: str
    """Address that the channel sends to, without secrets."""
    seen_at: float


def event_of(before: Alert | None, alert: Alert, now: float, rules: NoticeRules) -> str | None:
    """Return the event to notify people of when an alert fires: ``fired``, ``repeated``, or None for no notice.

    Args:
        before: the alert as it was, firing or lately resolved; None for one that is new.
        alert: the alert as it is.
        now: Unix seconds.
        rules: the times at which notices are sent.
    """
    if before is None or before.notified_at is None:
        return "fired"
    quiet = now - before.notified_at
    if alert.acknowledged_at is not None:
        return None
    if before.notified_state == "resolved":
        # The same incident; but a reader may believe that it is over for the cool-down at most.
        return "fired" if quiet >= rules.cooldown_seconds else None
    if alert.severity == "critical" and before.severity != "critical":
        return "repeated"
    if rules.repeat_seconds is not None and quiet >= rules.repeat_seconds:
        return "repeated"
    if alert.pattern in NAMED and quiet >= rules.cooldown_seconds and names_of(alert) - names_of(before):
        return "repeated"
    return None


def names_of(alert: Alert) -> set[str]:
    """Return the names of the things that an alert is about."""
    return {str(entry["name"]) for entry in alert.evidence["worst"]}


def link_to(base: str | None, alert_id: int) -> str | None:
    """Return the address of an alert's page; None while the address of the dashboard is not set."""
    if base is None or not base.startswith(("http://", "https://")):
        return None
    return f"{base.rstrip('/')}/alerts/{alert_id}"


def body_of(alert: Alert, event: str, name: str, at: float) -> dict[str, Any]:
    """Return the body of a notice of an alert: a JSON object, whose shape is a promise
    (docs/concepts/monitoring.md).
    """
    content = {field.name: getattr(alert, field.name) for field in fields(alert) if field.name not in _OWN}
    return {"id": name, "event": event, "at": at, "text": text_of(event, alert), "alert": content}


_OWN = frozenset({"notified_at", "notified_state"})
"""Fields of an alert that are left out of notices."""
_AFTER = {"fired": "", "repeated": " (still firing)", "resolved": " (resolved)"}


def text_of(event: str, alert: Alert) -> str:
    """Return an alert on one line."""
    about = "" if alert.tracking_id is None else f" in lineage {alert.tracking_id}"
    return f"{alert.severity} {alert.pattern}{about}{_AFTER[event]}: {alert.subject}"


def summary_of(alerts: Sequence[Alert], name: str, at: float) -> dict[str, Any]:
    """Return the body of one notice for alerts that are too many for a notice each."""
    counts = Counter(alert.pattern for alert in alerts)
    content = ", ".join(f"{count} {pattern}" for pattern, count in sorted(counts.items()))
    text = f"and {len(alerts)} more alerts began to fire or were resolved: {content}"
    return {"id": name, "event": "summary", "at": at, "text": text, "counts": dict(sorted(counts.items()))}


def sample_message(channel: str, by: str, name: str, at: float) -> dict[str, Any]:
    """Return the body of the notice that is sent when a person tests a channel."""
    return {"id": name, "event": "test", "at": at, "text": f"a test of channel {channel} by {by}: nothing is wrong"}


class Message(NamedTuple):
    """A program's message through the channels of alerts: nothing fires, and nothing has to be acknowledged."""

    text: str
    """One line."""
    lines: tuple[str, ...] = ()
    """More, for channels that have room; each is shown as one line."""
    data: Mapping[str, Any] | None = None
    """The same for programs."""

    def checked(self) -> Message:
        """Return it as it is stored.

        Raises:
            ValueError: there is no text, or it is too long.
        """
        content = self._replace(text=storable(self.text.strip()), lines=tuple(map(storable, self.lines)))
        if not content.text:
            raise ValueError("the message has no text: give one line")
        if len(json.dumps(content.body("", 0.0))) > MESSAGE_BYTES_MAX:
            raise ValueError(f"the message has more than {MESSAGE_BYTES_MAX:,} bytes as JSON: tell less, with a link")
        return content

    def body(self, name: str, at: float) -> dict[str, Any]:
        """Return the body that receivers get."""
        content = {"id": name, "event": MESSAGE, "at": at, "text": self.text, "lines": list(self.lines)}
        return content if self.data is None else content | {"data": dict(self.data)}


MESSAGE = "message"
MESSAGE_BYTES_MAX = 65_536


def delivery_id(*parts: object) -> str:
    """Return a name for a notice that no other has, whatever database it is in."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]


def backoff_seconds(attempts: int) -> float:
    """Return the seconds to wait after this number of failed attempts."""
    return min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS * 2.0 ** min(attempts - 1, 20))
