"""The commands that fill a database: `init` with a profile, `import` with the queue of another job finder."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.text import Text

from ramet import Client
from ramet.commands.input_files import is_sqlite, json_document, table_names, table_rows
from ramet.commands.options import check_folder, json_option, person
from ramet.commands.terminal import columns, console, counted, emit, plain
from ramet.jobs.app import app
from ramet.jobs.commands.rescore import rescored
from ramet.jobs.commands.resume import show_resume
from ramet.jobs.commands.terminal import BAD_SHOWN_MAX, DATABASE, NO_PROFILE, database_option
from ramet.jobs.config.config_file import read_config, sample, sample_text
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.errors import InputError, JobsError
from ramet.jobs.pipeline import TARGET
from ramet.jobs.settings import PREFIX
from ramet.jobs.takeover import QUEUE, TABLES, Records, records_of
from ramet.jobs.tasks.takeover import take_over_records

NAMED_MAX = 5
"""Settings that a refusal names."""


@click.command("init", short_help="Say who looks for work, and what for.")
@click.option(
    "--from", "file", type=click.Path(path_type=Path), metavar="FILE",
    help="Take settings in from YAML or JSON: sections as `--show-sample` has them, or a config.yaml with "
    "filters.stopList.",
)  # fmt: skip
@click.option("--sample", "take_sample", is_flag=True, help="Take the sample profile in that ships with the package.")
@click.option("--show-sample", is_flag=True, help="Write the sample profile to standard output, and do nothing.")
@click.option(
    "--resume", type=click.Path(path_type=Path), metavar="FILE",
    help="Write the profile that the text of a resume tells to standard output, to be corrected; nothing is stored.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace settings that have another value here already.")
@database_option
@json_option
def init(
    *,
    file: Path | None,
    take_sample: bool,
    show_sample: bool,
    resume: Path | None,
    force: bool,
    database: str,
    as_json: bool,
) -> None:
    """Create the database, and take a profile, stop lists and numbers in.

    Nothing is stored unless all of it can be; what has another value already stays, unless --force is given. Single
    settings are changed by `ramet settings set`.
    """
    if sum((file is not None, take_sample, show_sample, resume is not None)) > 1:
        raise click.UsageError("give one of --from, --sample, --show-sample and --resume")
    if resume is not None:
        show_resume(resume, as_json=as_json)
        return
    if show_sample:
        click.echo(sample_text(), nl=False)
        return
    wanted = read_config(file) if file is not None else sample() if take_sample else {}
    check_folder(database)
    asyncio.run(_init(wanted, "the sample" if file is None else str(file), database, force=force, as_json=as_json))


async def _init(wanted: dict[str, Any], origin: str, database: str, *, force: bool, as_json: bool) -> None:
    async with app.client(database) as client:
        before = {one.name: one.value for one in await client.settings.all() if one.stored}
        other = sorted(name for name, value in wanted.items() if before.get(name, value) != value)
        if other and not force:
            named = ", ".join(other[:NAMED_MAX]) + (f" and {len(other) - NAMED_MAX} more" if other[NAMED_MAX:] else "")
            raise InputError(f"{named} have other values here already: --force replaces them, nothing was stored")
        if wanted:
            try:
                await client.settings.set_many(wanted, by=person(), reason=f"ramet jobs init, from {origin}")
            except ValueError as error:
                raise InputError(str(error)) from error
        await client.settings.refresh(0.0)
        judged = await rescored(client) if wanted else None
        profile = (await settings_in_force(client)).profile
        if as_json:
            emit(
                {
                    "database": client.place,
                    "stored": wanted,
                    "profile": profile.name if profile.given else None,
                    "rescored": judged,
                }
            )
            return
        _tell(client, wanted)
        if judged is not None:
            click.echo(judged)
        if not profile.given:
            click.echo(NO_PROFILE)
        elif not wanted:
            click.echo(f"the profile is {plain(profile.name)}; `ramet settings list --prefix {PREFIX}` shows all of it")


def _tell(client: Client, wanted: dict[str, Any]) -> None:
    if not wanted:
        click.echo(f"{client.place} is ready")
        return
    click.echo(f"stored {counted(len(wanted), 'setting')} in {client.place}:")
    table = columns(header=None)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in sorted(wanted.items()):
        table.add_row(Text(name), Text(shown(value)))
    console().print(table)


def shown(value: Any) -> str:
    """Return a setting's value as a person reads it."""
    if isinstance(value, dict):
        return plain(", ".join(f"{name}: {shown(one)}" for name, one in value.items()) or "none")
    if isinstance(value, list):
        return plain(", ".join(shown(one) for one in value) or "none")
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return plain(value)


