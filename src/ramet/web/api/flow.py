"""Queues, kinds, resources and workers."""

from __future__ import annotations

from fastapi import APIRouter

from ramet.web.answers import flow
from ramet.web.answers.flow import FlowAnswer, ResourceAnswer, WorkersAnswer
from ramet.web.api.parts import Asked, Limit, OptionalText

router = APIRouter(tags=["flow"])


@router.get("/queues")
async def queues(client: Asked) -> FlowAnswer:
    """Queues and kinds that are limited, paused, or of which claims are held."""
    return await flow.flow(client)


@router.get("/resources")
async def resources(client: Asked, *, name: OptionalText = None, limit: Limit = 50) -> list[ResourceAnswer]:
    """Where resources stand, those with an open breaker first."""
    return await flow.resources(client, name, limit=limit)


@router.get("/workers")
async def workers(client: Asked) -> WorkersAnswer:
    """Who works, and what nobody serves."""
    return await flow.workers(client)
