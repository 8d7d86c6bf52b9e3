"""Alerts: what the monitor found."""

from __future__ import annotations

from pydantic import JsonValue

from ramet import Alert, Client
from ramet.web.answers.shared import Answer, json_value
from ramet.web.page import NotFound

NOTICES_MAX = 50
CHANNELS_MAX = 100


class AlertAnswer(Answer):
    """One finding."""

    id: int
    pattern: str
    tracking_id: str | None
    """None where it is about no lineage."""
    subject: str
    """The worst of it, in words."""
    evidence: JsonValue
    """``limit``, and ``worst``: at most 20 entries, the worst first."""
    severity: str
    """``warning`` or ``critical``."""
    first_at: float
    last_at: float
    resolved_at: float | None
    state: str
    """``firing`` or ``resolved``."""
    count: int
    """Looks that found something new."""
    notified_at: float | None
    """When people were last told of it."""
    acknowledged_at: float | None
    """When a person took notice; it is not repeated from then on."""
    acknowledged_by: str | None

    @property
    def worst(self) -> list[dict[str, JsonValue]]:
        """The entries of its evidence."""
        found = self.evidence.get("worst") if isinstance(self.evidence, dict) else None
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


class NoticeAnswer(Answer):
    """What people were told through one channel, or are to be told."""

    id: int
    event: str
    """``fired``, ``repeated``, ``resolved``, ``summary`` or ``test``."""
    channel: str
    state: str
    """``waiting``, ``delivered`` or ``given_up``."""
    created_at: float
    attempts: int
    next_at: float | None
    delivered_at: float | None
    error: str | None
    """Why the last attempt failed, without secrets."""


class ChannelAnswer(Answer):
    """A way to people."""

    name: str
    target: str
    """Where it leads to, without secrets."""
    seen_at: float


class OneAlertAnswer(Answer):
    """An alert, and who was told."""

    alert: AlertAnswer
    notices: list[NoticeAnswer]


async def alerts(
    client: Client, *, firing: bool = False, tracking_id: str | None = None, limit: int = 100
) -> list[AlertAnswer]:
    """Alerts, those that fire first, then the newest first."""
    found = await client.alerts(firing=True, tracking_id=tracking_id, limit=limit)
    if not firing:
        newest = await client.alerts(firing=False, tracking_id=tracking_id, limit=limit)
        known = {one.id for one in found}
        found = (found + [one for one in newest if one.id not in known])[:limit]
    return [_alert(one) for one in found]


async def alert(client: Client, number: int) -> AlertAnswer:
    """One alert.

    Raises:
        NotFound: there is none.
    """
    found = await client.alert(number)
    if found is None:
        raise NotFound(f"no alert {number}: it was pruned, or never was")
    return _alert(found)


async def notices(client: Client, number: int) -> list[NoticeAnswer]:
    """What people were told of an alert, or are to be told; newest first."""
    return NoticeAnswer.each(await client.alert_notices(number, limit=NOTICES_MAX))


async def channels(client: Client) -> list[ChannelAnswer]:
    """Ways to people that workers had within the last week."""
    return ChannelAnswer.each((await client.alert_channels())[:CHANNELS_MAX])


def _alert(one: Alert) -> AlertAnswer:
    return AlertAnswer(
        id=one.id, pattern=one.pattern, tracking_id=one.tracking_id, subject=one.subject,
        evidence=json_value(one.evidence), severity=one.severity, first_at=one.first_at, last_at=one.last_at,
        resolved_at=one.resolved_at, state=one.state, count=one.count,
        notified_at=one.notified_at, acknowledged_at=one.acknowledged_at, acknowledged_by=one.acknowledged_by,
    )  # fmt: skip
