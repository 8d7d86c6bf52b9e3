"""A pass that brings a run up to date: it compares revisions with the source and loads again only what changed.

It looks nothing up that the run does not have; what changed articles newly link to is left for the next `expand`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from ramet import Client, Context, LineageState, Outcome
from ramet.commands.errors import UserError
from ramet.fetch import host_gate
from ramet.wiki import tables
from ramet.wiki.errors import WikiError
from ramet.wiki.graphs.base import GraphAlias, GraphStore
from ramet.wiki.recorded_links import SOURCES_PER_READ, links_of
from ramet.wiki.runs import (
    ARTICLE,
    FETCHING,
    LIMITS,
    LOADING,
    REFRESH,
    RUN_SECONDS,
    STAGES,
    ArticlePayload,
    LevelPayload,
    Run,
    RunSettings,
    run_of,
)
from ramet.wiki.sources.base import TITLES_MAX
from ramet.wiki.sources.registry import BUNDLED, open_source
from ramet.wiki.tables import WikiState
from ramet.wiki.tasks.article import Rules, app, expansions, options_of, rules_json, rules_of, wait_for
from ramet.wiki.tasks.level import (
    LEVEL_ATTEMPTS,
    all_ended,
    draw_excluded,
    known_among,
    to_draw,
)
from ramet.wiki.wikitext.site import Site

COMPARE = "wiki.compare"
REDRAW = "wiki.redraw"
COMPARE_ATTEMPTS = 6


class ComparePayload(BaseModel):
    """Articles that a `wiki.compare` task compares with their source."""

    number: int
    keys: tuple[str, ...]
    """Canonical titles, at most 50."""
    resource: str = ""


async def with_source(
    client: Client, run: Run, source: str, *, progress: Callable[[str], None] | None = None
) -> RunSettings:
    """Return the settings of a run that reads a newer file of the same wiki.

    Args:
        source: absolute path of a file; it is read into the run's data directory.
        progress: is given a line now and then meanwhile.

    Raises:
        WikiError: it is not a file, not of the same wiki, or the run does not read a file.
    """
    before = run.settings.source
    if "://" in before or before == BUNDLED:
        raise WikiError(f"{run.run_id} reads {before}, not a file: `refresh` without --source compares with it")
    if "://" in source or source == BUNDLED:
        raise WikiError(f"'{source}' is not a file: --source of `refresh` is a newer file of the run's wiki")
    settings = run.settings.model_copy(update={"source": source})
    rows = await client.read(tables.RULES, (run.run_id,))
    if not rows:
        raise WikiError(f"nothing of {run.run_id} is loaded yet: `ramet wiki expand` begins with another --source")
    opened = await asyncio.to_thread(open_source, settings.source, Path(settings.data_dir), progress=progress)
    try:
        known, found = rules_of(rows[0][0]).site, await opened.site()
    finally:
        await opened.close()
    if identity_of(known) != identity_of(found):
        raise WikiError(f"{source} is of another wiki ({found.name}) than {run.run_id} ({known.name}): start a run of "
                        "its own with `ramet wiki expand`")  # fmt: skip
    return settings


def identity_of(site: Site) -> tuple[object, ...]:
    """Return by what a wiki is known again in a later file; what states no address is named by its file only."""
    named = site.name if site.article_url else ""
    return named, site.article_url, site.language, site.capital_first, bool(site.namespaces)


async def begin_refresh(client: Client, run: Run, settings: RunSettings | None = None) -> bool:
    """Submit a pass that refreshes a run that has ended; False when there is nothing to refresh, or it is there.

    `settings` are the run's from then on; None: as they are.
    """
    loaded = len(await client.read(tables.LOADED, (run.run_id,)))
    if not loaded or run.newest.state == LineageState.CANCELLED:
        return False
    limits = {
        "max_tasks": (len(STAGES) + 1) * loaded + 10,
        "max_fan_out": loaded + 10,
        "max_spawn_depth": 3,
        "lineage_seconds": RUN_SECONDS,
    }
    [submitted] = await client.submit_many(
        [(REFRESH, LevelPayload(level=0, run=settings or run.settings, seeds=run.seeds, resource=run.resource))],
        one_lineage=True,
        tracking_id=run.next_tracking_id,
        limits=limits,
        may_raise=True,
    )
    return submitted.created


class Refreshed(NamedTuple):
    """Result of a refresh pass."""

    compared: int
    loaded: int
    """Articles that were loaded again, or that a title now redirects to."""
    gone: int
    """Articles that the source has no more."""
    redirects: int
    """Titles that were found to redirect."""


async def refreshed(client: Client, tracking_id: str) -> Refreshed | None:
    """Return the result of a refresh pass; None before its end."""
    [first, *_] = await client.roots(tracking_id)
    last = (await client.tasks(tracking_id=tracking_id, kind=REDRAW, limit=1)).tasks
    if not isinstance(first.result, dict) or not last or not isinstance(last[0].result, dict):
        return None
    found = last[0].result
    return Refreshed(first.result["articles"], found["changed"], found["gone"], found["redirects"])


@app.task(REFRESH, key=lambda payload: "refresh", queue=FETCHING)
async def refresh(ctx: Context, payload: LevelPayload) -> dict[str, int]:
    """Ask for a comparison of every loaded article, 50 at a time, and for the drawing afterwards."""
    keys = sorted(key for (key,) in await ctx.read(tables.LOADED, (run_of(ctx.tracking_id),)))
    for number, start in enumerate(range(0, len(keys), TITLES_MAX)):
        some = ComparePayload(number=number, keys=tuple(keys[start : start + TITLES_MAX]), resource=payload.resource)
        ctx.spawn(compare, some)
    ctx.spawn(redraw, LevelPayload(level=0))
    return {"articles": len(keys)}


@app.task(
    COMPARE,
    key=lambda payload: f"compare-{payload.number}",
    queue=FETCHING,
    resource=lambda payload: payload.resource or None,
    limits=replace(LIMITS, max_attempts=COMPARE_ATTEMPTS),
    alert_over=None,
)
async def compare(ctx: Context, payload: ComparePayload) -> Outcome | dict[str, int]:
    """Compare the revisions of some articles with the source's; what differs is fetched again."""
    settings = await expansions.settings(ctx.client, ctx.tracking_id)
    try:
        source = await expansions.source(ctx.client, settings)
    except UserError as error:
        return ctx.snooze(wait_for(error), str(error))
    run_id = run_of(ctx.tracking_id)
    if not payload.resource:  # A newer file may have other templates, and other names of its namespaces.
        rules = rules_json(Rules(await source.site(), options_of(settings)))
        if [(rules,)] != await ctx.read(tables.RULES, (run_id,)):
            ctx.write(tables.PUT_RULES, (run_id, rules))
    rows = await ctx.read(tables.revisions_of(len(payload.keys)), (run_id, *payload.keys))
    with host_gate.through(ctx.transaction):
        found = await source.revisions([title for _, title, *_ in rows])
    for answer in found.values():
        if isinstance(answer, Exception):  # Nothing is known of this one: all are compared again.
            raise answer
    changed = 0
    for key, title, depth, revision, discovered_from in sorted(rows):
        if found[title] != revision:
            changed += 1
            again = ArticlePayload(
                title=title, depth=depth, discovered_from=discovered_from, resource=payload.resource, refresh=True
            )
            ctx.spawn(ARTICLE, again, key=key)
    return {"compared": len(rows), "changed": changed}


