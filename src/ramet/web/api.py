"""The REST API: JSON only, the routers of :mod:`ramet.web.views` below ``/api/v1``, one OpenAPI document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi

from ramet import __version__
from ramet.web.errors import PROBLEMS, add_handlers
from ramet.web.session import COOKIE
from ramet.web.views import ROUTERS

VERSION = "/v1"


def make_api(extra: Sequence[APIRouter] = ()) -> FastAPI:
    """The API as an application of its own, with routers of others if need be; the guard stands before it."""
    api = FastAPI(
        title="ramet", openapi_url="/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False,
        strict_content_type=True,
    )  # fmt: skip
    for router in [*ROUTERS, *extra]:
        api.include_router(router, prefix=VERSION, responses=PROBLEMS)
    add_handlers(api)
    api.openapi = lambda: document_of(api)  # type: ignore[method-assign]  # so FastAPI lets one write the document
    return api


ABOUT = """What the pages of the dashboard show, for machines. JSON only.

Give a token as `Authorization: Bearer TOKEN`; `X-Ramet-By: NAME` says under which name acts are recorded. With the
read token only GET is allowed. Times are Unix seconds, durations seconds. A list says with which parameter its next
page is asked for. Everything that is wrong is answered as `{"error": {"code", "message"}}`."""

Document = dict[str, Any]


def document_of(api: FastAPI) -> Document:
    """The document; made once."""
    if api.openapi_schema is None:
        made = get_openapi(title="ramet", version=__version__, description=ABOUT, routes=api.routes)
        made["servers"] = [{"url": "/api"}]
        made.setdefault("components", {})["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
        }
        made["security"] = [{"bearer": []}, {"session": []}]
        api.openapi_schema = made
    return api.openapi_schema
