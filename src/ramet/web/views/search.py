"""Search: a task or lineage by id, tasks by key, lineages by the prefix of their id."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from ramet import Client
from ramet.web.answer import Answer
from ramet.web.page import ClientDep, Page, RedirectTo, Text, Visit
from ramet.web.views.lineages import LineageAnswer, lineage_answers
from ramet.web.views.tasks import TaskLine

KEYS_MAX = 50
LINEAGES_MAX = 20


class SearchAnswer(Answer):
    """Matches of a text. The first of these that is there is the best answer."""

    task: TaskLine | None
    """The task with this id."""
    lineage: LineageAnswer | None
    """The lineage with this tracking id."""
    tasks: list[TaskLine]
    """Tasks with this key, in any spelling of it: 50 of them where there are more."""
    more_tasks: bool
    lineages: list[LineageAnswer]
    """Lineages whose tracking id begins so, by name: the first 20."""
    more_lineages: bool


async def run_search(client: Client, text: str) -> SearchAnswer:
    """Look for a text by indexes only. A hit that can be but one is looked for first, and ends the search."""
    task, row = await client.get(text), await client.lineage(text)
    lineage = None if row is None else (await lineage_answers(client, [row]))[0]
    if task is not None or lineage is not None:
        return SearchAnswer(task=task, lineage=lineage, tasks=[], more_tasks=False, lineages=[], more_lineages=False)
    tasks, page = (
        await client.tasks_with_key(text, limit=KEYS_MAX + 1),
        await client.lineage_page(prefix=text, limit=LINEAGES_MAX),
    )
    return SearchAnswer(
        task=None, lineage=None, tasks=list(tasks[:KEYS_MAX]), more_tasks=len(tasks) > KEYS_MAX,
        lineages=await lineage_answers(client, page.lineages), more_lineages=page.next_before is not None,
    )  # fmt: skip


router = APIRouter(tags=["search"])


@router.get("/search")
async def find(client: ClientDep, *, q: Text) -> SearchAnswer:
    """Matches of a text: a task or lineage by its id, tasks by their key, lineages by the beginning of their name."""
    return await run_search(client, q)


async def search_page(visit: Visit) -> dict[str, Any]:
    """Lead to the one thing that has this id or key, or list what has it."""
    text = (visit.text("q") or "").strip()
    if not text:
        return {"text": "", "found": None}
    found = await run_search(visit.client, text)
    if found.task is not None:
        raise RedirectTo("task", task_id=found.task.id)
    if found.lineage is not None:
        raise RedirectTo("lineage", tracking_id=found.lineage.tracking_id)
    if len(found.tasks) == 1 and not found.lineages:
        raise RedirectTo("task", task_id=found.tasks[0].id)
    if len(found.lineages) == 1 and not found.tasks:
        raise RedirectTo("lineage", tracking_id=found.lineages[0].tracking_id)
    return {"text": text, "found": found}


PAGES = (Page("/search", "search", "search.html", search_page, live=False),)
