"""An app whose handlers fetch, and a server on loopback that all names lead to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from ramet import App, Client, Context
from ramet.engine.worker.loops import declare_limits
from ramet.fetch import FetchSettings, HostMap, Page, declare_fetching, fetch
from ramet.testing import Drained, FakeClock, drain, fresh_client
from tests.fetch.hostile_server import Hostile, Play, Request, answers

SETTINGS = FetchSettings(user_agent="acme-crawler/1 (crawler@acme.example)", turn_seconds_max=5)
SITE = "http://acme.example"


class Site:
    """Answers by host and path; all else is 404. Robots.txt is missing unless a test gives one."""

    def __init__(self, server: Hostile) -> None:
        self.server = server
        self.plays: dict[str, Play] = {}
        server.play = self._play

    def page(
        self, path: str, body: str | bytes, status: int = 200, *, host: str = "acme.example", **headers: Any
    ) -> None:
        """Answer with this."""
        self.plays[f"{host}{path}"] = answers(body, status, **{"Content_Type": "text/html", **headers})

    def behave(self, path: str, play: Play, *, host: str = "acme.example") -> None:
        """Answer like this."""
        self.plays[f"{host}{path}"] = play

    def paths(self, host: str = "acme.example") -> list[str]:
        """What was asked of a host, in order, without its robots.txt."""
        return [
            asked.target
            for asked in self.server.requests
            if asked.headers["host"] == host and asked.path != "/robots.txt"
        ]

    async def _play(self, request: Request, writer: Any) -> None:
        known = self.plays.get(f"{request.headers['host']}{request.target}")
        await (known or answers("no", 404))(request, writer)


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    """The server of a test."""
    async with Hostile() as server:
        yield Site(server)


def mapped(server: Hostile) -> HostMap:
    """All names lead to the server."""
    return HostMap.parse(f"*=127.0.0.1:{server.port}", "tests")


class Ran(NamedTuple):
    """What a crawl of a test came to."""

    client: Client
    drained: Drained
    pages: list[Page]


Read = Callable[[Context, Page], Awaitable[Any]]


def fetching_app(
    server: Hostile, pages: list[Page], read: Read | None = None, settings: FetchSettings = SETTINGS, **options: Any
) -> App:
    """An app whose kind ``page`` fetches its payload's ``url`` with its other fields; the pages come into the list."""
    app = App()
    declare_fetching(app, settings, **{"mapped": mapped(server), "requests_per_second": 1_000, "burst": 100, **options})

    @app.task("page", key=lambda payload: payload["url"])
    async def page(ctx: Context, payload: dict[str, Any]) -> Any:
        found = await fetch(ctx, **payload)
        pages.append(found)
        return None if read is None else await read(ctx, found)

    return app


@asynccontextmanager
async def crawl(
    web: Site, *payloads: Mapping[str, Any] | str, read: Read | None = None, advance: bool = True, **options: Any
) -> AsyncIterator[Ran]:
    """Fetch these, each in a task of one lineage, one after the other, to their end."""
    pages: list[Page] = []
    app = fetching_app(web.server, pages, read, **options)
    async with fresh_client(app, clock=FakeClock()) as client:
        await declare_limits(app, client.store)
        wanted = [{"url": payload} if isinstance(payload, str) else dict(payload) for payload in payloads]
        await client.submit_many([("page", payload) for payload in wanted], one_lineage=True)
        drained = await drain(app, client, advance=advance)
        yield Ran(client, drained, pages)
