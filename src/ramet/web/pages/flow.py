"""Queues and kinds, resources with their breakers, workers."""

from __future__ import annotations

from typing import Any

from ramet.web.answers import flow
from ramet.web.page import Look, Page


async def queues(look: Look) -> dict[str, Any]:
    """Queues and kinds with their limits, and what is held of them."""
    return {"found": await flow.flow(look.client)}


async def resources(look: Look) -> dict[str, Any]:
    """Where resources stand, those with an open breaker first."""
    name = look.text("name")
    return {
        "name": name,
        "resources": await flow.resources(look.client, name, limit=look.number("limit", 100, 1, 200)),
        "policies": (await look.client.policies())[: flow.QUEUES_MAX],
    }


async def workers(look: Look) -> dict[str, Any]:
    """Who works, and what nobody serves."""
    return {"found": await flow.workers(look.client)}


PAGES = (
    Page("/queues", "queues", "queues.html", queues),
    Page("/resources", "resources", "resources.html", resources),
    Page("/workers", "workers", "workers.html", workers),
)
