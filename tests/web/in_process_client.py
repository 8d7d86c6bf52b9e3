"""Visiting a dashboard in this process: no port, no server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.types import ASGIApp

from ramet import Client
from ramet.web.access import Access
from ramet.web.application import make_application


@asynccontextmanager
async def visiting(
    client: Client, access: Access | None = None, application: ASGIApp | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """A browser-like client of a dashboard over this database; redirects are not followed."""
    application = application or make_application(client, access or Access(person="ada"))
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as visitor:
        yield visitor
