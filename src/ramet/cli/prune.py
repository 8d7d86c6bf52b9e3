"""``ramet prune``: forget ended lineages now."""

from __future__ import annotations

import re
from typing import NamedTuple

import click

from ramet import Client
from ramet.cli.errors import CliError
from ramet.cli.options import ask, database_option
from ramet.commands.options import json_option
from ramet.commands.terminal import counted, emit

_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


class Found(NamedTuple):
    """What is old enough, and how much of it is gone."""

    lineages: int
    tasks: int
    pruned: int


def age_seconds(text: str) -> float:
    """``30d``, ``12h``, ``90m`` in seconds.

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
@database_option
@json_option
def prune(*, age: str, dry_run: bool, database: str, as_json: bool) -> None:
    """Delete lineages that ended long ago, with everything of theirs; their keys and tracking ids are free again.

    Workers do this by themselves after `maintenance.retention_days`. Safe while they run: it goes in small parts.
    """
    seconds = age_seconds(age)

    async def question(client: Client) -> Found:
        before = client.clock.now() - seconds
        lineages, tasks, _ = await client.store.prunable(before)
        gone = 0
        while not dry_run and any(await client.store.prunable(before, limit=1)):
            gone += await client.store.prune(before)
        return Found(lineages, tasks, gone)

    found = ask(database, question)
    if as_json:
        emit(found)
        return
    verb = "would prune" if dry_run else "pruned"
    click.echo(f"{verb} {counted(found.lineages, 'lineage')} with {counted(found.tasks, 'task')}")
