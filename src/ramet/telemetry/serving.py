"""``/metrics`` of the dashboard, behind its guard (entry-point group ``ramet.dashboard``)."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ramet import Client
from ramet.telemetry.metrics import Exposition, Snapshots


def routes(client_of: Callable[[Request], Client]) -> list[BaseRoute]:
    """Return the one route. However many ask, the database is read once in five seconds."""
    by_client: WeakKeyDictionary[Client, tuple[Snapshots, Exposition]] = WeakKeyDictionary()

    async def metrics(request: Request) -> Response:
        client = client_of(request)
        if client not in by_client:
            by_client[client] = (Snapshots(client), Exposition())
        snapshots, exposition = by_client[client]
        content, content_type = exposition.text(await snapshots.get(), request.headers.get("accept", ""))
        return Response(content, headers={"Content-Type": content_type, "Cache-Control": "no-store"})

    return [Route("/metrics", metrics, name="metrics", methods=["GET"])]
