"""SCRAPE: a batch over sources, the most promising first, until there are enough matches."""

from __future__ import annotations

from typing import Any

from ramet import Context
from ramet.jobs import records
from ramet.jobs.app import app, bounds_of
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.kinds import LISTING, QUEUE, SCRAPE, SCRAPE_SOURCE, ScrapePayload, SourcePayload
from ramet.jobs.queries import sources_to_scrape
from ramet.jobs.tasks.keys import FULL, key_of_scrape, task_priority

LOOK_SECONDS = 1.0
"""Between two looks at how far the sources are."""


@app.task(SCRAPE, key=key_of_scrape, queue=QUEUE, cycle_on="kind+key", priority=30, lineage_limits=bounds_of)
async def scrape(ctx: Context, payload: ScrapePayload) -> Any:
    """Scrape sources, a few side by side, and stop when there are enough matches."""
    settings = await settings_in_force(ctx.client)
    state = ctx.state
    if "chosen" not in state:
        chosen = await sources_to_scrape(ctx.client, payload.source_ids, payload.max_sources, payload.not_since)
        if not chosen and payload.not_since is not None and await sources_to_scrape(ctx.client, payload.source_ids, 1):
            return await _result(ctx, {"taken": 0}, 0, "every source was scraped a moment ago")
        if not chosen:
            return ctx.skip("there is no enabled source: `ramet jobs company add` finds some, or `sources approve`")
        state = {"chosen": [[source.source_id, source.tier] for source in chosen], "taken": 0}
    [(matches,)] = await ctx.client.read(records.MATCHES, (ctx.tracking_id, payload.min_match_score or 0.0))
    left = len(state["chosen"]) - state["taken"]
    if payload.target_matches is not None and matches >= payload.target_matches:
        return await _result(ctx, state, matches, f"{matches} matches are enough")
    live = await _counted(ctx, "pending", "processing", "stale")
    if not left:
        if any(live.values()):
            return await _look_again(ctx, state)
        return await _result(ctx, state, matches, "every source was scraped")
    # With a target the listings of one wave decide about the next.
    room = settings.run.sources_at_once - live[SCRAPE_SOURCE]
    if payload.target_matches is not None and live[LISTING]:
        room = 0
    for source_id, tier in state["chosen"][state["taken"] : state["taken"] + max(0, room)]:
        ctx.spawn(SCRAPE_SOURCE, SourcePayload(source_id=source_id, trigger="batch"), priority=task_priority(tier))
        state = state | {"taken": state["taken"] + 1}
    return await _look_again(ctx, state)


async def _look_again(ctx: Context, state: dict[str, Any]) -> Any:
    if state != ctx.state:
        await ctx.checkpoint("scrape", state)
    return ctx.snooze(LOOK_SECONDS, f"{state['taken']} of {len(state['chosen'])} sources taken on")


async def _counted(ctx: Context, *states: str) -> dict[str, int]:
    """Tasks of this lineage in these states, by kind."""
    counted = {SCRAPE_SOURCE: 0, LISTING: 0}
    for row in await ctx.client.counts(ctx.tracking_id):
        if row.kind in counted and row.state in states:
            counted[row.kind] += row.tasks
    return counted


async def _result(ctx: Context, state: dict[str, Any], matches: int, why: str) -> dict[str, Any]:
    """Return the result: sources that had a run, those whose run has failed, matches, and why the batch ended."""
    refused = await ctx.client.block_totals(ctx.tracking_id)
    left_out = sum(count for (kind, reason), count in refused.items() if kind == SCRAPE_SOURCE and reason in FULL)
    if left_out:
        why += f"; a limit of the run left {left_out} sources out"
    failed = (await _counted(ctx, "failed"))[SCRAPE_SOURCE]
    result = {"sources": state["taken"] - left_out, "matches": matches, "ended": why}
    return result | ({"failed": failed} if failed else {})
