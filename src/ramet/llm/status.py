"""Status of a job: numbers for people and machines, computed from stored rows only.

An item's state is a projection of its task: pending and never sent is queued; written down for sending is submitting;
at the provider is processing; the rest is how the task ended.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from ramet import Client, TaskState
from ramet.llm.calls import JobGone
from ramet.llm.items import PROCESSING, SUBMITTING
from ramet.llm.jobs import Job, find_job
from ramet.llm.providers.base import Mode
from ramet.llm.settings import BATCH, BATCH_ITEM, ITEM, POLL, PREFIX, SCHEDULE

RATE_SECONDS = 60.0
"""Seconds of answers from which rates are computed."""
RATE_SPAN_SECONDS = 1.0
"""Over less than that, a rate says nothing."""
JOBS_MAX = 1_000


class ItemState(StrEnum):
    """The states of an item as people see them, in their order."""

    QUEUED = "queued"
    SUBMITTING = "submitting"
    PROCESSING = "processing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


ENDED = {
    TaskState.SUCCESS: ItemState.SUCCEEDED,
    TaskState.FAILED: ItemState.FAILED,
    TaskState.SKIPPED: ItemState.SKIPPED,
    TaskState.FILTERED: ItemState.SKIPPED,
    TaskState.CANCELLED: ItemState.CANCELLED,
}
LIVE = (ItemState.QUEUED, ItemState.SUBMITTING, ItemState.PROCESSING)


OVER = ("succeeded", "partly", "failed", "cancelled")
"""The states of a job of which nothing is to come any more."""
WAITS_LOOKED_AT = 20
"""Tasks of a job that are looked at for what they wait for."""
CEILINGS = {"day": "the day's ceiling", "global": "the ceiling over all days", "lineage": "the job's ceiling"}


class JobWait(NamedTuple):
    """Cause of a job's wait, and its end."""

    what: str
    """``the day's ceiling``, ``the next slot of the poller``, ``busy: ...``, ``not reached: ...``."""
    until: float
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job at one moment. Money is in nano-dollars."""

    job: Job
    state: str
    """queued, running, paused, succeeded, partly, failed or cancelled."""
    reason: str | None
    """Reason why it is paused, failed or cancelled."""
    items: dict[ItemState, int]
    """Every state is there."""
    input_tokens: int
    output_tokens: int
    late: int
    """Answers that came after their item had ended."""
    refused: int
    """Number of items that the provider refused for now, so that they were sent again."""
    ambiguous: int
    """Submits of which it was unknown whether they were accepted."""
    elapsed_seconds: float
    """Seconds from the submission to now, or to the end."""
    items_per_second: float | None
    """Over the last minute; None when nothing was answered in it."""
    tokens_per_second: float | None
    eta_seconds: float | None
    """Seconds to the end at that rate; None when that cannot be known."""
    wait: JobWait | None = None
    """Cause of the wait of the item that comes first, where that is not its answer."""
    first_failure: str | None = None
    """Reason of the first item that failed; None while the job goes on."""

    @property
    def total(self) -> int:
        """Items, in whatever state."""
        return sum(self.items.values())

    @property
    def done(self) -> int:
        """Items that ended."""
        return self.total - sum(self.items[state] for state in LIVE)

    @property
    def over(self) -> bool:
        """True if nothing is to come any more."""
        return self.state in OVER

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        lineage, settings = self.job.lineage, self.job.settings
        return {
            "job": self.job.name,
            "state": self.state,
            "reason": self.reason,
            "mode": settings.mode,
            "provider": settings.place,
            "models": sorted(settings.prices),
            "source": settings.source,
            "rows": settings.rows,
            "items": {str(state): count for state, count in self.items.items()},
            "waits_for": None if self.wait is None else self.wait.what,
            "waits_until": None if self.wait is None else self.wait.until,
            "first_failure": self.first_failure,
            "done": self.done,
            "total": self.total,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "late": self.late,
            "refused": self.refused,
            "ambiguous": self.ambiguous,
            "spent": lineage.spent,
            "reserved": lineage.reserved,
            "max_cost": lineage.max_cost,
            "under_reserved": lineage.under_reserved,
            "created_at": lineage.created_at,
            "ended_at": lineage.ended_at,
            "deadline_at": lineage.deadline_at,
            "elapsed_seconds": round(self.elapsed_seconds, 3),
            "items_per_second": self.items_per_second,
            "tokens_per_second": self.tokens_per_second,
            "eta_seconds": self.eta_seconds,
        }


async def status_of(client: Client, job: Job, *, now: float | None = None) -> JobStatus:
    """Return a job's status from what is stored."""
    now = time.time() if now is None else now
    items = await _items(client, job)
    totals = await client.read(
        "SELECT COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0), COALESCE(SUM(late), 0) "
        "FROM llm_answers WHERE job_id = ?",
        (job.job_id,),
    )
    [(input_tokens, output_tokens, late)] = totals
    [(ambiguous,)] = await client.read("SELECT COUNT(*) FROM llm_ambiguous WHERE job_id = ?", (job.job_id,))
    [(refused,)] = await client.read("SELECT COALESCE(SUM(items), 0) FROM llm_refusals WHERE job_id = ?", (job.job_id,))
    lineage = job.lineage
    rates = None if lineage.ended_at is not None else await _rates(client, job, now)
    live = sum(items[state] for state in LIVE)
    return JobStatus(
        job,
        state_of(job, items),
        lineage.paused_reason if lineage.state == "paused" else lineage.reason,
        items,
        int(input_tokens),
        int(output_tokens),
        int(late),
        int(refused),
        int(ambiguous),
        max(0.0, (lineage.ended_at or now) - lineage.created_at),
        None if rates is None else rates[0],
        None if rates is None else rates[1],
        live / rates[0] if rates is not None and rates[0] > 0 else None,
        await _wait(client, job, now) if lineage.state == "running" and live else None,
        await _first_failure(client, job) if items[ItemState.FAILED] and lineage.ended_at is not None else None,
    )


