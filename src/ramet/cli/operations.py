"""``ramet retry``, ``cancel``, ``exclude``, ``pause``, ``resume`` and ``audit-log``: what operators do, and did."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from ramet import (
    AuditEntry,
    BulkAction,
    BulkResult,
    BulkSelection,
    Client,
    LineageState,
    PathImpact,
    Task,
    TaskFilter,
    TaskState,
    UniqueHeld,
    display_key,
)
from ramet.cli.errors import CliError
from ramet.cli.options import (
    RowOrder,
    Seconds,
    ask,
    compared,
    database_options,
    lineage_of,
    operator_options,
    rows_to_read,
    several,
    short_ids,
    sort_option,
    sorted_rows,
)
from ramet.cli.output import console, moment, subject
from ramet.commands.options import person
from ramet.commands.terminal import counted, emit, plain, read_moment, table

Command = TypeVar("Command", bound=Callable[..., Any])

FILTERS = ("states", "kind", "error", "since", "lineage_prefix", "path", "queue")
LINES_MAX = 5
KINDS_MAX = 10


def filter_options(command: Command) -> Command:
    """Add ``--state --kind --error --since --lineage-prefix --path --queue --yes``: many tasks instead of one."""
    for option in (
        click.option("--yes", is_flag=True, help="Do not ask; required with a filter when not on a terminal."),
        click.option("--queue", metavar="QUEUE", help="All of this queue; with --path `default` where none is given."),
        click.option("--path", multiple=True, metavar="ELEMENT", help="All at a path and below it, with an option for "
                     "each element: --path doc1 --path review."),
        click.option("--lineage-prefix", metavar="PREFIX", help="All of lineages whose tracking id begins so."),
        click.option("--since", metavar="WHEN", help="All that ended (live ones: were created) at or after: 10:00, "
                     "2026-11-25T10:00, 90m, 2h, 3d."),
        click.option("--error", metavar="TEXT", help="All whose error or reason has this text, in any case."),
        click.option("--kind", help="All of this kind."),
        several("--state", "states", TaskState, help="All in these states."),
    ):  # fmt: skip
        command = option(command)
    return command


def is_filter(options: dict[str, Any]) -> bool:
    """Return whether the filter has at least one condition."""
    return any(options[name] not in (None, ()) for name in FILTERS)


def run_bulk(
    act: BulkAction,
    options: dict[str, Any],
    *,
    reason: str | None,
    database: str,
    as_json: bool,
    extend_seconds: float | None = None,
) -> None:
    """Count the tasks, confirm, act on them, print the result."""
    given = {name: options[name] for name in FILTERS}

    async def select(client: Client) -> BulkSelection:
        since = given["since"] and moment_of(given["since"], client.clock.now())
        try:
            return await client.bulk_select(act, TaskFilter(**{**given, "since": since}))
        except ValueError as error:
            raise CliError(str(error)) from error

    selection = ask(database, select)
    if selection.task_ids:
        _confirm(selection, yes=options["yes"])

    async def run(client: Client) -> BulkResult:
        return await client.bulk_run(selection, by=person(), reason=reason, extend_seconds=extend_seconds)

    result = ask(database, run) if selection.task_ids else BulkResult((), {})
    if as_json:
        emit({"selected": len(selection.task_ids), "done": list(result.done), "left": dict(result.left)})
    else:
        _print_bulk_result(selection, result)
    if result.left and not result.done:
        click.get_current_context().exit(2)


def _confirm(selection: BulkSelection, *, yes: bool) -> None:
    what = f"{selection.act} {counted(len(selection.task_ids), 'task')} ({_counts(selection)})"
    if yes:
        return
    if not sys.stdin.isatty():
        raise CliError(f"this would {what}: give --yes to do it")
    click.confirm(f"{what}?", abort=True, err=True)


def _counts(selection: BulkSelection) -> str:
    parts = [f"{plain(kind)} {state} {count:,}" for (kind, state), count in selection.counts.items()]
    more = f", and {len(parts) - KINDS_MAX} more kinds and states" if len(parts) > KINDS_MAX else ""
    return ", ".join(parts[:KINDS_MAX]) + more


_DONE = {BulkAction.RETRY: "revived", BulkAction.CANCEL: "cancelled", BulkAction.EXCLUDE: "excluded"}


def _print_bulk_result(selection: BulkSelection, result: BulkResult) -> None:
    if not selection.task_ids:
        click.echo("no such task")
        return
    click.echo(f"{_DONE[selection.act]} {counted(len(result.done), 'task')}")
    for task_id, why in list(result.left.items())[:LINES_MAX]:
        click.echo(f"ramet: task {task_id} was left: {plain(why)}", err=True)
    if len(result.left) > LINES_MAX:
        click.echo(f"ramet: and {counted(len(result.left) - LINES_MAX, 'more task')} like these", err=True)


def moment_of(text: str, now: float) -> float:
    """Return Unix seconds for a moment that was typed; see :func:`ramet.commands.terminal.read_moment`.

    Raises:
        CliError: it is not a valid moment.
    """
    try:
        return read_moment(text, now)
    except ValueError as error:
        raise CliError(str(error)) from None


BATCH = 1_000
SWEEPS_MAX = 100


class RetryResult(NamedTuple):
    """Result of a retry."""

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
@database_options
@short_ids("task_ids", "tracking_id")
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
    all of that applies; their number is shown, with a question, first.
    """
    if bool(task_ids) + (tracking_id is not None) + is_filter(wanted) != 1:
        raise CliError("give either task ids, or --failed with a tracking id, or a filter such as --kind")
    if is_filter(wanted):
        run_bulk(
            BulkAction.RETRY, wanted, reason=reason, database=database, as_json=as_json, extend_seconds=extend_seconds
        )
        return

    async def question(client: Client) -> RetryResult:
        wanted = list(dict.fromkeys(task_ids)) or await _failed(client, tracking_id or "")
        revived: list[str] = []
        held: dict[str, str] = {}
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            # A task whose unique key another task holds by now does not keep the others of a lineage from a retry.
            noted = held if tracking_id else None
            revived += await _revive(client, part, noted, reason=reason, extend_seconds=extend_seconds)
        done = set(revived)
        left = [task for task_id in wanted if task_id not in done and (task := await client.get(task_id))]
        return RetryResult(revived, left, held)

    found = ask(database, question)
    if as_json:
        emit({"revived": found.revived, "left": {task.id: task.state for task in found.left}})
    else:
        _print_revived(found, tracking_id)
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


