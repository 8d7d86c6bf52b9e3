"""The OpenAPI document: what the routers declare, and how one comes in."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ramet import __version__
from ramet.web.session import COOKIE

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
