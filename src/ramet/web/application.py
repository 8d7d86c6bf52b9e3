"""The dashboard as one ASGI application: pages, event streams, the REST API below ``/api/v1``, and extensions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import entry_points
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from ramet import Client, StoreError, __version__
from ramet.web import products as products_of
from ramet.web.access import COOKIE, Access
from ramet.web.errors import ERROR, PROBLEMS, add_handlers, led_on, refused, refused_by_api, unavailable
from ramet.web.guard import Guard
from ramet.web.page import BadInput, Dashboard, NotFound, Page, RedirectTo, dashboard_of, visit_of
from ramet.web.templating import environment, render_in_frame, render_live
from ramet.web.tokens import required_scope
from ramet.web.views import PAGES, ROUTERS
from ramet.web.views.action import action_routes
from ramet.web.views.bulk import bulk_routes

VERSION = "/v1"


def make_api(extra: Sequence[APIRouter] = ()) -> FastAPI:
    """Return the API as an application of its own, with further routers if given; the guard comes before it."""
    api = FastAPI(
        title="ramet", openapi_url="/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False,
        strict_content_type=True,
    )  # fmt: skip
    for router in [*ROUTERS, *extra]:
        api.include_router(router, prefix=VERSION, responses=PROBLEMS)
    add_handlers(api)
    api.openapi = lambda: document_of(api)  # type: ignore[method-assign]  # so FastAPI lets one write the document
    return api


ABOUT = """What the pages of the dashboard show, for machines, and work for programs of any language. JSON only.

Give a token as `Authorization: Bearer TOKEN`; `X-Ramet-By: NAME` says under which name acts are recorded. Each route
names the scope that its token needs (`x-scope`): `submit`, `work`, `read`, or `admin`, which includes the others.
Times are Unix seconds, durations seconds, money whole nano-dollars. A list says with which parameter its next page is
asked for. Everything that is wrong is answered as `{"error": {"code", "message"}}`."""

Document = dict[str, Any]


def document_of(api: FastAPI) -> Document:
    """Return the OpenAPI document; built once."""
    if api.openapi_schema is None:
        made = get_openapi(title="ramet", version=__version__, description=ABOUT, routes=api.routes)
        made["servers"] = [{"url": "/api"}]
        made.setdefault("components", {})["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
        }
        made["security"] = [{"bearer": []}, {"session": []}]
        for path, methods in made["paths"].items():
            for method, operation in methods.items():
                operation["x-scope"] = required_scope(method.upper(), f"/api{path}").value
        api.openapi_schema = made
    return api.openapi_schema


GROUP = "ramet.dashboard"
"""Entry points that add routes; see :func:`extension_routes`."""

Endpoint = Callable[[Request], Awaitable[Response]]


def make_application(
    client: Client, access: Access, *, extensions: bool = True, routers: Sequence[APIRouter] = (), pages: bool = True
) -> Starlette:
    """Return the dashboard over an open client, which is not closed with it.

    Args:
        client: of the database that is shown; shared by all visitors.
        access: who may come in.
        extensions: whether installed packages add routes (entry points of ``ramet.dashboard``).
        routers: what the API has besides its own.
        pages: False serves the API, and what extensions add, without pages and logins.
    """
    products = products_of.installed() if pages and extensions else ()
    templates = environment(products_of.loader(products))
    api = make_api(routers)
    made = Starlette(
        routes=[
            *(
                [*page_routes([*PAGES, *products_of.pages_of(products)]), *action_routes(), *bulk_routes()]
                if pages
                else ()
            ),
            *products_of.forms_of(products),
            *mounts(api),
            *(extension_routes() if extensions else ()),
        ],
        middleware=[Middleware(Guard, access=access, templates=templates, pages=pages)],
        exception_handlers={
            BadInput: refused,
            NotFound: refused,
            404: refused if pages else refused_by_api,
            405: refused if pages else refused_by_api,
            StoreError: unavailable,
            RedirectTo: led_on,
        },
    )
    made.state.dashboard = api.state.dashboard = Dashboard(client, access, templates)
    made.state.products = products_of.UsedProducts(products)
    made.state.api = api
    return made


def page_routes(pages: Sequence[Page]) -> list[BaseRoute]:
    """Return a route for each page, and one for its event stream."""
    routes: list[BaseRoute] = []
    for page in pages:
        routes.append(Route(page.path, _shown(page), name=page.name, methods=["GET"]))
        if page.live:
            routes.append(Route(f"/live{page.path}", _followed(page), name=f"live:{page.name}", methods=["GET"]))
    return routes


def _shown(page: Page) -> Endpoint:
    async def show(request: Request) -> Response:
        visit = visit_of(request)
        await request.app.state.products.look(visit.client)
        return await render_in_frame(visit, page, await page.view(visit))

    return show


def _followed(page: Page) -> Endpoint:
    async def follow(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")  # A stream without a body would have no end.
        visit = visit_of(request)
        # Before the stream begins: what is wrong with the address is said as an ordinary answer.
        first = [await page.view(visit)]

        async def produce() -> str:
            return render_live(visit, page, first.pop() if first else await page.view(visit))

        address = f"{sorted(visit.visitor.scopes)} {request.url.path}?{request.url.query}"
        stream = dashboard_of(request).feeds.follow(address, produce)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return follow


def mounts(api: FastAPI) -> list[BaseRoute]:
    """Return the routes of the API and of the assets."""
    return [
        Mount("/api", api, name="api"),
        Mount("/static", StaticFiles(packages=[("ramet.web", "static")]), name="static"),
    ]


def extension_routes() -> list[BaseRoute]:
    """Return the routes of installed packages: each entry point names a function of (request -> its client)."""
    found: list[BaseRoute] = []
    for entry_point in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found += entry_point.load()(lambda request: dashboard_of(request).client)
    return found


__all__ = ["ERROR", "make_application"]
