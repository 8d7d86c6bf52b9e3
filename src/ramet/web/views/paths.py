"""Paths: who holds one, who waits, and for whom."""

from __future__ import annotations

from typing import Any

from ramet.web.answers import paths
from ramet.web.page import Look, Page


async def on_paths(look: Look) -> dict[str, Any]:
    """Tasks at a path, or those that hold one."""
    asked = {name: look.text(name) for name in ("path", "queue", "tracking_id")}
    wanted = paths.path_from_text(asked["path"])
    found = await paths.paths(
        look.client, wanted, queue=asked["queue"], tracking_id=asked["tracking_id"],
        limit=look.number("limit", 50, 1, 200),
    )  # fmt: skip
    return {"found": found, "asked": asked}


PAGES = (Page("/paths", "paths", "paths.html", on_paths),)