def _print_revived(found: RetryResult, tracking_id: str | None) -> None:
    if found.revived or not found.left:
        of = f" of lineage {plain(tracking_id)}" if tracking_id else ""
        click.echo(f"revived {counted(len(found.revived), 'task')}{of}" if found.revived else f"no failed task{of}")
    for task in found.left[:LINES_MAX]:
        why = f"task {task.id} is {task.state}: only an ended, unsuccessful task can be revived"
        click.echo(f"ramet: {found.held.get(task.id, why)}", err=True)
    if len(found.left) > LINES_MAX:
        click.echo(f"ramet: and {counted(len(found.left) - LINES_MAX, 'more task')} like these", err=True)


@click.command(short_help="Cancel a task, a tree, a lineage, or many tasks.")
@click.argument("task_id", required=False)
@click.option("--tree", is_flag=True, help="Also everything that grew from it, now and later.")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="A whole lineage instead of a task.")
@click.option("--reason", help="Why, for the record.")
@filter_options
@database_options
@short_ids("task_id", "tracking_id")
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
    """Cancel a task, a task with all below it, or a lineage. A running handler is notified; its late result is refused.

    With --kind, --error, --since, --lineage-prefix or --state, all live tasks to which all of that applies, without
    what grew from them; their number is shown, with a question, first.
    """
    if (task_id is not None) + (tracking_id is not None) + is_filter(wanted) != 1:
        raise CliError("give either a task id, or --lineage with a tracking id, or a filter such as --kind")
    if is_filter(wanted) and tree:
        raise CliError("--tree goes with a task id: a filter is about single tasks")
    if is_filter(wanted):
        run_bulk(BulkAction.CANCEL, wanted, reason=reason, database=database, as_json=as_json)
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
            await _sweep_all(client)
        return done

    done = ask(database, act)
    if as_json:
        emit({"cancelled": done, "task_id": task_id, "tracking_id": tracking_id, "tree": tree})
    else:
        click.echo(f"cancelled {what}" if done else f"nothing to cancel: {what} is over already")


async def _described(client: Client, task_id: str | None, tracking_id: str | None, tree: bool) -> str:
    """Describe the subject of a cancel; refuse one that does not exist."""
    if tracking_id is not None:
        lineage = await lineage_of(client, tracking_id)
        return f"lineage {plain(tracking_id)} with {counted(lineage.live, 'live task')}"
    task = await client.get(task_id or "")
    if task is None:
        raise CliError(f"no task {task_id}: `ramet tree TRACKING_ID` lists tasks with their ids")
    below = " and everything below it" if tree else ""
    return f"task {task.id} ({plain(task.kind)} {plain(display_key(task.key))}){below}"


