"""``ramet submit``: start lineages. Everything is checked before the database is touched."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import click
from pydantic import ValidationError

from ramet import (
    App,
    Client,
    SubmitResult,
    Task,
    TaskArguments,
    TaskOptions,
    TaskState,
)
from ramet.cli.errors import CliError, one_line
from ramet.cli.options import (
    Seconds,
    TaskRow,
    database_options,
    declared_limits,
    lineage_limits,
    load,
    parse_payload,
    path_options,
    payload_lines,
    rows_of,
    taken_limits,
    taken_path,
)
from ramet.commands.terminal import counted, emit, plain
from ramet.model.values import checked_tags

TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class SubmitArguments(NamedTuple):
    """Arguments of the command line."""

    kind: str
    payload: Any
    many: list[TaskRow] | None
    one_lineage: bool
    key: str | None
    delay_seconds: float
    priority: int | None
    tracking_id: str | None
    limits: dict[str, Any]
    path: TaskArguments


@click.command(short_help="Start a lineage with one task, or many.")
@click.argument("words", nargs=-1, required=True, metavar="[APP] KIND [PAYLOAD | @FILE | -]")
@click.option("--app", "target", metavar="MODULE:ATTR", help="The app; then APP is left out. Environment: RAMET_APP.")
@click.option("--key", help="What the task is about, instead of the kind's own key.")
@click.option("--delay", "delay_seconds", type=Seconds(), default=0.0, metavar="SECONDS", help="Not before.")
@click.option("--priority", type=int, help="Larger runs sooner.")
@click.option("--tracking-id", help="Name of the lineage; submitting the same again changes nothing.")
@click.option("--many", metavar="FILE.jsonl", help="A payload on each line (- is standard input): all of them or none.")
@click.option("--rows", is_flag=True,
              help="With --many: each line is an object with the payload and what is the task's "
              'own, as {"payload": {"n": 1}, "path": ["doc1"], "key": "mine"}.')  # fmt: skip
@click.option("--one-lineage", is_flag=True, help="With --many: one lineage with many roots.")
@click.option("--tag", "tags", multiple=True, help="By which it is listed later (repeatable; at most 10).")
@click.option("--wait", is_flag=True, help="Wait for the end; exit status 1 unless all succeeded.")
@path_options
@lineage_limits
@database_options
def submit(
    *,
    words: tuple[str, ...],
    target: str | None,
    many: str | None,
    rows: bool,
    one_lineage: bool,
    wait: bool,
    database: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Start a lineage: a task of KIND with a JSON payload, durable when this command returns.

    APP is module:attribute, found from the working directory; with RAMET_APP or --app it can be left out.
    """
    target, kind, text = _sort_out(words, target)
    app = load(target)
    limits = taken_limits(declared_limits(app, kind), options)
    path = cast(TaskArguments, taken_path(options))
    if tags := options.pop("tags"):
        path["tags"] = checked_tags(tags)
    order = SubmitArguments(kind, None, None, one_lineage, limits=limits, path=path, **options)
    _refuse_odd_pairs(order, many, text, rows)
    if many is None:
        order = order._replace(payload=parse_payload(text))
    else:
        lines = payload_lines(many)
        own = cast(TaskOptions, path)
        order = order._replace(many=rows_of(lines, path) if rows else [TaskRow(line, own) for line in lines])
    _check(app, order)
    asyncio.run(_submit(app, order, database, wait, as_json))


def _sort_out(words: Sequence[str], target: str | None) -> tuple[str, str, str | None]:
    """Return app, kind and payload. A first word like ``module:attribute`` is the app unless --app gave one."""
    rest = list(words)
    if target is None:
        target = os.environ.get("RAMET_APP")
        if target is None or TARGET.fullmatch(rest[0]) or len(rest) > 2:
            target = rest.pop(0)
    if not rest:
        raise click.UsageError("give the kind of the task after the app", click.get_current_context())
    if len(rest) > 2:
        raise click.UsageError(
            f"one payload, not {len(rest) - 1}: put the JSON in single quotes", click.get_current_context()
        )
    return target, rest[0], rest[1] if len(rest) == 2 else None


