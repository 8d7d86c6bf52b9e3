"""Search."""

from __future__ import annotations

from fastapi import APIRouter

from ramet.web.answers import search
from ramet.web.answers.search import SearchAnswer
from ramet.web.api.parts import Asked, Text

router = APIRouter(tags=["search"])


@router.get("/search")
async def find(client: Asked, *, q: Text) -> SearchAnswer:
    """What a text names: a task or lineage by its id, tasks by their key, lineages by the beginning of their name."""
    return await search.search(client, q)
