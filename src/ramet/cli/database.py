"""``ramet backup, restore, doctor, migrate, prune, postgres``: the database itself."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from ramet import Client
from ramet.cli.errors import CliError
from ramet.cli.options import app_option, ask, database_options, load
from ramet.cli.output import console, number, prose
from ramet.commands.extras import extras
from ramet.commands.options import json_option
from ramet.commands.terminal import counted, emit, plain
from ramet.engine.tools.doctor import Finding
from ramet.engine.tools.doctor import doctor as look
from ramet.store.answers import BackupResult
from ramet.store.backup.copies import backup as back_up
from ramet.store.backup.copies import restore as bring_back
from ramet.store.errors import StoreMissing
from ramet.store.opening import migrate as bring
from ramet.store.schema.versions import MigrationResult

if TYPE_CHECKING:
    from ramet.testing.postgres_server.server import Server

Command = TypeVar("Command", bound=Callable[..., Any])

NAMED_MAX = 8


def _tables_options(command: Command) -> Command:
    """Add ``--app`` and ``--leave``."""
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


def _print_copied(verb: str, made: BackupResult, as_json: bool) -> None:
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
@database_options
def backup(
    *, target: str, force: bool, target_app: str | None, leave: tuple[str, ...], database: str, as_json: bool
) -> None:
    """Copy the database as it is now to the file TARGET; workers go on meanwhile.

    The copy is checked, and appears whole or not at all. It has every table that an app declares (App(tables=...)),
    the pipelines' own too; of files outside of the database (a wiki's graph, its articles, written outputs) it has
    none. A database on a server makes the same kind of file; restore fills an empty one from it, wherever it came from.
    """
    made = back_up(database, target, force=force, progress=_bar(as_json), tables=_tables_of(target_app), leave=leave)
    _print_copied("backup", made, as_json)


@click.command(short_help="Make a database from a backup.")
@click.argument("copy", metavar="BACKUP")
@click.option("--force", is_flag=True, help="Also where a database is; that one is kept beside it.")
@_tables_options
@database_options
def restore(
    *, copy: str, force: bool, target_app: str | None, leave: tuple[str, ...], database: str, as_json: bool
) -> None:
    """Make the database from the file BACKUP. Stop all that uses it first. On a server, fill an empty one.

    It begins an epoch: no worker that still has a claim of the original can settle it here.
    """
    made = bring_back(copy, database, force=force, progress=_bar(as_json), tables=_tables_of(target_app), leave=leave)
    _print_copied("restored", made, as_json)


EXTRAS = "extras"
INSTALL_ONE = "pip install 'ramet[NAME]'"


@click.command(short_help="What is wrong with the database, and what to do.")
@app_option
@database_options
def doctor(*, target: str | None, database: str, as_json: bool) -> None:
    """Check the database without writing: its file or server, its rows against a recount, work that no process does.

    Says as well which extras of ramet are not installed; where no database was named and none is there, that is all.
    Exit status 0 when all is in order (a note changes nothing), 1 when something was found, 2 when the database cannot
    be read. Reads every task.
    """
    found = [*_of_database(target, database), *_of_installation()]
    for finding in found:
        if as_json:
            emit(finding)
        elif finding.check != EXTRAS:
            click.echo(f"{finding.severity}: {plain(finding.what)}: {plain(finding.do)}")
    lacking = ", ".join(extra.name for extra in extras() if extra.missing)
    if lacking and not as_json:
        prose(console(), f"note: extras that are not installed: {lacking}; for one that you need: {INSTALL_ONE}")
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
    """Return the remedy in the message of an error, without the statement."""
    return str(error).partition(": ")[2]


def _of_installation() -> list[Finding]:
    return [
        Finding(EXTRAS, "note", f"the extra {extra.name} lacks {', '.join(extra.missing)}", extra.install)
        for extra in extras()
        if extra.missing
    ]


@click.command(short_help="Bring the database to this version.")
@click.option("--check", is_flag=True, help="Only say whether something is to be done; exit status 1 when it is.")
@click.option("--app", "target", metavar="APP", envvar="RAMET_APP", help="Also the app's own tables: module:attribute.")
@click.option("--grant", "grant_to", metavar="ROLE", help="Give this role what workers and commands need, and no more.")
@database_options
def migrate(*, check: bool, target: str | None, grant_to: str | None, database: str, as_json: bool) -> None:
    """Make the tables in an empty database, or bring them to this version of ramet.

    Workers of the older version may run meanwhile, where it does not say otherwise. It is done whole or not at all.
    """
    tables = () if target is None or check else load(target).tables
    made = bring(database, check=check, tables=tables, grant_to=None if check else grant_to)
    if as_json:
        emit({**made._asdict(), "needed": made.needed})
    else:
        click.echo(_migration_line(made))
        if grant_to is not None and not check:
            click.echo(f"{plain(grant_to)} may read and change rows, and make no tables")
    click.get_current_context().exit(1 if check and made.needed else 0)


def _migration_line(made: MigrationResult) -> str:
    place = plain(made.database)
    if not made.needed:
        return f"{place} has schema {made.before}: nothing to do"
    if made.checked:
        return f"{place} has {_version(made.before)}, this ramet writes schema {made.after}: run `ramet migrate`"
    return f"{place} went from {_version(made.before)} to schema {made.after}"


def _version(version: int) -> str:
    return f"schema {version}" if version else "no tables of ramet"


_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


class PruneResult(NamedTuple):
    """Lineages old enough to prune, and the number pruned."""

    lineages: int
    tasks: int
    pruned: int


def age_seconds(text: str) -> float:
    """Return ``30d``, ``12h`` or ``90m`` in seconds.

    Raises:
        CliError: it is none of these.
    """
    found = _AGE.fullmatch(text.strip().lower())
    if found is None:
        raise CliError(f"cannot read the age {text!r}: give a number and s, m, h, d or w, such as 30d")
    return float(found[1]) * _UNITS[found[2]]


@click.command(short_help="Forget lineages that ended long ago.")
@click.option("--older-than", "age", required=True, metavar="AGE", help="Ended at least so long ago: 30d, 12h, 90m.")
@click.option("--dry-run", is_flag=True, help="Only say how much it is.")
@database_options
def prune(*, age: str, dry_run: bool, database: str, as_json: bool) -> None:
    """Delete lineages that ended long ago, with everything of theirs; their keys and tracking ids are free again.

    Workers do this by themselves after `maintenance.retention_days`. Safe while they run: it goes in small parts.
    """
    seconds = age_seconds(age)

    async def question(client: Client) -> PruneResult:
        before = client.clock.now() - seconds
        lineages, tasks, _ = await client.store.prunable(before)
        gone = 0
        while not dry_run and any(await client.store.prunable(before, limit=1)):
            gone += await client.store.prune(before)
        return PruneResult(lineages, tasks, gone)

    found = ask(database, question)
    if as_json:
        emit(found)
        return
    verb = "would prune" if dry_run else "pruned"
    click.echo(f"{verb} {counted(found.lineages, 'lineage')} with {counted(found.tasks, 'task')}")


DATABASE = "ramet"


@click.group(short_help="Run a PostgreSQL server in a folder.")
def postgres() -> None:
    """Run a PostgreSQL server in a folder, for one machine.

    Its programs come with ramet[postgres-server]. It keeps committed data (fsync), listens on the loopback address only
    and requires its password, which is part of the address that these commands print.
    """


def _server(folder: Path) -> Server:
    """Return the server in a folder. Imported late: it needs a database driver, which ``ramet --help`` does without."""
    from ramet.testing.postgres_server.server import Server

    server = Server(folder)
    if not server.exists:
        raise CliError(f"there is no server in {plain(server.folder)}: `ramet postgres start` makes one")
    return server


def _print_server(server: Server, url: str | None, as_json: bool) -> None:
    """Print the address alone on standard output, so that a script can read it."""
    if as_json:
        emit({"folder": str(server.folder), "running": server.pid is not None, "pid": server.pid, "url": url})
    elif url is not None:
        click.echo(url)


@postgres.command(short_help="Start it, and print the address for --db.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(1, 65_535), help="On the loopback address (default: as before, or a free one)."
)
@json_option
def start(*, folder: Path, port: int | None, as_json: bool) -> None:
    """Start the server in DIR, made when it is missing, and print the address of its database for --db.

    It goes on until `ramet postgres stop DIR` or the end of the system. A server that runs is left as it is.
    """
    from ramet.testing.postgres_server.server import Server, ensure_database, need_driver

    need_driver()
    server = Server(folder, port=port)
    if server.pid is not None:
        runs_on = Server(folder).port
        if port not in (None, runs_on):
            raise CliError(f"the server in {plain(server.folder)} runs on port {runs_on}: stop it first")
    server.make()
    server.start(detached=True)
    _print_server(server, ensure_database(server.url(), DATABASE), as_json)


@postgres.command(short_help="Stop it; its data stay.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@json_option
def stop(*, folder: Path, as_json: bool) -> None:
    """Stop the server in DIR and wait until it has ended. Connections are cut; what was committed stays."""
    server = _server(folder)
    ran = server.pid is not None
    server.stop()
    if as_json:
        _print_server(server, None, as_json)
    else:
        click.echo("stopped" if ran else "it did not run")


@postgres.command(short_help="Does it run, and where?")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@json_option
def status(*, folder: Path, as_json: bool) -> None:
    """Print the address of the server in DIR. Exit status 0 when it runs, 1 when it does not."""
    server = _server(folder)
    running = server.pid is not None
    _print_server(server, server.url(DATABASE) if running else None, as_json)
    if not running and not as_json:
        click.echo("it does not run")
    click.get_current_context().exit(0 if running else 1)
