"""Acts of a person on titles of a run: failed ones are tried again, and some are taken out for good.

Trying again is a pass of its own, so that it needs nothing of the pass in which they failed: neither its deadline nor
its room for tasks, nor a page that was dropped. Only tasks write domain rows, so taking out is one as well; of what is
loaded it takes the graph's part first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from ramet import Client, Context, InvalidKey, LineageState, Task, TaskState, Worker, title_key
from ramet.commands.options import person
from ramet.wiki import tables
from ramet.wiki.errors import GraphBusy, NotInRun, WikiError
from ramet.wiki.graphs.registry import graph_is_there
from ramet.wiki.pages import RefusalReason
from ramet.wiki.recorded_links import linking_to
from ramet.wiki.runs import (
    ARTICLE,
    LEVEL,
    LOADING,
    RETRY,
    STAGES,
    ArticlePayload,
    LevelPayload,
    Run,
    find_run,
    limits_of,
    run_of,
)
from ramet.wiki.status import reason_of
from ramet.wiki.tables import IN_GRAPH, WikiState
from ramet.wiki.tasks.article import app, expansions, forget_links
from ramet.wiki.tasks.level import OFFERS_PER_ROUND_MAX

EXCLUDE = "wiki.exclude"
EXCLUDING = "wiki.exclude"
"""Queue of `wiki.exclude`: the process that takes titles out runs the task at once, before any other."""
PERMANENT = frozenset(reason.value for reason in RefusalReason)
"""Reasons that another try gives again, unless the source has changed."""
BEING_WORKED_ON = "it is being worked on this moment: try again"
CAN_BE_EXCLUDED = (TaskState.PENDING, TaskState.FAILED, TaskState.CANCELLED)


class RetryPayload(BaseModel):
    """Titles that a `wiki.retry` task tries again, with the person and the reason."""

    by: str
    note: str | None = None
    """Reason for the audit log."""
    keys: tuple[str, ...] = ()
    """Canonical titles; empty: all failed ones that match."""
    reason: str | None = None
    """Only titles that failed for this reason; None: for any that may pass, or, of named titles, for any."""
    resource: str = ""
    """Resource of the source's requests, as its run says; empty for a local source."""


class ExcludePayload(BaseModel):
    """Titles that a `wiki.exclude` task takes out for good, with the person and the reason."""

    run_id: str
    keys: tuple[str, ...]
    asked_for: tuple[str, ...]
    """Canonical titles by which they were looked up."""
    by: str
    note: str | None = None


class Title(NamedTuple):
    """A title of a run, as it is stored."""

    title: str
    expansion_depth: int
    state: str
    own_task: bool
    discovered_from: str | None
    error: str | None


class Excluded(NamedTuple):
    """Result of an exclusion of titles."""

    excluded: tuple[str, ...]
    left: dict[str, str]
    """Reasons why others were left as they are, by canonical title."""
    drawn: bool
    """Whether the graph is without them already; else it loses them when its writer closes its next level."""


async def find_titles(client: Client, run: Run, titles: Sequence[str]) -> dict[str, str]:
    """Return the states of the titles of a run that a person means, by canonical title.

    Raises:
        NotInRun: the run has no such title; the message names it.
    """
    found: dict[str, str] = {}
    for title in titles:
        for key in _spellings(title):
            rows = await client.read(tables.ARTICLE, (run.run_id, key))
            if rows:
                found[key] = rows[0][3]
                break
        else:
            raise NotInRun(f"{run.run_id} has no title '{title}'; give it as the source spells it, in quotes")
    return found


def _spellings(title: str) -> list[str]:
    """Return a title as people and links spell it; a wiki may tell titles apart by the case of their first letter."""
    plain = " ".join(title.replace("_", " ").split())
    try:
        return list(dict.fromkeys([title_key(title), plain]))
    except InvalidKey:
        return [plain]


# --- trying again -----------------------------------------------------------------------------------------------


async def begin_retry(client: Client, run: Run, wanted: RetryPayload) -> bool:
    """Submit a pass that tries titles of a run again, whose levels then follow their links; False for no such title.

    Named titles that have not failed, or not any more, are left as they are.

    Raises:
        WikiError: the run was cancelled.
    """
    known = await _titles(client, run.run_id)
    if not _to_try(known, wanted):
        return False
    if run.newest.state == LineageState.CANCELLED:
        raise WikiError(f"{run.run_id} was cancelled: nothing of it can be tried again")
    room = _room(known, run.settings.max_articles)
    if room <= 0:
        raise WikiError(f"{run.run_id} has its {run.settings.max_articles:,} articles: `expand` with more first")
    again = _to_try(known, wanted)[:room]
    wanted = wanted.model_copy(update={"resource": run.resource})
    submitted = await client.submit_many(
        [(RETRY, wanted), (LEVEL, LevelPayload(level=0, run=run.settings, seeds=run.seeds, resource=run.resource))],
        one_lineage=True,
        tracking_id=run.next_tracking_id,
        limits=limits_of(run.settings, held=run.settings.max_articles - room, more_tasks=len(STAGES) * len(again) + 1),
        may_raise=True,
    )
    return submitted[0].created


