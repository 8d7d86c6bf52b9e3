"""Alerts: those that fire, those that are over, and one with its evidence."""

from __future__ import annotations

from typing import Any

from ramet.web.answers import alerts
from ramet.web.answers.shared import pretty
from ramet.web.page import Look, NotFound, Page

NUMBER_DIGITS_MAX = 18


async def all_alerts(look: Look) -> dict[str, Any]:
    """Those that fire first."""
    tracking_id = look.text("tracking_id")
    state = look.word("state", ("firing", "all")) or "all"
    found = await alerts.alerts(
        look.client, firing=state == "firing", tracking_id=tracking_id, limit=look.number("limit", 100, 1, 200)
    )
    ways = await alerts.channels(look.client)
    return {"alerts": found, "channels": ways, "tracking_id": tracking_id, "state_asked": state}


async def one_alert(look: Look) -> dict[str, Any]:
    """What was found, and on what grounds."""
    number = look.path["number"]
    if not (number.isascii() and number.isdigit() and len(number) <= NUMBER_DIGITS_MAX):
        raise NotFound(f"no alert {number[:100]!r}: the page of alerts lists them")
    found = await alerts.alert(look.client, int(number))
    told = await alerts.notices(look.client, found.id)
    return {"alert": found, "evidence": pretty(found.evidence), "notices": told}


PAGES = (
    Page("/alerts", "alerts", "alerts.html", all_alerts),
    Page("/alerts/{number}", "alert", "alert.html", one_alert),
)
