"""Jobs: one lineage each, created whole, with its settings, its rows, its items and, in batch mode, its lanes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from ramet import PRESETS, Client, Context, Limits, Lineage, LineageExists, LineageTotals, Outcome, TaskOptions
from ramet.llm import app as tables
from ramet.llm.app import NO_CEILING, app
from ramet.llm.calls import settings_of
from ramet.llm.errors import InputError, JobNotFound
from ramet.llm.inputs.spool import AskedRow, Questions
from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.providers.base import Mode
from ramet.llm.requests import Request, canonical
from ramet.llm.rows import ROWS, packed
from ramet.llm.settings import (
    BATCH,
    BATCH_ITEM,
    BATCH_SECONDS,
    BATCHES,
    END,
    ITEM,
    JOB,
    JOB_KEY,
    LANES_MAX,
    PREFIX,
    QUEUE,
    JobSettings,
    LanePayload,
    item_payload,
    lane_queue,
)

ROWS_AT_ONCE = 10_000
"""Rows of the input that are one task."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


Root = tuple[str, Any, TaskOptions]
"""A task as it is submitted: kind, payload, options."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job that exists."""

    job_id: str
    settings: JobSettings
    lineage: Lineage

    @property
    def name(self) -> str:
        """What people call it."""
        return self.job_id.removeprefix(PREFIX)


def digest_of(questions: Questions, settings: JobSettings) -> str:
    """The digest of all that a job asks: the same for the same rows to the same model in the same mode."""
    digest = hashlib.sha256(canonical([settings.provider, settings.base_url, settings.mode, settings.check]).encode())
    for row in questions.rows:
        digest.update(f"{row.id}\0{row.key}\0".encode(errors="surrogatepass"))
        if row.columns:
            digest.update(json.dumps(row.columns, sort_keys=True).encode())
    return digest.hexdigest()


def job_name(questions: Questions, settings: JobSettings) -> str:
    """The name of a job that was given none."""
    return digest_of(questions, settings)[:12]


def check_name(name: str) -> str:
    """The lineage of a job of that name.

    Raises:
        InputError: nothing can be called that.
    """
    name = name.removeprefix(PREFIX)
    if NAME.fullmatch(name) is None:
        raise InputError(f"a job cannot be called {name!r}: give up to 100 letters, digits and any of . _ -")
    return PREFIX + name


