"""Search: straight to the page of what a text names, or a list of what it may name."""

from __future__ import annotations

from typing import Any

from ramet.web.answers import search as answers
from ramet.web.page import Elsewhere, Look, Page


async def search(look: Look) -> dict[str, Any]:
    """Lead to the one thing that has this id or key, or list what has it."""
    text = (look.text("q") or "").strip()
    if not text:
        return {"text": "", "found": None}
    found = await answers.search(look.client, text)
    if found.task is not None:
        raise Elsewhere("task", task_id=found.task.id)
    if found.lineage is not None:
        raise Elsewhere("lineage", tracking_id=found.lineage.tracking_id)
    if len(found.tasks) == 1 and not found.lineages:
        raise Elsewhere("task", task_id=found.tasks[0].id)
    if len(found.lineages) == 1 and not found.tasks:
        raise Elsewhere("lineage", tracking_id=found.lineages[0].tracking_id)
    return {"text": text, "found": found}


PAGES = (Page("/search", "search", "search.html", search, live=False),)