@app.task(
    REDRAW,
    key=lambda payload: "redraw",
    queue=LOADING,
    limits=replace(LIMITS, max_attempts=LEVEL_ATTEMPTS, invocation_seconds=RUN_SECONDS),
    probation=False,
    alert_over=None,
)
async def redraw(ctx: Context, payload: LevelPayload) -> Outcome | dict[str, int]:
    """Draw what changed: the links of what was loaded again, new redirects, and nothing of what is gone."""
    if ctx.stage is None and not await all_ended(ctx):
        return ctx.snooze(1.0, "articles are still being loaded")
    settings = await expansions.settings(ctx.client, ctx.tracking_id)
    try:
        graph = await expansions.graph(settings)
    except UserError as error:
        return ctx.snooze(wait_for(error), str(error))
    await draw_excluded(ctx, graph)
    gone = dict(await ctx.read(tables.VANISHED, (run_of(ctx.tracking_id),)))
    await _remove(ctx, graph, gone)
    aliases = sorted(await ctx.read(tables.NEW_ALIASES, (run_of(ctx.tracking_id),)))
    await asyncio.to_thread(graph.add_aliases, [GraphAlias(*row) for row in aliases])
    for key, *_ in aliases:
        _drawn(ctx, key)
    gone_for_good = sum(state != WikiState.ALIAS for state in gone.values())
    changed = dict(await ctx.read(tables.UNDRAWN, (run_of(ctx.tracking_id),)))
    links = await _draw(ctx, graph, changed, closed=settings.closed)
    return {"changed": len(changed), "links": links, "gone": gone_for_good, "redirects": len(aliases)}


async def _remove(ctx: Context, graph: GraphStore, gone: Mapping[str, str]) -> None:
    """Take articles away, given as keys with their states; those that are redirects now are still to be drawn so."""
    keys = sorted(gone)
    for start in range(0, len(keys), SOURCES_PER_READ):
        some = keys[start : start + SOURCES_PER_READ]
        await asyncio.to_thread(graph.remove_articles, some)
        for key in some:
            if gone[key] != WikiState.ALIAS:
                _drawn(ctx, key)
        await ctx.checkpoint("drawing")


async def _draw(ctx: Context, graph: GraphStore, depths: Mapping[str, int], *, closed: bool) -> int:
    drawn = 0
    keys = sorted(depths)
    for start in range(0, len(keys), SOURCES_PER_READ):
        some = keys[start : start + SOURCES_PER_READ]
        recorded = await links_of(ctx.read, run_of(ctx.tracking_id), some)
        known = await known_among(ctx, {target for _, _, target, _ in recorded})
        outgoing = ((depths[source], source, target) for source, _, target, _ in sorted(recorded))
        links = to_draw(outgoing, known, closed=closed)
        await asyncio.to_thread(graph.replace_links, some, links)
        drawn += len(links)
        for key in some:
            _drawn(ctx, key)
        await ctx.checkpoint("drawing")
    return drawn


def _drawn(ctx: Context, key: str) -> None:
    run_id = run_of(ctx.tracking_id)
    ctx.write(tables.DRAW, (ctx.tracking_id, run_id, key))
    ctx.write(tables.PROCESS, (time.time(), ctx.tracking_id, run_id, key))
