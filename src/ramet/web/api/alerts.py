"""Alerts."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path

from ramet.web.answers import alerts
from ramet.web.answers.alerts import AlertList, OneAlertAnswer
from ramet.web.api.parts import Asked, Cursor, Limit, OptionalText

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
    return await alerts.alerts(client, state=state, tracking_id=tracking_id, limit=limit, after=after)


@router.get("/alerts/{number}")
async def one_alert(client: Asked, number: Annotated[int, Path(ge=0, le=2**62)]) -> OneAlertAnswer:
    """One alert, and who was told of it."""
    found = await alerts.alert(client, number)
    return OneAlertAnswer(alert=found, notices=await alerts.notices(client, number))
