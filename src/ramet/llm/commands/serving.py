"""Working: the command `work`, and working on one job until it has ended."""

from __future__ import annotations

import asyncio

import click

from ramet import Client
from ramet.commands.extras import need_modules
from ramet.commands.terminal import console, emit
from ramet.llm.commands import terminal
from ramet.llm.commands.options import database_option, job_of
from ramet.llm.commands.work import CONCURRENCY, serve, work_and_follow
from ramet.llm.errors import LLM_EXTRA, LLM_MODULES, LlmError
from ramet.llm.jobs import Job, find_job
from ramet.llm.pipeline import app
from ramet.llm.preparation import missing_key
from ramet.llm.status import JobStatus, status_of

EXIT_UNFINISHED = 1
"""The job failed, was cancelled or is paused."""


@click.command("work", short_help="Work on the jobs of a database.")
@click.option("--until-ended", "name", metavar="JOB", help="End when this job has ended.")
@click.option("--concurrency", type=click.IntRange(1, 1_000), default=CONCURRENCY, show_default=True, hidden=True)
@database_option
def work_command(name: str | None, concurrency: int, database: str) -> None:
    """Ask what the jobs of a database ask, until Ctrl-C; as many processes as you like, anywhere.

    The keys of providers are in the environment. The first Ctrl-C ends after what is in hand, a second at once; neither
    loses anything.
    """
    need_modules(LLM_MODULES, LLM_EXTRA)
    click.get_current_context().exit(asyncio.run(_work(name, concurrency, database)))


async def _work(name: str | None, concurrency: int, database: str) -> int:
    async with app.client(database, create=name is None) as client:
        job = None if name is None else await job_of(client, name)
        click.echo(f"working on jobs in {client.place}; Ctrl-C ends", err=True)
        heard = await serve(client, concurrency=concurrency, until=job)
        return 128 + heard[0] if len(heard) > 1 else 0


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
    """How a job stands when nobody follows it any more."""
    if as_json:
        emit({"event": "end", **status.as_json()})
    else:
        console().print(terminal.show_status(status))


def exit_code(status: JobStatus) -> int:
    """0 when a job succeeded."""
    return 0 if status.state == "succeeded" else EXIT_UNFINISHED
