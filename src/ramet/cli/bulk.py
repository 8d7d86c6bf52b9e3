"""Acts on many tasks by a filter: counted first, confirmed, then done in batches."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import click

from ramet import BulkAct, BulkResult, BulkSelection, Client, TaskFilter, TaskState
from ramet.cli.errors import CliError
from ramet.cli.options import ask, several
from ramet.commands.options import person
from ramet.commands.terminal import counted, emit, plain

Command = TypeVar("Command", bound=Callable[..., Any])

FILTERS = ("states", "kind", "error", "since", "lineage_prefix")
TOLD_MAX = 5
KINDS_MAX = 10
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)(?:\s+ago)?")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})")


def filter_options(command: Command) -> Command:
    """``--state --kind --error --since --lineage-prefix --yes``: many tasks instead of one."""
    for option in (
        click.option("--yes", is_flag=True, help="Do not ask; a filter asks for it where nobody can be asked."),
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
    """True when the filter has at least one condition."""
    return any(options[name] not in (None, ()) for name in FILTERS)


def run_bulk(
    act: BulkAct,
    options: dict[str, Any],
    *,
    reason: str | None,
    database: str,
    as_json: bool,
    extend_seconds: float | None = None,
) -> None:
    """Count, confirm, do, tell."""
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
        _tell(selection, result)
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


_DONE = {BulkAct.RETRY: "revived", BulkAct.CANCEL: "cancelled", BulkAct.EXCLUDE: "excluded"}


def _tell(selection: BulkSelection, result: BulkResult) -> None:
    if not selection.task_ids:
        click.echo("no such task")
        return
    click.echo(f"{_DONE[selection.act]} {counted(len(result.done), 'task')}")
    for task_id, why in list(result.left.items())[:TOLD_MAX]:
        click.echo(f"ramet: task {task_id} was left: {plain(why)}", err=True)
    if len(result.left) > TOLD_MAX:
        click.echo(f"ramet: and {counted(len(result.left) - TOLD_MAX, 'more task')} like these", err=True)


def moment_of(text: str, now: float) -> float:
    """Unix seconds of what somebody wrote: a span back from now, a time of this day, a date with or without a time.

    Raises:
        CliError: it is none of these.
    """
    if span := _SPAN.fullmatch(text.strip()):
        return now - float(span[1]) * _SECONDS[span[2]]
    here = datetime.fromtimestamp(now).astimezone()
    try:
        if time := _TIME_OF_DAY.fullmatch(text.strip()):
            at = here.replace(hour=int(time[1]), minute=int(time[2]), second=0, microsecond=0)
            return (at if at <= here else at - timedelta(days=1)).timestamp()
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise CliError(f"{text!r} is no moment: give 10:00, 2026-11-25T10:00, or a span back from now, as 90m, 2h or "
                       "3d") from None  # fmt: skip