def _refuse_odd_pairs(order: SubmitArguments, many: str | None, text: str | None, rows: bool) -> None:
    if many is None:
        if rows:
            raise CliError("--rows says how the lines of --many are to be read: give --many with it")
        if order.one_lineage:
            raise CliError("--one-lineage goes with --many: without it every submit is one lineage")
        return
    single = {
        "a payload": text,
        "--key": order.key,
        "--priority": order.priority,
        "--delay": order.delay_seconds or None,
    }
    for name, value in single.items():
        if value is not None:
            raise CliError(
                f"{name} does not go with --many: the file's lines are the payloads, the kind gives the rest, "
                "or with --rows each line"
            )
    if order.tracking_id is not None and not order.one_lineage:
        raise CliError("--tracking-id names one lineage: give --one-lineage with it")


def _check(app: App, order: SubmitArguments) -> None:
    """Make every task once, so that a bad payload is refused before there is a database.

    Raises:
        UnknownKind: the app has no such kind.
        CliError: a line of --many does not fit.
    """
    kind = app.registry.get(order.kind)
    if order.many is None:
        if kind.payload is None and order.payload is not None:
            raise CliError(f"kind {order.kind!r} takes no payload: leave it out")
        try:
            kind.new_task(
                order.payload, key=order.key, delay_seconds=order.delay_seconds, priority=order.priority, **order.path
            )
        except ValidationError as error:
            if order.payload is None:
                raise CliError(f"kind {order.kind!r} needs a payload: {one_line(error)}") from error
            raise
        return
    for at, row in enumerate(order.many, start=1):
        try:
            kind.new_task(row.payload, **row.options)
        except ValueError as error:
            raise CliError(f"payload {at} of --many: {one_line(error)}") from error


# --- submitting


async def _submit(app: App, order: SubmitArguments, database: str, wait: bool, as_json: bool) -> None:
    async with app.client(database) as client:
        if order.many is None:
            answers: Sequence[SubmitResult] = [
                await client.submit(
                    order.kind,
                    order.payload,
                    key=order.key,
                    priority=order.priority,
                    delay_seconds=order.delay_seconds,
                    tracking_id=order.tracking_id,
                    limits=order.limits,
                    may_raise=True,
                    **order.path,
                )
            ]
        else:
            answers = await client.submit_many(
                ((order.kind, row.payload, row.options) for row in order.many),
                one_lineage=order.one_lineage,
                tracking_id=order.tracking_id,
                limits=order.limits,
                may_raise=True,
            )
        if not wait:
            _print_submitted(order, answers, as_json)
            return
        if not as_json:
            _print_submitted(order, answers, as_json)
        await _wait(client, answers, as_json)


def _print_submitted(order: SubmitArguments, answers: Sequence[SubmitResult], as_json: bool) -> None:
    if as_json:
        for answer in answers:
            emit(answer)
        return
    if order.many is None:
        [answer] = answers
        there = "" if answer.created else "  (was there already)"
        click.echo(f"task     {answer.id}{there}\nlineage  {plain(answer.tracking_id)}")
        return
    created = sum(answer.created for answer in answers)
    lineages = {answer.tracking_id for answer in answers}
    there = f", {counted(len(answers) - created, 'was', 'were')} there already" if created < len(answers) else ""
    click.echo(f"submitted {counted(created, 'task')} in {counted(len(lineages), 'lineage')}{there}")
    if len(lineages) == 1:
        click.echo(f"lineage  {plain(answers[0].tracking_id)}")


async def _wait(client: Client, answers: Sequence[SubmitResult], as_json: bool) -> None:
    """Wait for every task; leave with status 1 when one did not succeed."""
    ended: dict[str, Task] = {}
    for answer in answers:
        if answer.id not in ended:
            ended[answer.id] = await client.wait(answer.id)
    for answer in answers if as_json else ():
        task = ended[answer.id]
        more = {"state": task.state, "result": task.result, "reason": task.reason, "error": task.error}
        emit(answer._asdict() | more)
    if not as_json:
        _tell_ends(list(ended.values()))
    if any(task.state is not TaskState.SUCCESS for task in ended.values()):
        click.get_current_context().exit(1)


def _tell_ends(tasks: Sequence[Task]) -> None:
    if len(tasks) == 1:
        [task] = tasks
        click.echo(f"state    {task.state}")
        if task.result is not None:
            click.echo(f"result   {json.dumps(task.result)}")
    for task in tasks:
        if task.state is not TaskState.SUCCESS:
            why = task.why or "no reason"
            click.echo(f"ramet: task {task.id} is {task.state}: {plain(why)} (ramet explain {task.id})", err=True)
    if len(tasks) > 1:
        good = sum(task.state is TaskState.SUCCESS for task in tasks)
        click.echo(f"ended    {counted(len(tasks), 'task')}, {good:,} in success")
