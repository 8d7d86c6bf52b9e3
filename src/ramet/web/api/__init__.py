"""The REST API: JSON only, thin routers over the answers, one OpenAPI document.

Every module in here that has a `router` is part of it, below ``/api/v1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules

from fastapi import APIRouter, FastAPI

from ramet.web.api.document import document_of
from ramet.web.api.errors import PROBLEMS, add_handlers

VERSION = "/v1"


def make_api(extra: Sequence[APIRouter] = ()) -> FastAPI:
    """The API as an application of its own, with routers of others if need be; the guard stands before it."""
    api = FastAPI(
        title="ramet", openapi_url="/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False,
        strict_content_type=True,
    )  # fmt: skip
    for router in [*_routers(), *extra]:
        api.include_router(router, prefix=VERSION, responses=PROBLEMS)
    add_handlers(api)
    api.openapi = lambda: document_of(api)  # type: ignore[method-assign]  # so FastAPI lets one write the document
    return api


def _routers() -> Iterator[APIRouter]:
    for found in sorted(iter_modules(__path__), key=lambda module: module.name):
        router = getattr(import_module(f"{__name__}.{found.name}"), "router", None)
        if isinstance(router, APIRouter):
            yield router
