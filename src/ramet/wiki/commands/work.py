"""The command `work`: a process, on whatever machine, that does some of the stages of all runs in a database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from ramet import Client, Worker
from ramet.commands.errors import UserError
from ramet.commands.worker import quiet_guard, run_worker
from ramet.wiki.commands.options import database_option
from ramet.wiki.embedding.registry import open_embedder
from ramet.wiki.errors import RunNotFound
from ramet.wiki.expansion import CONCURRENCY
from ramet.wiki.pipeline import TARGET, app
from ramet.wiki.run_resources import source_options
from ramet.wiki.runs import EMBED, FETCH, LEVEL, LOAD, PARSE, REFRESH, RETRY, RunSettings, find_run
from ramet.wiki.sources.registry import open_source
from ramet.wiki.tasks.refresh import COMPARE, REDRAW
from ramet.wiki.tasks.retry_exclude import EXCLUDE

KINDS = {
    "fetch": (FETCH, COMPARE),
    "parse": (PARSE,),
    "embed": (EMBED,),
    "load": (LOAD, LEVEL, REFRESH, REDRAW, RETRY, EXCLUDE),
}
"""Kinds that the worker of each stage serves; all that needs the graph, or is done once for a run, goes with `load`."""
ANYWHERE = ("fetch", "parse", "embed")
"""Stages that any number of machines may work on."""


@click.command("work", short_help="Work on runs that others started.")
@click.option(
    "--only",
    "stages",
    multiple=True,
    type=click.Choice(list(KINDS)),
    help="This stage alone (repeatable).  [default: all but load, which needs the graph's file]",
)
@click.option("--until-ended", "run", metavar="RUN", help="End when this run has ended.")
@click.option("--concurrency", type=click.IntRange(1, 1_000), default=CONCURRENCY, show_default=True, hidden=True)
@database_option
def work_command(stages: Sequence[str], run: str | None, concurrency: int, database: str) -> None:
    """Fetch, parse and embed for all runs of a database, until Ctrl-C; as many processes as you like, anywhere.

    One process loads: `expand`, or `work --only load`, where the graph's file is. The first Ctrl-C ends after the
    running tasks, a second at once.
    """
    code = asyncio.run(_serve(stages or ANYWHERE, run, concurrency, database))
    click.get_current_context().exit(code)


async def _serve(stages: Sequence[str], run_id: str | None, concurrency: int, database: str) -> int:
    kinds = [kind for stage in stages for kind in KINDS[stage]]
    async with app.client(database, create=False) as client:
        found = await find_run(client, run_id) if run_id is not None else None
        await _tell_missing(client, stages, run_id)
        click.echo(f"working on {', '.join(stages)} in {client.place}; Ctrl-C ends", err=True)
        # A run may get another pass while we are at it.
        passes = (None,) if found is None else tuple(one.tracking_id for one in found.live)
        for tracking_id in passes:
            worker = Worker(app, client, target=TARGET, kinds=kinds, concurrency=concurrency, until_ended=tracking_id)
            with quiet_guard():
                stopped = await run_worker(worker)
            if len(stopped) > 1:
                return 128 + stopped[0]
            if stopped:
                break
    return 0


async def _tell_missing(client: Client, stages: Sequence[str], run_id: str | None) -> None:
    """Say at once what the newest run needs and this machine lacks; its titles wait for another, as `status` tells."""
    try:
        settings = (await find_run(client, run_id)).settings
    except RunNotFound:
        return
    for stage in stages:
        try:
            await _open(stage, settings)
        except UserError as error:
            click.echo(f"ramet: cannot {stage} here, so its titles wait for who can: {error}", err=True)


async def _open(stage: str, settings: RunSettings) -> None:
    data_dir = Path(settings.data_dir)
    if stage == "fetch":
        await (await asyncio.to_thread(open_source, settings.source, data_dir, source_options(settings))).close()
    elif stage in ("embed", "load"):
        await asyncio.to_thread(open_embedder, settings.embedder, data_dir)
