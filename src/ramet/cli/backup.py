"""``ramet backup`` and ``ramet restore``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from ramet.cli.options import database_option, load
from ramet.cli.output import number
from ramet.commands.options import json_option
from ramet.commands.terminal import counted, emit, plain
from ramet.store.answers import Copied
from ramet.store.backup.copies import backup as back_up
from ramet.store.backup.copies import restore as bring_back

Command = TypeVar("Command", bound=Callable[..., Any])

NAMED_MAX = 8


def _tables_options(command: Command) -> Command:
    """``--app`` and ``--leave``."""
    for option in (
        click.option(
            "--leave", multiple=True, metavar="TABLE",
            help="Leave this table out (repeatable); 'PATTERN*' means only tables that no app declares.",
        ),
        click.option(
            "--app", "target_app", metavar="MODULE:ATTR",
            help="An app whose tables the database does not know, or whose own definitions are to be used.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def _tables_of(target_app: str | None) -> tuple[str, ...]:
    return () if target_app is None else load(target_app).tables


def _bar(as_json: bool) -> Callable[[int, int], None] | None:
    if as_json or not sys.stderr.isatty():
        return None

    def tell(done: int, total: int) -> None:
        end = "\n" if done == total else ""
        click.echo(f"\r{100 * done // max(1, total):3d} % of {number(total)}{end}", err=True, nl=False)

    return tell


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"{', '.join(map(plain, names[:NAMED_MAX]))}{more}"


def _tell(verb: str, made: Copied, as_json: bool) -> None:
    if as_json:
        emit(made)
        return
    click.echo(f"{verb} {plain(made.path)}: {counted(made.lineages, 'lineage')}, {number(made.size)} bytes, checked")
    if made.carried:
        click.echo(f"with {_named([f'{name} ({number(rows)})' for name, rows in made.carried])}: rows counted, equal")
    if made.left_out:
        click.echo(f"left out, as you said: {_named(made.left_out)}")
    if made.replaced is not None:
        click.echo(f"what stood there is kept as {plain(made.replaced)}")


@click.command(short_help="Copy the database while it is in use.")
@click.argument("target", metavar="TARGET")
@click.option("--force", is_flag=True, help="Put the copy in the place of a file that is there.")
@_tables_options
@database_option
@json_option
def backup(
    *, target: str, force: bool, target_app: str | None, leave: tuple[str, ...], database: str, as_json: bool
) -> None:
    """Copy the database as it is now to the file TARGET; workers go on meanwhile.

    The copy is checked, and appears whole or not at all. It has every table that an app declares (App(tables=...)),
    the pipelines' own too; of files outside of the database (a wiki's graph, its articles, written outputs) it has
    none. A database on a server makes the same kind of file; restore fills an empty one from it, wherever it came from.
    """
    made = back_up(database, target, force=force, progress=_bar(as_json), tables=_tables_of(target_app), leave=leave)
    _tell("backup", made, as_json)


@click.command(short_help="Make a database from a backup.")
@click.argument("copy", metavar="BACKUP")
@click.option("--force", is_flag=True, help="Also where a database is; that one is kept beside it.")
@_tables_options
@database_option
@json_option
def restore(
    *, copy: str, force: bool, target_app: str | None, leave: tuple[str, ...], database: str, as_json: bool
) -> None:
    """Make the database from the file BACKUP. Stop all that uses it first. On a server, fill an empty one.

    It begins an epoch: no worker that still has a claim of the original can settle it here.
    """
    made = bring_back(copy, database, force=force, progress=_bar(as_json), tables=_tables_of(target_app), leave=leave)
    _tell("restored", made, as_json)
