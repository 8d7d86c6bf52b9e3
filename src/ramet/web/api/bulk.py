"""Acts on many tasks by a filter: the first request counts, the second names the number and does it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field

from ramet import BulkAct, BulkSelection, TaskFilter, TaskState
from ramet.web.actions.action import Name, guarded
from ramet.web.actions.tasks import Extend
from ramet.web.api.actions import Reason
from ramet.web.page import BadInput
from ramet.web.state import dashboard_of

LEFT_MAX = 100
router = APIRouter(tags=["tasks"])


class BulkAsked(BaseModel):
    """Which tasks, and whether to act on them."""

    model_config = ConfigDict(extra="forbid")

    states: list[TaskState] = Field(default=[], max_length=len(TaskState))
    """Left out: failed tasks to retry or exclude, live ones to cancel."""
    kind: Name | None = None
    error: Name | None = None
    """A part of the error or the reason, in upper or lower case."""
    since: Annotated[float | None, Field(allow_inf_nan=False)] = None
    """Ended at or after, live ones created at or after; Unix seconds."""
    lineage_prefix: Name | None = None
    """How the tracking id begins."""
    extend_seconds: Extend = None
    """With `retry`."""
    reason: Reason = None
    confirm: Annotated[int | None, Field(ge=0)] = None
    """How many tasks are to be acted on, as counted by a request without it; left out, nothing is done."""


class BulkCount(BaseModel):
    """Tasks of one kind and state."""

    kind: str
    state: TaskState
    tasks: int


class BulkAnswer(BaseModel):
    """What was counted, and what was done."""

    act: BulkAct
    selected: int
    counts: list[BulkCount]
    done: int | None
    """On how many tasks it took effect; null where it was only counted."""
    left: dict[str, str]
    """Why others were left as they are, by id: the first 100."""


@router.post("/bulk/{act}")
async def act_on_many(request: Request, act: BulkAct, asked: BulkAsked) -> BulkAnswer:
    """Retry, cancel or exclude all tasks that match a filter, in batches; counts only, without `confirm`."""
    visitor, client = request.state.visitor, dashboard_of(request).client
    if not visitor.may_act:
        raise HTTPException(403, "you may look, not act: come in with the admin token")
    wanted = asked.model_dump(include={"states", "kind", "error", "since", "lineage_prefix"})
    if not any(value not in (None, []) for value in wanted.values()):
        raise BadInput("give at least one of states, kind, error, since and lineage_prefix")
    selection = await guarded(_selected(request, act, wanted))
    if asked.confirm is None:
        return _answer(selection, None, {})
    if asked.confirm != len(selection.task_ids):
        raise BadInput(f"{len(selection.task_ids)} tasks match by now, not {asked.confirm}: confirm that number")
    done = client.bulk_run(selection, by=visitor.by, reason=asked.reason, extend_seconds=asked.extend_seconds)
    result = await guarded(done)
    return _answer(selection, len(result.done), dict(list(result.left.items())[:LEFT_MAX]))


async def _selected(request: Request, act: BulkAct, wanted: dict[str, object]) -> BulkSelection:
    return await dashboard_of(request).client.bulk_select(act, TaskFilter(**wanted))  # type: ignore[arg-type]


def _answer(selection: BulkSelection, done: int | None, left: dict[str, str]) -> BulkAnswer:
    counts = [
        BulkCount(kind=kind, state=TaskState(state), tasks=tasks) for (kind, state), tasks in selection.counts.items()
    ]
    return BulkAnswer(act=selection.act, selected=len(selection.task_ids), counts=counts, done=done, left=left)
