"""Paths."""

from __future__ import annotations

from fastapi import APIRouter

from ramet.web.answers import paths
from ramet.web.answers.paths import PathsAnswer
from ramet.web.api.parts import Asked, Limit, OptionalText

router = APIRouter(tags=["paths"])


@router.get("/paths")
async def who_is_on_a_path(
    client: Asked,
    *,
    path: OptionalText = None,
    queue: OptionalText = None,
    tracking_id: OptionalText = None,
    limit: Limit = 50,
) -> PathsAnswer:
    """Tasks at, below or above a path (a JSON list, or elements with ``/`` between them); without one, holders."""
    wanted = paths.path_from_text(path)
    return await paths.paths(client, wanted, queue=queue, tracking_id=tracking_id, limit=limit)
