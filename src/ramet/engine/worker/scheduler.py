"""The schedule loop: creates the runs of slots that have come. Safe to run in every worker at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ramet.engine.base.clock import Clock
from ramet.engine.base.retrying import loudness
from ramet.engine.client.client import Client
from ramet.engine.client.schedules import Declared, lineage_of_slot
from ramet.engine.settings.live import LiveSettings
from ramet.model.lineage.limits import Limits
from ramet.model.schedule import Schedule, Slot, plan
from ramet.store.base import Store
from ramet.store.base_schedules import SlotPlan
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger

log = own_logger("ramet.schedule")

PAUSE_SECONDS_MIN = 0.05
SETTINGS_SECONDS_MAX = 20.0
"""However seldom maintenance is to look, what somebody set is acted on after so long."""


async def keep_schedules(
    store: Store,
    clock: Clock,
    seconds: Callable[[], float],
    *,
    client: Client,
    wanted: Iterable[Declared],
    limits: Limits,
) -> None:
    """Store what the app declares, then see to every schedule's slots, and to the settings. Runs until cancelled.

    Args:
        store, clock, client, wanted: of the worker, and what its app declares.
        seconds: how often to look for schedules that somebody else made; a known slot is met on time.
        limits: the app's, for lineages whose schedule names none.
    """
    left = list(wanted)
    while True:
        pause = min(seconds(), SETTINGS_SECONDS_MAX)
        try:
            await client.settings.refresh(0.0)
            while left:
                await client.schedules.declare(left[0])
                left.pop(0)
            live = client.settings.live
            pause = await tick(store, pause, live.limits(limits), live)
        except StoreError as error:
            # A busy or full database is tried again: a trigger that stops coming back is the worst that can happen.
            log.log(loudness(error), "schedules could not be seen to: %s", error)
        await clock.sleep(pause)


async def tick(store: Store, seconds: float, limits: Limits, live: LiveSettings | None = None) -> float:
    """One look: take the slots that have come. Returns how long nothing more will."""
    due = await store.due_schedules()
    plans = [
        found
        for schedule in due.schedules
        if (found := _plan(schedule, due.now, limits, live or LiveSettings())) is not None
    ]
    if plans:
        for slot in await store.take_slots(plans):
            _tell(slot)
        return PAUSE_SECONDS_MIN
    if due.next_at is None:
        return seconds
    return min(seconds, max(PAUSE_SECONDS_MIN, due.next_at - due.now))


def _plan(schedule: Schedule, now: float, limits: Limits, live: LiveSettings) -> SlotPlan | None:
    """What to do about one schedule. One that cannot be read any more must not keep the others from their slots."""
    try:
        found = plan(schedule, now)
        if found is None:
            return None
        run = [(at, lineage_of_slot(schedule, at, limits, live)) for at in found.run]
    except (ValueError, TypeError) as error:
        log.error("schedule %s cannot be planned: %s", schedule.name, error)
        return None
    return SlotPlan(schedule, run, found.missed, found.missed_from, found.next_at)


def _tell(slot: Slot) -> None:
    if slot.outcome == "run":
        log.info("schedule %s: started %s", slot.schedule, slot.tracking_id)
    elif slot.outcome == "missed":
        log.warning("schedule %s: slots missed because no worker ran: %d", slot.schedule, slot.slots)
    else:
        log.warning("schedule %s: slot skipped, %s (%s)", slot.schedule, slot.reason, slot.tracking_id)