@app.task(RETRY, key=lambda payload: "retry", queue=LOADING, probation=False)
async def retry(ctx: Context, payload: RetryPayload) -> dict[str, int]:
    """Ask for the titles again: they are discovered once more."""
    run_id = run_of(ctx.tracking_id)
    tried = int(ctx.state.get("tried", 0))
    known = await _titles(ctx.client, run_id)
    settings = await expansions.settings(ctx.client, ctx.tracking_id)
    again = _to_try(known, payload)[: max(0, _room(known, settings.max_articles))]
    for start in range(0, len(again), OFFERS_PER_ROUND_MAX):
        some, targets = again[start : start + OFFERS_PER_ROUND_MAX], set[str]()
        for key in some:
            asked = asked_for(known, key)
            one = known[asked]
            wanted = ArticlePayload(
                title=one.title,
                depth=one.expansion_depth,
                discovered_from=one.discovered_from,
                resource=payload.resource,
            )
            ctx.spawn(ARTICLE, wanted, key=asked)
            ctx.write(tables.REDISCOVER, (run_id, key))
            if known[key].state == WikiState.EXCLUDED:
                targets.add(key)
                targets.update(alias for (alias,) in await ctx.read(tables.ALIASES_OF, (run_id, key)))
                ctx.write(tables.ALIASES_AGAIN, (run_id, key))
        for key in await linking_to(ctx.read, run_id, targets) if targets else ():
            ctx.write(tables.LINKED_AGAIN, (run_id, key))
        tried += len(some)
        # Titles that were asked for are not failed any more: after a crash here only the others are left.
        await ctx.checkpoint("retrying", state={"tried": tried})
    return {"titles": tried}


def _to_try(known: dict[str, Title], wanted: RetryPayload) -> list[str]:
    """Return the titles that match, in the order of their keys."""
    if wanted.keys:
        return sorted(key for key in wanted.keys if known[key].state in (WikiState.FAILED, WikiState.EXCLUDED))
    reasons = {key: reason_of(one.error) for key, one in known.items() if one.state == WikiState.FAILED}
    if wanted.reason is not None:
        return sorted(key for key, reason in reasons.items() if reason == wanted.reason)
    return sorted(key for key, reason in reasons.items() if reason not in PERMANENT)


def _room(known: dict[str, Title], max_articles: int) -> int:
    """Return how many articles a run may still load."""
    held = (WikiState.DISCOVERED, WikiState.CLAIMED, *IN_GRAPH)
    return max_articles - sum(one.state in held for one in known.values())


def asked_for(known: dict[str, Title], key: str) -> str:
    """Return the title by which an article was looked up: its own, or that of the redirect that led to it."""
    one = known[key]
    return key if one.own_task or one.discovered_from is None else one.discovered_from


async def _titles(client: Client, run_id: str) -> dict[str, Title]:
    return {
        key: Title(title, depth, state, bool(own_task), discovered_from, error)
        for key, title, depth, state, own_task, _, _, discovered_from, error in await client.read(
            tables.ARTICLES, (run_id,)
        )
    }


# --- taking out -------------------------------------------------------------------------------------------------


async def exclude_titles(client: Client, run: Run, keys: Collection[str], *, note: str | None) -> Excluded:
    """Take titles out for good; beside a running expansion or without one."""
    known, by = await _titles(client, run.run_id), person()
    out, left = [], {}
    for key in sorted(keys):
        if known[key].state == WikiState.ALIAS:
            left[key] = "it redirects: exclude the article that it leads to"
            continue
        tasks = await _tasks_of(client, run, asked_for(known, key))
        if any(task.state == TaskState.PROCESSING for task in tasks):
            left[key] = BEING_WORKED_ON
            continue
        ended = [task.id for task in tasks if task.state in CAN_BE_EXCLUDED]
        live = {task.id for task in tasks if task.state == TaskState.PENDING}
        # A worker may take it this very moment; then it is not ours any more.
        if live - set(await client.exclude(ended, by=by, reason=note)):
            left[key] = BEING_WORKED_ON
            continue
        out.append(key)
    told = True
    if out:
        asked = tuple(asked_for(known, key) for key in out)
        payload = ExcludePayload(run_id=run.run_id, keys=tuple(out), asked_for=asked, by=by, note=note)
        told = await _write_excluded(client, payload)
    return Excluded(tuple(out), left, told)


async def _tasks_of(client: Client, run: Run, key: str) -> list[Task]:
    """Return the tasks of a title, of any stage, in all passes."""
    found: list[Task] = []
    for one in run.passes:
        for stage in STAGES:
            found += (await client.tasks(tracking_id=one.tracking_id, kind=stage, key=key)).tasks
    return found


async def _write_excluded(client: Client, payload: ExcludePayload) -> bool:
    """Do the task here; return whether the graph is without them already."""
    submitted = await client.submit(EXCLUDE, payload)
    await Worker(app, client, kinds=[EXCLUDE], until_ended=submitted.tracking_id).run()
    expansions.close()
    task = await client.get(submitted.id)
    if task is None or not isinstance(task.result, dict):
        raise WikiError(f"the titles stay as they were: {task and task.why}; try again")
    return bool(task.result["drawn"])


@app.task(EXCLUDE, key=lambda payload: payload.run_id, queue=EXCLUDING, probation=False)
async def exclude(ctx: Context, payload: ExcludePayload) -> dict[str, int]:
    """Take titles out of the graph, and write down that they are out, by whom and why.

    A graph that another process writes loses them when that process closes its next level.
    """
    settings = (await find_run(ctx.client, payload.run_id)).settings
    drawn = not graph_is_there(Path(settings.graph))
    if not drawn:
        try:
            graph = await expansions.graph(settings)
            await asyncio.to_thread(graph.exclude_articles, payload.keys)
            drawn = True
        except GraphBusy:
            pass  # Said in the result, and the rows are left undrawn.
    why = f"excluded by {payload.by}" + (f": {payload.note}" if payload.note else "")
    for key in payload.keys:
        ctx.write(tables.EXCLUDE, (why, ctx.tracking_id if drawn else None, payload.run_id, key))
        forget_links(ctx, payload.run_id, key)
    for key in payload.asked_for:
        ctx.write(tables.DROP_PAGE, (payload.run_id, key))
    return {"titles": len(payload.keys), "drawn": drawn}
