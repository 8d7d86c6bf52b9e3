"""Schedules: which moments are slots, and what is to be done about those that have come (DESIGN §8, schedule row).

A slot is identified by (schedule, moment); its run is a lineage whose tracking id is made of both. So every worker
comes to the same name for the same slot, and the database lets one of them create it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from ramet.model.values import seconds

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

SCHEDULE_SECONDS_MIN = 1.0
CLOCK_BACK_SECONDS = 60.0
"""Seconds; a clock that went back by more than this makes a schedule compute its next slot again."""
MISSED_MAX = 1_000
"""Missed slots are counted up to here; more are that many "or more"."""
NAME = re.compile(r"[\w.:/+-]{1,200}")
MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of slots: a cron expression in a time zone, or an interval in seconds.

    Cron expressions have the five fields of Debian's cron and its rules when clocks change: a job at a fixed time runs
    once on either day, right after the gap when its time was skipped; a job with ``*`` in its minutes or hours goes by
    real time. Intervals are multiples of their length since 1970 (UTC), so that every worker knows the same slots.

    Raises:
        ValueError: with one line that says what to give instead.
    """

    cron: str | None = None
    every_seconds: float | None = None
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        if (self.cron is None) == (self.every_seconds is None):
            raise ValueError("a schedule needs either a cron expression or every_seconds: give one of them")
        if self.every_seconds is not None:
            seconds("every_seconds", self.every_seconds, least=SCHEDULE_SECONDS_MIN)
            return
        from cronsim import CronSimError

        self._zone()
        try:
            first = next(self._cron(0.0), None)
        except CronSimError as error:
            raise ValueError(
                f"cannot read the cron expression {self.cron!r} ({error}): give minute, hour, day, month and weekday, "
                "such as '*/5 * * * *'"
            ) from error
        if first is None:
            raise ValueError(f"the cron expression {self.cron!r} never comes: no such day exists")

    def _zone(self) -> ZoneInfo:
        from zoneinfo import ZoneInfo

        try:
            return ZoneInfo(self.timezone)
        except (LookupError, ValueError, OSError) as error:
            raise ValueError(
                f"unknown time zone {self.timezone!r}: give a name such as Europe/Berlin (where this machine has no "
                "time zone database, install the package tzdata)"
            ) from error

    def after(self, moment: float) -> Iterator[float]:
        """Slots later than ``moment``, ascending, without end."""
        return self._cron(moment) if self.every_seconds is None else self._interval(moment, self.every_seconds)

    def next_after(self, moment: float) -> float:
        """Return the first slot later than ``moment``."""
        return next(self.after(moment))

    def _interval(self, moment: float, every: float) -> Iterator[float]:
        number = int(moment // every)
        while True:
            if number * every > moment:
                yield number * every
            number += 1

    def _cron(self, moment: float) -> Iterator[float]:
        from cronsim import CronSim, CronSimError

        assert self.cron is not None
        expression = MACROS.get(self.cron.strip().lower(), self.cron)
        if len(expression.split()) != 5:
            raise CronSimError("Wrong number of fields")
        last = moment
        for found in CronSim(expression, datetime.fromtimestamp(moment, self._zone())):
            at = found.timestamp()
            # In the second of two equal hours the same wall-clock time is found again, an hour ago.
            if at > last:
                last = at
                yield at

    def latest(self, first: float, now: float, count: int) -> list[float]:
        """Return the last ``count`` slots from ``first`` to ``now``, both included; looks back no further than it
        must.
        """
        back = 3_600.0
        while True:
            start = max(first - 0.001, now - back)
            found = list(takewhile(lambda at: at <= now, self.after(start)))
            if len(found) >= count or start < first:
                return found[max(0, len(found) - count) :]
            back *= 4

    def count(self, first: float, now: float) -> int:
        """Return the number of slots from ``first`` to ``now``, counted up to a little over :data:`MISSED_MAX`."""
        most = MISSED_MAX + 100
        return sum(1 for _ in islice(takewhile(lambda at: at <= now, self.after(first - 0.001)), most))

    def describe(self) -> str:
        """For people: ``*/5 * * * * (Europe/Berlin)``, ``every 300 s``."""
        return f"every {self.every_seconds:g} s" if self.cron is None else f"{self.cron} ({self.timezone})"


class Schedule(NamedTuple):
    """A periodic trigger, exactly the columns of its row."""

    name: str
    cron: str | None
    every_seconds: float | None
    timezone: str
    kind: str
    task: str
    """JSON object: the fields of the root that every slot gets, without its id."""
    limits: str | None
    """JSON object: limits of a slot's lineage; None takes those of the app."""
    overlap: str
    """``skip``: a slot is skipped while the last run is not over. ``allow``: they may overlap."""
    catch_up: int
    """Number of slots not run in time that are run late, the newest of them; the others are missed."""
    state: str
    """``active`` or ``paused``."""
    declared_by: str
    """``app``: by a decorator, renewed at every start of a worker; ``person``: at run time."""
    reason: str | None
    """Reason of its pause."""
    created_at: float
    updated_at: float
    planned_at: float
    """Moment at which ``next_at`` was computed, by the store's clock."""
    next_at: float
    """Moment of the next slot; until then the schedule needs no look."""
    last_slot: float | None
    last_tracking_id: str | None
    """The newest run."""
    runs: int
    skipped: int
    missed: int

    @property
    def timing(self) -> Timing:
        """When its slots are."""
        return Timing(self.cron, self.every_seconds, self.timezone)


class ScheduleSlot(NamedTuple):
    """Outcome of a slot; exactly the columns of its row."""

    schedule: str
    slot_at: float
    outcome: str
    """``run``, ``skipped``, ``missed`` or ``manual`` (a person asked for it)."""
    tracking_id: str | None
    reason: str | None
    slots: int
    """Number of slots that this row covers: more than 1 for missed ones, up to :data:`MISSED_MAX`."""
    decided_at: float


class SchedulePlan(NamedTuple):
    """Actions that are due for a schedule now."""

    run: tuple[float, ...]
    """Slots to run, ascending."""
    missed: int
    missed_from: float | None
    """Oldest slot that will not be run."""
    next_at: float
    """The slot after all of these."""


def plan(schedule: Schedule, now: float) -> SchedulePlan | None:
    """Return the slots that have come since the last look; None when there are none.

    Of slots that were not run in time the newest ``catch_up`` of them run late, the others are missed. However long ago
    the last look was, and however far a clock was set forward, that is all: no storm of slots. A clock set back
    computes its next slot again; those that were decided before are not decided twice (the database holds that).
    """
    timing = schedule.timing
    if schedule.next_at > now:
        if schedule.planned_at <= now + CLOCK_BACK_SECONDS:
            return None
        return SchedulePlan((), 0, None, timing.next_after(now))
    late = max(1, schedule.catch_up)
    run = timing.latest(schedule.next_at, now, late)
    if schedule.catch_up == 0:
        # Nothing is run late. A slot counts as in time until the next one, for a minute at most.
        run = [at for at in run if now - at <= CLOCK_BACK_SECONDS]
    came = timing.count(schedule.next_at, now)
    missed = min(max(0, came - len(run)), MISSED_MAX)
    return SchedulePlan(tuple(run), missed, schedule.next_at if missed else None, timing.next_after(now))


def slot_name(slot_at: float) -> str:
    """Return the slot's moment as written in tracking ids: ``2026-03-29T01:00:00Z``."""
    moment = datetime.fromtimestamp(slot_at, UTC)
    return moment.isoformat().replace("+00:00", "Z")


def slot_tracking_id(name: str, slot_at: float) -> str:
    """Return the tracking id of a slot's run; it is the same for every worker that computes it."""
    return f"{name}@{slot_name(slot_at)}"


def schedule_slot(tracking_id: str) -> tuple[str, datetime] | None:
    """Schedule and moment (UTC) of a slot's tracking id, for handlers; None for any other lineage."""
    name, at, moment = tracking_id.rpartition("@")
    if not at or not name:
        return None
    try:
        return name, datetime.fromisoformat(moment).astimezone(UTC)
    except ValueError:
        return None


def check_name(name: str) -> str:
    """Return the name of a schedule, when it may be one.

    Raises:
        ValueError: with what to give instead.
    """
    if NAME.fullmatch(name) is None:
        raise ValueError(f"a schedule cannot be called {name!r}: give up to 200 letters, digits and any of . : / + _ -")
    return name
