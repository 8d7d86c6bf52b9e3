"""The pipeline's kinds of tasks.

`wiki.article` loads one article and records its links. `wiki.level` waits until all articles of its level have ended,
then offers their links to the spawn guard, draws those that lead to articles of the run, and so closes the level. The
graph is written before the state, and every step can be repeated without effect: wherever a process dies, running
again completes what was begun.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ramet import App, Context, InvalidKey, Limits, Outcome, TaskState, title_key
from ramet.pipelines.wiki import tables
from ramet.pipelines.wiki.errors import ArticleNotFound, GraphBusy, one_line
from ramet.pipelines.wiki.expansions import SETTLING_SECONDS, Expansion, Expansions
from ramet.pipelines.wiki.graphs.base import GraphLink
from ramet.pipelines.wiki.levels import LevelPlan, Link, plan_level
from ramet.pipelines.wiki.runs import ARTICLE, LEVEL, QUEUE, RUN_SECONDS, ArticlePayload, LevelPayload

LIMITS = Limits(task_seconds=None, lineage_seconds=RUN_SECONDS)
ARTICLE_ATTEMPTS = 3
LEVEL_ATTEMPTS = 10
"""A level that cannot read or draw (a full disk, say) tries for about a quarter of an hour."""

OPENED, LOADED = "opened", "loaded"
OFFERING, OFFERED = "offering", "offered"
LIVE = (TaskState.PENDING, TaskState.PROCESSING)
ENDED_BADLY = (TaskState.FAILED, TaskState.CANCELLED, TaskState.SKIPPED, TaskState.FILTERED)

NOT_FOUND = "not_found"
"""Why an article fails that its source does not have; trying again cannot help."""
SNOOZE_SECONDS = (1.0, 30.0)
"""Shortest and longest wait of a level for its articles."""
BUSY_SECONDS = 5.0
"""How long to wait for a graph that another process writes."""
COUNTED_MAX = 1_000

app = App(limits=LIMITS, tables=tables.DEFINITIONS, breadth=[QUEUE])
expansions = Expansions()
app.at_end(expansions.close)


class Known(NamedTuple):
    """An article of the run."""

    title: str
    expansion_depth: int


@app.task(
    ARTICLE,
    key=lambda payload: title_key(payload.title),
    queue=QUEUE,
    limits=replace(LIMITS, max_attempts=ARTICLE_ATTEMPTS),
    probation=False,  # a graph admits one writer, and the common process is it
)
async def article(ctx: Context, payload: ArticlePayload) -> Outcome | None:
    """Load an article into the graph, and record its links."""
    if ctx.stage is None and payload.depth == 0:
        ctx.write(tables.DISCOVER, (ctx.tracking_id, ctx.key, payload.title, 0, None))
        if payload.opens:
            ctx.spawn(level, LevelPayload(level=0), delay_seconds=SETTLING_SECONDS)
        await ctx.checkpoint(OPENED)
    if ctx.stage != LOADED:
        try:
            run = await expansions.of(ctx.client, ctx.tracking_id)
            await _load(ctx, payload, run)
        except GraphBusy as error:
            return ctx.snooze(BUSY_SECONDS, str(error))
        except (ArticleNotFound, InvalidKey) as error:
            reason = f"{NOT_FOUND}: {one_line(error)}"
            _announce(ctx, payload)
            ctx.write(tables.FAIL, (ctx.tracking_id, ctx.key, payload.title, payload.depth, reason))
            return ctx.fail(reason)
    if not await _level_to_come(ctx):
        await _close_late(ctx)
    return None


async def _load(ctx: Context, payload: ArticlePayload, run: Expansion) -> None:
    found = await run.source.get(payload.title)
    links = run.source.links(found)
    await run.writing.load(found, payload.depth)
    _announce(ctx, payload)
    ctx.write(tables.LOAD, (ctx.tracking_id, ctx.key, found.title, payload.depth, len(links), time.time()))
    for position, title in enumerate(links):
        ctx.write(tables.RECORD_LINK, (ctx.tracking_id, ctx.key, position, title_key(title), title))
    ctx.write(tables.FORGET_LINKS, (ctx.tracking_id, ctx.key, len(links)))
    await ctx.checkpoint(LOADED)


def _announce(ctx: Context, payload: ArticlePayload) -> None:
    """Its level announces an article too, but may come later: who comes first writes the same."""
    ctx.write(tables.DISCOVER, (ctx.tracking_id, ctx.key, payload.title, payload.depth, payload.discovered_from))


async def _level_to_come(ctx: Context) -> bool:
    """Whether a level will offer this article's links. Always, unless a person revived it after the last level."""
    page = await ctx.client.tasks(tracking_id=ctx.tracking_id, kind=LEVEL, states=LIVE, limit=1)
    return bool(page.tasks)


async def _close_late(ctx: Context) -> None:
    """Draw the links of an article that came after the last level; it discovers nothing any more."""
    run = await expansions.of(ctx.client, ctx.tracking_id)
    known = await _known(ctx)
    rows = await ctx.client.read(tables.LINKS_FROM, (ctx.tracking_id, ctx.key))
    await run.writing.add_links(_to_draw(((ctx.key, target) for (target,) in rows), known))
    ctx.write(tables.PROCESS, (time.time(), ctx.tracking_id, ctx.key))


