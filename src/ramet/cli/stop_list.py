"""``ramet stop-list``: hosts, domains and patterns of keys that nothing is created for."""

from __future__ import annotations

import click

from ramet import Client, StopEntry
from ramet.cli.options import ask, database_options, operator_options
from ramet.cli.output import console, moment
from ramet.commands.options import person
from ramet.commands.terminal import emit, plain, table

TYPES = click.Choice(["host", "domain", "pattern"])


@click.group("stop-list", short_help="Hosts, domains and patterns that nothing is created for.")
def stop_list() -> None:
    """Hosts, domains and patterns of keys that nothing is created for.

    A host is exactly that one, a domain also everything below it, a pattern any canonical key that it matches (* any
    text, ? any character). Spawns are blocked with the reason stop_list, submits refused; tasks that exist go on.
    """


@stop_list.command("add")
@click.argument("entry_type", type=TYPES, metavar="host|domain|pattern")
@click.argument("value")
@click.option("--reason", help="Why, for the record; blocks tell it.")
@database_options
def add(*, entry_type: str, value: str, reason: str | None, database: str, as_json: bool) -> None:
    """Stop a host, a domain or a pattern."""

    async def act(client: Client) -> tuple[StopEntry, bool]:
        return await client.store.stop(entry_type, value, by=person(), reason=reason)

    entry, new = ask(database, act)
    if as_json:
        emit({"added": new, **entry._asdict()})
        return
    name = f"{entry.entry_type} {plain(entry.value)}"
    click.echo(f"stopped {name}" if new else f"{name} is on the list already, added by {plain(entry.added_by)}")


@stop_list.command("remove")
@click.argument("entry_type", type=TYPES, metavar="host|domain|pattern")
@click.argument("value")
@operator_options
def remove(*, entry_type: str, value: str, reason: str | None, database: str, as_json: bool) -> None:
    """Take an entry off the list. `ramet blocks reoffer` creates what it had blocked."""

    async def act(client: Client) -> bool:
        return await client.unstop(entry_type, value, by=person(), reason=reason)

    removed = ask(database, act)
    if as_json:
        emit({"removed": removed, "entry_type": entry_type, "value": value})
    elif removed:
        click.echo(f"removed {entry_type} {plain(value)}")
    else:
        click.echo(f"ramet: {entry_type} {plain(value)} is not on the list: `ramet stop-list list` shows it", err=True)
    if not removed:
        click.get_current_context().exit(2)


@stop_list.command("list")
@database_options
def show(*, database: str, as_json: bool) -> None:
    """The whole list."""

    async def question(client: Client) -> list[StopEntry]:
        return await client.stop_list()

    entries = ask(database, question)
    if as_json:
        for entry in entries:
            emit(entry)
        return
    screen = console()
    if not entries:
        screen.print("the stop list is empty")
        return
    made = table("type", "*value", "*why", "by", "added")
    for entry in entries:
        why = plain(entry.reason or "")
        made.add_row(entry.entry_type, plain(entry.value), why, plain(entry.added_by), moment(entry.added_at))
    screen.print(made)
