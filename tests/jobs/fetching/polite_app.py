"""An app whose tasks ask for one address each; for a child process to import as well."""

from __future__ import annotations

from typing import Any

from ramet import App, Context
from ramet.jobs.app import hosts
from ramet.jobs.settings import FetchSettings

SETTINGS = FetchSettings()


def asking_app(settings: FetchSettings = SETTINGS, **host: Any) -> App:
    """An app whose task asks for one address: ``{"url": …, "robots": …}``."""
    app = App()
    hosts.declare(app)
    if host:
        app.resource("jobs:host:*", breaker_failures=0, **host)

    @app.task("ask", key=lambda payload: payload["name"])
    async def asks(ctx: Context, payload: dict[str, Any]) -> str:
        answer = await hosts.ask(ctx, payload["url"], settings, bytes_max=10_000, robots=payload.get("robots", False))
        return answer.url

    return app


app = asking_app()
