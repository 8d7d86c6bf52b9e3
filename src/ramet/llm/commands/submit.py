"""The commands `submit` and `estimate`."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ramet import PRESETS, as_usd
from ramet.commands.options import check_folder, database_words, json_option
from ramet.commands.terminal import counted, emit, plain
from ramet.llm.commands.options import database_option, in_nano_dollars
from ramet.llm.commands.terminal import paused
from ramet.llm.commands.work import has_worker, work_on
from ramet.llm.errors import LlmError
from ramet.llm.job import limit_rates, wake
from ramet.llm.jobs import Job, is_deleted, submit_job
from ramet.llm.pipeline import app
from ramet.llm.preparation import PreparedJob, SubmitArguments, check_ceiling, missing_key, prepare
from ramet.llm.pricing.estimate import lines
from ramet.llm.settings import DATABASE
from ramet.llm.status import status_of

Command = TypeVar("Command", bound=Callable[..., Any])
RATE = click.FloatRange(min=0, min_open=True, max=1e9)
FILE = click.Path(dir_okay=False, path_type=Path)
INPUT = click.Path(allow_dash=True, path_type=Path)

_INPUT = (
    click.argument("path", metavar="FILE", type=INPUT),
    click.option("--model", help="For rows that name none."),
    click.option("--provider", default="openai", show_default=True, help="openai (and every server that speaks its "
                 "API) or anthropic. Keys: OPENAI_API_KEY, ANTHROPIC_API_KEY."),
    click.option("--base-url", metavar="URL", help="Of another server, such as http://localhost:8000/v1 ."),
    click.option("--mode", type=click.Choice(["auto", "background", "batch", "chat"]), default="auto",
                 show_default=True, help="How the provider is asked; auto: by how much there is and what it costs."),
    click.option("--format", type=click.Choice(["jsonl", "csv", "parquet", "arrow"]),
                 help="Of FILE.  [default: by its name]"),
    click.option("--max-output-tokens", type=click.IntRange(1), metavar="N",
                 help="The longest answer, for rows that do not say; bounds the price."),
    click.option("--system", metavar="TEXT", help="System prompt for rows that have none."),
    click.option("--template", metavar="TEXT", help="Makes prompts of columns, by Jinja: "
                 "'Translate: {{ text }}'; @FILE reads it from a file."),
    click.option("--endpoint", type=click.Choice(["chat", "embeddings"]), default="chat", show_default=True,
                 help="embeddings: a vector for each row instead of an answer."),
    click.option("--raw", is_flag=True, help="Keep all of each answer, as the provider wrote it, for the results."),
    click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Such as temperature=0."),
    click.option("--schema", type=FILE, help="A JSON Schema that answers have to fit."),
    click.option("--check", metavar="PKG.MOD:MODEL", help="A pydantic model instead."),
    click.option("--price", metavar="IN:OUT[:CACHED]", help="Dollars per million tokens, for models that the price "
                 "list does not know; 0 for a server that costs nothing."),
    click.option("--preset", type=click.Choice(sorted(PRESETS)), default="balanced", show_default=True,
                 help="Limits of time and tries."),
    click.option("--cache", type=click.Choice(["job", "all", "none"]), default="job", show_default=True,
                 help="Where answers to equal rows come from: this job, all jobs that keep theirs so, or nowhere."),
    click.option("--no-dedupe", is_flag=True, hidden=True, help="The same as --cache none."),
    click.option("--skip-bad", is_flag=True, help="Leave rows out that cannot be taken, and list them by line."),
    click.option("--on-answer", metavar="PKG.MOD:FUNCTION", help="Called with each answer; what it writes into its own "
                 "tables commits with the answer."),
    click.option("--limit-name", type=click.Choice(["max_completion_tokens", "max_tokens"]),
                 help="What the server calls the limit of an answer's tokens.  [default: by its address, or learned]"),
    click.option("--header", "headers", multiple=True, metavar="NAME=VALUE",
                 help="Of every request; env:VARIABLE keeps a secret out of the database."),
    click.option("--query", multiple=True, metavar="NAME=VALUE", help="Added to every address: api-version=preview."),
    click.option("--concurrency", type=click.IntRange(1, 1_000), metavar="N", help="Calls that each process that works "
                 "on it has in flight, at most.  [default: 64; conservative: 16; aggressive: 256]"),
    click.option("--requests-per-minute", type=RATE, metavar="N", help="To each model, over all workers and jobs."),
    click.option("--tokens-per-minute", type=RATE, metavar="N", help="The same, of tokens."),
    click.option("--max-cost", callback=in_nano_dollars, metavar="DOLLARS", help="What the job may cost, at most."),
    click.option("--soft-cost", callback=in_nano_dollars, metavar="DOLLARS", help="Nothing more is sent from here on."),
)  # fmt: skip


def input_options(command: Command) -> Command:
    """FILE and everything about how it is asked; :func:`_wanted` takes it."""
    for option in reversed(_INPUT):
        command = option(command)
    return command


def _wanted(path: Path, options: dict[str, Any]) -> SubmitArguments:
    if options["schema"] is not None and options["check"] is not None:
        raise LlmError("give either --schema or --check")
    if options.pop("no_dedupe"):
        options["cache"] = "none"
    return SubmitArguments(path=path, **options)


def _list_skipped(prepared: PreparedJob) -> None:
    """Each row that was left out, on standard error."""
    for line, why in prepared.skipped:
        click.echo(plain(f"line {line}: {why}"), err=True)
    if prepared.skipped:
        left_out, taken = counted(len(prepared.skipped), "row"), len(prepared.questions.rows)
        click.echo(f"ramet: {left_out} left out, {taken:,} taken", err=True)


@click.command("estimate", short_help="What a job would cost; nothing is sent.")
@input_options
@click.option("--answer-tokens", type=click.IntRange(1), metavar="N", help="How long answers are likely to be.")
@json_option
def estimate_command(path: Path, as_json: bool, **options: Any) -> None:
    """Read and check FILE, and say what a job of it costs and in which mode. Nothing is sent or written."""
    prepared = prepare(_wanted(path, options))
    _list_skipped(prepared)
    if as_json:
        emit({"job": prepared.name, **prepared.estimate.as_json()})
        return
    for line in lines(prepared.estimate):
        click.echo(plain(line))


@click.command(short_help="Create a job of a file of prompts.")
@input_options
@click.option("--job", "name", metavar="NAME", help="Its name.  [default: made of what is asked]")
@click.option("--work", is_flag=True, help="Work on it here until it has ended.")
@database_option
@json_option
def submit(path: Path, name: str | None, work: bool, database: str, as_json: bool, **options: Any) -> None:
    """Create a job of FILE: JSON Lines or CSV, packed by gzip or zstd or not, a Parquet file, a data set on disk, or
    standard input (-); a prompt a row.

    All of it is read, checked and priced first; what cannot be taken is refused with its line, and nothing is written.
    The same command again finds the same job.
    """
    check_folder(database)
    prepared = prepare(_wanted(path, {**options, "name": name}))
    _list_skipped(prepared)
    check_ceiling(prepared)
    missing = missing_key(prepared.settings)
    if missing and work:
        raise LlmError(missing)
    if missing:
        click.echo(f"ramet: {missing}, where you run `ramet llm work`", err=True)
    if not as_json:
        for line in lines(prepared.estimate):
            click.echo(plain(line))
    click.get_current_context().exit(asyncio.run(_submit(prepared, options["soft_cost"], database, work, as_json)))


async def _submit(prepared: PreparedJob, soft_cost: int | None, database: str, work: bool, as_json: bool) -> int:
    async with app.client(database) as client:
        job, new = await submit_job(
            client, prepared.name, prepared.questions, prepared.settings,
            max_cost=prepared.max_cost or 0, soft_cost=soft_cost,
        )  # fmt: skip
        if await is_deleted(client, job):
            raise LlmError(f"job {job.name} was deleted: give another name with --job to ask all of it again")
        if new:
            await limit_rates(client, prepared.settings)
        served = work or await has_worker(client)
        if served and not work:
            await wake(client)
        status = await status_of(client, job)
        if as_json:
            emit({"event": "submitted", "new": new, **status.as_json()})
        else:
            _tell(job, prepared, new=new, served=served, place=client.place)
            if status.state == "paused":
                click.echo(paused(status))
        return await work_on(client, job, as_json=as_json) if work and not status.over else 0


def _tell(job: Job, prepared: PreparedJob, *, new: bool, served: bool, place: str) -> None:
    lineage = job.lineage
    click.echo(f"\nsubmitted job {job.name}" if new else f"\njob {job.name} is there already: {lineage.state}")
    if not new and prepared.max_cost and lineage.max_cost != prepared.max_cost:
        click.echo(
            f"its ceiling stays {as_usd(lineage.max_cost or 0)}; "
            f"`ramet llm resume {job.name} --max-cost DOLLARS` raises it"
        )
    words = database_words(place, default=DATABASE)
    if not served and lineage.ended_at is None:
        click.echo("  " + shlex.join(["ramet", "llm", "work", *words]) + "   # anywhere with the key, at any time")
    click.echo("  " + shlex.join(["ramet", "llm", "watch", job.name, *words]))
    click.echo("  " + shlex.join(["ramet", "llm", "results", job.name, *words, "-o", f"{job.name}.jsonl"]))
