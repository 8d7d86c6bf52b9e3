"""``ramet limit``, ``resources``, ``resource`` and ``workers``: what holds work back, and who does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from ramet import Client, KindLimit, Policy, Queue, Resource, Unserved, Usage, WorkerSeen
from ramet.cli.errors import CliError
from ramet.cli.options import ask, database_option
from ramet.cli.output import console, database_clock, moment, table
from ramet.commands.options import json_option, person
from ramet.commands.terminal import emit, jsonable, plain
from ramet.engine.kinds.options import checked_policy
from ramet.model.flow.resources import policy_of, rate_of, refilled

NO_LIMIT = "none"


class Concurrency(click.ParamType[int | str]):
    """A number of claims at once, or ``none``, which is not the same as nothing."""

    name = "N|none"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == NO_LIMIT:
            return NO_LIMIT
        try:
            number = int(value)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"{value!r} is no limit: give a number of at least 1, or {NO_LIMIT}", param, ctx)
        return number


class Amount(click.FloatRange):
    """A number above 0, or ``none``, which is not the same as nothing."""

    name = "NUMBER|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return NO_LIMIT if value == NO_LIMIT else super().convert(value, param, ctx)


def _given(value: Any) -> Any:
    return None if value == NO_LIMIT else value


RESET = click.option("--reset", is_flag=True, help="What the app declares holds again, and nothing else.")


@click.group(short_help="Limit a queue, kind or resource.")
def limit() -> None:
    """Set how much of a queue, kind or resource may run at once. It is stronger than what an app declares.

    What is not given stays as it is; --reset takes back what was given.
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
    @click.option("--reason", help="Why, for the record.")
    @database_option
    @json_option
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
@click.option("--reason", help="Why, for the record.")
@database_option
@json_option
def limit_resource(
    *, pattern: str, per_minute: float | None, reset: bool, reason: str | None, database: str, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Say what a resource bears: PATTERN is a name, or a prefix followed by * (quote it).

    What is not given stays as it is: as a person said before, else as the app declares.
    """
    if "*" in pattern[:-1] or not pattern:
        raise CliError(f"{pattern!r} is no pattern: give a name, or a prefix followed by one *")
    if per_minute is not None:
        if options["rate"] is not None:
            raise click.UsageError("give --rate or --per-minute, not both")
        options["rate"] = per_minute / 60
    changes = {_NAMES[name]: _given(value) for name, value in options.items() if value is not None}
    if reset == bool(changes):
        raise click.UsageError("give either what the resource bears, such as --rate, or --reset")
    try:
        checked_policy(Policy(pattern)._replace(**changes))
    except ValueError as error:
        raise CliError(str(error)) from None

    async def question(client: Client) -> Policy:
        if not reset:
            return await client.change_resource(pattern, by=person(), reason=reason, **changes)
        await client.reset_limit("resource", pattern, by=person(), reason=reason)
        return policy_of(pattern, await client.policies())

    policy = ask(database, question)
    if as_json:
        emit(policy)
    else:
        click.echo(f"resource {plain(pattern)}: {_bears(policy)}")


_NAMES = {
    "concurrency": "concurrency", "rate": "rate_per_second", "burst": "burst", "failures": "breaker_failures",
    "cooldown": "cooldown_seconds",
}  # fmt: skip
"""Options of `ramet limit resource`: the field of a policy that each sets."""


def _bears(policy: Policy) -> str:
    parts = [f"at most {policy.concurrency} at once"] if policy.concurrency is not None else []
    if policy.rate_per_second is not None:
        parts.append(f"{_per(policy.rate_per_second)}, bursts of {policy.burst:g}")
    if policy.breaker_failures:
        cool = "until a person closes it" if policy.cooldown_seconds is None else f"for {policy.cooldown_seconds:g} s"
        parts.append(f"off after {policy.breaker_failures} failures in a row, {cool}")
    return "; ".join(parts) or "no limit"


def _per(rate: float) -> str:
    """A rate in the larger unit that makes it at least 1."""
    return f"{rate:.4g} a second" if rate >= 1 or rate * 60 < 1 else f"{rate * 60:.4g} a minute"


def _now(resource: Resource, policy: Policy, now: float) -> str:
    """The rate in force, whose word it is, and what is in store."""
    rate = rate_of(resource, policy)
    if rate is None:
        return ""
    at, told = rate.at(now), resource.told_rate
    by = "its server" if told is not None and told == rate.full else "its policy"
    if at < rate.full:
        by = f"a refusal at {moment(rate.cut_at, now)}, {_per(rate.full)} by {by}"
    tokens = refilled(resource, policy, now).tokens or 0.0
    return f"{_per(at)} by {by}; {tokens:.4g} of {rate.burst:.4g} in store"


class Shown(NamedTuple):
    """What ``ramet resources`` tells."""

    queues: list[Queue]
    kinds: list[KindLimit]
    policies: list[Policy]
    resources: list[Resource]
    usage: Usage


@click.command(short_help="Limits, rates and breakers.")
@click.argument("name", required=False)
@click.option(
    "--limit", "most", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Resources to list."
)
@database_option
@json_option
def resources(*, name: str | None, most: int, database: str, as_json: bool) -> None:
    """Where resources stand, and the limits of queues and kinds; those with an open breaker first."""

    async def question(client: Client) -> Shown:
        found = await client.resources(name, limit=most)
        if name is not None and not found:
            raise CliError(f"no task ever named resource {name}: `ramet resources` lists those that one did")
        usage = await client.usage()
        queues, kinds = list(await client.queues()), list(await client.kind_limits())
        return Shown(queues, kinds, await client.policies(), found, usage)

    shown = ask(database, question)
    if as_json:
        emit(jsonable(shown._asdict()))
        return
    _print(shown)


def _print(shown: Shown) -> None:
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
    made = table("*resource", ">held", "state", "*bears", "*rate now")
    for resource in shown.resources:
        policy = policy_of(resource.name, shown.policies)
        held = str(shown.usage.resources.get(resource.name, 0))
        state, rate = plain(_stands(resource, policy, now)), _now(resource, policy, now)
        made.add_row(plain(resource.name), held, state, _bears(policy), rate)
    screen.print(made)


def _stands(resource: Resource, policy: Policy, now: float) -> str:
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
    @click.option("--reason", help="Why, for the record.")
    @database_option
    @json_option
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


@click.command(short_help="Who works, and what nobody serves.")
@database_option
@json_option
def workers(*, database: str, as_json: bool) -> None:
    """Workers with what they serve, and live kinds that no living worker serves."""

    async def question(client: Client) -> tuple[list[WorkerSeen], list[Unserved]]:
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


def not_served(missing: Sequence[Unserved]) -> list[str]:
    """A line for every live kind that nobody serves."""
    return [
        f"nobody serves kind {plain(item.kind)} on queue {plain(item.queue)}: "
        f"{'at least ' if item.more else ''}{item.tasks} live"
        for item in missing
    ]
