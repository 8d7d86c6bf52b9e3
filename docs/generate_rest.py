"""Writes docs/reference/rest.md: every route of the dashboard's API, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docs.generate_shared import REFERENCE, code, page_of, table, written_by
from ramet.web.application import make_api

PAGE = REFERENCE / "rest.md"


def routes() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path below the dashboard's address, and the operation."""
    document = make_api().openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), f"/api{path}", operation


def page() -> str:
    """The page."""
    rows = [
        (
            code(f"{method} {path}"),
            ", ".join(code(one["name"]) for one in operation.get("parameters", [])) or
            ("a body" if "requestBody" in operation else ""),
            operation.get("description") or operation.get("summary") or "",
        )
        for method, path, operation in routes()
    ]  # fmt: skip
    return page_of(
        "# REST API",
        written_by("generate_rest", "the routes of `ramet.web.application`"),
        "Served by `ramet dashboard` ([who may do what](../guides/dashboard.md#who-may-do-what)). What is sent and "
        "answered is JSON; types and bounds are in the document `/api/openapi.json`, and `/api/docs` is a page of "
        "it. A path with `{tracking_id}` or `{task_id}` takes it as one segment.",
        table(("route", "takes", "what"), rows),
    )
