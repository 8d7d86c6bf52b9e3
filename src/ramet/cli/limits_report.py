"""``ramet limits show``: the numbers in force or of a preset, and what they allow at worst."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import click
from rich.console import Console

from ramet import PRESETS, Client, Limits
from ramet.cli.options import ask, database_option
from ramet.cli.output import console, number, table
from ramet.commands.options import json_option
from ramet.commands.terminal import emit, jsonable
from ramet.engine.settings.setting import LIMITS_PREFIX, SETTINGS
from ramet.model.cost import dollars
from ramet.model.lineage.worst_case import HOUR_SECONDS, Bill, WorstCase, bill, worst_case

NANO_DOLLARS_PER_CALL = 1_000_000
"""Of a dollar for a thousand calls."""
PRICES = (0.5, 2.0)
"""What a thousand calls with small prompts cost, from cheap to dear."""
CEILINGS_PREFIX = "cost."


class Shown(NamedTuple):
    """What is shown."""

    of: str
    limits: Limits
    ceilings: dict[str, int]
    """Settings that bound money over all lineages, where there are such: nano-dollars by name."""


@click.group(short_help="What the limits are, and allow at worst.")
def limits() -> None:
    """Look at the limits of time, size and money as a whole. `ramet settings` changes them, `ramet limit` others."""


@limits.command("show", short_help="Every number, and what they allow at worst.")
@click.option("--preset", type=click.Choice(list(PRESETS)), help="Of a preset, instead of those in force.")
@click.option("--price", "prices", type=click.FloatRange(0, 1_000_000), multiple=True, metavar="DOLLARS",
              help="What 1,000 calls cost; may be given more than once. [default: 0.5 and 2]")  # fmt: skip
@database_option
@json_option
def show(*, preset: str | None, prices: tuple[float, ...], database: str, as_json: bool) -> None:
    """Every limit in force in the database, or of a preset, and what they allow at worst in an hour.

    Cycles, invocations, items, calls, time and money are computed from the numbers. What the code of an app sets for
    itself is not in the database: where it is stricter, that holds. In JSON money is in whole nano-dollars.
    """
    found = Shown(f"preset {preset}", PRESETS[preset], {}) if preset else ask(database, _in_force)
    worst = worst_case(found.limits)
    bills = [bill(worst, round(price * NANO_DOLLARS_PER_CALL)) for price in prices or PRICES]
    if as_json:
        emit(
            {
                "of": found.of,
                "limits": jsonable(found.limits),
                "ceilings": found.ceilings,
                "worst_case": jsonable(worst) | {"call_seconds_in_time": _finite(worst.call_seconds_in_time)},
                "money": [jsonable(item) for item in bills],
            }
        )
        return
    screen = console()
    _print_limits(screen, found)
    _print_worst(screen, found.limits, worst)
    _print_money(screen, found, bills)


async def _in_force(client: Client) -> Shown:
    held = await client.settings.all()
    ceilings = {item.name: item.value for item in held if item.name.startswith(CEILINGS_PREFIX)}
    given = {name: value for name, value in ceilings.items() if value is not None}
    return Shown("in force", await client.settings.limits(Limits()), given)


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


def _print_limits(screen: Console, found: Shown) -> None:
    screen.print(f"limits, {found.of}")
    made = table("limit", ">value", "unit", "*what")
    for item in fields(found.limits):
        told = SETTINGS.get(LIMITS_PREFIX + item.name)
        unit, what = ("", "") if told is None else (told.unit, told.description)
        made.add_row(item.name, *_value(getattr(found.limits, item.name), unit), what)
    for name, value in found.ceilings.items():
        made.add_row(name, *_value(value, SETTINGS[name].unit), SETTINGS[name].description)
    screen.print(made)


def _value(value: Any, unit: str) -> tuple[str, str]:
    if value is None or value == ():
        return "none", ""
    if isinstance(value, tuple):
        return ", ".join(value), ""
    if unit == "nano-dollars":
        return dollars(value), ""
    return f"{value:,.15g}", unit


def _print_worst(screen: Console, limits: Limits, worst: WorstCase) -> None:
    runs = f"({limits.max_chain_depth} + 1)"
    tries = f"({limits.call_retries} + 1)"
    waiting = f" + {worst.waiting_seconds:g} s between" if worst.waiting_seconds else ""
    made = table("at worst, in an hour", ">", "*")
    rows = (
        ("cycles", number(worst.cycles), f"one every {limits.schedule_seconds:g} s"),
        ("invocations", number(worst.invocations), f"{runs} x {number(worst.cycles)}"),
        ("items of a cycle", number(worst.items_per_cycle), f"{runs} x {number(limits.invocation_items)}"),
        ("items", number(worst.items), f"{number(worst.cycles)} x {number(worst.items_per_cycle)}"),
        ("calls, all retries made", number(worst.calls), f"{number(worst.items)} x {tries}"),
        ("one stuck item", f"{worst.item_seconds_within:g} s",
         f"{tries} x {limits.call_seconds:g} s{waiting}" + _cut(worst, limits)),
        ("running, runs overlap", _minutes(worst.running_seconds),
         f"{number(worst.invocations)} x {_minutes(limits.invocation_seconds)}, {worst.overlapping} at once"),
        ("running, one at a time", _minutes(worst.running_seconds_alone), "a slot is skipped while a run goes on"),
    )  # fmt: skip
    for row in rows:
        made.add_row(*row)
    screen.print()
    screen.print(made)
    if worst.call_seconds_in_time < HOUR_SECONDS:
        screen.print(
            f"an invocation gets through its {number(limits.invocation_items)} items when a call takes "
            f"{worst.call_seconds_in_time:.2g} s or less: {limits.invocation_concurrency} at once, in the "
            f"{worst.claiming_seconds:g} s in which it takes new ones on"
        )


def _cut(worst: WorstCase, limits: Limits) -> str:
    if worst.item_seconds <= limits.invocation_seconds:
        return f" = {worst.item_seconds:g} s of an invocation's {limits.invocation_seconds:g} s"
    return f" = {worst.item_seconds:g} s, ended by the invocation's {limits.invocation_seconds:g} s"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.4g} min"


def _print_money(screen: Console, found: Shown, bills: list[Bill]) -> None:
    made = table("money in that hour", ">each item billed once", ">all retries billed too")
    for item in bills:
        made.add_row(f"at {dollars(item.call_price * 1_000)} for 1,000 calls", dollars(item.items), dollars(item.calls))
    screen.print()
    screen.print(made)
    bounds = [f"a lineage at {dollars(found.limits.max_cost)}"] if found.limits.max_cost is not None else []
    bounds += [f"{name} is {dollars(value)}" for name, value in found.ceilings.items()]
    screen.print(
        f"ends earlier: {'; '.join(bounds)}" if bounds else "nothing ends it earlier: no ceiling on money is set"
    )
