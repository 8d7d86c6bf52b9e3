"""A run that a schedule begins: a batch over sources, and then a digest of the matches that are new."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ramet import Budget, Context
from ramet.jobs.app import app, bounds_of
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.kinds import QUEUE, RUN, SCRAPE, ScrapePayload
from ramet.jobs.queries import live_run
from ramet.jobs.settings import JobsSettings
from ramet.jobs.tasks.digest import tell_new_matches

SCHEDULED_RUN = "jobs.scheduled_run"
SCHEDULE = f"{RUN}scheduled"
"""Name of the schedule, and so the beginning of its lineages: `ramet jobs run` goes on with one that has not ended."""


class ScheduledRunPayload(BaseModel):
    """Bounds of a scheduled run; None: those of the settings when it begins."""

    everything: bool = False
    """Every enabled source, however many matches there are."""
    target_matches: int | None = None
    max_sources: int | None = None
    digest: bool = True

    def batch(self, settings: JobsSettings) -> ScrapePayload:
        """Return the batch of one run."""
        if self.everything:
            return ScrapePayload(target_matches=None, max_sources=None, trigger="schedule")
        return ScrapePayload(
            target_matches=self.target_matches or settings.run.target_matches,
            max_sources=self.max_sources or settings.run.max_sources,
            trigger="schedule",
        )


@app.task(
    SCHEDULED_RUN, key=lambda payload: "scheduled", queue=QUEUE, cycle_on="kind+key", priority=30,
    lineage_limits=bounds_of,
)  # fmt: skip
async def scheduled_run(ctx: Context, payload: ScheduledRunPayload) -> Any:
    """Begin a batch, unless a run goes on or nothing can be scored; when all of it has ended, tell what is new."""
    if ctx.joined is None:
        settings = await settings_in_force(ctx.client)
        other = await live_run(ctx.client, but=ctx.tracking_id)
        if other is None and settings.profile.given:
            ctx.spawn(SCRAPE, payload.batch(settings), budget=await _budget(ctx))
            return ctx.join(branch=True)
        # Matches that others found meanwhile are in the digest all the same.
        if payload.digest:
            await tell_new_matches(ctx)
        why = "there is no profile: `ramet jobs init` takes one in"
        return ctx.skip(f"the run {other} has not ended: `ramet jobs run` goes on with it" if other else why)
    return {"told": await tell_new_matches(ctx) if payload.digest else 0}


async def _budget(ctx: Context) -> Budget | None:
    """Return the bounds of the settings of now, where they are lower than when the schedule was made."""
    lineage = await ctx.client.lineage(ctx.tracking_id)
    assert lineage is not None
    now = bounds_of(ctx.client.settings.live.stored)
    tasks = now.max_tasks if now.max_tasks < lineage.max_tasks else None
    cost = now.max_cost
    lower = cost is not None and (lineage.max_cost is None or cost < lineage.max_cost)
    made = Budget(max_tasks=tasks, max_cost=cost if lower else None)
    return None if made == Budget() else made
