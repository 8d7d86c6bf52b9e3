"""Tasks: lists, one, its explanation; branches and twigs of trees."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from ramet import TaskState
from ramet.commands.terminal import story
from ramet.web.answers import tasks
from ramet.web.answers.shared import pretty, said
from ramet.web.answers.tasks import BranchList, TaskAnswer, TaskList, TaskQuery, TwigList
from ramet.web.page import After, Asked, BadInput, Id, Limit, Look, NotFound, OptionalText, Page, Text
from ramet.web.views import costs, explain
from ramet.web.views.explain import ExplanationAnswer

router = APIRouter(tags=["tasks"])


@router.get("/tasks")
async def list_tasks(
    client: Asked,
    *,
    tracking_id: OptionalText = None,
    state: TaskState | None = None,
    kind: OptionalText = None,
    key: OptionalText = None,
    min_depth: Annotated[int, Query(ge=0, le=1_000)] = 0,
    limit: Limit = 50,
    after: After = 0,
) -> TaskList:
    """Tasks by lineage, state, kind, key and depth, the oldest first."""
    return await tasks.tasks(client, tasks.TaskQuery(tracking_id, state, kind, key, min_depth, limit, after))


@router.get("/task")
async def read_task(client: Asked, *, task_id: Text) -> TaskAnswer:
    """One task with payload, result, attempts, transitions and refused spawns; the newest 500 of each."""
    return await tasks.task(client, task_id)


@router.get("/tasks/{task_id:path}/explanation")
async def explain_task(client: Asked, task_id: Id) -> ExplanationAnswer:
    """Why a task is where it is: causes with a code, facts and what would help."""
    return explain.explanation_answer(await explain.explanation(client, task_id))


@router.get("/tasks/{task_id:path}")
async def read_task_at(client: Asked, task_id: Id) -> TaskAnswer:
    """The same as `/task?task_id=`."""
    return await tasks.task(client, task_id)


@router.get("/branches")
async def list_branches(
    client: Asked, *, tracking_id: OptionalText = None, parent_id: OptionalText = None
) -> BranchList:
    """The roots of a lineage, or the children of a task, by kind and state. Give one of the two."""
    _one_of(tracking_id, parent_id)
    return BranchList(branches=[*await client.branches(tracking_id=tracking_id, parent_id=parent_id)])


@router.get("/twigs")
async def list_twigs(
    client: Asked,
    *,
    tracking_id: OptionalText = None,
    parent_id: OptionalText = None,
    kind: Text,
    state: TaskState,
    limit: Limit = 50,
    after: After = 0,
) -> TwigList:
    """The tasks of one branch with how many children each has."""
    _one_of(tracking_id, parent_id)
    return await client.twigs(
        tracking_id=tracking_id, parent_id=parent_id, kind=kind, state=state, limit=limit, after=after
    )


def _one_of(tracking_id: str | None, parent_id: str | None) -> None:
    if (tracking_id is None) == (parent_id is None):
        raise BadInput("give a tracking_id for the roots of a lineage, or a parent_id for the children of a task")


STATES = tuple(state.value for state in TaskState)
DEPTH_MAX = 1_000
NUMBER_MAX = 2**62


def asked_of(look: Look) -> TaskQuery:
    """Which tasks the address asks for."""
    return TaskQuery(
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
        "level": await tasks.level(look.client, parent_id=one.id),
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
    level = await tasks.level(look.client, **of)
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
