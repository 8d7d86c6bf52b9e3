"""The commands `schedule daily`, `weekly`, `show` and `off`: runs by themselves, at a time of day in a time zone."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click
from rich.text import Text

from ramet import Client, Schedule
from ramet.commands.options import ask, json_option, person
from ramet.commands.terminal import console, emit, plain, span
from ramet.jobs.commands.terminal import NO_PROFILE, database_option
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.errors import InputError, NotFound
from ramet.jobs.pipeline import app
from ramet.jobs.tasks.scheduled_run import SCHEDULE, SCHEDULED_RUN, ScheduledRunPayload

DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""Names of the days, in the order of their numbers in cron."""
EVERY = re.compile(r"(?P<minute>\d+) (?P<hour>\d+) \* \* (?P<day>\*|[0-6]) \((?P<zone>.+)\)")
"""Times that these commands make, as a schedule describes them."""
SLOTS_SHOWN = 7
LOCAL_TIME = Path("/etc/localtime")

Command = Callable[..., None]


def local_zone(environment: Mapping[str, str], link: Path = LOCAL_TIME) -> str:
    """Return the name of this machine's time zone; ``UTC`` where it has none."""
    named = environment.get("TZ", "").removeprefix(":")
    for name in (named, str(link.resolve()).rpartition("zoneinfo/")[2] if link.is_symlink() else ""):
        try:
            return ZoneInfo(name).key
        except (LookupError, ValueError, OSError):
            continue
    return "UTC"


def time_of_day(_: click.Context, __: click.Parameter, text: str) -> tuple[int, int]:
    """Read `07:00`.

    Raises:
        InputError: it is not a time of day.
    """
    try:
        read = datetime.strptime(text.strip(), "%H:%M")  # noqa: DTZ007 -- a time of day only
    except ValueError:
        raise InputError(f"{plain(text)[:40]!r} is not a time of day: give hours and minutes, such as 07:00") from None
    return read.hour, read.minute


