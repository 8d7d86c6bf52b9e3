"""``ramet exclude``: take tasks out for good."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from ramet import BulkAct, Client, Task
from ramet.cli.bulk import filter_options, is_filter, run_bulk
from ramet.cli.errors import CliError
from ramet.cli.options import ask, compared, database_option, lineage_of
from ramet.commands.options import json_option, person
from ramet.commands.terminal import counted, emit, plain

TOLD_MAX = 5


class Excluded(NamedTuple):
    """What became of the tasks named."""

    excluded: list[str]
    left: list[Task]
    """Running, or ended in another way: they were not touched."""


@click.command(short_help="Take tasks out for good.")
@click.argument("words", nargs=-1, metavar="[TASK_ID | KIND KEY]")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="Look for KIND KEY only there.")
@click.option("--reason", required=True, help="Why, for the record.")
@filter_options
@database_option
@json_option
def exclude(
    *, words: tuple[str, ...], tracking_id: str | None, reason: str, database: str, as_json: bool, **wanted: Any
) -> None:
    """Skip a pending, failed or cancelled task for good: nothing of its kind and key is spawned again in its lineage,
    nor elsewhere where the kind is unique over all lineages. `ramet retry` undoes it.

    With --kind, --error, --since, --lineage-prefix or --state, all failed tasks (or those in the states named) to which
    all of that applies; how many there are is told and asked first.
    """
    if bool(words) == is_filter(wanted):
        raise click.UsageError("give a task id, or a kind and a key, or a filter such as --kind")
    if is_filter(wanted):
        if tracking_id is not None:
            raise CliError("--lineage goes with KIND KEY: --lineage-prefix filters")
        run_bulk(BulkAct.EXCLUDE, wanted, reason=reason, database=database, as_json=as_json)
        return
    if len(words) > 2:
        raise click.UsageError("give a task id, or a kind and a key: quote a key with spaces")
    if len(words) == 1 and tracking_id is not None:
        raise CliError("--lineage goes with KIND KEY: a task id names its lineage itself")

    async def act(client: Client) -> Excluded:
        one = len(words) == 1
        tasks = [await _task(client, words[0])] if one else await _tasks(client, words[0], words[1], tracking_id)
        done = set(await client.exclude([task.id for task in tasks], by=person(), reason=reason))
        return Excluded(sorted(done), [task for task in tasks if task.id not in done])

    found = ask(database, act)
    if as_json:
        emit({"excluded": found.excluded, "left": {task.id: task.state for task in found.left}})
    else:
        _tell(found)
    if found.left and not found.excluded:
        click.get_current_context().exit(2)


async def _task(client: Client, task_id: str) -> Task:
    task = await client.get(task_id)
    if task is None:
        raise CliError(f"no task {task_id}: `ramet tree TRACKING_ID` lists tasks with their ids")
    return task


async def _tasks(client: Client, kind: str, key: str, tracking_id: str | None) -> list[Task]:
    """All tasks of this kind and key, in one lineage or in any."""
    if tracking_id is not None:
        await lineage_of(client, tracking_id)
    found = [task async for task in client.all_tasks(kind=kind, key=key, tracking_id=tracking_id)]
    if not found:
        tried = compared(client, kind, key)
        raise CliError(f"no task of kind {kind!r}, {tried}: `ramet stop-list add` stops what does not exist yet")
    return found


def _tell(found: Excluded) -> None:
    if found.excluded:
        click.echo(f"excluded {counted(len(found.excluded), 'task')}")
    for task in found.left[:TOLD_MAX]:
        hint = "cancel it first" if not task.state.terminal else "only a failed or cancelled one can be excluded"
        click.echo(f"ramet: task {task.id} is {plain(task.state)}: {hint}", err=True)
    if len(found.left) > TOLD_MAX:
        click.echo(f"ramet: and {counted(len(found.left) - TOLD_MAX, 'more task')} like these", err=True)
