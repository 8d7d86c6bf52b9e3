"""Alerts: those that fire, those that are over, and one with its evidence."""

from __future__ import annotations

from typing import Any

from ramet.web.answers import alerts
from ramet.web.answers.shared import pretty
from ramet.web.page import Look, NotFound, Page


async def all_alerts(look: Look) -> dict[str, Any]:
    """Those that fire first."""
    tracking_id, state = look.text("tracking_id"), look.word("state", (*alerts.STATES, "all"))
    found = await alerts.alerts(
        look.client,
        state=None if state == "all" else state,
        tracking_id=tracking_id,
        limit=look.number("limit", 50, 1, 200),
        after=look.text("after", 50),
    )
    ways = await alerts.channels(look.client)
    return {"found": found, "channels": ways, "tracking_id": tracking_id, "state_asked": state or "all",
            "states": ("all", *alerts.STATES), "limit_asked": look.text("limit")}  # fmt: skip


async def one_alert(look: Look) -> dict[str, Any]:
    """What was found, and on what grounds."""
    number = look.path["number"]
    if not (number.isascii() and number.isdigit() and len(number) <= alerts.NUMBER_DIGITS_MAX):
        raise NotFound(f"no alert {number[:100]!r}: the page of alerts lists them")
    found = await alerts.alert(look.client, int(number))
    told = await alerts.notices(look.client, found.id)
    return {"alert": found, "evidence": pretty(found.evidence), "notices": told}


PAGES = (
    Page("/alerts", "alerts", "alerts.html", all_alerts),
    Page("/alerts/{number}", "alert", "alert.html", one_alert),
)
