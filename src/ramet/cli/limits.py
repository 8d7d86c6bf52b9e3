"""``ramet limit``, ``resources``, ``resource`` and ``workers``: what holds work back, and who does it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import click
from rich.console import Console

from ramet import (
    PRESETS,
    ClaimUsage,
    Client,
    KindLimit,
    Limits,
    Queue,
    Resource,
    ResourcePolicy,
    UnservedKind,
    WorkerStatus,
)
from ramet.cli.errors import CliError
from ramet.cli.options import ask, database_options, operator_options
from ramet.cli.output import console, database_clock, moment, not_served, number
from ramet.commands.options import person
from ramet.commands.terminal import emit, jsonable, plain, table
from ramet.engine.kinds.options import checked_policy
from ramet.engine.settings.setting import LIMITS_PREFIX, SETTINGS
from ramet.model.flow.resources import policy_of, rate_of, refilled
from ramet.model.lineage.limits import HOUR_SECONDS, HourlyCost, WorstCase, bill, worst_case
from ramet.model.money import as_usd

NO_LIMIT = "none"


class Concurrency(click.ParamType[int | str]):
    """A number of claims at once, or ``none``, which differs from an absent option."""

    name = "N|none"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == NO_LIMIT:
            return NO_LIMIT
        try:
            number = int(value)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"{value!r} is not a valid limit: give a number of at least 1, or {NO_LIMIT}", param, ctx)
        return number


class Amount(click.FloatRange):
    """A number above 0, or ``none``, which differs from an absent option."""

    name = "NUMBER|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return NO_LIMIT if value == NO_LIMIT else super().convert(value, param, ctx)


def _given(value: Any) -> Any:
    return None if value == NO_LIMIT else value


RESET = click.option("--reset", is_flag=True, help="What the app declares holds again, and nothing else.")


@click.group(short_help="Limit a queue, kind or resource.")
def limit() -> None:
    """Set how much of a queue, kind or resource may run at once. It is stronger than what an app declares.

    Limits that are not given stay as they are; --reset removes those that were given.
    """


def _limit_command(what: str) -> click.Command:
    @click.command(
        what,
        short_help=f"Claims at once of a {what}.",
        help=f"Set how many claims of {what} NAME there may be at once, over all workers; `none` lifts the limit.",
    )
    @click.argument("name")
    @click.option("--concurrency", type=Concurrency(), help="Claims at once over all workers.")
    @RESET
    @operator_options
    def command(
        *, name: str, concurrency: int | str | None, reset: bool, reason: str | None, database: str, as_json: bool
    ) -> None:
        if reset == (concurrency is not None):
            raise click.UsageError("give either --concurrency or --reset")

        async def question(client: Client) -> int | None:
            if reset:
                await client.reset_limit(what, name, by=person(), reason=reason)
            else:
                await client.limit(what, name, _given(concurrency), by=person(), reason=reason)
            rows = await (client.queues if what == "queue" else client.kind_limits)()
            return next((row.concurrency for row in rows if row.name == name), None)

        now = ask(database, question)
        if as_json:
            emit({"what": what, "name": name, "concurrency": now})
        else:
            most = "without limit" if now is None else f"at most {now} at once"
            click.echo(f"{what} {plain(name)}: {most}")

    return command


limit.add_command(_limit_command("queue"))
limit.add_command(_limit_command("kind"))


@limit.command("resource", short_help="What a resource, or all with a prefix, bear.")
@click.argument("pattern")
@click.option("--concurrency", type=Concurrency(), help="Claims at once over all workers.")
@click.option("--rate", type=Amount(min=0, min_open=True),
              help="Claims a second in the long run, or the units that handlers take.")  # fmt: skip
@click.option("--per-minute", type=click.FloatRange(min=0, min_open=True), help="The same by the minute.")
@click.option("--burst", type=click.FloatRange(min=1), help="As many at once after rest.")
@click.option("--failures", type=click.IntRange(min=0), help="Failures in a row that open the breaker; 0 for none.")
@click.option("--cooldown", type=Amount(min=0, min_open=True), metavar="SECONDS|none",
              help="After so long one task tries; with none only a person closes the breaker.")  # fmt: skip
@RESET
@operator_options
def limit_resource(
    *, pattern: str, per_minute: float | None, reset: bool, reason: str | None, database: str, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Set the rate, the limit and the breaker of a resource: PATTERN is a name, or a prefix followed by * (quote it).

    Values that are not given stay as they are: as an operator set them before, else as the app declares.
    """
    if "*" in pattern[:-1] or not pattern:
        raise CliError(f"{pattern!r} is not a valid pattern: give a name, or a prefix followed by one *")
    if per_minute is not None:
        if options["rate"] is not None:
            raise click.UsageError("give --rate or --per-minute, not both")
        options["rate"] = per_minute / 60
    changes = {_NAMES[name]: _given(value) for name, value in options.items() if value is not None}
    if reset == bool(changes):
        raise click.UsageError("give either a limit of the resource, such as --rate, or --reset")
    try:
        checked_policy(ResourcePolicy(pattern)._replace(**changes))
    except ValueError as error:
        raise CliError(str(error)) from None

    async def question(client: Client) -> ResourcePolicy:
        if not reset:
            return await client.change_resource(pattern, by=person(), reason=reason, **changes)
        await client.reset_limit("resource", pattern, by=person(), reason=reason)
        return policy_of(pattern, await client.policies())

    policy = ask(database, question)
    if as_json:
        emit(policy)
    else:
        click.echo(f"resource {plain(pattern)}: {_policy_text(policy)}")


