"""``ramet backup`` and ``ramet restore``."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from ramet.cli.options import database_option, json_option
from ramet.cli.show import counted, emit, number, plain
from ramet.store.copies import Copied
from ramet.store.copies import backup as back_up
from ramet.store.copies import restore as bring_back

NAMED_MAX = 8


def _bar(as_json: bool) -> Callable[[int, int], None] | None:
    if as_json or not sys.stderr.isatty():
        return None

    def tell(done: int, total: int) -> None:
        end = "\n" if done == total else ""
        click.echo(f"\r{100 * done // max(1, total):3d} % of {number(total)}{end}", err=True, nl=False)

    return tell


def _tell(verb: str, made: Copied, as_json: bool) -> None:
    if as_json:
        emit(made)
        return
    click.echo(f"{verb} {plain(made.path)}: {counted(made.lineages, 'lineage')}, {number(made.size)} bytes, checked")
    if made.left_out:
        more = f" and {len(made.left_out) - NAMED_MAX} more" if len(made.left_out) > NAMED_MAX else ""
        click.echo(f"not copied, for they are not ramet's: {', '.join(map(plain, made.left_out[:NAMED_MAX]))}{more}")
    if made.replaced is not None:
        click.echo(f"what stood there is kept as {plain(made.replaced)}")


@click.command(short_help="Copy the database while it is in use.")
@click.argument("target", metavar="TARGET")
@click.option("--force", is_flag=True, help="Put the copy in the place of a file that is there.")
@database_option
@json_option
def backup(*, target: str, force: bool, database: str, as_json: bool) -> None:
    """Copy the database as it is now to the file TARGET; workers go on meanwhile.

    The copy is checked, and appears whole or not at all. A database on a server makes the same kind of file, without
    the tables of handlers; restore fills an empty one from it, wherever it came from.
    """
    _tell("backup", back_up(database, target, force=force, progress=_bar(as_json)), as_json)


@click.command(short_help="Make a database from a backup.")
@click.argument("copy", metavar="BACKUP")
@click.option("--force", is_flag=True, help="Also where a database is; that one is kept beside it.")
@database_option
@json_option
def restore(*, copy: str, force: bool, database: str, as_json: bool) -> None:
    """Make the database from the file BACKUP. Stop the workers first. On a server, fill an empty one.

    It begins an epoch: no worker that still has a claim of the original can settle it here.
    """
    _tell("restored", bring_back(copy, database, force=force, progress=_bar(as_json)), as_json)
