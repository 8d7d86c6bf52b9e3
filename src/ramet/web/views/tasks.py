"""Tasks: the list, one task, and the parts of a tree that are opened."""

from __future__ import annotations

from typing import Any

from ramet import TaskState
from ramet.commands.task_history import story
from ramet.web.answers import costs, explain, tasks, tree
from ramet.web.answers.shared import pretty, said
from ramet.web.answers.tasks import Asked
from ramet.web.page import BadInput, Look, NotFound, Page

STATES = tuple(state.value for state in TaskState)
DEPTH_MAX = 1_000
NUMBER_MAX = 2**62


def asked_of(look: Look) -> Asked:
    """Which tasks the address asks for."""
    return Asked(
        look.text("tracking_id"),
        look.word("state", STATES),
        look.text("kind"),
        look.text("key"),
        look.number("min_depth", 0, 0, DEPTH_MAX),
        look.number("limit", 50, 1, 200),
        look.number("after", 0, 0, NUMBER_MAX),
    )


async def task_list(look: Look) -> dict[str, Any]:
    """Tasks by state, kind, key, depth and lineage, the newest first."""
    asked = asked_of(look)._replace(newest=True)
    return {"page_of_tasks": await tasks.tasks(look.client, asked), "asked": asked, "states": STATES}


async def task(look: Look) -> dict[str, Any]:
    """One task: why it is where it is, its story, what it carries, what grew from it."""
    found = await explain.explanation(look.client, look.id("task_id"))
    one, kept = found.history.task, await look.client.checkpoint(found.history.task.id)
    return {
        "found": found,
        "why": said(found.why),
        "refused": said(found.refused[:10]),
        "story": story(found.history, most=tasks.ATTEMPTS_MAX),
        "traceback": found.history.traceback,
        "payload": pretty(one.payload),
        "result": None if one.result is None else pretty(one.result),
        "gathered": None if kept is None or kept.pipeline_state is None else pretty(kept.pipeline_state),
        "progress": None if kept is None or kept.progress is None else pretty(kept.progress),
        "level": await tree.level(look.client, parent_id=one.id),
        "money": await costs.calls(look.client, one.id),
        "here": look.address,
    }


def _whose(look: Look) -> dict[str, str | None]:
    of = {name: look.text(name) for name in ("tracking_id", "parent_id")}
    if (of["tracking_id"] is None) == (of["parent_id"] is None):
        raise BadInput("give a tracking_id for the roots of a lineage, or a parent_id for the children of a task")
    return of


async def branches(look: Look) -> dict[str, Any]:
    """The roots of a lineage, or the children of a task, by kind and state."""
    of = _whose(look)
    level = await tree.level(look.client, **of)
    if not level.branches and await _is_nobody(look, of):
        raise NotFound("there is no such task or lineage: it was never there, or it was pruned")
    return {"level": level}


async def _is_nobody(look: Look, of: dict[str, str | None]) -> bool:
    if of["tracking_id"] is not None:
        return await look.client.lineage(of["tracking_id"]) is None
    return await look.client.get(of["parent_id"] or "") is None


async def twigs(look: Look) -> dict[str, Any]:
    """A page of the tasks of one branch."""
    of, kind, state = _whose(look), look.text("kind"), look.word("state", STATES)
    if kind is None or state is None:
        raise BadInput("give the kind and the state of the branch")
    after, limit = look.number("after", 0, 0, NUMBER_MAX), look.number("limit", 50, 1, 200)
    found = await look.client.twigs(**of, kind=kind, state=state, limit=limit, after=after)
    return {"found": found, "asked": {**of, "kind": kind, "state": state, "after": look.text("after")}}


PAGES = (
    Page("/tasks", "tasks", "tasks.html", task_list),
    Page("/tasks/{task_id:path}", "task", "task.html", task),
    Page("/branches", "branches", "branches.html", branches, live=False),
    Page("/twigs", "twigs", "twigs.html", twigs, live=False),
    Page("/parts/branches", "branches-part", "parts/branches.html", branches, live=False),
    Page("/parts/twigs", "twigs-part", "parts/twigs.html", twigs, live=False),
)