def run_options(command: Command) -> Command:
    """Add the options of a scheduled run."""
    for option in reversed((
        click.option("--at", default="07:00", show_default=True, metavar="HH:MM", callback=time_of_day,
                     help="Time of day."),
        click.option("--timezone", metavar="ZONE", help="Such as Europe/Berlin; by default this machine's."),
        click.option("--all", "everything", is_flag=True, help="Every enabled source, however many matches there are."),
        click.option("--target-matches", type=click.IntRange(min=1), help="As for `ramet jobs run`."),
        click.option("--max-sources", type=click.IntRange(min=1), help="As for `ramet jobs run`."),
        click.option("--no-digest", is_flag=True, help="Send no digest of new matches."),
        database_option,
        json_option,
    )):  # fmt: skip
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options as they were typed: when, and what a run takes on."""

    at: tuple[int, int]
    timezone: str | None
    everything: bool
    target_matches: int | None
    max_sources: int | None
    no_digest: bool
    database: str
    as_json: bool

    @property
    def payload(self) -> ScheduledRunPayload:
        """Payload of each run."""
        return ScheduledRunPayload(
            everything=self.everything, target_matches=self.target_matches, max_sources=self.max_sources,
            digest=not self.no_digest,
        )  # fmt: skip


@click.command("daily", short_help="Run every day.")
@run_options
def daily(**options: Any) -> None:
    """Run every day at a time of day, and tell of new matches.

    It replaces what was scheduled before. `ramet jobs work` has to run at that time; a run that no worker began in time
    begins as soon as one is there. A slot is skipped while another run goes on.
    """
    _schedule(Wanted(**options), "*")


@click.command("weekly", short_help="Run once a week.")
@click.option("--on", "day", type=click.Choice(DAYS, case_sensitive=False), default="monday", show_default=True,
              help="Day of the week.")  # fmt: skip
@run_options
def weekly(*, day: str, **options: Any) -> None:
    """Run once a week at a time of day, and tell of new matches; otherwise as `daily`."""
    _schedule(Wanted(**options), str(DAYS.index(day.lower())))


def _schedule(wanted: Wanted, weekday: str) -> None:
    if wanted.everything and (wanted.target_matches or wanted.max_sources):
        raise click.UsageError("--all is without --target-matches and --max-sources")
    hour, minute = wanted.at

    async def write(client: Client) -> None:
        try:
            made = await client.schedules.add(
                SCHEDULED_RUN, wanted.payload, name=SCHEDULE, cron=f"{minute} {hour} * * {weekday}",
                timezone=wanted.timezone or local_zone(os.environ), replace=True, by=person(),
            )  # fmt: skip
        except ValueError as error:
            raise InputError(str(error)) from error
        if made.state == "paused":
            await client.schedules.resume(SCHEDULE, by=person())
        shown = await _read(client)
        if wanted.as_json:
            emit(shown)
            return
        await _print(client, shown)

    ask(app, wanted.database, write)


@click.command("show", short_help="When the next run is, and what became of the last ones.")
@database_option
@json_option
def show(database: str, as_json: bool) -> None:
    """Show when the next run is, the results of the last ones, and the channels of new matches."""

    async def read(client: Client) -> None:
        shown = await _read(client)
        if as_json:
            emit(shown)
            return
        if shown["schedule"] is None:
            click.echo("nothing is scheduled: `ramet jobs schedule daily --at 07:00` runs every day")
            return
        await _print(client, shown)

    ask(app, database, read)


@click.command("off", short_help="Run no more by itself.")
@database_option
@json_option
def off(database: str, as_json: bool) -> None:
    """Run no more by itself. A run that has begun goes on."""

    async def remove(client: Client) -> None:
        if not await client.schedules.remove(SCHEDULE, by=person()):
            raise NotFound("nothing is scheduled: `ramet jobs schedule daily --at 07:00` runs every day")
        if as_json:
            emit({"schedule": None})
        else:
            click.echo("nothing is scheduled any more")

    ask(app, database, remove)


async def _read(client: Client) -> dict[str, Any]:
    """Return everything about the schedule, for programs."""
    found: Schedule | None = await client.schedules.get(SCHEDULE)
    if found is None:
        return {"schedule": None}
    slots = []
    for slot in await client.schedules.slots(SCHEDULE, limit=SLOTS_SHOWN):
        lineage = await client.lineage(slot.tracking_id) if slot.tracking_id else None
        root = (await client.roots(slot.tracking_id))[:1] if slot.tracking_id else []
        slots.append(
            slot._asdict()
            | {"state": lineage and lineage.state, "why": root[0].why if root and root[0].state.terminal else None}
        )
    workers = [one.name for one in await client.workers() if one.alive and SCHEDULED_RUN in one.kinds]
    channels = [one._asdict() for one in await client.alert_channels()]
    return {
        "schedule": SCHEDULE, "times": found.timing.describe(), "timezone": found.timezone, "state": found.state,
        "next_at": found.next_at if found.state == "active" else None, "slots": slots, "workers": workers,
        "channels": channels,
    }  # fmt: skip


async def _print(client: Client, shown: Mapping[str, Any]) -> None:
    out = console()
    out.print(Text(f"runs {plain(_words(shown))}; {_next(shown)}"))
    for slot in shown["slots"]:
        out.print(Text(f"  {_moment(slot['slot_at'], shown['timezone'])}  {plain(_outcome(slot))}"))
    for line in _remarks(shown, given=(await settings_in_force(client)).profile.given):
        out.print(Text(line))


def _words(shown: Mapping[str, Any]) -> str:
    """Return `every day at 07:00 (Europe/Berlin)`; times that `ramet schedule` made otherwise, as they are."""
    found = EVERY.fullmatch(shown["times"])
    if found is None:
        return f"at {shown['times']}"
    day = "day" if found["day"] == "*" else DAYS[int(found["day"])].capitalize()
    return f"every {day} at {int(found['hour']):02}:{int(found['minute']):02} ({found['zone']})"


def _next(shown: Mapping[str, Any]) -> str:
    if shown["next_at"] is None:
        return f"paused: `ramet schedule resume {SCHEDULE}` lets it go on"
    wait = span(max(0.0, shown["next_at"] - time.time()))
    return f"next {_moment(shown['next_at'], shown['timezone'])}, in {wait}"


def _moment(at: float, zone: str) -> str:
    return f"{datetime.fromtimestamp(at, ZoneInfo(zone)):%a %Y-%m-%d %H:%M}"


def _outcome(slot: Mapping[str, Any]) -> str:
    if slot["state"] is None:
        return " · ".join(part for part in (slot["outcome"], slot["reason"]) if part)
    return " · ".join(part for part in (slot["state"], slot["why"]) if part)


def _remarks(shown: Mapping[str, Any], *, given: bool) -> Sequence[str]:
    """Return remarks on conditions of the scheduled run, a line each."""
    lines = [] if given else [NO_PROFILE]
    if not shown["workers"]:
        lines.append("no worker is there now: keep `ramet jobs work` running; a run that is late begins with it")
    others = ", ".join(f"{one['name']} ({one['target']})" for one in shown["channels"])
    lines.append(
        f"new matches are sent to: the log{', ' + plain(others) if others else ''}; see `ramet alerts channels`"
    )
    return lines
