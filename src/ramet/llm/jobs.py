"""Jobs: one lineage each, created whole, with its settings, its rows, its items and, in batch mode, its lanes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from pydantic import BaseModel

from ramet import (
    PRESETS,
    BlockReason,
    Client,
    Context,
    Limits,
    Lineage,
    LineageExists,
    LineageTotals,
    Outcome,
    TaskOptions,
)
from ramet.llm import app as tables
from ramet.llm.app import NO_CEILING, app
from ramet.llm.calls import settings_of
from ramet.llm.errors import InputError, JobNotFound
from ramet.llm.inputs.spool import AskedRow, Questions
from ramet.llm.known_answers import FORGET
from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.providers.base import Mode
from ramet.llm.requests import Request, canonical, digest
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

ROWS_AT_ONCE = 2_000
"""Rows of the input that are one task, at most."""
BYTES_AT_ONCE = 32_000_000
"""Bytes of the questions that are written at once, about."""
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
        """Name of the job for people."""
        return self.job_id.removeprefix(PREFIX)


def digest_of(questions: Questions, settings: JobSettings) -> str:
    """Return the digest of all that a job asks: the same for the same rows to the same model in the same mode."""
    asked = [settings.provider, settings.base_url, settings.mode, settings.check, settings.on_answer]
    digest = hashlib.sha256(canonical(asked).encode())
    for row in questions.rows:
        digest.update(f"{row.id}\0{row.key}\0".encode(errors="surrogatepass"))
        if row.columns:
            digest.update(json.dumps(row.columns, sort_keys=True).encode())
    return digest.hexdigest()


def job_name(questions: Questions, settings: JobSettings) -> str:
    """Return the name of a job that was given none."""
    return digest_of(questions, settings)[:12]


def check_name(name: str) -> str:
    """Return the lineage of a job of that name.

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
    """Create a job; the job and whether it is new.

    A small one is created in one transaction. A large one is paused until all of it is there, and a submit that was cut
    short is taken up again by the same call.

    Args:
        max_cost, soft_cost: the job's ceilings, nano-dollars; 0 only where nothing costs anything.

    Raises:
        InputError: another job has this name, or it asks nothing.
        StoreError: the database could not be written.
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
    limits = _limits(settings, len(questions.requests) + len(lanes) + len(questions.rows) + 2, max_cost, soft_cost)
    chunks = chunks_of(questions, job_id, settings)
    first = next(chunks)
    second = next(chunks, None)
    roots: list[Root] = [(JOB, settings, {"key": JOB_KEY}), *lanes, *first]
    if second is not None:
        roots = [(JOB, settings, {"key": JOB_KEY, "delay_seconds": HELD_SECONDS})]
    try:
        told = await client.submit_many(roots, one_lineage=True, tracking_id=job_id, limits=limits, may_raise=True,
                                         on_lineage_end=END)  # fmt: skip
        new = told[0].created
    except LineageExists:
        new = False
    job = await find_job(client, job_id)
    if not new and job.settings.digest != settings.digest:
        raise InputError(f"job {job.name} exists already and asks something else: give another name with --job")
    if second is not None and (new or await _is_unfinished(client, job)):
        if new:
            await client.pause_lineage(job_id, by="llm", reason=UNFINISHED)
        await _complete(client, job_id, chain((first, second), chunks, [lanes]))
        return await find_job(client, job_id), True
    return job, new


async def _complete(client: Client, job_id: str, chunks: Iterable[Sequence[Root]]) -> None:
    """Fill a job that is paused, and let it go on."""
    for chunk in chunks:
        await add_chunk(client, job_id, chunk)
    await client.reschedule(await _first_task(client, job_id), delay_seconds=0.0, by="llm")
    await client.resume_lineage(job_id, by="llm")


UNFINISHED = "it is being submitted: give the same command again if that was cut short"
HELD_SECONDS = 300.0
"""Delay of the first task of a large job, in which the job is paused."""


async def _first_task(client: Client, job_id: str) -> str:
    page = await client.tasks(tracking_id=job_id, kind=JOB, key=JOB_KEY, limit=1)
    return page.tasks[0].id


async def _is_unfinished(client: Client, job: Job) -> bool:
    """Return whether a submit was cut short before all of the job was there.

    Raises:
        InputError: it was, and the job has ended meanwhile.
    """
    there = 0
    async for task in client.all_tasks(tracking_id=job.job_id, kind=ROWS):
        there += int(task.payload["count"])
    if there >= job.settings.rows and job.lineage.paused_reason != UNFINISHED:
        return False
    if job.lineage.ended_at is not None:
        raise InputError(f"job {job.name} ended before all of it was submitted: give another name with --job")
    return True


async def add_chunk(client: Client, job_id: str, chunk: Sequence[Root]) -> int:
    """Add tasks to a job, those that are not there yet; how many there were.

    Raises:
        InputError: the job takes no more, with the reason.
    """
    if not chunk:
        return 0
    answers = await client.add(job_id, chunk)
    for answer in answers:
        if answer.id is None and answer.reason not in (BlockReason.IN_FLIGHT, BlockReason.DONE):
            raise InputError(f"job {job_id.removeprefix(PREFIX)} takes no more rows: {answer.reason}")
    return sum(answer.id is not None for answer in answers)


def _limits(settings: JobSettings, tasks: int, max_cost: int, soft_cost: int | None) -> Limits:
    """Those of the job's lineage."""
    preset = PRESETS[settings.preset]
    # A provider has a day for a batch, whatever the preset.
    least = BATCH_SECONDS + preset.schedule_seconds if settings.mode is Mode.BATCH else 0.0
    return replace(
        preset,
        lineage_seconds=max(preset.lineage_seconds, least),
        max_tasks=tasks,
        # A part of the input is added at once: its questions, its rows and a lane for each of them at most.
        max_fan_out=max(preset.max_fan_out, 2 * ROWS_AT_ONCE + 1),
        max_cost=max_cost or NO_CEILING,
        soft_cost=soft_cost,
    )