async def _sweep_all(client: Client) -> None:
    """Update the tasks' own rows now, also when no worker runs; the row that was changed already counts."""
    counts: Sequence[int] = (1,)
    for _ in range(SWEEPS_MAX):
        if not any(counts):
            return
        swept = await client.store.sweep()
        counts = (swept.ended, swept.lineages_ended)


class ExcludeResult(NamedTuple):
    """Result of an exclude."""

    excluded: list[str]
    left: list[Task]
    """Running, or ended in another way: they were not touched."""


@click.command(short_help="Take tasks out for good.")
@click.argument("words", nargs=-1, metavar="[TASK_ID | KIND KEY]")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="Look for KIND KEY only there.")
@click.option("--reason", required=True, help="Why, for the record.")
@filter_options
@database_options
@short_ids("words", "tracking_id")
def exclude(
    *, words: tuple[str, ...], tracking_id: str | None, reason: str, database: str, as_json: bool, **wanted: Any
) -> None:
    """Skip a pending, failed or cancelled task for good: nothing of its kind and key is spawned again in its lineage,
    nor elsewhere where the kind is unique over all lineages. `ramet retry` undoes it.

    With --kind, --error, --since, --lineage-prefix or --state, all failed tasks (or those in the states named) to which
    all of that applies; their number is shown, with a question, first.
    """
    if bool(words) == is_filter(wanted):
        raise click.UsageError("give a task id, or a kind and a key, or a filter such as --kind")
    if is_filter(wanted):
        if tracking_id is not None:
            raise CliError("--lineage goes with KIND KEY: --lineage-prefix filters")
        run_bulk(BulkAction.EXCLUDE, wanted, reason=reason, database=database, as_json=as_json)
        return
    if len(words) > 2:
        raise click.UsageError("give a task id, or a kind and a key: quote a key with spaces")
    if len(words) == 1 and tracking_id is not None:
        raise CliError("--lineage goes with KIND KEY: a task id names its lineage itself")

    async def act(client: Client) -> ExcludeResult:
        one = len(words) == 1
        tasks = [await _task(client, words[0])] if one else await _tasks(client, words[0], words[1], tracking_id)
        done = set(await client.exclude([task.id for task in tasks], by=person(), reason=reason))
        return ExcludeResult(sorted(done), [task for task in tasks if task.id not in done])

    found = ask(database, act)
    if as_json:
        emit({"excluded": found.excluded, "left": {task.id: task.state for task in found.left}})
    else:
        _print_excluded(found)
    if found.left and not found.excluded:
        click.get_current_context().exit(2)


async def _task(client: Client, task_id: str) -> Task:
    task = await client.get(task_id)
    if task is None:
        raise CliError(f"no task {task_id}: `ramet tree TRACKING_ID` lists tasks with their ids")
    return task


async def _tasks(client: Client, kind: str, key: str, tracking_id: str | None) -> list[Task]:
    """Return all tasks of this kind and key, in one lineage or in any."""
    if tracking_id is not None:
        await lineage_of(client, tracking_id)
    found = [task async for task in client.all_tasks(kind=kind, key=key, tracking_id=tracking_id)]
    if not found:
        tried = compared(client, kind, key)
        raise CliError(f"no task of kind {kind!r}, {tried}: `ramet deny-list add` stops what does not exist yet")
    return found


def _print_excluded(found: ExcludeResult) -> None:
    if found.excluded:
        click.echo(f"excluded {counted(len(found.excluded), 'task')}")
    for task in found.left[:LINES_MAX]:
        hint = "cancel it first" if not task.state.terminal else "only a failed or cancelled one can be excluded"
        click.echo(f"ramet: task {task.id} is {plain(task.state)}: {hint}", err=True)
    if len(found.left) > LINES_MAX:
        click.echo(f"ramet: and {counted(len(found.left) - LINES_MAX, 'more task')} like these", err=True)


@click.command("audit-log", short_help="What operators did, and why.")
@click.argument("tracking_id", required=False)
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Newest entries to list.")
@sort_option(
    when=lambda entry: entry.at,
    who=lambda entry: entry.by,
    what=lambda entry: entry.act,
    to_what=lambda entry: entry.subject,
)
@database_options
@short_ids("tracking_id")
def audit_log(*, tracking_id: str | None, limit: int, sort: RowOrder | None, database: str, as_json: bool) -> None:
    """List what operators did to a lineage, or to anything: raised limits, offered blocks again, changed the deny list.

    Acts on a single task (cancel, retry, exclude) are listed with the task: `ramet explain TASK_ID`.
    """

    async def question(client: Client) -> list[AuditEntry]:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
        return await client.acts(tracking_id, limit=rows_to_read(sort, limit))

    found, note = sorted_rows(ask(database, question), sort, limit)
    if as_json:
        for act in found:
            emit(act)
        return
    screen = console()
    if not found:
        screen.print("no operator did anything" + (" to this lineage" if tracking_id else ""))
        return
    made = table("when", "who", "what", "*to what", "*why", "*in detail")
    for act in found:
        detail = "" if act.detail is None else plain(json.dumps(act.detail, ensure_ascii=False))
        made.add_row(moment(act.at), plain(act.by), plain(act.act), plain(act.subject), plain(act.reason or ""), detail)
    screen.print(made)
    if note:
        screen.print(note)


