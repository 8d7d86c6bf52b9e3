"""SCRAPE: a batch over sources, the most promising first, until there are enough matches."""

from __future__ import annotations

from typing import Any

from ramet import Context
from ramet.pipelines.jobs import records
from ramet.pipelines.jobs.app import app
from ramet.pipelines.jobs.choosing import sources_to_scrape
from ramet.pipelines.jobs.keys import key_of_scrape
from ramet.pipelines.jobs.kinds import LISTING, QUEUE, SCRAPE, SCRAPE_SOURCE, ScrapePayload, SourcePayload
from ramet.pipelines.jobs.live import settings_in_force
from ramet.pipelines.jobs.tasks.tiers import task_priority

LOOK_SECONDS = 1.0
"""Between two looks at how far the sources are."""


@app.task(SCRAPE, key=key_of_scrape, queue=QUEUE, cycle_on="kind+key", priority=30)
async def scrape(ctx: Context, payload: ScrapePayload) -> Any:
    """Scrape sources, a few side by side, and stop when there are enough matches."""
    settings = await settings_in_force(ctx.client)
    state = ctx.state
    if "chosen" not in state:
        chosen = await sources_to_scrape(ctx.client, payload.source_ids, payload.max_sources)
        if not chosen:
            return ctx.skip("there is no enabled source: `ramet jobs company add` finds some, or `sources approve`")
        state = {"chosen": [[source.source_id, source.tier] for source in chosen], "taken": 0}
    [(matches,)] = await ctx.client.read(records.MATCHES, (ctx.tracking_id, payload.min_match_score or 0.0))
    left = len(state["chosen"]) - state["taken"]
    if payload.target_matches is not None and matches >= payload.target_matches:
        return _result(state, matches, f"{matches} matches are enough")
    live = await _live(ctx)
    if not left:
        if any(live.values()):
            return await _look_again(ctx, state)
        return _result(state, matches, "every source was scraped")
    # With a target the listings of one wave decide about the next.
    room = settings.run.sources_at_once - live[SCRAPE_SOURCE]
    if payload.target_matches is not None and live[LISTING]:
        room = 0
    for source_id, tier in state["chosen"][state["taken"] : state["taken"] + max(0, room)]:
        ctx.spawn(SCRAPE_SOURCE, SourcePayload(source_id=source_id, trigger="batch"), priority=task_priority(tier))
        state = state | {"taken": state["taken"] + 1}
    return await _look_again(ctx, state)


async def _look_again(ctx: Context, state: dict[str, Any]) -> Any:
    await ctx.checkpoint("scrape", state)
    return ctx.snooze(LOOK_SECONDS, f"{state['taken']} of {len(state['chosen'])} sources taken on")


async def _live(ctx: Context) -> dict[str, int]:
    """Live tasks of this lineage by kind."""
    live = {SCRAPE_SOURCE: 0, LISTING: 0}
    for row in await ctx.client.counts(ctx.tracking_id):
        if row.kind in live and row.state in ("pending", "processing", "stale"):
            live[row.kind] += row.tasks
    return live


def _result(state: dict[str, Any], matches: int, why: str) -> dict[str, Any]:
    return {"sources": state["taken"], "matches": matches, "ended": why}
