"""Everything at a glance."""

from __future__ import annotations

from fastapi import APIRouter

from ramet.web.answers import overview
from ramet.web.answers.overview import OverviewAnswer
from ramet.web.api.parts import Asked

router = APIRouter(tags=["overview"])


@router.get("/overview")
async def read_overview(client: Asked) -> OverviewAnswer:
    """What runs, what waits and why, what ended in the last hour."""
    return await overview.overview(client)
