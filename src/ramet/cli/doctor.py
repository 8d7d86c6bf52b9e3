"""``ramet doctor``: what is wrong, and what to do about it."""

from __future__ import annotations

import click

from ramet.cli.options import app_option, database_option, json_option, load
from ramet.cli.show import emit, plain
from ramet.engine.doctor import doctor as look


@click.command(short_help="What is wrong with the database, and what to do.")
@app_option
@database_option
@json_option
def doctor(*, target: str | None, database: str, as_json: bool) -> None:
    """Look at the database without writing: its file or server, its rows against a recount, what nobody sees to.

    Exit status 0 when all is in order (a note changes nothing), 1 when something was found, 2 when it cannot be looked
    at. Reads every task.
    """
    found = look(database, None if target is None else load(target).registry.live.declared)
    for finding in found:
        if as_json:
            emit(finding)
        else:
            click.echo(f"{finding.severity}: {plain(finding.what)}: {plain(finding.do)}")
    wrong = [finding for finding in found if finding.severity != "note"]
    if not wrong and not as_json:
        click.echo("all is in order")
    click.get_current_context().exit(1 if wrong else 0)
