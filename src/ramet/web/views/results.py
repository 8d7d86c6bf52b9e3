"""Results for programs: of a task, of many, and as events while they come. Scope ``read``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Header, Query
from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ramet import Client, Task, TaskState
from ramet.model.task.task import TERMINAL
from ramet.web.answer import Answer, encodable, json_value, stored_lineage
from ramet.web.claims import while_connected
from ramet.web.events import STILL_HERE
from ramet.web.page import After, BadInput, ClientDep, Limit, OptionalText, Text, dashboard_of, existing, no_task

router = APIRouter(tags=["results"])
WAIT_SECONDS_MAX = 30
ROOTS_MAX = 10
"""Results of roots in an event of a lineage."""


class ResultAnswer(Answer):
    """Outcome of a task."""

    id: str
    kind: str
    key: str
    state: TaskState
    over: bool
    """True once it has ended."""
    result: JsonValue
    error: str | None
    reason: str | None
    finished_at: float | None


class ResultPage(Answer):
    """Results in the order in which the tasks were created."""

    results: list[ResultAnswer]
    next_after: int | None
    """Value of `after` for the next page; null at the end."""


class TaskEvent(ResultAnswer):
    """A task, as its events tell it."""

    stage: str | None
    attempt: int
    progress: JsonValue
    """Last progress that its handler reported."""


class LineageEvent(Answer):
    """A lineage, as its events tell it."""

    tracking_id: str
    state: str
    over: bool
    """True once no task of it is live."""
    tasks: int
    live: int
    states: dict[str, int]
    """Tasks by state."""
    roots: list[ResultAnswer]
    """The first 10 roots."""


@router.get("/result")
async def read_result(
    request: Request,
    client: ClientDep,
    *,
    task_id: Text,
    wait_seconds: Annotated[float, Query(ge=0, le=WAIT_SECONDS_MAX)] = 0.0,
) -> ResultAnswer:
    """Return the outcome of a task; `wait_seconds`: wait that long for its end. `over` says whether it has ended."""
    task = existing(await client.get(task_id), no_task(task_id))
    if wait_seconds and not task.state.terminal:
        with suppress(TimeoutError):
            await while_connected(request, client.wait(task_id, timeout_seconds=wait_seconds))
        task = existing(await client.get(task_id), no_task(task_id))
    return _result(task)


@router.get("/results")
async def list_results(
    client: ClientDep,
    *,
    tracking_id: Text,
    kind: OptionalText = None,
    limit: Limit = 100,
    after: After = 0,
) -> ResultPage:
    """List tasks of a lineage that have ended, with their results, the oldest first."""
    await stored_lineage(client, tracking_id)
    page = await client.tasks(tracking_id=tracking_id, kind=kind, states=TERMINAL, limit=limit, after=after)
    return ResultPage(results=[_result(task) for task in page.tasks], next_after=page.next_after)


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Events."}},
)
async def follow_events(
    request: Request,
    client: ClientDep,
    *,
    task_id: OptionalText = None,
    tracking_id: OptionalText = None,
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> Response:
    """Send server-sent events of a task or a lineage: `progress` whenever something has changed, `end` at its end.

    The data of each is all that is known then (`TaskEvent` or `LineageEvent`), so a client that comes again with
    `Last-Event-ID` has missed nothing: it gets the present event, unless it has that one already.
    """
    if (task_id is None) == (tracking_id is None):
        raise BadInput("give task_id or tracking_id")

    async def produce() -> str:
        event = await (_task_event(client, task_id) if task_id else _lineage_event(client, tracking_id or ""))
        return event.model_dump_json()

    first = [await produce()]  # Before the stream begins: what is missing is said as an ordinary answer.

    async def look() -> str:
        return first.pop() if first else await produce()

    address = f"events {'task' if task_id else 'lineage'} {task_id or tracking_id}"
    stream = _events(dashboard_of(request).feeds.messages(address, look), last_event_id)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _events(messages: AsyncIterator[str | None], last: str | None) -> AsyncIterator[str]:
    async for text in messages:
        if text is None:
            yield STILL_HERE
            continue
        mark = hashlib.sha256(text.encode()).hexdigest()[:16]
        over = bool(json.loads(text)["over"])
        if mark != last or over:
            yield f"id: {mark}\nevent: {'end' if over else 'progress'}\ndata: {text}\n\n"
        if over:
            return


async def _task_event(client: Client, task_id: str) -> TaskEvent:
    task = existing(await client.get(task_id), no_task(task_id))
    at = await client.checkpoint(task_id)
    told = json_value(at.progress) if at is not None else None
    return TaskEvent(**_result(task).model_dump(), stage=task.stage, attempt=task.attempts, progress=told)


async def _lineage_event(client: Client, tracking_id: str) -> LineageEvent:
    lineage = await stored_lineage(client, tracking_id)
    counts: dict[str, int] = {}
    for one in await client.distribution(tracking_id):
        counts[str(one.state)] = counts.get(str(one.state), 0) + one.tasks
    roots = (await client.store.roots(tracking_id))[:ROOTS_MAX]
    return LineageEvent(
        tracking_id=tracking_id, state=str(lineage.state), over=lineage.live == 0, tasks=lineage.tasks,
        live=lineage.live, states=counts, roots=[_result(task) for task in roots],
    )  # fmt: skip


def _result(task: Task) -> ResultAnswer:
    return ResultAnswer(
        id=task.id, kind=task.kind, key=encodable(task.key), state=task.state, over=task.state.terminal,
        result=json_value(task.result), error=task.error and encodable(task.error),
        reason=task.reason and encodable(str(task.reason)), finished_at=task.finished_at,
    )  # fmt: skip
