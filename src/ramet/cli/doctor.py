"""``ramet doctor``: what is wrong, and what to do about it."""

from __future__ import annotations

import click
from click.core import ParameterSource

from ramet.cli.options import app_option, database_option, load
from ramet.commands.extras import extras
from ramet.commands.options import json_option
from ramet.commands.terminal import emit, plain
from ramet.engine.tools.doctor import Finding
from ramet.engine.tools.doctor import doctor as look
from ramet.store.errors import StoreMissing

EXTRAS = "extras"


@click.command(short_help="What is wrong with the database, and what to do.")
@app_option
@database_option
@json_option
def doctor(*, target: str | None, database: str, as_json: bool) -> None:
    """Look at the database without writing: its file or server, its rows against a recount, what nobody sees to.

    Says as well which extras of ramet are not installed; where no database was named and none is there, that is all.
    Exit status 0 when all is in order (a note changes nothing), 1 when something was found, 2 when it cannot be looked
    at. Reads every task.
    """
    found = [*_of_database(target, database), *_of_installation()]
    for finding in found:
        if as_json:
            emit(finding)
        elif finding.check != EXTRAS:
            click.echo(f"{finding.severity}: {plain(finding.what)}: {plain(finding.do)}")
    lacking = ",".join(extra.name for extra in extras() if extra.missing)
    if lacking and not as_json:
        click.echo(f"note: extras that are not installed, if you need them: pip install 'ramet[{lacking}]'")
    wrong = [finding for finding in found if finding.severity != "note"]
    if not wrong and not as_json:
        click.echo("all is in order")
    click.get_current_context().exit(1 if wrong else 0)


def _of_database(target: str | None, database: str) -> list[Finding]:
    try:
        return look(database, None if target is None else load(target).registry.live.declared)
    except StoreMissing as error:
        if click.get_current_context().get_parameter_source("database") is not ParameterSource.DEFAULT:
            raise
        return [Finding("database", "note", f"no database at {database}", _remedy(error))]


def _remedy(error: StoreMissing) -> str:
    """What the error says to do, without what it says is so."""
    return str(error).partition(": ")[2]


def _of_installation() -> list[Finding]:
    return [
        Finding(EXTRAS, "note", f"the extra {extra.name} lacks {', '.join(extra.missing)}", extra.install)
        for extra in extras()
        if extra.missing
    ]
