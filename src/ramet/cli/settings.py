"""``ramet settings``: defaults that can be changed while the engine runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import click

from ramet import PRESETS, Client, as_usd
from ramet.cli.errors import CliError
from ramet.cli.options import app_option, ask, database_options, operator_options
from ramet.cli.output import at, console, crop
from ramet.commands.options import person
from ramet.commands.terminal import emit, plain, table
from ramet.engine.client.settings import SettingInForce
from ramet.engine.settings.setting import NANO_DOLLARS_UNIT, SETTINGS


@click.group(short_help="Defaults that can be changed while the engine runs.")
def settings() -> None:
    """Look at settings and change them; workers and clients act on a change within a few seconds.

    A stored setting replaces a built-in default. Where an app gives a value of its own, the stricter of the two holds.
    Lineages and tasks that exist keep their limits. Every change is recorded: `ramet audit-log`. Installed packages can
    have settings of their own, and so can an app (--app).
    """


def unit_of(item: SettingInForce) -> str:
    """Return the unit that is shown beside a value; money shows its own."""
    return "" if item.unit == NANO_DOLLARS_UNIT else item.unit


def _text(item: SettingInForce, value: Any) -> str:
    return value_text(value, item.value_type, item.unit)


VALUE_CELLS_MAX = 60
"""Most terminal cells of a value in the list of all; `ramet settings get` shows all of it."""


def _ask(database: str, target: str | None, question: Callable[[Client], Awaitable[Any]]) -> Any:
    try:
        return ask(database, question, target)
    except ValueError as error:
        raise CliError(str(error)) from error


def value_text(value: Any, value_type: str = "", unit: str = "") -> str:
    """Return a value as it can be typed."""
    if value is None:
        return "none"
    if unit == NANO_DOLLARS_UNIT:
        return as_usd(value)
    if value_type == "json":
        return json.dumps(value, ensure_ascii=False)
    return f"{value:.15g}" if isinstance(value, float) else str(value)


@settings.command("list", short_help="All settings, or those that are stored.")
@click.option("--stored", is_flag=True, help="Only those that differ from their default by a stored row.")
@click.option("--prefix", default="", help="Only those whose names begin so, such as limits. or jobs.")
@app_option
@database_options
def list_(*, stored: bool, prefix: str, target: str | None, database: str, as_json: bool) -> None:
    """List all settings with the present value, its default, unit and reader; the engine's come first."""

    async def question(client: Client) -> list[SettingInForce]:
        return [item for item in await client.settings.all() if item.name.startswith(prefix)]

    named = _ask(database, target, question)
    if not named:
        raise CliError(f"no setting begins with {prefix!r}: `ramet settings list` shows all")
    found = [item for item in named if item.stored or not stored]
    if as_json:
        for item in found:
            emit(item)
        return
    if not found:
        click.echo("nothing is stored: every default holds")
        return
    made = table("name", ">value", ">default", "unit", "*what it does", "*read by", "set")
    for item in found:
        default = _text(item, item.default) if item.stored else ""
        made.add_row(
            item.name, crop(_text(item, item.value), VALUE_CELLS_MAX), crop(default, VALUE_CELLS_MAX), unit_of(item),
            item.description, item.reader, at(item.updated_at) if item.updated_at is not None else "",
        )  # fmt: skip
    console().print(made)


@settings.command("get", short_help="What holds now.")
@click.argument("name")
@app_option
@database_options
def get(*, name: str, target: str | None, database: str, as_json: bool) -> None:
    """Print the value of NAME that holds now: the stored one, else the default."""

    async def question(client: Client) -> SettingInForce:
        return await client.settings.get(name)

    found = _ask(database, target, question)
    if as_json:
        emit(found)
    else:
        click.echo(plain(_text(found, found.value)))


@settings.command("set", short_help="Store a value.", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("value")
@click.option("--reason", help="Why, for the record.")
@app_option
@database_options
def set_(*, name: str, value: str, reason: str | None, target: str | None, database: str, as_json: bool) -> None:
    """Store VALUE for NAME; `none` lifts a limit that may be lifted. Money is in dollars: 0.05."""

    async def question(client: Client) -> tuple[SettingInForce, Callable[[], str | None]]:
        await client.settings.set(name, value, by=person(), reason=reason)
        return await client.settings.get(name), _after_change(client, name, database)

    found, after = _ask(database, target, question)
    line = after()
    if as_json:
        emit(found)
    else:
        unit = f" {unit_of(found)}" if unit_of(found) and found.value is not None else ""
        click.echo(f"{found.name} is {plain(_text(found, found.value))}{unit}")
        if line is not None:
            click.echo(line)


def _after_change(client: Client, name: str, database: str) -> Callable[[], str | None]:
    """Return what does what the setting's package wants after a change, and gives a line about it or None."""
    on_change = client.settings.live.declared.known(name).on_change
    return lambda: None if on_change is None else asyncio.run(on_change(database))


@settings.command("unset", short_help="Let the default hold again.")
@click.argument("name")
@click.option("--reason", help="Why, for the record.")
@app_option
@database_options
def unset(*, name: str, reason: str | None, target: str | None, database: str, as_json: bool) -> None:
    """Remove what is stored for NAME, so that its default holds again."""

    async def question(client: Client) -> tuple[bool, Callable[[], str | None]]:
        done = await client.settings.unset(name, by=person(), reason=reason)
        return done, _after_change(client, name, database)

    done, after = _ask(database, target, question)
    line = after() if done else None
    if as_json:
        emit({"name": name, "unset": done})
    else:
        click.echo(f"{plain(name)} is at its default" + ("" if done else " already"))
        if line is not None:
            click.echo(line)


@settings.command("preset", short_help="conservative, balanced or aggressive limits.")
@click.argument("name", type=click.Choice(list(PRESETS)))
@operator_options
def preset(*, name: str, reason: str | None, database: str, as_json: bool) -> None:
    """Store the limits of a preset and unset those that it leaves at their default, all at once."""

    async def question(client: Client) -> dict[str, Any]:
        return await client.settings.preset(name, by=person(), reason=reason)

    found = _ask(database, None, question)
    if as_json:
        emit({"preset": name, "settings": found})
        return
    click.echo(f"preset {name}")
    for key, value in sorted(found.items()):
        click.echo(f"  {key} {value_text(value, unit=SETTINGS[key].unit)}")
