"""Jobs from Python: the same rules as the commands, for rows that a program has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel

from ramet import App, Client, StoreError, Worker, dollars, own_logger
from ramet.commands.options import person
from ramet.llm.answers import open_model
from ramet.llm.errors import InputError, JobNotFound, LlmError, Refused, UnknownModel
from ramet.llm.inputs.fingerprints import Fingerprints
from ramet.llm.inputs.prompt_file import Row, read_records
from ramet.llm.inputs.questions import Defaults
from ramet.llm.inputs.spool import asked_request, questions_of
from ramet.llm.jobs import Job as StoredJob
from ramet.llm.jobs import Root, add_chunk, chunks_of, find_job, is_deleted, submit_job
from ramet.llm.on_answer import OnAnswer, path_of
from ramet.llm.pipeline import TARGET, app
from ramet.llm.preparation import SubmitArguments, check_ceiling, missing_key, prepare
from ramet.llm.providers.base import Mode
from ramet.llm.providers.registry import check_request
from ramet.llm.results import output_rows
from ramet.llm.rows import rows_of
from ramet.llm.settings import BATCH, BATCHES, DATABASE, PREFIX, SCHEDULE, JobSettings, LanePayload
from ramet.llm.status import JobStatus, status_of

log = own_logger("ramet.llm")

Dollars = int | float | str | Decimal


class Job:
    """A job of a database: rows that are asked, each once, under a ceiling of money."""

    def __init__(self, name: str, database: str | Path = DATABASE, *, client: Client | None = None) -> None:
        """Name a job that exists; nothing is opened yet.

        Args:
            name: as `ramet llm status` shows it.
            database: a file, or the address of a PostgreSQL database.
            client: one that is open already, of ``ramet.llm.pipeline.app``; it is used and left open.
        """
        self.name = name
        self.database = database
        self._client = client

    @classmethod
    async def submit(
        cls,
        rows: Any,
        *,
        prompt: str | None = None,
        on_answer: OnAnswer | str | None = None,
        model: str | None = None,
        max_output_tokens: int | None = None,
        max_cost: Dollars | None = None,
        schema: Mapping[str, Any] | type[BaseModel] | None = None,
        database: str | Path = DATABASE,
        client: Client | None = None,
        tables: tuple[str, ...] = (),
        **options: Any,
    ) -> Self:
        """Create a job; the same rows with the same options find the job that is there. All rows are checked first.

        Args:
            rows: mappings or texts (a text is a prompt), one after the other; a DataFrame of pandas or polars, a table
                of Arrow, a data set of Hugging Face.
            prompt: a template over the columns, ``Translate: {{ text }}``; None: rows say ``prompt`` or ``messages``.
            on_answer: called as ``on_answer(ctx, row, answer)`` for each row that has its answer. Its statements for
                ``ctx.write`` commit in the transaction that settles the row's item: once, whatever dies. A function of
                a module that workers can import, or its path ``package.module:function``. Each row is asked by itself
                then.
            model, max_output_tokens: for rows that do not say.
            max_cost: dollars that the job may cost; needed unless nothing costs anything.
            schema: a JSON Schema or a pydantic model that answers have to fit.
            database: a file, or the address of a PostgreSQL database.
            client: one that is open already, of ``ramet.llm.pipeline.app``.
            tables: ``CREATE TABLE IF NOT EXISTS`` statements of the tables that ``on_answer`` writes to.
            options: the others of `ramet llm submit`, by the names of
                :class:`ramet.llm.preparation.SubmitArguments`: ``provider``, ``base_url``, ``mode``, ``system``,
                ``parameters``, ``price``, ``preset``, ``cache``, ``name``, ``raw``, ``endpoint``, ``skip_bad``, ...

        Raises:
            LlmError: something cannot be taken; where a row is at fault, the message names it.
        """
        wanted = SubmitArguments(
            rows=rows, template=prompt, model=model, max_output_tokens=max_output_tokens,
            max_cost=None if max_cost is None else dollars(max_cost), **_schema_options(schema),
            on_answer=None if on_answer is None else path_of(on_answer), **options,
        )  # fmt: skip
        prepared = await asyncio.to_thread(prepare, wanted)
        check_ceiling(prepared)
        if tables and client is None:
            async with App(tables=tables).client(database):
                pass  # Opening it creates them.
        made = cls(prepared.name, database, client=client)
        async with made._opened(create=True) as opened:
            found, new = await submit_job(
                opened, prepared.name, prepared.questions, prepared.settings,
                max_cost=prepared.max_cost or 0, soft_cost=wanted.soft_cost,
            )  # fmt: skip
            if await is_deleted(opened, found):
                raise LlmError(f"job {found.name} was deleted: give another name to ask all of it again")
            if new:
                await limit_rates(opened, prepared.settings)
        return made

    async def add(self, rows: Any) -> int:
        """Add rows while the job runs, under its settings and its ceiling; how many there are more.

        Rows that are there already, by their id and what they ask, are left as they are.

        Raises:
            InputError: a row cannot be taken, asks another model, or has the id of another row; or the job has ended.
                Nothing was added.
        """
        async with self._opened() as client:
            job = await self._found(client)
            known, count = await _known_rows(client, job)
            read = await asyncio.to_thread(_read_more, job, rows, known, count)
            questions = questions_of(read, **_asking(job))
            if not len(questions.rows):
                return 0
            added = 2 * len(questions.requests) + len(questions.rows)
            tasks = job.lineage.max_tasks + added
            await client.raise_limits(job.job_id, by="llm", reason="rows are added", max_tasks=tasks)
            for chunk in chunks_of(questions, job.job_id, job.settings):
                lanes = _lanes(chunk) if job.settings.mode is Mode.BATCH else []
                await add_chunk(client, job.job_id, [*chunk, *lanes])
            await wake(client)
            return len(questions.rows)

    async def status(self) -> JobStatus:
        """Return the job's state and counts; money in nano-dollars.

        Raises:
            JobNotFound: the database holds no such job.
        """
        async with self._opened() as client:
            return await status_of(client, await self._found(client))

    async def results(self, *, prompt: bool = False) -> AsyncIterator[dict[str, Any]]:
        """Yield a row for each row of the input, in its order, with the fields of `ramet llm results`; at any time.

        Args:
            prompt: whether the prompts are wanted.
        """
        async with self._opened() as client:
            async for row in output_rows(client, await self._found(client), prompt=prompt):
                yield row.as_json()

    async def work(self) -> JobStatus:
        """Work on the job here until it has ended.

        Raises:
            LlmError: the key to its provider is not in the environment.
        """
        async with self._opened() as client:
            job = await self._found(client)
            missing = missing_key(job.settings)
            if missing:
                raise LlmError(missing)
            if job.lineage.ended_at is None:
                await Worker(app, client, target=TARGET, until_ended=job.job_id, foreground=True).run()
            return await status_of(client, await self._found(client))

    @asynccontextmanager
    async def _opened(self, *, create: bool = False) -> AsyncIterator[Client]:
        if self._client is not None:
            yield self._client
            return
        async with app.client(self.database, create=create) as client:
            yield client

    async def _found(self, client: Client) -> StoredJob:
        job = await find_job(client, self.name)
        if await is_deleted(client, job):
            raise JobNotFound(f"job {job.name} was deleted")
        return job


def _schema_options(schema: Mapping[str, Any] | type[BaseModel] | None) -> dict[str, Any]:
    """Return a schema, or the path of a model, as a submit takes them."""
    if not isinstance(schema, type):
        return {"schema": schema}
    path = path_of(schema)
    open_model(path)
    return {"check": path}


def _lanes(chunk: list[Root]) -> list[Root]:
    """Lanes for the items of a chunk: those that there are may have ended for want of items."""
    *items, (_, _, options) = chunk
    return [
        (BATCH, LanePayload(lane=0, model=model).model_dump(), {"key": f"{model}/{options['key']}", "queue": BATCHES})
        for model in sorted({payload.model for _, payload, _ in items})
    ]


async def _known_rows(client: Client, job: StoredJob) -> tuple[Fingerprints, int]:
    """Return the rows of a job: by id and key together 1, by id alone 0; and how many there are."""
    known, count = Fingerprints(), 0
    async for row in rows_of(client, job.job_id):
        known.setdefault(f"{row.id}\0{row.key}", 1)
        known.setdefault(row.id, 0)
        count += 1
    return known, count


def _asking(job: StoredJob) -> dict[str, bool]:
    """Return the options with which questions are made of rows in a job."""
    return {"distinct": job.settings.cache != "none", "handed_on": job.settings.on_answer is not None}


def _read_more(job: StoredJob, rows: Any, known: Fingerprints, first: int) -> list[Row]:
    settings = job.settings
    found = []
    for row in read_records(rows, Defaults(**settings.defaults), first=first):
        if row.request.model not in settings.prices:
            raise UnknownModel(f"row {row.line}: the job was not priced for the model {row.request.model}")
        try:
            check_request(settings.provider, settings.mode, row.request)
        except Refused as error:
            raise InputError(f"row {row.line}: {error}") from error
        key = asked_request(row, **_asking(job)).key
        if known.get(f"{row.id}\0{key}") is not None:
            continue
        if known.get(row.id) is not None:
            raise InputError(f"row {row.line}: the id {row.id!r} is that of another row of the job")
        found.append(row)
    return found


async def limit_rates(client: Client, settings: JobSettings) -> None:
    """Apply the stated rates to the buckets of the job's models, for every caller that takes from them."""
    for model in settings.prices:
        for of, per_minute in (("requests", settings.requests_per_minute), ("tokens", settings.tokens_per_minute)):
            if per_minute is not None:
                rate = per_minute / 60.0
                await client.change_resource(
                    settings.resource(model, of), rate_per_second=rate, burst=max(1.0, rate), breaker_failures=0,
                    by=person(), reason="ramet llm submit",
                )  # fmt: skip


