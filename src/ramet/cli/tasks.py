"""``ramet tasks`` and ``ramet reclaim``: list tasks by what they are, and take stale claims back now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ramet import Client, Task, TaskState, display_key, path_key
from ramet.cli.errors import CliError
from ramet.cli.operations import moment_of
from ramet.cli.options import (
    KEY_HELP,
    RowOrder,
    ask,
    compared,
    database_options,
    lineage_of,
    rows_to_read,
    several,
    short_ids,
    sort_option,
    sorted_rows,
)
from ramet.cli.output import console, prose, relative, styled_state
from ramet.commands.terminal import counted, emit, plain, table

TABLE_WIDTH_MIN = 140
"""Columns of a screen on which the table fits without breaking ids and errors into pieces."""


class TaskListing(NamedTuple):
    """A page of tasks, and its cursor."""

    tasks: Sequence[Task]
    next_after: int | None = None
    keys: str = ""
    """The canonical forms of the key that were looked up, when no task has any of them."""
    note: str = ""
    """Line that says how many tasks were sorted, where not all were."""


@click.command(short_help="List tasks by state, kind, key or depth; stale claims.")
@click.argument("tracking_id", required=False)
@several("--state", "states", TaskState, help="In these states.")
@click.option("--kind", help="Of this kind.")
@click.option("--key", help=f"About this, {KEY_HELP}")
@click.option("--min-depth", type=click.IntRange(min=0), metavar="DEPTH", help="At least so deep.")
@click.option("--tag", help="With this tag.")
@click.option("--stale", is_flag=True, help="Claims that outlived their lease and were not reclaimed yet.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Most tasks to list.")
@click.option("--after", type=click.IntRange(min=0), default=0, metavar="NUMBER",
              help="Go on behind the page whose last line named this number.")  # fmt: skip
@click.option("--oldest/--newest", help="The oldest first, or the newest, as without it.")
@click.option("--since", metavar="WHEN", help="Created at or after: 10:00, 2026-11-25T10:00, 90m, 2h, 3d.")
@sort_option(
    state=lambda task: task.state,
    kind=lambda task: task.kind,
    key=lambda task: task.key,
    depth=lambda task: task.spawn_depth,
    attempts=lambda task: task.attempts,
    created=lambda task: task.created_at,
    ended=lambda task: task.finished_at,
)
@database_options
@short_ids("tracking_id")
def tasks(
    *,
    tracking_id: str | None,
    states: tuple[str, ...],
    kind: str | None,
    key: str | None,
    min_depth: int | None,
    tag: str | None,
    stale: bool,
    limit: int,
    after: int,
    oldest: bool,
    since: str | None,
    sort: RowOrder | None,
    database: str,
    as_json: bool,
) -> None:
    """List tasks of one lineage or all, the newest first; of failed ones the error."""
    if stale and (states or kind or key or tag or min_depth is not None or after or since):
        raise CliError("--stale lists claims by their lease: give only a tracking id and --limit with it")

    if since and oldest:
        raise CliError("--since lists the newest first: leave --oldest out")
    if sort and (after or oldest):
        raise CliError(f"--sort goes by {sort.column}: leave --after, --oldest and --newest out")
    most = rows_to_read(sort, limit)

    async def question(client: Client) -> TaskListing:
        start = moment_of(since, client.clock.now()) if since else None
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        if stale:
            return TaskListing(await client.stale(tracking_id, limit=most))
        page = await client.tasks(
            tracking_id=tracking_id,
            states=states,
            kind=kind,
            key=key,
            min_depth=min_depth,
            tag=tag,
            limit=most,
            after=after,
            newest=not oldest,
        )
        if start is not None:
            # Newest first: a page without a younger task is behind the last of them. Imported ones may be older.
            young = tuple(task for task in page.tasks if task.created_at >= start)
            page = page._replace(tasks=young, next_after=page.next_after if young else None)
        return TaskListing(*page, compared(client, kind, key) if key is not None else "")

    found = ask(database, question)
    if sort is not None:
        rows, note = sorted_rows(found.tasks, sort, limit)
        found = found._replace(tasks=rows, next_after=None, note=note)
    if as_json:
        for task in found.tasks:
            emit(task)
        return
    _show(found)


def _show(found: TaskListing) -> None:
    screen = console()
    if not found.tasks:
        screen.print(f"no such task: {plain(found.keys)}" if found.keys else "no such task", highlight=False)
        return
    if screen.width < TABLE_WIDTH_MIN:
        for task in found.tasks:
            _print_task(screen, task)
    else:
        screen.print(_table(found.tasks))
    if found.next_after is not None:
        screen.print(f"... and more: --after {found.next_after}")
    if found.note:
        screen.print(found.note)


def _table(tasks: Sequence[Task]) -> Table:
    paths = any(task.path for task in tasks)
    made = table("state", "kind", "*key", *(["*path"] if paths else []), ">depth", ">attempts", "when", "task", "*why")
    for task in tasks:
        made.add_row(
            styled_state(task.state),
            plain(task.kind),
            plain(display_key(task.key)),
            *([_path(task)] if paths else []),
            str(task.spawn_depth),
            str(task.attempts),
            _when(task),
            task.id,
            plain(task.why or ""),
        )
    return made


def _print_task(screen: Console, task: Task) -> None:
    """Print a task on several lines for a narrow screen: ids, keys and errors whole, to be copied."""
    screen.print(styled_state(task.state), Text(f" {task.id}  "), Text(_when(task), style="dim"), sep="")
    path = f", path {_path(task)}" if task.path else ""
    tries = counted(task.attempts, "attempt")
    screen.print(Text(f"  {plain(task.kind)} {plain(task.key)}", style="bold"))
    prose(screen, Text(f"depth {task.spawn_depth}, {tries}{path}", style="dim"), 2)
    if task.why:
        screen.print(Text(f"  {plain(task.why)}"))


def _path(task: Task) -> str:
    return plain(path_key(task.path)) if task.path else "-"


def _when(task: Task) -> str:
    """Return the end of a task, the end of its lease, or when it may run."""
    if task.finished_at is not None:
        return f"ended {relative(task.finished_at)}"
    if task.state is TaskState.PROCESSING:
        return f"lease ends {relative(task.lease_until or 0.0)}"
    return f"due {relative(task.available_at or task.created_at)}"


@click.command(short_help="Make stale claims pending again, now.")
@database_options
def reclaim(*, database: str, as_json: bool) -> None:
    """Make tasks pending again whose claim outlived its lease. A running worker does so every few seconds anyway."""
    count = ask(database, Client.reclaim)
    if as_json:
        emit({"reclaimed": count})
    else:
        click.echo(f"reclaimed {counted(count, 'stale claim')}")
