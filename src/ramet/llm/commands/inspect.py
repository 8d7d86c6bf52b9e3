"""The commands that only look: `status`, `watch` and `results`."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from typing import Any

import click

from ramet import Client, StoreError
from ramet.commands.options import ask, database_words, json_option
from ramet.commands.terminal import console, counted, emit, plain
from ramet.llm.commands import terminal
from ramet.llm.commands.options import database_option, job_of
from ramet.llm.commands.work import exit_code, follow, has_worker, tell_end, work_on
from ramet.llm.output_files import OutputFormat, format_of, write_rows
from ramet.llm.pipeline import app
from ramet.llm.results import columns_of, output_rows
from ramet.llm.settings import DATABASE, POLL, SCHEDULE
from ramet.llm.status import list_jobs, status_of

SLOTS_SHOWN = 12
JOBS_SHOWN = 50


@click.command(short_help="How far jobs are.")
@click.argument("job", required=False)
@database_option
@json_option
def status(job: str | None, database: str, as_json: bool) -> None:
    """All jobs, the newest first; of one everything: items, money, tokens, what is late or uncertain, the poller."""

    async def show(client: Client) -> None:
        if job is None:
            await _show_all(client, as_json)
            return
        now = await status_of(client, await job_of(client, job))
        slots, served = await _slots(client), await has_worker(client)
        if as_json:
            emit({**now.as_json(), "slots": slots, "served": served})
            return
        out = console()
        out.print(terminal.show_status(now))
        if slots:
            depths = " ".join("-" if one["chain_depth"] is None else str(one["chain_depth"]) for one in slots)
            out.print(
                f"\nthe last cycles of the poller, the newest first, by how often each went on at once: {depths}",
                style="dim",
            )
        if not now.over:
            _tell_idle(client, served=served)

    ask(app, database, show)


async def _show_all(client: Client, as_json: bool) -> None:
    found = [await status_of(client, one) for one in await list_jobs(client, limit=JOBS_SHOWN)]
    if as_json:
        emit([one.as_json() for one in found])
    elif found:
        console().print(terminal.show_jobs(found))
        if any(not one.over for one in found):
            _tell_idle(client, served=await has_worker(client))
    else:
        click.echo(f"no jobs in {client.place}; `ramet llm submit FILE` creates one")


def _tell_idle(client: Client, *, served: bool) -> None:
    if not served:
        words = shlex.join(["ramet", "llm", "work", *database_words(client.place, default=DATABASE)])
        click.echo(f"\nno worker serves jobs now: {words}")


async def _slots(client: Client) -> list[dict[str, Any]]:
    """Return the last slots of the schedule, and how deep each chain went."""
    try:
        found = await client.schedules.slots(SCHEDULE, limit=SLOTS_SHOWN)
    except StoreError:
        return []
    told = []
    for slot in found:
        depth = None
        if slot.tracking_id is not None:
            page = await client.tasks(tracking_id=slot.tracking_id, kind=POLL, limit=1)
            depth = max((task.chain_depth for task in page.tasks), default=None)
        told.append({"at": slot.slot_at, "outcome": slot.outcome, "chain_depth": depth, "reason": slot.reason})
    return told


@click.command(short_help="Follow a job until it has ended.")
@click.argument("job")
@click.option("--work", is_flag=True, help="Work on it here as well.")
@database_option
@json_option
def watch(job: str, work: bool, database: str, as_json: bool) -> None:
    """Follow a job: a progress bar on a terminal, lines elsewhere. Ctrl-C ends the watching, never the job.

    A job that is paused ends it too: it waits for a person. The exit status is 0 when all items of the job succeeded, 3
    when some did, else 1.
    """

    async def watched() -> int:
        async with app.client(database, create=False) as client:
            found = await job_of(client, job)
            if work and found.lineage.ended_at is None:
                return await work_on(client, found, as_json=as_json)
            view = terminal.view_for(as_json=as_json)
            if not as_json and found.lineage.ended_at is None:
                _tell_idle(client, served=await has_worker(client))
            try:
                now = await follow(client, found.job_id, view)
            finally:
                view.close()
            tell_end(now, as_json=as_json)
            return exit_code(now)

    try:
        code = asyncio.run(watched())
    except KeyboardInterrupt:
        code = 0
    click.get_current_context().exit(code)


@click.command(short_help="One row for each row of the input.")
@click.argument("job")
@click.option("-o", "--output", default="-", show_default="standard output", metavar="FILE", help="Replaced at once.")
@click.option(
    "--format", "form", type=click.Choice(list(OutputFormat)), help="[default: by the end of FILE's name, or jsonl]"
)
@click.option("--prompt", is_flag=True, help="Write the prompts as well.")
@database_option
def results(job: str, output: str, form: str | None, prompt: bool, database: str) -> None:
    """Write one row for each row of the input, in its order, errors included; at any time.

    Columns of the input that say nothing about how a row is asked come along. Rows without an answer yet tell their
    state. Parquet needs pyarrow.
    """
    format_of(output, form)
    counts: Counter[str] = Counter()

    async def write(client: Client) -> int:
        found = await job_of(client, job)

        async def counted_rows() -> Any:
            async for row in output_rows(client, found, prompt=prompt):
                counts[row.state] += 1
                yield row

        return await write_rows(counted_rows(), output, form, await columns_of(client, found, prompt=prompt))

    rows = ask(app, database, write)
    if output != "-":
        states = ", ".join(f"{count:,} {state}" for state, count in counts.most_common())
        click.echo(f"wrote {counted(rows, 'row')} to {plain(output)}: {states}", err=True)