_NAMES = {
    "concurrency": "concurrency", "rate": "rate_per_second", "burst": "burst", "failures": "breaker_failures",
    "cooldown": "cooldown_seconds",
}  # fmt: skip
"""Options of `ramet limit resource`: the field of a policy that each sets."""


def _policy_text(policy: ResourcePolicy) -> str:
    parts = [f"at most {policy.concurrency} at once"] if policy.concurrency is not None else []
    if policy.rate_per_second is not None:
        parts.append(f"{_per(policy.rate_per_second)}, bursts of {policy.burst:g}")
    if policy.breaker_failures:
        cool = "until a person closes it" if policy.cooldown_seconds is None else f"for {policy.cooldown_seconds:g} s"
        parts.append(f"off after {policy.breaker_failures} failures in a row, {cool}")
    return "; ".join(parts) or "no limit"


def _per(rate: float) -> str:
    """Return a rate in the larger unit that makes it at least 1."""
    return f"{rate:.4g} a second" if rate >= 1 or rate * 60 < 1 else f"{rate * 60:.4g} a minute"


def _now(resource: Resource, policy: ResourcePolicy, now: float) -> str:
    """Return the rate in force, who set it, and the tokens in store."""
    rate = rate_of(resource, policy)
    if rate is None:
        return ""
    at, told = rate.at(now), resource.told_rate
    by = "its server" if told is not None and told == rate.full else "its policy"
    if at < rate.full:
        by = f"a refusal at {moment(rate.cut_at, now)}, {_per(rate.full)} by {by}"
    tokens = refilled(resource, policy, now).tokens or 0.0
    return f"{_per(at)} by {by}; {tokens:.4g} of {rate.burst:.4g} in store"


class ResourceReport(NamedTuple):
    """Content of ``ramet resources``."""

    queues: list[Queue]
    kinds: list[KindLimit]
    policies: list[ResourcePolicy]
    resources: list[Resource]
    usage: ClaimUsage


@click.command(short_help="Limits, rates and breakers.")
@click.argument("name", required=False)
@click.option(
    "--limit", "most", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Resources to list."
)
@database_options
def resources(*, name: str | None, most: int, database: str, as_json: bool) -> None:
    """List resources and their state, and the limits of queues and kinds; open breakers first."""

    async def question(client: Client) -> ResourceReport:
        found = await client.resources(name, limit=most)
        if name is not None and not found:
            raise CliError(f"no task ever named resource {name}: `ramet resources` lists those that one did")
        usage = await client.usage()
        queues, kinds = list(await client.queues()), list(await client.kind_limits())
        return ResourceReport(queues, kinds, await client.policies(), found, usage)

    shown = ask(database, question)
    if as_json:
        emit(jsonable(shown._asdict()))
        return
    _print(shown)


def _print(shown: ResourceReport) -> None:
    screen, now = console(), database_clock.now()
    limits = [("queue", q.name, q.concurrency, shown.usage.queues) for q in shown.queues if q.concurrency is not None]
    limits += [("kind", k.name, k.concurrency, shown.usage.kinds) for k in shown.kinds]
    if limits:
        made = table("what", "*name", ">held", ">at most")
        for what, name, most, used in limits:
            made.add_row(what, plain(name), str(used.get(name, 0)), str(most))
        screen.print(made)
    if not shown.resources:
        screen.print("no task has a resource")
        return
    made = table("*resource", ">held", "state", "*limits", "*rate now")
    for resource in shown.resources:
        policy = policy_of(resource.name, shown.policies)
        held = str(shown.usage.resources.get(resource.name, 0))
        state, rate = plain(_resource_state(resource, policy, now)), _now(resource, policy, now)
        made.add_row(plain(resource.name), held, state, _policy_text(policy), rate)
    screen.print(made)


