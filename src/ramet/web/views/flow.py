"""Queues and kinds, resources with their breakers, workers."""

from __future__ import annotations

from typing import Any

from ramet.web.answers import flow
from ramet.web.answers import workers as answers
from ramet.web.answers.overview import WAITS
from ramet.web.page import Look, Page

LIMITS = {
    "breaker": "its breaker is open",
    "disabled": "it is switched off",
    "paused": "it is paused",
    "rate": "its rate is used up",
    "concurrency": "all its claims are in use",
}
"""What lets no task of a resource through."""


async def queues(look: Look) -> dict[str, Any]:
    """Queues and kinds with their limits, what waits in them and what is held of them."""
    return {"found": await flow.flow(look.client), "waits": WAITS}


async def resources(look: Look) -> dict[str, Any]:
    """Where resources stand, those with an open breaker first."""
    name = look.text("name")
    return {
        "name": name,
        "resources": await flow.resources(look.client, name, limit=look.number("limit", 100, 1, 200)),
        "limits": LIMITS,
        "policies": (await look.client.policies())[: flow.QUEUES_MAX],
    }


async def workers(look: Look) -> dict[str, Any]:
    """Who works, on what, and what nobody serves."""
    return {"found": await answers.workers(look.client)}


PAGES = (
    Page("/queues", "queues", "queues.html", queues),
    Page("/resources", "resources", "resources.html", resources),
    Page("/workers", "workers", "workers.html", workers),
)