async def submit_job(
    client: Client,
    name: str,
    questions: Questions,
    settings: JobSettings,
    *,
    max_cost: int,
    soft_cost: int | None = None,
) -> tuple[Job, bool]:
    """Create a job, whole, in one transaction; the job and whether it is new.

    Args:
        max_cost, soft_cost: the job's ceilings, nano-dollars; 0 only where nothing costs anything.

    Raises:
        InputError: another job has this name, or it asks nothing.
        StoreError: the database could not be written; nothing was created.
    """
    job_id = check_name(name)
    if not len(questions.requests):
        raise InputError("there is nothing to ask: the input has no rows")
    sums = _Sums(questions, settings)
    settings = settings.model_copy(
        update={
            "digest": digest_of(questions, settings),
            "rows": len(questions.rows),
            "items": len(questions.requests),
            "mean_amount": sums.mean_amount,
            "mean_bytes": sums.mean_bytes,
        }
    )
    lanes = list(_lanes(sums.of_model, settings)) if settings.mode is Mode.BATCH else []
    chunks = -(-len(questions.rows) // ROWS_AT_ONCE)
    limits = _limits(settings, len(questions.requests) + len(lanes) + chunks + 2, max_cost, soft_cost)
    roots: list[Root] = [(JOB, settings, {"key": JOB_KEY}), *lanes, *_chunk(questions, job_id, settings)]
    try:
        told = await client.submit_many(roots, one_lineage=True, tracking_id=job_id, limits=limits, may_raise=True,
                                         on_lineage_end=END)  # fmt: skip
        new = told[0].created
    except LineageExists:
        new = False
    job = await find_job(client, job_id)
    if not new and job.settings.digest != settings.digest:
        raise InputError(f"job {job.name} exists already and asks something else: give another name with --job")
    return job, new


def _limits(settings: JobSettings, tasks: int, max_cost: int, soft_cost: int | None) -> Limits:
    """Those of the job's lineage."""
    preset = PRESETS[settings.preset]
    # A provider has a day for a batch, whatever the preset.
    least = BATCH_SECONDS + preset.schedule_seconds if settings.mode is Mode.BATCH else 0.0
    return replace(
        preset,
        lineage_seconds=max(preset.lineage_seconds, least),
        max_tasks=tasks,
        max_cost=max_cost or NO_CEILING,
        soft_cost=soft_cost,
    )


class _Sums:
    """What is known of a job's questions after all of them were looked at."""

    def __init__(self, questions: Questions, settings: JobSettings) -> None:
        self.of_model: dict[str, int] = {}
        amounts = size = 0
        for request in questions.requests:
            self.of_model[request.model] = self.of_model.get(request.model, 0) + 1
            amounts += reserve_amount(request, settings.prices[request.model], settings.discount)
            size += sum(len(str(message["content"])) for message in request.messages)
        count = len(questions.requests)
        self.mean_amount = -(-amounts // count)
        """What a question may cost at most, nano-dollars."""
        self.mean_bytes = max(1, size // count)
        """About what a question takes."""


def _lanes(of_model: dict[str, int], settings: JobSettings) -> Iterator[Root]:
    """As many lanes of each model as it has batches, and no more than can be at the provider at once."""
    for model, count in of_model.items():
        for number in range(min(LANES_MAX, -(-count // settings.batch_items))):
            payload = LanePayload(lane=number, model=model).model_dump()
            yield BATCH, payload, {"key": f"{model}/{number}", "queue": BATCHES}


def _chunk(questions: Questions, job_id: str, settings: JobSettings) -> Iterator[Root]:
    """The tasks of the rows and of the questions that they ask first, in the order of the input."""
    requests = iter(questions.requests)
    part: list[AskedRow] = []
    for number, row in enumerate(questions.rows, 1):
        part.append(row)
        if row.first:
            yield _item(job_id, next(requests), settings)
        if len(part) == ROWS_AT_ONCE or number == len(questions.rows):
            yield ROWS, packed(part), {"key": f"rows/{number - len(part)}"}
            part = []


def _item(job_id: str, request: Request, settings: JobSettings) -> Root:
    options: TaskOptions = {"key": request.key, "task_seconds": settings.seconds_of_item}
    if settings.mode is not Mode.BATCH:
        return ITEM, item_payload(request), options
    options["queue"] = lane_queue(job_id, request.model)
    return BATCH_ITEM, item_payload(request), options


async def find_job(client: Client, name: str) -> Job:
    """A job by its name.

    Raises:
        JobNotFound: the database holds no such job.
    """
    job_id = check_name(name)
    lineage = await client.lineage(job_id)
    if lineage is None:
        raise JobNotFound(f"there is no job {job_id.removeprefix(PREFIX)}: `ramet llm status` lists those that are")
    return Job(job_id, await settings_of(client, job_id), lineage)


@app.task(JOB, queue=QUEUE)
async def job(ctx: Context, payload: JobSettings) -> None:
    """Holds the settings; there is nothing to do."""


@app.task(END, queue=QUEUE)
async def end_job(ctx: Context, totals: LineageTotals) -> Outcome | None:
    """Write down how a job ended. One of which nothing succeeded fails here too, so that the monitor counts it."""
    counts = await ctx.client.counts(totals.tracking_id)
    items = [count for count in counts if count.kind in (ITEM, BATCH_ITEM)]
    succeeded = sum(count.tasks for count in items if count.state == "success")
    others = sum(count.tasks for count in items) - succeeded
    state = "cancelled" if totals.state == "cancelled" else "failed"
    if totals.state == "finished" and succeeded:
        state = "partly" if others else "succeeded"
    row = (totals.tracking_id, state, succeeded, others, totals.reason, totals.ended_at)
    ctx.write(tables.ADD_JOB, row)
    return Outcome.fail("no item succeeded") if (totals.state, state) == ("finished", "failed") else None


DELETE = "llm.delete"
DELETE_QUEUE = "llm.delete"
"""Of its own: the command that deletes writes the note itself."""


class DeletePayload(BaseModel):
    """Which job, and why."""

    job_id: str
    reason: str | None = None


@app.task(DELETE, queue=DELETE_QUEUE)
async def delete(ctx: Context, payload: DeletePayload) -> None:
    """Note that a job was deleted; it was cancelled before."""
    ctx.write(tables.DELETE_JOB, (payload.job_id, "cancelled", payload.reason, ctx.now, ctx.now))