async def _wait(client: Client, job: Job, now: float) -> JobWait | None:
    """Cause of the wait of its first task that is put off, else the next slot; None where that is a poll."""
    kind = BATCH if job.settings.mode is Mode.BATCH else ITEM
    page = await client.tasks(tracking_id=job.job_id, states=[TaskState.PENDING], kind=kind, limit=WAITS_LOOKED_AT)
    later = [task for task in page.tasks if task.snoozes and (task.available_at or 0.0) > now]
    for task in sorted(later, key=lambda each: each.available_at or 0.0)[:1]:
        found = await client.explain(task.id)
        reason = None if found is None else found.why[0].facts.get("reason")
        if reason is not None:
            ceiling = getattr(reason, "facts", {}).get("ceiling")
            return JobWait(CEILINGS.get(str(ceiling), str(reason)), task.available_at or 0.0)
    due = any((task.available_at or 0.0) <= now for task in page.tasks)
    return await _next_slot(client, job, kind, now) if due else None


async def _next_slot(client: Client, job: Job, kind: str, now: float) -> JobWait | None:
    """Return the next slot of the poller, where tasks of a job are due and nothing takes them now."""
    schedule = await client.schedules.get(SCHEDULE)
    if schedule is None or schedule.next_at <= now or schedule.state != "active":
        return None
    taken = await client.tasks(tracking_id=job.job_id, states=[TaskState.PROCESSING], kind=kind, limit=1)
    polls = await client.tasks(states=[TaskState.PENDING, TaskState.PROCESSING], kind=POLL, limit=1)
    return None if taken.tasks or polls.tasks else JobWait("the next slot of the poller", schedule.next_at)


async def _first_failure(client: Client, job: Job) -> str | None:
    kind = BATCH_ITEM if job.settings.mode is Mode.BATCH else ITEM
    page = await client.tasks(tracking_id=job.job_id, states=[TaskState.FAILED], kind=kind, limit=1)
    return page.tasks[0].reason if page.tasks else None


def state_of(job: Job, items: dict[ItemState, int]) -> str:
    """Return the state of a job: succeeded if all its items did, partly if some of them did, failed if none did."""
    state = job.lineage.state
    if state in ("cancelled", "paused"):
        return state
    if state == "running":
        return "queued" if items[ItemState.QUEUED] == sum(items.values()) else "running"
    if state == "finished" and items[ItemState.SUCCEEDED]:
        return "succeeded" if items[ItemState.SUCCEEDED] == sum(items.values()) else "partly"
    return "failed"


async def _items(client: Client, job: Job) -> dict[ItemState, int]:
    counts = dict.fromkeys(ItemState, 0)
    for count in await client.counts(job.job_id):
        if count.kind not in (ITEM, BATCH_ITEM):
            continue
        ended = ENDED.get(TaskState(count.state)) if count.state not in ("pending", "processing", "stale") else None
        counts[ended or ItemState.QUEUED] += count.tasks
    if not counts[ItemState.QUEUED]:
        return counts
    if job.settings.mode is Mode.BATCH:
        submitting, processing = await _at_lanes(client, job)
    else:
        submitting, processing = await _at_stages(client, job)
    counts[ItemState.SUBMITTING], counts[ItemState.PROCESSING] = submitting, processing
    counts[ItemState.QUEUED] = max(0, counts[ItemState.QUEUED] - submitting - processing)
    return counts


async def _at_stages(client: Client, job: Job) -> tuple[int, int]:
    at = {SUBMITTING: 0, PROCESSING: 0}
    for count in await client.stage_counts(ITEM, job.job_id):
        if count.stage in at and count.state in ("pending", "processing"):
            at[count.stage] += count.tasks
    return at[SUBMITTING], at[PROCESSING]


async def _at_lanes(client: Client, job: Job) -> tuple[int, int]:
    """Items whose batch is written down, and whose is at the provider; those of it that ended are not bound."""
    at = {SUBMITTING: 0, PROCESSING: 0}
    for lane_id, items in (await client.bound_counts(job.job_id)).items():
        lane = await client.get(lane_id)
        if lane is not None and lane.stage in at:
            at[lane.stage] += items
    return at[SUBMITTING], at[PROCESSING]


async def _rates(client: Client, job: Job, now: float) -> tuple[float, float] | None:
    [(answers, tokens, first)] = await client.read(
        "SELECT COUNT(*), COALESCE(SUM(input_tokens + output_tokens), 0), MIN(answered_at) FROM llm_answers "
        "WHERE job_id = ? AND answered_at > ?",
        (job.job_id, now - RATE_SECONDS),
    )
    if not answers:
        return None
    seconds = max(RATE_SPAN_SECONDS, now - first)
    return answers / seconds, int(tokens) / seconds


async def list_jobs(client: Client, *, limit: int = 50, deleted: bool = False) -> list[Job]:
    """Jobs, newest first; deleted ones only when asked for."""
    gone = {row[0] for row in await client.read("SELECT job_id FROM llm_jobs WHERE deleted_at IS NOT NULL")}
    found = []
    for lineage in await client.lineages(limit=JOBS_MAX):
        name = lineage.tracking_id
        if not name.startswith(PREFIX) or "#" in name or "@" in name or (name in gone and not deleted):
            continue
        try:
            found.append(await find_job(client, name))
        except JobGone:  # A lineage of such a name that is not a job, or one that is being pruned.
            continue
        if len(found) == limit:
            break
    return found