def _resource_state(resource: Resource, policy: ResourcePolicy, now: float) -> str:
    if resource.opened_at is not None:
        why = f" by {resource.opened_by}" + (f": {resource.opened_reason}" if resource.opened_reason else "")
        until = (
            ""
            if policy.cooldown_seconds is None
            else f", next try {moment(resource.opened_at + policy.cooldown_seconds, now)}"
        )
        return f"off since {moment(resource.opened_at, now)}{why}{until}"
    if resource.paused_until > now:
        return f"paused until {moment(resource.paused_until, now)}: {resource.paused_reason}"
    return f"on, {resource.failures} failures in a row" if resource.failures else "on"


@click.group(short_help="Switch a resource off or on.")
def resource() -> None:
    """Switch a resource off (open its breaker) or on again."""


def _breaker_command(verb: str) -> click.Command:
    off = verb == "open"
    told = (
        "Switch resource NAME off: nothing of it is claimed until it is closed, or its cool-down is over."
        if off
        else "Switch resource NAME on again. `ramet retry` revives what was skipped meanwhile."
    )

    @click.command(
        verb, help=told, short_help="Switch it off: nothing of it is claimed." if off else "Switch it on again."
    )
    @click.argument("name")
    @operator_options
    def command(*, name: str, reason: str | None, database: str, as_json: bool) -> None:
        async def question(client: Client) -> bool:
            act = client.open_breaker if off else client.close_breaker
            return await act(name, by=person(), reason=reason)

        done = ask(database, question)
        state = "off" if off else "on"
        if as_json:
            emit({"resource": name, "state": state, "changed": done})
        else:
            click.echo(f"resource {plain(name)} is {state}" + ("" if done else " already"))

    return command


resource.add_command(_breaker_command("open"))
resource.add_command(_breaker_command("close"))


@click.command(short_help="Workers, and kinds without one.")
@database_options
def workers(*, database: str, as_json: bool) -> None:
    """List workers with the kinds and queues that they serve, and live kinds that no living worker serves."""

    async def question(client: Client) -> tuple[list[WorkerStatus], list[UnservedKind]]:
        return await client.workers(), await client.unserved()

    found, missing = ask(database, question)
    if as_json:
        emit({"workers": jsonable([item._asdict() for item in found]),
              "unserved": jsonable([item._asdict() for item in missing])})  # fmt: skip
        return
    screen, now = console(), database_clock.now()
    if found:
        made = table("*worker", ">pid", "seen", ">slots", "*queues", "*kinds")
        for item in found:
            seen = moment(item.seen_at, now) + ("" if item.alive else " (silent)")
            made.add_row(plain(item.name), str(item.pid), seen, str(item.concurrency),
                         plain(", ".join(item.queues)), plain(", ".join(item.kinds)))  # fmt: skip
        screen.print(made)
    else:
        screen.print("no worker: `ramet worker APP` starts one")
    for line in not_served(missing):
        screen.print(line)


NANO_DOLLARS_PER_CALL = 1_000_000
"""Nano-dollars per call at a price of one dollar for a thousand calls."""
PRICES = (0.5, 2.0)
"""Price of a thousand calls with small prompts, low and high."""
CEILINGS_PREFIX = "cost."


class LimitsReport(NamedTuple):
    """Content of ``ramet limits``."""

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
@database_options
def show(*, preset: str | None, prices: tuple[float, ...], database: str, as_json: bool) -> None:
    """List every limit in force in the database, or of a preset, and what they allow at worst in an hour.

    Cycles, invocations, items, calls, time and money are computed from the numbers. Limits in the code of an app are
    not in the database: where they are stricter, they hold. In JSON money is in whole nano-dollars.
    """
    found = LimitsReport(f"preset {preset}", PRESETS[preset], {}) if preset else ask(database, _in_force)
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


async def _in_force(client: Client) -> LimitsReport:
    held = await client.settings.all()
    ceilings = {item.name: item.value for item in held if item.name.startswith(CEILINGS_PREFIX)}
    given = {name: value for name, value in ceilings.items() if value is not None}
    return LimitsReport("in force", await client.settings.limits(Limits()), given)


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


def _print_limits(screen: Console, found: LimitsReport) -> None:
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
        return as_usd(value), ""
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


def _print_money(screen: Console, found: LimitsReport, bills: list[HourlyCost]) -> None:
    made = table("money in that hour", ">each item billed once", ">all retries billed too")
    for item in bills:
        made.add_row(f"at {as_usd(item.call_price * 1_000)} for 1,000 calls", as_usd(item.items), as_usd(item.calls))
    screen.print()
    screen.print(made)
    bounds = [f"a lineage at {as_usd(found.limits.max_cost)}"] if found.limits.max_cost is not None else []
    bounds += [f"{name} is {as_usd(value)}" for name, value in found.ceilings.items()]
    screen.print(
        f"ends earlier: {'; '.join(bounds)}" if bounds else "nothing ends it earlier: no ceiling on money is set"
    )
