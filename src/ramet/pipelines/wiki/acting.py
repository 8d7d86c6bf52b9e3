"""The commands that do something with a run that is there: `refresh`, `retry` and `exclude`."""

from __future__ import annotations

import asyncio

import click

from ramet import Client
from ramet.pipelines.wiki import terminal
from ramet.pipelines.wiki.expanding import Prepared
from ramet.pipelines.wiki.options import database_option, json_option
from ramet.pipelines.wiki.refreshing import begin_refresh, refreshed
from ramet.pipelines.wiki.runs import Run, find_run, is_refresh
from ramet.pipelines.wiki.tasks import app
from ramet.pipelines.wiki.working import Again, work_again


@click.command(short_help="Load again what has changed.")
@click.argument("run", required=False)
@database_option
@json_option
def refresh(run: str | None, database: str, as_json: bool) -> None:
    """Compare every article of a run (the newest, if none is named) with its source, and load again what changed.

    A refresh that was interrupted goes on. What changed articles newly link to is looked up by the next `expand`.
    """

    async def act() -> int:
        async with app.client(database, create=False) as client:
            found = await find_run(client, run)
            goes_on = bool(found.live) and await is_refresh(client, found.newest.tracking_id)

        async def begin(client: Client, found: Run, prepared: Prepared) -> bool:
            return not goes_on and await begin_refresh(client, found)

        return await work_again(Again(run, database, as_json), begin, _tell_refreshed)

    click.get_current_context().exit(asyncio.run(act()))


async def _tell_refreshed(client: Client, run: Run) -> None:
    found = await refreshed(client, run.newest.tracking_id) if run.newest.ended_at is not None else None
    if found is not None:
        compared = terminal.counted(found.compared, "article")
        redirects = terminal.counted(found.redirects, "new redirect")
        click.echo(f"compared {compared}: {found.loaded:,} loaded again, {found.gone:,} gone, {redirects}")
