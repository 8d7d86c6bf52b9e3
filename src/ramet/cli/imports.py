"""``ramet import``: the tasks of another queue, in three steps that may each be run again."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ramet import App
from ramet.cli.errors import CliError
from ramet.cli.options import database_options, load
from ramet.cli.output import number
from ramet.commands.options import person
from ramet.commands.terminal import counted, emit, plain
from ramet.model.importing import FIELDS, FORMATS, RowError, Rules, parse_pairs
from ramet.model.task.task import TaskState
from ramet.store.errors import StoreMissing

if TYPE_CHECKING:
    from ramet.engine.tools.import_tasks import Importer, ImportReport, ImportSource
    from ramet.store.store import Store

PROGRESS_SECONDS = 2.0
BAD_SHOWN_MAX = 100
"""Most invalid rows that are listed; all of them are counted, and in `--json`."""
HISTORY = {
    "import_duplicate": "with the identity of another",
    "import_cycle": "in a circle",
    "import_depth": "deeper than the lineage may grow",
}


@click.command("import", short_help="Import the tasks of another queue.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "kind", type=click.Choice(FORMATS), help="Left out: by the file's name.")
@click.option("--table", help="Of a SQLite file with several.")
@click.option(
    "--map",
    "kinds",
    multiple=True,
    metavar="TYPE=KIND",
    help="Which kind a type is (repeatable); goes before what the app says.",
)
@click.option("--status", "states", multiple=True, metavar="THEIRS=STATE", help="What a status means (repeatable).")
@click.option("--column", "columns", multiple=True, metavar="THEIRS=FIELD", help="What a column is (repeatable).")
@click.option("--payload", "payload_column", metavar="COLUMN",
              help="This column is the payload. Left out: the URL and all columns without a meaning.")  # fmt: skip
@click.option(
    "--kinds",
    "target",
    metavar="MODULE:ATTR",
    help="The app: its kinds check payloads and give keys, and it may say which kind a type is.",
)
@click.option("--skip-bad", is_flag=True, help="Leave rows out that cannot be imported, and say which.")
@click.option("--name", help="Of the import, for the record (default: the file's name).")
@click.option("--check", "step", flag_value="check", help="Report what would happen and write nothing.")
@click.option("--enforce", "step", flag_value="enforce", help="Verify every row, then close the import.")
@database_options
def import_command(
    *,
    file: Path,
    kind: str | None,
    table: str | None,
    kinds: tuple[str, ...],
    states: tuple[str, ...],
    columns: tuple[str, ...],
    payload_column: str | None,
    target: str | None,
    skip_bad: bool,
    name: str | None,
    step: str | None,
    database: str,
    as_json: bool,
) -> None:
    """Import the tasks of another queue from JSON lines, CSV or a SQLite table.

    Three steps, each of which may be run again: --check reports, a run without it fills, --enforce verifies and closes.
    Rows that cannot be imported are named with line and id, and nothing is written; --skip-bad imports all others.
    A column of an object is named with dots: --column source_discovery_config.url=url.
    """
    from ramet.engine.tools.import_files import BadRows, format_of  # With the driver that the waiting rows need.
    from ramet.engine.tools.import_tasks import ImportSource

    try:
        rules = Rules(parse_pairs(kinds, "--map"), _states(states), _columns(columns), payload_column)
    except RowError as error:
        raise CliError(str(error)) from error
    app = App() if target is None else load(target)
    rules = rules._replace(
        kinds={**app.import_kinds, **rules.kinds}, takeovers=app.import_states, held_seconds=app.import_held_seconds
    )
    source = ImportSource(file, format_of(file, kind), table, rules, name, skip_bad, strict=target is not None)
    try:
        report = asyncio.run(_run(app, source, step or "fill", database))
    except BadRows as error:
        if len(error.rows) == 1:
            raise
        for line in error.rows[:BAD_SHOWN_MAX]:
            click.echo(f"ramet: {plain(line)}", err=True)
        rows = counted(len(error.rows), "row")
        raise CliError(f"{rows} cannot be imported, nothing was written: correct them, or give --skip-bad") from error
    if as_json:
        emit(report)
    else:
        _print_report(report, source)


def _states(words: tuple[str, ...]) -> dict[str, TaskState]:
    try:
        return {theirs: TaskState(ours) for theirs, ours in parse_pairs(words, "--status").items()}
    except ValueError as error:
        raise RowError(f"--status: {error}: give one of {', '.join(TaskState)}") from error


def _columns(words: tuple[str, ...]) -> dict[str, str]:
    pairs = parse_pairs(words, "--column")
    for ours in pairs.values():
        if ours not in FIELDS:
            raise RowError(f"--column: there is no field {ours}: give one of {', '.join(sorted(FIELDS))}")
    return pairs


async def _run(app: App, source: ImportSource, step: str, database: str) -> ImportReport:
    from ramet.engine.tools.import_tasks import Importer

    importer = Importer(source, app.registry, app.limits, progress=_Progress())
    if step != "enforce" and not await _there(app, database):
        return await (importer.check(None) if step == "check" else _fill_new(app, importer, database))
    async with app.client(database, create=False) as client:
        if step == "check":
            return await importer.check(client.store)
        return await (importer.enforce if step == "enforce" else importer.fill)(client.store, person())


async def _there(app: App, database: str) -> bool:
    try:
        await app.client(database, create=False).close()
    except StoreMissing:
        return False
    return True


async def _fill_new(app: App, importer: Importer, database: str) -> ImportReport:
    """Import into a new database; a file that cannot be imported leaves no empty one behind."""
    async with AsyncExitStack() as stack:

        async def make() -> Store:
            return (await stack.enter_async_context(app.client(database))).store

        return await importer.fill(make, person())


class _Progress:
    """A line now and then on a terminal's standard error."""

    def __init__(self) -> None:
        self._next = time.monotonic() + PROGRESS_SECONDS
        self._shown = sys.stderr.isatty()

    def __call__(self, what: str, rows: int) -> None:
        if self._shown and time.monotonic() >= self._next:
            click.echo(f"ramet: {what} {number(rows)} rows", err=True)
            self._next = time.monotonic() + PROGRESS_SECONDS


