"""``ramet reprioritise`` and ``reschedule``: the order and the moment of a pending task."""

from __future__ import annotations

from datetime import datetime

import click

from ramet import Client
from ramet.cli.errors import CliError
from ramet.cli.options import Seconds, ask, operator_options, short_ids
from ramet.cli.output import moment
from ramet.commands.options import person
from ramet.commands.terminal import emit


@click.command(short_help="Give a pending task another priority.")
@click.argument("task_id")
@click.argument("priority", type=int)
@operator_options
@short_ids("task_id")
def reprioritise(*, task_id: str, priority: int, reason: str | None, database: str, as_json: bool) -> None:
    """Give a pending task another PRIORITY: of those that may be claimed the largest goes first.

    A negative number comes behind two dashes: `ramet reprioritise -- TASK_ID -5`.
    """

    async def act(client: Client) -> int:
        try:
            return await client.reprioritise(task_id, priority, by=person(), reason=reason)
        except ValueError as error:
            raise CliError(str(error)) from error

    was = ask(database, act)
    if as_json:
        emit({"task_id": task_id, "was": was, "priority": priority})
    else:
        click.echo(f"task {task_id} has priority {priority}; it had {was}")


@click.command(short_help="Move the moment from which a pending task may run.")
@click.argument("task_id")
@click.option("--at", "moment_text", metavar="WHEN", help="A date and time: 2026-11-25T10:00, or with +01:00.")
@click.option("--in", "delay_seconds", type=Seconds(), metavar="SECONDS", help="From now; 0 for now.")
@operator_options
@short_ids("task_id")
def reschedule(
    *,
    task_id: str,
    moment_text: str | None,
    delay_seconds: float | None,
    reason: str | None,
    database: str,
    as_json: bool,
) -> None:
    """Move the moment from which a pending task may be claimed, later or sooner."""
    if (moment_text is None) == (delay_seconds is None):
        raise CliError("give either --at with a date and time, or --in with seconds")
    at = None if moment_text is None else _moment_of(moment_text)

    async def act(client: Client) -> float:
        return await client.reschedule(task_id, at=at, delay_seconds=delay_seconds, by=person(), reason=reason)

    available_at = ask(database, act)
    if as_json:
        emit({"task_id": task_id, "available_at": available_at})
    else:
        click.echo(f"task {task_id} may be claimed from {moment(available_at)} on")


def _moment_of(text: str) -> float:
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise CliError(f"{text!r} is not a date and time: give one like 2026-11-25T10:00") from None
