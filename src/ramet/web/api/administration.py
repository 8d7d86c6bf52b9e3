"""Schedules, settings, the stop list and the record of what people did."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from ramet.web.answers import administration
from ramet.web.answers.administration import (
    ACT_NUMBER_MAX,
    ActsAnswer,
    OneScheduleAnswer,
    ScheduleAnswer,
    SettingAnswer,
    StopEntryAnswer,
)
from ramet.web.api.parts import Asked, Limit, OptionalText

router = APIRouter(tags=["kept"])


@router.get("/schedules")
async def schedules(client: Asked) -> list[ScheduleAnswer]:
    """All schedules, by name."""
    return await administration.schedules(client)


@router.get("/schedules/{name:path}")
async def schedule(client: Asked, name: str, *, limit: Limit = 50) -> OneScheduleAnswer:
    """One schedule and what became of its newest slots."""
    return await administration.schedule(client, name, limit=limit)


@router.get("/settings")
async def settings(client: Asked) -> list[SettingAnswer]:
    """Every setting that there is, with what holds now."""
    return await administration.settings(client)


@router.get("/stop-list")
async def stop_list(client: Asked) -> list[StopEntryAnswer]:
    """Hosts, domains and patterns that nothing is created for."""
    return await administration.stop_list(client)


@router.get("/acts")
async def acts(
    client: Asked,
    *,
    tracking_id: OptionalText = None,
    before: Annotated[int | None, Query(ge=0, le=ACT_NUMBER_MAX)] = None,
    limit: Limit = 50,
) -> ActsAnswer:
    """What people did, newest first."""
    return await administration.acts(client, tracking_id, limit=limit, before=before)