async def wake(client: Client) -> None:
    """Let the poller run now instead of at its next slot, where a job lives and it does not run already."""
    if not any(one.tracking_id.startswith(PREFIX) for one in await client.lineages(states=["running"], limit=1_000)):
        return
    [declared] = [one for one in app.schedules if one.name == SCHEDULE]
    await client.schedules.declare(declared)
    try:
        await client.schedules.run(SCHEDULE, by=person(), reason="a caller waits")
    except StoreError as error:
        # The run before is not over: it takes new items on as well.
        log.debug("the poller was not woken: %s", error)


class SyncJob:
    """A job for programs without an event loop: as :class:`Job`, each call waits for its answer."""

    def __init__(self, name: str, database: str | Path = DATABASE) -> None:
        """Name a job that exists."""
        self._job = Job(name, database)

    @property
    def name(self) -> str:
        """As `ramet llm status` shows it."""
        return self._job.name

    @classmethod
    def submit(cls, rows: Any, *, database: str | Path = DATABASE, **options: Any) -> Self:
        """Create a job; arguments and errors are those of :meth:`Job.submit`."""
        job = asyncio.run(Job.submit(rows, database=database, **options))
        return cls(job.name, database)

    def add(self, rows: Any) -> int:
        """Add rows while the job runs: :meth:`Job.add`."""
        return asyncio.run(self._job.add(rows))

    def status(self) -> JobStatus:
        """Return the job's state: :meth:`Job.status`."""
        return asyncio.run(self._job.status())

    def results(self, *, prompt: bool = False) -> list[dict[str, Any]]:
        """All rows at once: :meth:`Job.results`."""

        async def gathered() -> list[dict[str, Any]]:
            return [row async for row in self._job.results(prompt=prompt)]

        return asyncio.run(gathered())

    def work(self) -> JobStatus:
        """Work on the job here until it has ended: :meth:`Job.work`."""
        return asyncio.run(self._job.work())
