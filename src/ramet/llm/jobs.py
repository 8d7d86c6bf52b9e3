"""Which item answers which row of the input: packed into blobs of the job's lineage.

Rows may be many times the items, and each has a name of its own, so they are no tasks: a job of a million rows that
ask three things has three items. The blobs are created and pruned with the lineage.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple

from pydantic import BaseModel

from ramet import PRESETS, Blob, Client, Context, Limits, Lineage, LineageExists, LineageTotals, Outcome, TaskOptions
from ramet.llm import app as tables
from ramet.llm.app import NO_CEILING, app
from ramet.llm.calls import settings_of
from ramet.llm.errors import InputError, JobNotFound
from ramet.llm.inputs.prompt_file import Row
from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.providers.base import Mode
from ramet.llm.requests import Request, canonical
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
    ItemPayload,
    JobSettings,
    LanePayload,
    lane_queue,
)

ROWS_PER_BLOB = 100_000


class IndexedRow(NamedTuple):
    """A row of the input."""

    position: int
    """0 for the first."""
    id: str
    item: int
    """Number of the item that answers it, in the order in which they were created; 0 for the first."""


def packed(rows: Iterable[tuple[str, int]]) -> list[Blob]:
    """The index of rows given as (id, number of the item)."""
    left = iter(rows)
    return [Blob.of({"ids": [row[0] for row in part], "items": [row[1] for row in part]}) for part in _parts(left)]


def _parts(left: Iterator[tuple[str, int]]) -> Iterator[Sequence[tuple[str, int]]]:
    while part := list(islice(left, ROWS_PER_BLOB)):
        yield part


async def rows_of(client: Client, job_id: str, blobs: Sequence[Blob]) -> AsyncIterator[IndexedRow]:
    """The rows in the order of the input; one blob of them is in memory at a time.

    Raises:
        LookupError: the job's lineage was pruned.
    """
    position = 0
    for blob in blobs:
        part = await client.blob(blob, job_id)
        for row_id, item in zip(part["ids"], part["items"], strict=True):
            yield IndexedRow(position, row_id, item)
            position += 1


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Questions:
    """What a file asks: its distinct questions, and which of them answers which row."""

    requests: tuple[Request, ...]
    """Each key once, in the order of the input."""
    rows: tuple[tuple[str, int], ...]
    """Id of each row, and the number of its question."""


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


def questions_of(rows: Iterable[Row], *, distinct: bool = True) -> Questions:
    """The questions of rows. Equal ones are asked once, unless ``distinct`` is False."""
    numbers: dict[str, int] = {}
    requests: list[Request] = []
    named: list[tuple[str, int]] = []
    for row in rows:
        request = row.request if distinct else replace(row.request, key=_own_key(row))
        number = numbers.setdefault(request.key, len(requests))
        if number == len(requests):
            requests.append(request)
        named.append((row.id, number))
    return Questions(tuple(requests), tuple(named))


def _own_key(row: Row) -> str:
    return hashlib.sha256(f"{row.request.key}#{row.position}".encode()).hexdigest()


def job_name(questions: Questions, settings: JobSettings) -> str:
    """The name of a job that was given none: the same for the same questions to the same model in the same mode."""
    digest = hashlib.sha256(canonical([settings.provider, settings.base_url, settings.mode, settings.check]).encode())
    for row_id, number in questions.rows:
        digest.update(f"{row_id}\0{questions.requests[number].key}\0".encode())
    return digest.hexdigest()[:12]


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
    if not questions.requests:
        raise InputError("there is nothing to ask: the input has no rows")
    amounts = _amounts(questions, settings)
    settings = settings.model_copy(
        update={
            "index": packed(questions.rows),
            "rows": len(questions.rows),
            "items": len(questions.requests),
            "mean_amount": -(-sum(amounts) // len(amounts)),
            "mean_bytes": _mean_bytes(questions),
        }
    )
    lanes = list(_lanes(questions, settings)) if settings.mode is Mode.BATCH else []
    limits = _limits(settings, len(questions.requests) + len(lanes) + 2, max_cost, soft_cost)
    first: list[Any] = [(JOB, settings, {"key": JOB_KEY}), *lanes]
    # Not a list: a large job is in memory as seldom as can be.
    roots = chain(first, _items(job_id, questions.requests, settings))
    try:
        told = await client.submit_many(roots, one_lineage=True, tracking_id=job_id, limits=limits, may_raise=True,
                                         on_lineage_end=END)  # fmt: skip
        new = told[0].created
    except LineageExists:
        new = False
    job = await find_job(client, job_id)
    if not new and [one.sha256 for one in job.settings.index] != [one.sha256 for one in settings.index]:
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


def _amounts(questions: Questions, settings: JobSettings) -> list[int]:
    return [reserve_amount(one, settings.prices[one.model], settings.discount) for one in questions.requests]


def _mean_bytes(questions: Questions) -> int:
    """About what a question takes, in the mean."""
    total = sum(len(str(message["content"])) for request in questions.requests for message in request.messages)
    return max(1, total // len(questions.requests))


def _lanes(questions: Questions, settings: JobSettings) -> Iterator[tuple[str, Any, TaskOptions]]:
    """As many lanes of each model as it has batches, and no more than can be at the provider at once."""
    of_model: dict[str, int] = {}
    for request in questions.requests:
        of_model[request.model] = of_model.get(request.model, 0) + 1
    for model, count in of_model.items():
        for number in range(min(LANES_MAX, -(-count // settings.batch_items))):
            payload = LanePayload(lane=number, model=model).model_dump()
            yield BATCH, payload, {"key": f"{model}/{number}", "queue": BATCHES}


def _items(job_id: str, requests: Sequence[Request], settings: JobSettings) -> Iterator[tuple[str, Any, TaskOptions]]:
    batch = settings.mode is Mode.BATCH
    for request in requests:
        payload = ItemPayload(
            model=request.model,
            messages=tuple(dict(message) for message in request.messages),
            max_output_tokens=request.max_output_tokens,
            parameters=dict(request.parameters),
            answer_schema=None if request.schema is None else dict(request.schema),
        )
        options: TaskOptions = {"key": request.key, "task_seconds": settings.seconds_of_item}
        if batch:
            options["queue"] = lane_queue(job_id, request.model)
        yield BATCH_ITEM if batch else ITEM, payload.model_dump(by_alias=True), options


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