class _Sums:
    """Sums over all questions of a job."""

    def __init__(self, questions: Questions, settings: JobSettings) -> None:
        self.of_model: dict[str, int] = {}
        amounts = size = 0
        for request in questions.requests:
            self.of_model[request.model] = self.of_model.get(request.model, 0) + 1
            amounts += reserve_amount(request, settings.prices[request.model], settings.discount)
            size += sum(len(str(message["content"])) for message in request.messages)
        count = len(questions.requests)
        self.mean_amount = -(-amounts // count)
        """Most that a question may cost, nano-dollars."""
        self.mean_bytes = max(1, size // count)
        """About what a question takes."""


def _lanes(of_model: dict[str, int], settings: JobSettings) -> Iterator[Root]:
    """As many lanes of each model as it has batches, and no more than can be at the provider at once."""
    for model, count in of_model.items():
        for number in range(min(LANES_MAX, -(-count // settings.batch_items))):
            payload = LanePayload(lane=number, model=model).model_dump()
            yield BATCH, payload, {"key": f"{model}/{number}", "queue": BATCHES}


def chunks_of(questions: Questions, job_id: str, settings: JobSettings) -> Iterator[list[Root]]:
    """Yield the tasks of some thousand rows, and of the questions that they ask first, in the order of the input."""
    requests = iter(questions.requests)
    part: list[AskedRow] = []
    chunk: list[Root] = []
    size = 0
    for number, row in enumerate(questions.rows, 1):
        part.append(row)
        if row.first:
            request = next(requests)
            size += request.size
            chunk.append(_item(job_id, request, settings))
        if len(part) == ROWS_AT_ONCE or size > BYTES_AT_ONCE or number == len(questions.rows):
            key = digest("".join(f"{one.id}\0{one.key}\0" for one in part))
            yield [*chunk, (ROWS, packed(part), {"key": key})]
            part, chunk, size = [], [], 0


def _item(job_id: str, request: Request, settings: JobSettings) -> Root:
    options: TaskOptions = {"key": request.key, "task_seconds": settings.seconds_of_item}
    if settings.mode is not Mode.BATCH:
        return ITEM, item_payload(request), options
    options["queue"] = lane_queue(job_id, request.model)
    return BATCH_ITEM, item_payload(request), options


async def find_job(client: Client, name: str) -> Job:
    """Return a job by its name.

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
    """Hold the settings; there is nothing to do."""


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
    ctx.write(FORGET, (totals.tracking_id,))
    return Outcome.fail("no item succeeded") if (totals.state, state) == ("finished", "failed") else None


DELETE = "llm.delete"
DELETE_QUEUE = "llm.delete"
"""Queue without workers: the command that deletes writes the note itself."""


class DeletePayload(BaseModel):
    """The job, and the reason."""

    job_id: str
    reason: str | None = None


@app.task(DELETE, queue=DELETE_QUEUE)
async def delete(ctx: Context, payload: DeletePayload) -> None:
    """Note that a job was deleted; it was cancelled before."""
    ctx.write(tables.DELETE_JOB, (payload.job_id, "cancelled", payload.reason, ctx.now, ctx.now))


async def is_deleted(client: Client, job: Job) -> bool:
    """Return whether a person deleted it."""
    rows = await client.read("SELECT 1 FROM llm_jobs WHERE job_id = ? AND deleted_at IS NOT NULL", (job.job_id,))
    return bool(rows)
