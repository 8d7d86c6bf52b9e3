"""Hard ceilings: once more is booked as spent than one allows, every task with a call in flight under it ends (DESIGN
§8).

Reservations never pass a ceiling, so this needs a call that cost more than was reserved for it, a charge, or a person
who lowered the ceiling. The search is for a state of the rows, not for an event: whatever crashes, the next look finds
what is left of it, and a task that ended has nothing open any more, so none is found twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ramet.model.money import ALL_DAYS, DAY_SETTING, GLOBAL_SETTING, Ceiling, ceiling_passed
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.task import Standing
from ramet.model.task.transitions import PROCESSING
from ramet.store.rows.lineages import count_end, lock_lineages
from ramet.store.rows.tasks import take_live
from ramet.store.session import Session
from ramet.store.verbs.reclaim import apply_events

_OPEN = "r.settled_at IS NULL AND r.closed_at IS NULL"
_OF_LINEAGES = (
    "WHERE ending IS NULL AND seq IN (SELECT r.seq FROM ramet_lineages g INDEXED BY ramet_lineages_over "
    "JOIN ramet_reservations r ON r.tracking_id = g.tracking_id "
    f"WHERE g.spent > g.max_cost AND g.reserved > 0 AND {_OPEN})"
)
"""Tasks with a call in flight in a lineage that has passed its ceiling."""
_OF_ALL = f"WHERE ending IS NULL AND seq IN (SELECT r.seq FROM ramet_reservations r WHERE {_OPEN}"

Days = Mapping[int, Ceiling]
"""The ceilings of the database that are passed, by day; ``ALL_DAYS`` is the day of the sum of all."""


def in_flight_over(session: Session) -> bool:
    """Return True where a hard ceiling is passed and a task has a call in flight under it."""
    return any(
        session.rows(f"SELECT 1 FROM ramet_live {where} LIMIT 1", values)
        for where, values in _wheres(session, days_passed(session))
    )


def end_in_flight(session: Session, limit: int) -> int:
    """End tasks whose calls are in flight under a hard ceiling that is passed; returns how many.

    They fail as tasks do that a limit ends: at once, or after their ``on_end`` handler, which cancels at the provider.
    """
    days = days_passed(session)
    for where, values in _wheres(session, days):
        events = _ends(session, take_live(session, where, values, limit), days)
        changes = apply_events(session, events)
        if changes:
            if any(change.before.state == PROCESSING for change in changes):
                count_end(session)
            session.wake()
            return len(changes)
    return 0


def days_passed(session: Session) -> Days:
    """Return the ceilings of the database that are passed. A day's own is passed for good, and only its own calls
    end.
    """
    most = {
        key: int(value)
        for key, value in session.rows(
            "SELECT key, value FROM ramet_settings WHERE key IN (?, ?)", (DAY_SETTING, GLOBAL_SETTING)
        )
    }
    if not most:
        return {}
    rows = session.rows("SELECT day, spent, reserved FROM ramet_spend WHERE spent > ?", (min(most.values()),))
    found = {
        day: Ceiling("global", spent, reserved, most.get(GLOBAL_SETTING))
        if day == ALL_DAYS
        else Ceiling("day", spent, reserved, most.get(DAY_SETTING))
        for day, spent, reserved in rows
    }
    return {day: ceiling for day, ceiling in found.items() if ceiling.passed}


def _wheres(session: Session, days: Days) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Conditions on live tasks that have a call in flight, by what bounds it."""
    yield _OF_LINEAGES, ()
    busy = [day for day, ceiling in days.items() if ceiling.reserved]
    if ALL_DAYS in busy:
        yield f"{_OF_ALL})", ()
    elif busy:
        listed, values = session.members(sorted(busy))
        yield f"{_OF_ALL} AND r.day {listed})", (values,)


def _ends(session: Session, found: Sequence[Standing], days: Days) -> list[tuple[Standing, ev.Event]]:
    """Return the ends of what is in flight still, unless it is settled or the ceiling of its lineage raised."""
    lineages = lock_lineages(session, {standing.tracking_id for standing in found})
    listed, values = session.members([standing.seq for standing in found])
    booked: dict[int, set[int]] = defaultdict(set)
    for seq, day in session.rows(
        f"SELECT r.seq, r.day FROM ramet_reservations r WHERE r.seq {listed} AND {_OPEN}", (values,)
    ):
        booked[seq].add(day)

    def bounds(standing: Standing) -> Iterator[Ceiling]:
        yield lineages[standing.tracking_id].cost_ceiling
        yield from (days[day] for day in sorted(booked[standing.seq] | {ALL_DAYS}) if day in days)

    over = [(s, next((bound for bound in bounds(s) if bound.passed), None)) for s in found if s.seq in booked]
    return [
        (standing, ev.OverCeiling(Reason("cost", **ceiling_passed(bound))))
        for standing, bound in over
        if bound is not None
    ]
