"""``ramet acts``: what people did, who and why."""

from __future__ import annotations

import json

import click

from ramet import Act, Client
from ramet.cli.options import ask, database_option, lineage_of
from ramet.cli.output import console, moment, table
from ramet.commands.options import json_option
from ramet.commands.terminal import emit, plain


@click.command(short_help="What people did, and why.")
@click.argument("tracking_id", required=False)
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Newest so many.")
@database_option
@json_option
def acts(*, tracking_id: str | None, limit: int, database: str, as_json: bool) -> None:
    """What people did to a lineage, or to anything: raised limits, offered blocks again, changed the stop list.

    What was done to a single task (cancel, revive, exclude) stands with the task: `ramet explain TASK_ID`.
    """

    async def question(client: Client) -> list[Act]:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        return await client.acts(tracking_id, limit=limit)

    found = ask(database, question)
    if as_json:
        for act in found:
            emit(act)
        return
    screen = console()
    if not found:
        screen.print("nobody did anything" + (" to this lineage" if tracking_id else ""))
        return
    made = table("when", "who", "what", "*to what", "*why", "*in detail")
    for act in found:
        detail = "" if act.detail is None else plain(json.dumps(act.detail, ensure_ascii=False))
        made.add_row(moment(act.at), plain(act.by), plain(act.act), plain(act.subject), plain(act.reason or ""), detail)
    screen.print(made)
