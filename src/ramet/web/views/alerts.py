"""Alerts: what the monitor found."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import JsonValue

from ramet import Alert, Client
from ramet.web.answers.shared import Answer, json_value, pretty
from ramet.web.page import Asked, BadInput, Cursor, Limit, Look, NotFound, OptionalText, Page

NOTICES_MAX = 50
CHANNELS_MAX = 100
NUMBER_DIGITS_MAX = 18
STATES = ("firing", "resolved")
"""In the order in which they are listed."""


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


class AlertList(Answer):
    """Alerts: those that fire, then those that are over, of each the newest first."""

    alerts: list[AlertAnswer]
    next_after: str | None
    """Given as ``after`` it continues behind this page; null at the end."""


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


async def load_alerts(
    client: Client,
    *,
    state: str | None = None,
    tracking_id: str | None = None,
    limit: int = 50,
    after: str | None = None,
) -> AlertList:
    """A page of alerts: those that fire, then those that are over, of each the newest first.

    Raises:
        BadInput: ``after`` is not of an earlier page.
    """
    begin, before = STATES[0] if state is None else state, None
    if after is not None:
        begin, before = _position(after)
    found: list[Alert] = []
    for one in STATES if state is None else (state,):
        if STATES.index(one) >= STATES.index(begin) and len(found) <= limit:
            found += await client.alerts(
                firing=one == "firing", resolved=one == "resolved", tracking_id=tracking_id,
                limit=limit + 1 - len(found), before=before if one == begin else None,
            )  # fmt: skip
    page = found[:limit]
    following = f"{page[-1].state} {page[-1].id}" if len(found) > limit else None
    return AlertList(alerts=[_alert(one) for one in page], next_after=following)


def _position(after: str) -> tuple[str, int]:
    state, _, number = after.partition(" ")
    if state not in STATES or not (number.isascii() and number.isdigit()) or len(number) > NUMBER_DIGITS_MAX:
        raise BadInput(f"{after[:80]!r} is not where a page of alerts ended")
    return state, int(number)


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


router = APIRouter(tags=["alerts"])


@router.get("/alerts")
async def list_alerts(
    client: Asked,
    *,
    state: Literal["firing", "resolved"] | None = None,
    tracking_id: OptionalText = None,
    limit: Limit = 50,
    after: Cursor = None,
) -> AlertList:
    """Alerts: those that fire, then those that are over, of each the newest first."""
    return await load_alerts(client, state=state, tracking_id=tracking_id, limit=limit, after=after)


@router.get("/alerts/{number}")
async def one_alert(client: Asked, number: Annotated[int, Path(ge=0, le=2**62)]) -> OneAlertAnswer:
    """One alert, and who was told of it."""
    found = await alert(client, number)
    return OneAlertAnswer(alert=found, notices=await notices(client, number))


async def all_alerts(look: Look) -> dict[str, Any]:
    """Those that fire first."""
    tracking_id, state = look.text("tracking_id"), look.word("state", (*STATES, "all"))
    found = await load_alerts(
        look.client,
        state=None if state == "all" else state,
        tracking_id=tracking_id,
        limit=look.number("limit", 50, 1, 200),
        after=look.text("after", 50),
    )
    ways = await channels(look.client)
    return {"found": found, "channels": ways, "tracking_id": tracking_id, "state_asked": state or "all",
            "states": ("all", *STATES), "limit_asked": look.text("limit")}  # fmt: skip


async def alert_page(look: Look) -> dict[str, Any]:
    """What was found, and on what grounds."""
    number = look.path["number"]
    if not (number.isascii() and number.isdigit() and len(number) <= NUMBER_DIGITS_MAX):
        raise NotFound(f"no alert {number[:100]!r}: the page of alerts lists them")
    found = await alert(look.client, int(number))
    told = await notices(look.client, found.id)
    return {"alert": found, "evidence": pretty(found.evidence), "notices": told}


PAGES = (
    Page("/alerts", "alerts", "alerts.html", all_alerts),
    Page("/alerts/{number}", "alert", "alert.html", alert_page),
)
