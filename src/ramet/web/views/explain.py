"""Explain: for a task id the way to its page; for a kind and key who has it and who was refused it."""

from __future__ import annotations

from typing import Any

from ramet.web.answers import explain
from ramet.web.answers.shared import said
from ramet.web.page import Look, NotFound, Page


async def ask(look: Look) -> dict[str, Any]:
    """The form, and what is known of what was asked for."""
    task_id, kind, key = look.text("task_id"), look.text("kind"), look.text("key")
    context: dict[str, Any] = {"asked_kind": kind, "asked_key": key, "asked_lineage": look.text("tracking_id")}
    context |= {"known": None, "why": (), "found": None, "nothing": None}
    try:
        if task_id is not None:
            found = await explain.explanation(look.client, task_id)
            context |= {"found": found, "why": said(found.why)}
        elif kind is not None and key is not None:
            known = await explain.known(look.client, kind, key, look.text("tracking_id"))
            context |= {"known": known, "why": said(known.why)}
    except NotFound as nothing:
        context["nothing"] = str(nothing)
    return context


PAGES = (Page("/explain", "explain", "explain.html", ask, live=False),)
