"""Working on jobs in this process, and following one until it has ended."""

from __future__ import annotations

import asyncio
from typing import Protocol

import click

from ramet import Client, Worker
from ramet.commands.extras import need_modules
from ramet.commands.terminal import console, emit
from ramet.commands.worker import look_on, quiet_guard, run_until, run_worker, tell_stopping
from ramet.llm.commands import terminal
from ramet.llm.commands.options import database_option, job_of
from ramet.llm.errors import LLM_EXTRA, LLM_MODULES, LlmError
from ramet.llm.jobs import Job, find_job
from ramet.llm.pipeline import TARGET, app
from ramet.llm.preparation import missing_key
from ramet.llm.settings import CONCURRENCY, POLL
from ramet.llm.status import JobStatus, list_jobs, status_of

LOOK_SECONDS = 0.5
"""Between two looks at how far a job is."""


class View(Protocol):
    """Receiver of a job's progress."""

    def look(self, status: JobStatus) -> None:
        """Take the job's status as it is now."""

    def close(self) -> None:
        """There is nothing more to tell."""


async def has_worker(client: Client) -> bool:
    """Return whether a worker serves jobs now."""
    return any(worker.alive and POLL in worker.kinds for worker in await client.workers())


def _worker(client: Client, concurrency: int | None, until: Job | None) -> Worker:
    # A person's run is a trigger of its own: it takes items as they are due, and no slot or chain bounds it.
    ended = None if until is None else until.job_id
    if concurrency is None:
        concurrency = CONCURRENCY if until is None else until.settings.concurrency
    return Worker(app, client, target=TARGET, concurrency=concurrency, until_ended=ended, foreground=True)


async def serve(client: Client, *, concurrency: int | None = None) -> list[int]:
    """Work until a signal; the signals that came."""
    with quiet_guard():
        return await run_worker(_worker(client, concurrency, None))


async def work_and_follow(client: Client, job: Job, view: View, *, concurrency: int | None = None) -> int:
    """Work until a job has ended or is paused, telling how far it is; the signal that stopped it before, or 0."""
    try:
        with quiet_guard():
            return await run_until(_worker(client, concurrency, job), follow(client, job.job_id, view), tell_stopping)
    finally:
        view.close()


async def follow(client: Client, name: str, view: View) -> JobStatus:
    """Tell how far a job is until it has ended, or is paused and waits for a person; its last status."""

    async def look() -> JobStatus:
        now = await status_of(client, await find_job(client, name))
        view.look(now)
        return now

    return await look_on(look, LOOK_SECONDS, is_over=lambda now: now.over or now.state == "paused")


EXIT_UNFINISHED = 1
"""The job failed, was cancelled or is paused."""
EXIT_PARTLY = 3
"""The job ended, and some of its items failed."""


@click.command("work", short_help="Work on the jobs of a database.")
@click.option("--until-ended", "name", metavar="JOB", help="End when this job has ended or is paused.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1_000),
    metavar="N",
    help=f"Calls that this process has in flight, at most.  [default: the most of its jobs, or {CONCURRENCY}]",
)
@database_option
def work_command(name: str | None, concurrency: int | None, database: str) -> None:
    """Ask what the jobs of a database ask, until Ctrl-C; as many processes as you like, anywhere.

    The keys of providers are in the environment. The first Ctrl-C ends after the running calls, a second at once;
    neither loses anything.
    """
    need_modules(LLM_MODULES, LLM_EXTRA)
    click.get_current_context().exit(asyncio.run(_work(name, concurrency, database)))


async def _work(name: str | None, concurrency: int | None, database: str) -> int:
    async with app.client(database, create=name is None) as client:
        job = None if name is None else await job_of(client, name)
        click.echo(f"working on jobs in {client.place}; Ctrl-C ends", err=True)
        if job is None:
            if concurrency is None:
                live = [one.settings.concurrency for one in await list_jobs(client) if one.lineage.state == "running"]
                concurrency = max(live, default=None)
            heard = await serve(client, concurrency=concurrency)
            return 128 + heard[0] if len(heard) > 1 else 0
        stopped = await work_and_follow(client, job, terminal.NoView(), concurrency=concurrency)
        status = await status_of(client, await find_job(client, job.name))
        if status.state == "paused":
            click.echo(terminal.paused(status), err=True)
        return 0 if stopped and not status.over else exit_code(status)


async def work_on(client: Client, job: Job, *, as_json: bool) -> int:
    """Work on a job until it has ended, tell how far it is and how it ended; the exit status.

    Raises:
        LlmError: the key to its provider is not in the environment.
        ExtraMissing: what the pipeline needs is not installed.
    """
    need_modules(LLM_MODULES, LLM_EXTRA)
    missing = missing_key(job.settings)
    if missing:
        raise LlmError(missing)
    stopped = await work_and_follow(client, job, terminal.view_for(as_json=as_json))
    status = await status_of(client, await find_job(client, job.name))
    tell_end(status, as_json=as_json)
    if stopped and not status.over:
        return 128 + stopped
    return exit_code(status)


def tell_end(status: JobStatus, *, as_json: bool) -> None:
    """Print the state of a job that is not followed any more."""
    if as_json:
        emit({"event": "end", **status.as_json()})
    else:
        console().print(terminal.show_status(status))


def exit_code(status: JobStatus) -> int:
    """0 when all items of a job succeeded."""
    return {"succeeded": 0, "partly": EXIT_PARTLY}.get(status.state, EXIT_UNFINISHED)
