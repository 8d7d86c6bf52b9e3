"""``ramet migrate``: the tables of this version."""

from __future__ import annotations

import click

from ramet.cli.options import database_option, load
from ramet.commands.options import json_option
from ramet.commands.terminal import emit, plain
from ramet.store.opening import migrate as bring
from ramet.store.schema.versions import Migrated


@click.command(short_help="Bring the database to this version.")
@click.option("--check", is_flag=True, help="Only say whether something is to be done; exit status 1 when it is.")
@click.option("--app", "target", metavar="APP", envvar="RAMET_APP", help="Also the app's own tables: module:attribute.")
@click.option("--grant", "grant_to", metavar="ROLE", help="Give this role what workers and commands need, and no more.")
@database_option
@json_option
def migrate(*, check: bool, target: str | None, grant_to: str | None, database: str, as_json: bool) -> None:
    """Make the tables in an empty database, or bring them to this version of ramet.

    Workers of the older version may run meanwhile, where it does not say otherwise. It is done whole or not at all.
    """
    tables = () if target is None or check else load(target).tables
    made = bring(database, check=check, tables=tables, grant_to=None if check else grant_to)
    if as_json:
        emit({**made._asdict(), "needed": made.needed})
    else:
        click.echo(_told(made))
        if grant_to is not None and not check:
            click.echo(f"{plain(grant_to)} may read and change rows, and make no tables")
    click.get_current_context().exit(1 if check and made.needed else 0)


def _told(made: Migrated) -> str:
    place = plain(made.database)
    if not made.needed:
        return f"{place} has schema {made.before}: nothing to do"
    if made.checked:
        return f"{place} has {_version(made.before)}, this ramet writes schema {made.after}: run `ramet migrate`"
    return f"{place} went from {_version(made.before)} to schema {made.after}"


def _version(version: int) -> str:
    return f"schema {version}" if version else "no tables of ramet"
