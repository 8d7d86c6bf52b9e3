"""The poller: at every slot of its schedule one invocation, which may continue itself, and never for ever.

An invocation takes on at most ``invocation_items`` items and batches, those first that were due first, over all jobs.
Where something changed its state and work is left, it goes on at once, but no deeper than
``max_chain_depth``; then the schedule has to come. So a slot takes on (depth + 1) times as many, and not one more.
"""

from __future__ import annotations

from contextlib import suppress

from pydantic import BaseModel

from ramet import Client, Context, Outcome
from ramet.llm.app import LIMITS, POLL_LIMITS, app
from ramet.llm.batches import batch
from ramet.llm.calls import JobGone, settings_of
from ramet.llm.items import item
from ramet.llm.jobs import delete, end_job, job
from ramet.llm.settings import BATCHES, ITEMS, POLL, PREFIX, QUEUE, SCHEDULE
from ramet.llm.status import JOBS_MAX


class PollPayload(BaseModel):
    """Options of an invocation."""

    wait: bool = True
    """True to stay for what comes due while there is time; else it ends when nothing is due."""


@app.schedule(name=SCHEDULE, payload={}, pulls=[batch, item])
@app.task(POLL, key=lambda payload: POLL, queue=QUEUE, limits=POLL_LIMITS)
async def poll(ctx: Context, payload: PollPayload) -> Outcome | dict[str, int | bool]:
    calls = await _calls_at_once(ctx.client)
    found = await ctx.invoke([batch, item], queues=[BATCHES, ITEMS], concurrency=calls, wait=payload.wait)
    if found.changed and found.left:
        return Outcome.continue_later()
    return {"claimed": found.claimed, "changed": found.changed, "left": found.left}


async def _calls_at_once(client: Client) -> int | None:
    """Return the most that the presets of the running jobs allow; None where that is the limit of every poll."""
    most = 0
    for lineage in await client.lineages(states=["running"], limit=JOBS_MAX):
        if lineage.tracking_id.startswith(PREFIX):
            with suppress(JobGone):  # Not a job: any program may name its lineages so.
                settings = await settings_of(client, lineage.tracking_id)
                most = max(most, settings.limits.invocation_concurrency)
    return None if most in (0, LIMITS.invocation_concurrency) else most


TARGET = "ramet.llm.pipeline:app"

__all__ = ["TARGET", "app", "batch", "delete", "end_job", "item", "job", "poll"]
