"""Alerts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from ramet.web.answers import alerts
from ramet.web.answers.alerts import AlertAnswer, OneAlertAnswer
from ramet.web.api.parts import Asked, Limit, OptionalText

router = APIRouter(tags=["alerts"])


@router.get("/alerts")
async def list_alerts(
    client: Asked, *, firing: bool = False, tracking_id: OptionalText = None, limit: Limit = 50
) -> list[AlertAnswer]:
    """Alerts, those that fire first, then the newest first."""
    return await alerts.alerts(client, firing=firing, tracking_id=tracking_id, limit=limit)


@router.get("/alerts/{number}")
async def one_alert(client: Asked, number: Annotated[int, Path(ge=0, le=2**62)]) -> OneAlertAnswer:
    """One alert, and who was told of it."""
    found = await alerts.alert(client, number)
    return OneAlertAnswer(alert=found, notices=await alerts.notices(client, number))
