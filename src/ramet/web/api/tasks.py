"""Tasks: lists, one, its explanation; branches and twigs of trees."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from ramet import TaskState
from ramet.web.answers import explain, tasks, tree
from ramet.web.answers.explain import ExplanationAnswer
from ramet.web.answers.tasks import TaskAnswer, TaskList
from ramet.web.answers.tree import BranchList, TwigList
from ramet.web.api.parts import After, Asked, Id, Limit, OptionalText, Text
from ramet.web.page import BadInput

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
    return await tasks.tasks(client, tasks.Asked(tracking_id, state, kind, key, min_depth, limit, after))


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
    return tree.branch_list(await client.branches(tracking_id=tracking_id, parent_id=parent_id))


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
    page = await client.twigs(
        tracking_id=tracking_id, parent_id=parent_id, kind=kind, state=state, limit=limit, after=after
    )
    return tree.twig_list(page)


def _one_of(tracking_id: str | None, parent_id: str | None) -> None:
    if (tracking_id is None) == (parent_id is None):
        raise BadInput("give a tracking_id for the roots of a lineage, or a parent_id for the children of a task")