def _print_report(report: ImportReport, source: ImportSource) -> None:
    rows = counted(report.rows, "row")
    if report.step == "enforce":
        click.echo(f"all {rows} of {plain(source.path)} are sound tasks; the import {plain(source.title)} is closed")
        return
    verb = "would create" if report.step == "check" else "created"
    there = f", {number(report.there)} of {rows} were there already" if report.there else f" from {rows}"
    click.echo(f"{verb} {counted(report.created, 'task')}{there}, in {counted(report.lineages, 'lineage')}")
    if report.states:
        click.echo("arriving as: " + ", ".join(f"{state} {number(count)}" for state, count in report.states.items()))
    for line in report.bad[:BAD_SHOWN_MAX]:
        click.echo(f"ramet: left out: {plain(line)}", err=True)
    if report.bad:
        click.echo(f"{counted(len(report.bad), 'row')} left out")
    if report.running_before:
        click.echo(f"{counted(report.running_before, 'row')} being processed there: pending here")
    if report.in_line:
        verb = "would stand" if report.step == "check" else "stand"
        click.echo(f"{counted(report.in_line, 'task')} {verb} in line on their paths, in the order of the file")
    if report.orphans:
        click.echo(
            f"{counted(report.orphans, 'row')} with a parent that is nowhere: a root, at the depth that the file gives"
        )
    for verdict, count in report.history.items():
        click.echo(f"{counted(count, 'row')} {HISTORY[verdict]}: kept as history ({verdict})")
    if report.step == "fill":
        click.echo("next: the same command with --enforce")
