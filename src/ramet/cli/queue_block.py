"""``ramet block`` and ``unblock``: a queue that takes no submits, and a task once it has drained."""

from __future__ import annotations

import json
from typing import Any

import click
from pydantic import ValidationError

from ramet import Client
from ramet.cli.errors import CliError
from ramet.cli.options import ask, operator_options
from ramet.commands.options import person
from ramet.commands.terminal import emit, plain


@click.command(short_help="Refuse submits into a queue.")
@click.argument("queue")
@click.option("--on-drained", "kind", metavar="KIND", help="A kind of which a task is submitted once nothing of the "
              "queue lives.")  # fmt: skip
@click.option("--payload", metavar="JSON", help="Its payload.")
@operator_options
def block(
    *, queue: str, kind: str | None, payload: str | None, reason: str | None, database: str, as_json: bool
) -> None:
    """Refuse submits into QUEUE; what is in it runs on, and spawns of running lineages go on.

    With --on-drained a task is submitted, once, as soon as no task of the queue lives; a worker has to run for it. Its
    queue is `default` and its key its payload: a program that registers the kind uses `client.block_queue` for others.
    """
    if payload is not None and kind is None:
        raise CliError("--payload is that of the task of --on-drained: give both")
    drained = None if kind is None else (kind, _payload(payload))

    async def act(client: Client) -> bool:
        try:
            return await client.block_queue(queue, on_drained=drained, by=person(), reason=reason)
        except (ValidationError, ValueError) as error:
            raise CliError(str(error)) from error

    done = ask(database, act)
    if as_json:
        emit({"queue": queue, "blocked": done, "on_drained": kind if done else None})
        return
    then = f"; {plain(kind)} is submitted once it has drained" if kind is not None and done else ""
    click.echo(f"blocked queue {plain(queue)}{then}" if done else f"queue {plain(queue)} is blocked already")


def _payload(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise CliError(f"--payload is not JSON ({error})") from error


@click.command(short_help="Accept submits into a blocked queue again.")
@click.argument("queue")
@operator_options
def unblock(*, queue: str, reason: str | None, database: str, as_json: bool) -> None:
    """Accept submits into QUEUE again. A task of --on-drained that was not created yet will not be."""
    done = ask(database, lambda client: client.unblock_queue(queue, by=person(), reason=reason))
    if as_json:
        emit({"queue": queue, "unblocked": done})
    else:
        click.echo(f"unblocked queue {plain(queue)}" if done else f"queue {plain(queue)} is not blocked")
