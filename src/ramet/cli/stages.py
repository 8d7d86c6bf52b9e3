"""``ramet stages``: how far the tasks of a staged kind are."""

from __future__ import annotations

import click

from ramet import Client, StageCount
from ramet.cli.options import ask, database_option, lineage_of
from ramet.cli.output import console, number, styled_state, table
from ramet.commands.options import json_option
from ramet.commands.terminal import emit, plain


@click.command(short_help="How many tasks of a staged kind are at which stage.")
@click.argument("kind")
@click.argument("tracking_id", required=False)
@database_option
@json_option
def stages(*, kind: str, tracking_id: str | None, database: str, as_json: bool) -> None:
    """Tasks of KIND by stage and state, in one lineage or in all; a stage of "-" is before the first checkpoint.

    KIND is the name given to app.pipeline(...), whether its stages are one task or a task each.
    """

    async def question(client: Client) -> list[StageCount]:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        return await client.stage_counts(kind, tracking_id)

    found = ask(database, question)
    if as_json:
        emit({"kind": kind, "tracking_id": tracking_id, "stages": found})
        return
    if not found:
        click.echo(f"no tasks of kind {plain(kind)}: `ramet status` lists the kinds that have some")
        return
    made = table("*stage", "state", ">tasks")
    for row in found:
        made.add_row(plain(row.stage or "-"), styled_state(row.state), number(row.tasks))
    console().print(made)
