"""``ramet retry`` and ``ramet cancel``: what people do to tasks, recorded with who and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from ramet import BulkAct, Client, Task, TaskState, UniqueHeld, shown_key
from ramet.cli.bulk import filter_options, is_filter, run_bulk
from ramet.cli.errors import CliError
from ramet.cli.limit_options import Seconds
from ramet.cli.options import ask, database_option, lineage_of
from ramet.commands.options import json_option, person
from ramet.commands.terminal import counted, emit, plain

BATCH = 1_000
SWEEPS_MAX = 100
TOLD_MAX = 5
"""Tasks that get a line of their own."""


class Revived(NamedTuple):
    """What became of the tasks named."""

    revived: list[str]
    left: list[Task]
    """Live, successful, or without their unique key: they were not revived."""
    held: dict[str, str]
    """Why a task is without its unique key, by its id."""


@click.command(short_help="Give ended tasks new attempts, one or many.")
@click.argument("task_ids", nargs=-1, metavar="[TASK_ID]...")
@click.option("--failed", "tracking_id", metavar="TRACKING_ID", help="All failed tasks of this lineage.")
@click.option("--extend", "extend_seconds", type=Seconds(above=True), metavar="SECONDS",
              help="Let the lineage live at least so long from now; needed past its deadline.")  # fmt: skip
@click.option("--reason", help="Why, for the record.")
@filter_options
@database_option
@json_option
def retry(
    *,
    task_ids: tuple[str, ...],
    tracking_id: str | None,
    extend_seconds: float | None,
    reason: str | None,
    database: str,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Give ended tasks new attempts under their old identity: failed, cancelled, skipped or filtered ones.

    With --kind, --error, --since, --lineage-prefix or --state, all failed tasks (or those in the states named) to which
    all of that applies; how many there are is told and asked first.
    """
    if bool(task_ids) + (tracking_id is not None) + is_filter(wanted) != 1:
        raise CliError("give either task ids, or --failed with a tracking id, or a filter such as --kind")
    if is_filter(wanted):
        run_bulk(
            BulkAct.RETRY, wanted, reason=reason, database=database, as_json=as_json, extend_seconds=extend_seconds
        )
        return

    async def question(client: Client) -> Revived:
        wanted = list(dict.fromkeys(task_ids)) or await _failed(client, tracking_id or "")
        revived: list[str] = []
        held: dict[str, str] = {}
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            # One whose unique key somebody else holds by now does not keep the others of a lineage down.
            noted = held if tracking_id else None
            revived += await _revive(client, part, noted, reason=reason, extend_seconds=extend_seconds)
        done = set(revived)
        left = [task for task_id in wanted if task_id not in done and (task := await client.get(task_id))]
        return Revived(revived, left, held)

    found = ask(database, question)
    if as_json:
        emit({"revived": found.revived, "left": {task.id: task.state for task in found.left}})
    else:
        _tell(found, tracking_id)
    if found.left and not found.revived:
        click.get_current_context().exit(2)


async def _revive(client: Client, task_ids: list[str], held: dict[str, str] | None, **options: Any) -> list[str]:
    """Revive all, or with ``held`` all but those whose unique key another task holds, which are noted there."""
    while True:
        try:
            return await client.revive(task_ids, by=person(), **options)
        except UniqueHeld as error:
            if held is None:
                raise
            held[error.task_id] = str(error)
            task_ids = [task_id for task_id in task_ids if task_id != error.task_id]


async def _failed(client: Client, tracking_id: str) -> list[str]:
    await lineage_of(client, tracking_id)
    return [task.id async for task in client.all_tasks(tracking_id=tracking_id, states=[TaskState.FAILED])]


def _tell(found: Revived, tracking_id: str | None) -> None:
    if found.revived or not found.left:
        of = f" of lineage {plain(tracking_id)}" if tracking_id else ""
        click.echo(f"revived {counted(len(found.revived), 'task')}{of}" if found.revived else f"no failed task{of}")
    for task in found.left[:TOLD_MAX]:
        why = f"task {task.id} is {task.state}: only an ended, unsuccessful task can be revived"
        click.echo(f"ramet: {found.held.get(task.id, why)}", err=True)
    if len(found.left) > TOLD_MAX:
        click.echo(f"ramet: and {counted(len(found.left) - TOLD_MAX, 'more task')} like these", err=True)


@click.command(short_help="Cancel a task, a tree, a lineage, or many tasks.")
@click.argument("task_id", required=False)
@click.option("--tree", is_flag=True, help="Also everything that grew from it, now and later.")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="A whole lineage instead of a task.")
@click.option("--reason", help="Why, for the record.")
@filter_options
@database_option
@json_option
def cancel(
    *,
    task_id: str | None,
    tree: bool,
    tracking_id: str | None,
    reason: str | None,
    database: str,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Cancel a task, a task with all below it, or a lineage. A running handler is told; its late result is refused.

    With --kind, --error, --since, --lineage-prefix or --state, all live tasks to which all of that applies, without
    what grew from them; how many there are is told and asked first.
    """
    if (task_id is not None) + (tracking_id is not None) + is_filter(wanted) != 1:
        raise CliError("give either a task id, or --lineage with a tracking id, or a filter such as --kind")
    if is_filter(wanted) and tree:
        raise CliError("--tree goes with a task id: a filter is about single tasks")
    if is_filter(wanted):
        run_bulk(BulkAct.CANCEL, wanted, reason=reason, database=database, as_json=as_json)
        return
    if tracking_id is not None and tree:
        raise CliError("--tree goes with a task id: --lineage cancels everything anyway")

    async def look(client: Client) -> str:
        return await _described(client, task_id, tracking_id, tree)

    what = ask(database, look)
    if not wanted["yes"] and sys.stdin.isatty():
        click.confirm(f"cancel {what}?", abort=True, err=True)

    async def act(client: Client) -> bool:
        if tracking_id is not None:
            done = await client.cancel_lineage(tracking_id, by=person(), reason=reason)
        else:
            done = await client.cancel(task_id or "", tree=tree, by=person(), reason=reason)
        if done and (tree or tracking_id is not None):
            await _follow(client)
        return done

    done = ask(database, act)
    if as_json:
        emit({"cancelled": done, "task_id": task_id, "tracking_id": tracking_id, "tree": tree})
    else:
        click.echo(f"cancelled {what}" if done else f"nothing to cancel: {what} is over already")


async def _described(client: Client, task_id: str | None, tracking_id: str | None, tree: bool) -> str:
    """What would be cancelled, in words; refuses what does not exist."""
    if tracking_id is not None:
        lineage = await lineage_of(client, tracking_id)
        return f"lineage {plain(tracking_id)} with {counted(lineage.live, 'live task')}"
    task = await client.get(task_id or "")
    if task is None:
        raise CliError(f"no task {task_id}: `ramet tree TRACKING_ID` lists tasks with their ids")
    below = " and everything below it" if tree else ""
    return f"task {task.id} ({plain(task.kind)} {plain(shown_key(task.key))}){below}"


async def _follow(client: Client) -> None:
    """The row that was flipped is the truth; let the tasks' own rows follow now, also when no worker runs."""
    counts: Sequence[int] = (1,)
    for _ in range(SWEEPS_MAX):
        if not any(counts):
            return
        swept = await client.store.sweep()
        counts = (swept.ended, swept.lineages_ended)
