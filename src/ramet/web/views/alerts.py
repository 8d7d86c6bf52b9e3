"""Alerts: what the monitor found."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path

from ramet import Alert, AlertNotice, Client
from ramet.web.answer import Answer, AsObject, json_value, pretty
from ramet.web.page import BadInput, ClientDep, Cursor, Limit, NotFound, OptionalText, Page, Visit, existing

NOTICES_MAX = 50
CHANNELS_MAX = 100
NUMBER_DIGITS_MAX = 18
STATES = ("firing", "resolved")
"""States of alerts, in the order in which they are listed."""


AlertAnswer = Annotated[Alert, AsObject(without={"link", "notified_state"})]


class AlertList(Answer):
    """Alerts: firing ones, then resolved ones, the newest of each first."""

    alerts: list[AlertAnswer]
    next_after: str | None
    """Given as ``after`` it continues behind this page; null at the end."""


NoticeAnswer = Annotated[
    AlertNotice,
    AsObject(
        "NoticeAnswer",
        without={"alert_id", "tracking_id", "delivery_id", "body", "claimed_until", "given_up_at"},
        types={"state": str},
    ),
]


class OneAlertAnswer(Answer):
    """An alert and its notifications."""

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
    """Return a page of alerts: firing ones, then resolved ones, the newest of each first.

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
    return AlertList(alerts=page, next_after=following)


def _position(after: str) -> tuple[str, int]:
    state, _, number = after.partition(" ")
    if state not in STATES or not (number.isascii() and number.isdigit()) or len(number) > NUMBER_DIGITS_MAX:
        raise BadInput(f"{after[:80]!r} is not where a page of alerts ended")
    return state, int(number)


async def alert(client: Client, number: int) -> AlertAnswer:
    """Return one alert.

    Raises:
        NotFound: there is none.
    """
    return existing(await client.alert(number), f"no alert {number}: it was pruned, or never was")


router = APIRouter(tags=["alerts"])


@router.get("/alerts")
async def list_alerts(
    client: ClientDep,
    *,
    state: Literal["firing", "resolved"] | None = None,
    tracking_id: OptionalText = None,
    limit: Limit = 50,
    after: Cursor = None,
) -> AlertList:
    """List alerts: firing ones, then resolved ones, the newest of each first."""
    return await load_alerts(client, state=state, tracking_id=tracking_id, limit=limit, after=after)


@router.get("/alerts/{number}")
async def one_alert(client: ClientDep, number: Annotated[int, Path(ge=0, le=2**62)]) -> OneAlertAnswer:
    """Return one alert and its notifications."""
    found = await alert(client, number)
    return OneAlertAnswer(alert=found, notices=list(await client.alert_notices(number, limit=NOTICES_MAX)))


async def all_alerts(visit: Visit) -> dict[str, Any]:
    """Show all alerts, firing ones first."""
    tracking_id, state = visit.text("tracking_id"), visit.word("state", (*STATES, "all"))
    found = await load_alerts(
        visit.client,
        state=None if state == "all" else state,
        tracking_id=tracking_id,
        limit=visit.number("limit", 50, 1, 200),
        after=visit.text("after", 50),
    )
    channels = (await visit.client.alert_channels())[:CHANNELS_MAX]
    return {"found": found, "channels": channels, "tracking_id": tracking_id, "state_asked": state or "all",
            "states": ("all", *STATES), "limit_asked": visit.text("limit")}  # fmt: skip


async def alert_page(visit: Visit) -> dict[str, Any]:
    """Show an alert with its evidence and notifications."""
    number = visit.path["number"]
    if not (number.isascii() and number.isdigit() and len(number) <= NUMBER_DIGITS_MAX):
        raise NotFound(f"no alert {number[:100]!r}: the page of alerts lists them")
    found = await alert(visit.client, int(number))
    notices = await visit.client.alert_notices(found.id, limit=NOTICES_MAX)
    worst = json_value(found.evidence["worst"]) if isinstance(found.evidence, dict) else []
    return {"alert": found, "worst": worst, "evidence": pretty(found.evidence), "notices": notices}


PAGES = (
    Page("/alerts", "alerts", "alerts.html", all_alerts),
    Page("/alerts/{number}", "alert", "alert.html", alert_page),
)
