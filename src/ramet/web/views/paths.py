"""Paths: who holds one, who waits, behind how many, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter

from ramet import Client, PathPause, PathTask
from ramet.model.paths import BEHIND_MAX
from ramet.web.answer import Answer, AsObject, path_from_text, stored_lineage
from ramet.web.page import ClientDep, Limit, OptionalText, Page, Visit


class PathTaskAnswer(Answer):
    """A task on a path."""

    task_id: str
    tracking_id: str
    kind: str
    key: str
    state: str
    path: list[str]
    queue: str
    scope: str
    place: str
    """``runs``, ``next``, ``waits``, ``after`` (one that gave its place up), ``gave up`` or ``ended``."""
    ticket: int | None
    waits_for: str | None
    """Id of the latest task before it that conflicts."""
    since: float
    behind: int | None
    """Tasks that cannot begin before it ends, counted up to a thousand; None where they were not counted."""
    behind_more: bool


PathPauseAnswer = Annotated[PathPause, AsObject(types={"path": list[str]})]


class PathsAnswer(Answer):
    """Tasks on paths, in the order in which they go."""

    path: list[str]
    tasks: list[PathTaskAnswer]
    more: bool
    paused: list[PathPauseAnswer]
    """All paths that are paused, whichever was asked for."""


async def load_paths(
    client: Client, path: Sequence[str] = (), *, queue: str | None = None, tracking_id: str | None = None,
    limit: int = 50,
) -> PathsAnswer:  # fmt: skip
    """Read the tasks at, below or above a path; without one, the holders, those with most tasks behind them first."""
    if tracking_id is not None:
        await stored_lineage(client, tracking_id)
    page = await client.paths(path, queue=queue, tracking_id=tracking_id, limit=limit)
    return PathsAnswer(path=list(path), tasks=[_task(one) for one in page.tasks], more=page.more,
                       paused=await client.path_pauses())  # fmt: skip


def _task(one: PathTask) -> PathTaskAnswer:
    return PathTaskAnswer(
        task_id=one.task_id, tracking_id=one.tracking_id, kind=one.kind, key=one.key, state=one.state,
        path=list(one.path), queue=one.queue, scope=one.scope, place=one.place, ticket=one.ticket,
        waits_for=one.waits_for, since=one.since, behind=one.behind,
        behind_more=one.behind is not None and one.behind >= BEHIND_MAX,
    )  # fmt: skip


router = APIRouter(tags=["paths"])


@router.get("/paths")
async def who_is_on_a_path(
    client: ClientDep,
    *,
    path: OptionalText = None,
    queue: OptionalText = None,
    tracking_id: OptionalText = None,
    limit: Limit = 50,
) -> PathsAnswer:
    """List tasks at, below or above a path (a JSON list, or elements with ``/`` between them); without one, holders."""
    wanted = path_from_text(path)
    return await load_paths(client, wanted, queue=queue, tracking_id=tracking_id, limit=limit)


async def on_paths(visit: Visit) -> dict[str, Any]:
    """Show tasks at a path, or those that hold one."""
    asked = {name: visit.text(name) for name in ("path", "queue", "tracking_id")}
    wanted = path_from_text(asked["path"])
    found = await load_paths(
        visit.client, wanted, queue=asked["queue"], tracking_id=asked["tracking_id"],
        limit=visit.number("limit", 50, 1, 200),
    )  # fmt: skip
    return {"found": found, "asked": asked}


PAGES = (Page("/paths", "paths", "paths.html", on_paths),)
