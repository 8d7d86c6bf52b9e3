"""Who has a kind and key, who was refused it and why."""

from __future__ import annotations

from fastapi import APIRouter

from ramet.web.answers import explain
from ramet.web.answers.explain import KeyAnswer
from ramet.web.api.parts import Asked, OptionalText, Text

router = APIRouter(tags=["explain"])


@router.get("/explain")
async def explain_key(client: Asked, *, kind: Text, key: Text, tracking_id: OptionalText = None) -> KeyAnswer:
    """Who has a kind and key, in any spelling of the key; without a lineage the newest are looked at."""
    return explain.key_answer(await explain.known(client, kind, key, tracking_id))
