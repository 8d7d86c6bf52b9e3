"""``ramet schedule``: periodic triggers, made and looked at."""

from __future__ import annotations

import asyncio
from typing import Any

import click
from pydantic import ValidationError

from ramet import Client, Schedule, ScheduleSlot
from ramet.cli.errors import CliError
from ramet.cli.options import (
    ask,
    database_options,
    declared_limits,
    lineage_limits,
    load,
    operator_options,
    parse_payload,
    path_options,
    taken_limits,
    taken_path,
)
from ramet.cli.output import console, moment
from ramet.commands.options import person
from ramet.commands.terminal import counted, emit, plain, table


@click.group(short_help="Periodic triggers: add, list, pause, run.")
def schedule() -> None:
    """Let a task start a lineage at every slot, by cron expression or interval.

    Every worker sees to schedules; over all of them one run per slot exists.
    """


@schedule.command("add", short_help="Make a schedule.")
@click.argument("kind")
@click.argument("payload", required=False, metavar="[PAYLOAD | @FILE | -]")
@click.option("--app", "target", metavar="MODULE:ATTR", envvar="RAMET_APP", required=True, show_envvar=True,
              help="The app that has the kind.")  # fmt: skip
@click.option(
    "--cron", metavar="EXPR", help="Minute, hour, day, month, weekday: '*/5 * * * *'; or @daily and its like."
)
@click.option("--every", "every_seconds", type=float, metavar="SECONDS", help="Instead of --cron.")
@click.option("--timezone", default="UTC", show_default=True, help="In which the expression is read: Europe/Berlin.")
@click.option("--name", help="Its name; the kind's, if none is given.")
@click.option("--key", help="What the task is about, instead of the kind's own key.")
@click.option("--overlap", type=click.Choice(["skip", "allow"]), default="skip", show_default=True,
              help="What to do with a slot while the last run is not over.")  # fmt: skip
@click.option("--catch-up", type=int, default=1, show_default=True, help="Slots run late when no worker ran in time.")
@click.option("--replace", is_flag=True, help="Change a schedule of this name.")
@path_options
@lineage_limits
@database_options
def add(*, kind: str, payload: str | None, target: str, database: str, as_json: bool, **options: Any) -> None:
    """Let a task of KIND with a JSON payload start a lineage at every slot; by default every 5 minutes.

    Limits are stored with the schedule, and hold for each of its lineages, whichever worker starts it.
    """
    app = load(target)
    limits = taken_limits(declared_limits(app, kind), options)
    value, path = parse_payload(payload), taken_path(options)

    async def question() -> Schedule:
        async with app.client(database) as client:
            try:
                return await client.schedules.add(
                    kind, value, by=person(), limits=limits, may_raise=True, **options, **path
                )
            except ValidationError:
                raise
            except ValueError as error:
                raise CliError(str(error)) from error

    made = asyncio.run(question())
    if as_json:
        emit(made)
    else:
        click.echo(f"schedule {plain(made.name)}: {plain(made.timing.describe())}, next {moment(made.next_at)}")


@schedule.command("list", short_help="All schedules, or the slots of one.")
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="Newest slots to list.")
@database_options
def list_(*, name: str | None, limit: int, database: str, as_json: bool) -> None:
    """List all schedules; with NAME the outcomes of its slots, the newest first, and their reasons."""

    async def question(client: Client) -> tuple[list[Schedule], list[ScheduleSlot]]:
        if name is None:
            return await client.schedules.all(), []
        found = await client.schedules.get(name)
        if found is None:
            raise CliError(f"no schedule {name!r}: `ramet schedule list` shows them")
        return [found], await client.schedules.slots(name, limit=limit)

    found, slots = ask(database, question)
    if as_json:
        for item in found if name is None else slots:
            emit(item)
        return
    if not found:
        click.echo("there are no schedules: `ramet schedule add`, or @app.schedule(...) makes one")
        return
    _show(found)
    if name is not None:
        _show_slots(slots)


def _show(found: list[Schedule]) -> None:
    made = table("name", "state", "*times", "kind", "next", "*last run", ">runs", ">skipped", ">missed")
    for item in found:
        state = item.state if item.reason is None else f"{item.state} ({item.reason})"
        following = moment(item.next_at) if item.state == "active" else "-"
        made.add_row(
            plain(item.name), plain(state), plain(item.timing.describe()), plain(item.kind), following,
            plain(item.last_tracking_id or "-"), str(item.runs), str(item.skipped), str(item.missed),
        )  # fmt: skip
    console().print(made)


def _show_slots(slots: list[ScheduleSlot]) -> None:
    made = table("slot", "outcome", "*lineage", "*why", "decided")
    for slot in slots:
        why = slot.reason or ""
        if slot.slots > 1:
            why = f"{why}, {counted(slot.slots, 'slot')} from here on"
        made.add_row(
            moment(slot.slot_at), slot.outcome, plain(slot.tracking_id or "-"), plain(why), moment(slot.decided_at)
        )
    screen = console()
    screen.print()
    screen.print(made)


def _act(name: str, verb: str, reason: str | None, *, database: str, as_json: bool, said: tuple[str, str]) -> None:
    async def question(client: Client) -> Any:
        return await getattr(client.schedules, verb)(name, by=person(), reason=reason)

    done = ask(database, question)
    if as_json:
        emit({"schedule": name, verb: done})
    else:
        click.echo(f"schedule {plain(name)} {said[0] if done else said[1]}")


@schedule.command("pause", short_help="Let no slot run.")
@click.argument("name")
@operator_options
def pause(*, name: str, reason: str | None, database: str, as_json: bool) -> None:
    """Let no slot of NAME run until it is resumed. A run that has begun goes on."""
    _act(name, "pause", reason, database=database, as_json=as_json, said=("is paused", "was paused already"))


@schedule.command("resume", short_help="Let it go on.")
@click.argument("name")
@operator_options
def resume(*, name: str, reason: str | None, database: str, as_json: bool) -> None:
    """Let NAME go on with its next slot; what came while it was paused is not run."""
    _act(name, "resume", reason, database=database, as_json=as_json, said=("goes on", "was not paused"))


@schedule.command("remove", short_help="Forget a schedule; its runs stay.")
@click.argument("name")
@operator_options
def remove(*, name: str, reason: str | None, database: str, as_json: bool) -> None:
    """Delete NAME and its slots.

    A worker whose app still declares it brings it back when it starts: pause it instead.
    """

    async def question(client: Client) -> Schedule:
        found = await client.schedules.get(name)
        if found is None or not await client.schedules.remove(name, by=person(), reason=reason):
            raise CliError(f"no schedule {name!r}: `ramet schedule list` shows them")
        return found

    found = ask(database, question)
    if as_json:
        emit({"schedule": name, "remove": True, "declared_by": found.declared_by})
        return
    back = "; an app declared it, whose next worker brings it back" if found.declared_by == "app" else ""
    click.echo(f"schedule {plain(name)} is removed{back}")


@schedule.command("run", short_help="Run it once now.")
@click.argument("name")
@operator_options
def run(*, name: str, reason: str | None, database: str, as_json: bool) -> None:
    """Start a run of NAME now, paused or not; refused while the last run is not over, unless runs may overlap."""

    async def question(client: Client) -> ScheduleSlot:
        return await client.schedules.run(name, by=person(), reason=reason)

    slot = ask(database, question)
    if as_json:
        emit(slot)
    else:
        click.echo(f"lineage  {plain(slot.tracking_id)}")