@app.task(
    LEVEL,
    key=lambda payload: f"level-{payload.level}",
    queue=QUEUE,
    limits=replace(LIMITS, max_attempts=LEVEL_ATTEMPTS),
    probation=False,
)
async def level(ctx: Context, payload: LevelPayload) -> Outcome | dict[str, int]:
    """Close a level: offer the links of its articles, draw those between articles, and open the next level."""
    try:
        run = await expansions.of(ctx.client, ctx.tracking_id)
    except GraphBusy as error:
        return ctx.snooze(BUSY_SECONDS, str(error))
    if ctx.stage is None:
        seconds = await _seconds_to_wait(ctx, payload, run)
        if seconds:
            return ctx.snooze(seconds, f"level {payload.level} is still being loaded")
    where = (ctx.tracking_id, payload.level)
    # Read first: an article that a person revives just now is left to whoever finds its links.
    waiting = {key for (key,) in await ctx.client.read(tables.WAITING, where)}
    links = [Link(*row) for row in await ctx.client.read(tables.WAITING_LINKS, where)]
    links = sorted(link for link in links if link.source_key in waiting)
    if ctx.stage != OFFERED:
        await _offer(ctx, payload, run, links)
    known = await _known(ctx)
    await run.writing.add_links(_to_draw(((link.source_key, link.target_key) for link in links), known))
    now = time.time()
    for key in sorted(waiting):
        ctx.write(tables.PROCESS, (now, ctx.tracking_id, key))
    return {"articles": len(waiting), "links": len(links), "known": len(known)}


async def _seconds_to_wait(ctx: Context, payload: LevelPayload, run: Expansion) -> float:
    """0 when no article of the run and no earlier level is live, else how long the live ones will probably take."""
    shortest, longest = SNOOZE_SECONDS
    page = await ctx.client.tasks(tracking_id=ctx.tracking_id, kind=ARTICLE, states=LIVE, limit=COUNTED_MAX)
    if page.tasks:
        due_at = min((task.available_at or 0.0) for task in page.tasks)
        seconds = max(run.writing.seconds_for(len(page.tasks)), due_at - time.time())
        return min(max(seconds, shortest), longest)
    # An earlier level that was interrupted may have offered, but not closed, its articles.
    levels = await ctx.client.tasks(tracking_id=ctx.tracking_id, kind=LEVEL, states=LIVE, limit=COUNTED_MAX)
    earlier = [task for task in levels.tasks if LevelPayload.model_validate(task.payload).level < payload.level]
    return shortest if earlier else 0.0


async def _offer(ctx: Context, payload: LevelPayload, run: Expansion, links: list[Link]) -> None:
    """Offer all links, round by round; after a crash, the rounds that are left."""
    granted = await _children(ctx)
    known = await _known(ctx)
    plan = plan_level(
        payload.level,
        links,
        known.keys() - granted.keys(),
        max_articles=run.settings.max_articles,
        max_depth=run.settings.max_depth,
    )
    offered = int(ctx.state.get("rounds", 0))
    for number, part in enumerate(plan.rounds[offered:], start=offered):
        if number == 0:
            _open_next(ctx, payload, run, plan)
        if part.beyond:
            ctx.lower(max_spawn_depth=ctx.spawn_depth)
        for link in part.links:
            found = ArticlePayload(
                title=link.target_title, depth=link.source_depth + 1, discovered_from=link.source_key
            )
            ctx.spawn(article, found)
        await ctx.checkpoint(OFFERING, state={"rounds": number + 1})
    for key, found in (await _children(ctx)).items():
        ctx.write(tables.DISCOVER, (ctx.tracking_id, key, found.title, found.depth, found.discovered_from))
    await _record_failures(ctx)
    await ctx.checkpoint(OFFERED)


def _open_next(ctx: Context, payload: LevelPayload, run: Expansion, plan: LevelPlan) -> None:
    """The next level goes before its articles, so that no budget can strand them."""
    if plan.max_tasks is not None:
        ctx.lower(max_tasks=plan.max_tasks)
    if plan.next_level:
        seconds = min(run.writing.seconds_for(plan.grants), SNOOZE_SECONDS[1])
        ctx.spawn(level, LevelPayload(level=payload.level + 1), delay_seconds=seconds)


async def _children(ctx: Context) -> dict[str, ArticlePayload]:
    """The articles that this level was granted, by key."""
    tasks = ctx.client.all_tasks(parent_id=ctx.id, kind=ARTICLE)
    return {task.key: ArticlePayload.model_validate(task.payload) async for task in tasks}


async def _record_failures(ctx: Context) -> None:
    """Articles whose last attempt ended in an exception or from outside could not say so themselves."""
    for task in [
        task async for task in ctx.client.all_tasks(tracking_id=ctx.tracking_id, kind=ARTICLE, states=ENDED_BADLY)
    ]:
        failed = ArticlePayload.model_validate(task.payload)
        error = task.error or task.reason or task.state.value
        ctx.write(tables.FAIL, (ctx.tracking_id, task.key, failed.title, failed.depth, error))


async def _known(ctx: Context) -> dict[str, Known]:
    """All articles of the run, by key."""
    rows = await ctx.client.read(tables.ARTICLES, (ctx.tracking_id,))
    return {key: Known(title, depth) for key, title, depth, *_ in rows}


def _to_draw(links: Iterable[tuple[str, str]], known: dict[str, Known]) -> list[GraphLink]:
    """Those of (source, target) whose target is an article of the run."""
    return [
        GraphLink(source, target, known[target].title, known[target].expansion_depth)
        for source, target in links
        if target in known
    ]
