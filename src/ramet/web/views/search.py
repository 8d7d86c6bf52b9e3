"""Search: tasks and lineages by id or its end, key, kind, tag, error text and, when asked for, payload text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import APIRouter

from ramet import Client, Task, TaskState
from ramet.web.answer import Answer
from ramet.web.page import ClientDep, Page, RedirectTo, Text, Visit
from ramet.web.views.lineages import LineageAnswer, lineage_answers
from ramet.web.views.tasks import TaskLine

KEYS_MAX = 50
LINEAGES_MAX = 20
KINDS_MAX = 20
TEXT_HITS_MAX = 20
FAILED_LOOKS = 1_000
"""Newest failed tasks whose errors are looked at: no index knows texts."""
PAYLOAD_LOOKS = 2_000
"""Newest tasks whose payloads are looked at, when that is asked for: it is slow."""
_PAGE = 1_000
_ID = re.compile(r"[0-9a-f-]{4,64}", re.IGNORECASE)


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
    ids: list[TaskLine]
    """Tasks whose id begins or ends so, the endings of the newest 100,000 only."""
    kinds: list[str]
    """Kinds that contain the text: the first 20."""
    tagged: list[TaskLine]
    """Tasks with this tag, the newest first: 50 of them where there are more."""
    failed: list[TaskLine]
    """Failed tasks whose error or reason contains the text: 20 of the newest 1,000 failed tasks."""
    payloads: list[TaskLine] | None
    """Tasks whose payload contains the text: 20 of the newest 2,000 tasks; null where that was not asked for."""


async def run_search(client: Client, text: str, *, payloads: bool = False) -> SearchAnswer:
    """Look for a text by indexes, and among a bounded number of errors.

    A hit that can be but one is looked for first, and ends the search.

    Args:
        payloads: look at the payloads of the newest tasks as well, which is slow.
    """
    task, row = await client.get(text), await client.lineage(text)
    lineage = None if row is None else (await lineage_answers(client, [row]))[0]
    nothing: dict[str, Any] = {name: [] for name in ("tasks", "lineages", "ids", "kinds", "tagged", "failed")}
    nothing |= {"more_tasks": False, "more_lineages": False, "payloads": None}
    if task is not None or lineage is not None:
        return SearchAnswer(task=task, lineage=lineage, **nothing)
    tasks, page = (
        await client.tasks_with_key(text, limit=KEYS_MAX + 1),
        await client.lineage_page(prefix=text, limit=LINEAGES_MAX),
    )
    part = text.casefold()
    kinds = [row.kind for row in (await client.tallies()).rows if part in row.kind.casefold()]
    tagged = (await client.tasks(tag=text, limit=KEYS_MAX, newest=True)).tasks
    return SearchAnswer(
        task=None, lineage=None, tasks=list(tasks[:KEYS_MAX]), more_tasks=len(tasks) > KEYS_MAX,
        lineages=await lineage_answers(client, page.lineages), more_lineages=page.next_before is not None,
        ids=await _with_id_like(client, text), kinds=kinds[:KINDS_MAX], tagged=list(tagged),
        failed=await _containing(client, FAILED_LOOKS, [TaskState.FAILED],
                                 lambda one: part in f"{one.error or ''}\n{one.reason or ''}".casefold()),
        payloads=await _containing(client, PAYLOAD_LOOKS, [], lambda one: part in _json(one.payload)) if payloads
        else None,
    )  # fmt: skip


async def _with_id_like(client: Client, text: str) -> list[Task]:
    if not _ID.fullmatch(text):
        return []
    return await client.store.named(await client.store.ids_like(text.lower(), "task"))


async def _containing(
    client: Client, looks: int, states: Sequence[TaskState], contains: Callable[[Task], bool]
) -> list[Task]:
    """Return the newest tasks that contain a text, among the newest ``looks`` ones."""
    found: list[Task] = []
    after: int | None = 0
    for _ in range(looks // _PAGE):
        page = await client.tasks(states=states, newest=True, limit=_PAGE, after=after or 0)
        found += filter(contains, page.tasks)
        after = page.next_after
        if after is None or len(found) >= TEXT_HITS_MAX:
            break
    return found[:TEXT_HITS_MAX]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str).casefold()


router = APIRouter(tags=["search"])


@router.get("/search")
async def find(client: ClientDep, *, q: Text, payloads: bool = False) -> SearchAnswer:
    """Search a text in ids and their ends, keys, kinds, tags, errors; slowly in payloads, with `payloads=true`."""
    return await run_search(client, q, payloads=payloads)


async def search_page(visit: Visit) -> dict[str, Any]:
    """Lead to the one thing that has this id or key, or list what matches."""
    text = (visit.text("q") or "").strip()
    if not text:
        return {"text": "", "found": None}
    payloads = visit.word("payloads", ("1",)) is not None
    found = await run_search(visit.client, text, payloads=payloads)
    if found.task is not None:
        raise RedirectTo("task", task_id=found.task.id)
    if found.lineage is not None:
        raise RedirectTo("lineage", tracking_id=found.lineage.tracking_id)
    others = found.kinds or found.tagged or found.failed or payloads
    tasks = found.tasks or found.ids
    if len(tasks) == 1 and not found.lineages and not others:
        raise RedirectTo("task", task_id=tasks[0].id)
    if len(found.lineages) == 1 and not tasks and not others:
        raise RedirectTo("lineage", tracking_id=found.lineages[0].tracking_id)
    return {"text": text, "found": found, "failed_looks": FAILED_LOOKS, "payload_looks": PAYLOAD_LOOKS}


PAGES = (Page("/search", "search", "search.html", search_page, live=False),)