COLUMNS = tuple(
    word
    for column in (
        "source_discovery_config.url=url", "input.url=url", "input.source_discovery_config.url=url",
        "input.pipeline_state=pipeline_state", "input.company_sub_task=sub_task", "output.error=error_details",
    )
    for word in ("--column", column)
)  # fmt: skip
"""Columns in which the earlier job finder keeps the parts of a payload, as options of `ramet import`."""


@click.command(
    "import",
    short_help="Take over another job finder's records and queue.",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="FILE [OPTION]...")
def import_command(words: tuple[str, ...]) -> None:
    """Take over another job finder: the records of its database (companies, sources, matches), and its queue.

    A SQLite file with the tables companies, job_sources or job_matches, or a JSON document with lists of these names,
    is taken over as records; what is known here stays as it is. A queue (the table job_queue, or a file of rows)
    becomes tasks as `ramet import` makes them, with JOB taken for LISTING; the options are those of `ramet import`.
    """
    context = click.get_current_context()
    named_database = _option(words, "--db")
    tables = None if _option(words, "--table") else record_tables(words)
    if tables is not None:
        if "--enforce" not in words:
            database = named_database or os.environ.get("RAMET_DB") or DATABASE
            check_folder(database)
            asyncio.run(_take_over(records_of(tables.rows), database, check="--check" in words))
        if not tables.has_queue:
            return
        words = (*words, "--table", QUEUE) if tables.is_database else words
    root = context.find_root()
    command = root.command.get_command(root, "import") if isinstance(root.command, click.Group) else None
    if command is None or command is context.command:
        raise JobsError("`import` is a part of the command line `ramet`: run it as `ramet jobs import`")
    default = {} if named_database else {"database": DATABASE}
    told = [*words, "--kinds", TARGET, *COLUMNS]
    with command.make_context("import", told, parent=context.parent, default_map=default) as made:
        command.invoke(made)


class RecordTables(NamedTuple):
    """Records of another job finder in a file."""

    rows: Mapping[str, Iterable[Mapping[str, Any]]]
    has_queue: bool
    """True where the file has a queue, too."""
    is_database: bool


def record_tables(words: tuple[str, ...]) -> RecordTables | None:
    """Return the tables of records in the file that was named; None where it is a queue alone, or not a file."""
    path = next((Path(word) for word in words if not word.startswith("-")), None)
    if path is None or not path.is_file():
        return None
    if is_sqlite(path):
        names = table_names(path)
        there = [name for name in TABLES if name in names]
        return RecordTables({name: table_rows(path, name) for name in there}, QUEUE in names, True) if there else None
    document = json_document(path) if path.suffix.lower() == ".json" else None
    lists = {
        name.replace("-", "_"): rows
        for name, rows in (document.items() if isinstance(document, dict) else ())
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    }
    there = [name for name in TABLES if name in lists]
    return RecordTables({name: lists[name] for name in there}, False, False) if there else None


def _option(words: tuple[str, ...], name: str) -> str | None:
    """Return the value of an option in the words of a command line; None where it is not there."""
    for at, word in enumerate(words):
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
        if word == name and at + 1 < len(words):
            return words[at + 1]
    return None


async def _take_over(found: Records, database: str, *, check: bool) -> None:
    parts = (
        counted(len(found.companies), "company", "companies"), counted(len(found.sources), "source"),
        counted(len(found.matches), "match", "matches"),
    )  # fmt: skip
    for line in found.bad[:BAD_SHOWN_MAX]:
        click.echo(f"ramet: left out: {plain(line)}", err=True)
    if len(found.bad) > BAD_SHOWN_MAX:
        click.echo(f"ramet: left out: {len(found.bad) - BAD_SHOWN_MAX:,} more", err=True)
    if check:
        click.echo(f"would take over {', '.join(parts)}")
        return
    async with app.client(database) as client:
        asked = await take_over_records(client, found)
    click.echo(f"took over {', '.join(parts)}; what was known here already stayed as it was")
    if asked:
        click.echo(f"`ramet jobs run` tests {counted(asked, 'board')} and scrapes those that answer")