def _one_of(queue: str | None, tracking_id: str | None) -> None:
    if (queue is None) == (tracking_id is None):
        raise CliError("give either --queue or --lineage")


async def _waiting_and_running(client: Client, queue: str | None, tracking_id: str | None) -> tuple[int, int]:
    """Count the waiting and the running tasks."""
    if tracking_id is not None:
        found = await client.counts(tracking_id)
        waiting = sum(item.tasks for item in found if item.state == TaskState.PENDING)
        return waiting, sum(item.tasks for item in found if item.state == TaskState.PROCESSING)
    rows = dict(
        await client.read("SELECT state, COUNT(*) FROM ramet_live WHERE queue = ? GROUP BY state", (queue or "",))
    )
    return rows.get(TaskState.PENDING, 0), rows.get(TaskState.PROCESSING, 0)


@click.command(short_help="Claim nothing more of a queue or lineage.")
@click.option("--queue", metavar="QUEUE", help="All tasks of this queue.")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="All tasks of this lineage.")
@operator_options
@short_ids("tracking_id")
def pause(*, queue: str | None, tracking_id: str | None, reason: str | None, database: str, as_json: bool) -> None:
    """Claim nothing more of a queue or a lineage, and stop its clocks, for at most 30 days.

    Handlers that run go on to their end; what they spawn waits. Tasks of a lineage keep their places in line on their
    paths; the number of tasks of other lineages that this holds back is shown.
    """
    _one_of(queue, tracking_id)

    async def question(client: Client) -> tuple[bool, int, int, PathImpact]:
        back = PathImpact(0, False)
        if tracking_id is not None:
            lineage = await lineage_of(client, tracking_id)
            if lineage.state not in (LineageState.RUNNING, LineageState.PAUSED):
                raise CliError(f"lineage {tracking_id} is {lineage.state}: only a running one can be paused")
            done = await client.pause_lineage(tracking_id, by=person(), reason=reason)
            back = await client.held_back(tracking_id)
        else:
            done = await client.pause_queue(queue or "", by=person(), reason=reason)
        return (done, *await _waiting_and_running(client, queue, tracking_id), back)

    done, waiting, running, back = ask(database, question)
    if as_json:
        told = {"paused": done, "queue": queue, "tracking_id": tracking_id, "waiting": waiting, "processing": running}
        emit(told | {"holds_back": back.tasks, "holds_back_more": back.more})
        return
    what = subject(queue, tracking_id)
    said = "paused" if done else "was paused before:"
    click.echo(f"{said} {what}: {counted(waiting, 'task')} held, {running} running to their end")
    if back.tasks or back.more:
        least = "at least " if back.more else ""
        verb = "waits" if back.tasks == 1 else "wait"
        click.echo(f"{least}{counted(back.tasks, 'task')} of other lineages {verb} behind its places in line")


@click.command(short_help="Let a paused queue or lineage go on.")
@click.option("--queue", metavar="QUEUE", help="A paused queue.")
@click.option("--lineage", "tracking_id", metavar="TRACKING_ID", help="A paused lineage.")
@operator_options
@short_ids("tracking_id")
def resume(*, queue: str | None, tracking_id: str | None, reason: str | None, database: str, as_json: bool) -> None:
    """Claim from a paused queue or lineage again. Its deadlines move by the time it was paused."""
    _one_of(queue, tracking_id)

    async def question(client: Client) -> tuple[bool, int, int]:
        if tracking_id is not None:
            await lineage_of(client, tracking_id)
            done = await client.resume_lineage(tracking_id, by=person(), reason=reason)
        else:
            done = await client.resume_queue(queue or "", by=person(), reason=reason)
        return (done, *await _waiting_and_running(client, queue, tracking_id))

    done, waiting, running = ask(database, question)
    if as_json:
        emit({"resumed": done, "queue": queue, "tracking_id": tracking_id, "waiting": waiting, "processing": running})
        return
    what = subject(queue, tracking_id)
    click.echo(f"resumed {what}: {counted(waiting, 'task')} waiting" if done else f"{what} is not paused")
