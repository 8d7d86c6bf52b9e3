"""Queues, kinds, resources and workers."""

from __future__ import annotations

from fastapi import APIRouter

from ramet.web.answers import flow
from ramet.web.answers import workers as answers
from ramet.web.answers.flow import FlowAnswer, ResourceAnswer
from ramet.web.answers.workers import WorkersAnswer
from ramet.web.api.parts import Asked, Limit, OptionalText

router = APIRouter(tags=["flow"])


@router.get("/queues")
async def queues(client: Asked) -> FlowAnswer:
    """Queues with what waits in them and who serves them; kinds that are limited or of which claims are held."""
    return await flow.flow(client)


@router.get("/resources")
async def resources(client: Asked, *, name: OptionalText = None, limit: Limit = 50) -> list[ResourceAnswer]:
    """Where resources stand and what waits for them, those with an open breaker first."""
    return await flow.resources(client, name, limit=limit)


@router.get("/workers")
async def workers(client: Asked) -> WorkersAnswer:
    """Who works, on what, and what nobody serves."""
    return await answers.workers(client)
