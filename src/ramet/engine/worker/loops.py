"""The loops that every worker runs: maintenance, housekeeping and schedules. Safe to run in all at once."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ramet.engine.alerts.monitor import Monitor, send_loop
from ramet.engine.app.app import App
from ramet.engine.base.clock import Clock, sleep_unless
from ramet.engine.base.retrying import DatabaseReachability, outage_log_level
from ramet.engine.client.client import Client
from ramet.engine.client.new_lineage import declared_text
from ramet.engine.client.schedules import ScheduleDeclaration, lineage_of_slot
from ramet.engine.settings.live import LiveSettings, Tuning
from ramet.engine.settings.setting import SWEEP_SECONDS
from ramet.model.flow.resources import DeclaredFlow as DeclaredLimits
from ramet.model.flow.resources import WorkerStatus
from ramet.model.lineage.limits import Limits
from ramet.model.schedule import Schedule, ScheduleSlot, plan
from ramet.store.errors import StoreError, StoreFull, StoreLost
from ramet.store.loggers import own_logger
from ramet.store.requests import SlotPlan
from ramet.store.store import Store

log = own_logger("ramet.worker")

AGAIN_SECONDS = 1.0
"""Between the failure of a loop and its next beginning."""


Loop = Callable[[], Coroutine[Any, Any, Any]]
"""Begins a loop, from its beginning."""


def housekeeping(app: App, client: Client, clock: Clock, tuning: Tuning) -> list[tuple[str, Loop]]:
    """Maintenance, retention, schedules and alerts, as (name, loop); each runs until it is cancelled."""
    client.settings.monotonic = clock.monotonic
    schedules = partial(
        keep_schedules,
        client.store, clock, tuning.sweep_seconds, client=client, wanted=app.schedules, limits=app.limits,
    )  # fmt: skip
    return [
        ("maintain", partial(maintain, client.store, clock, tuning.sweep_seconds, app.alert_thresholds)),
        ("prune", partial(prune, client.store, clock, tuning.retention_days)),
        ("schedule", schedules),
        ("tell", partial(send_loop, client.store, clock, tuning.sweep_seconds)),
    ]


def started(loops: Iterable[tuple[str, Loop]], clock: Clock) -> list[asyncio.Task[Any]]:
    """Run the loops of a worker; see :func:`restarted`."""
    return [asyncio.create_task(restarted(name, loop, clock), name=name) for name, loop in loops]


async def restarted(name: str, loop: Loop, clock: Clock) -> Any:
    """Run a loop of a worker, and begin it again when it fails: one task, resource or row must not end all others.

    Raises:
        StoreError: the database failed in a way that waiting does not repair.
    """
    while True:
        try:
            return await loop()
        except StoreError:
            raise
        except Exception:
            log.exception("the %s loop of this worker failed: it begins again", name)
            await clock.sleep(AGAIN_SECONDS)


maintenance_log = own_logger("ramet.maintenance")

PRUNE_SECONDS = 60.0
"""Between looks for something to prune."""
PRUNE_PAUSE_SECONDS = 0.05
"""Between two parts: others write in between."""
CLOCK_JUMP_SECONDS_MAX = 3_600.0
"""A wall clock that jumped further says nothing about the age of anything."""
DAY_SECONDS = 86_400.0


async def maintain(
    store: Store,
    clock: Clock,
    seconds: Callable[[], float] = lambda: SWEEP_SECONDS,
    thresholds: Mapping[str, int | None] | None = None,
) -> None:
    """Sweep, again at once while there is more to do, else every so often. Runs until cancelled.

    Every few minutes it lets the monitor look; ``thresholds`` are what kinds declared to it.
    """
    monitor = Monitor(store, clock, thresholds)
    declared = False
    while True:
        try:
            if not declared:
                await monitor.declare()
                declared = True
            swept = await store.sweep()
            await monitor.look_when_due()
        except StoreLost:
            raise
        except StoreError as error:
            # A busy or full database is tried again: giving up here would leave stale claims for ever.
            maintenance_log.log(outage_log_level(error), "maintenance could not run: %s", error)
            await clock.sleep(seconds())
            continue
        if swept.reclaimed or swept.poisoned:
            maintenance_log.info("reclaimed %d stale claims, %d ended as poison", swept.reclaimed, swept.poisoned)
        if swept.lineages_ended:
            maintenance_log.warning("%d lineages ended by their deadline", swept.lineages_ended)
        await clock.sleep(0 if swept.changed else seconds())


async def prune(store: Store, clock: Clock, days: Callable[[], float | None]) -> None:
    """Delete what ended longer ago than it is to be kept, a part at a time. Runs until cancelled.

    A clock that jumped far while this ran is not believed: what it calls old may be of this morning.
    """
    offset = clock.now() - clock.monotonic()
    gone = 0
    while True:
        pause = PRUNE_SECONDS
        keep = days()
        if keep is not None and abs(clock.now() - clock.monotonic() - offset) < CLOCK_JUMP_SECONDS_MAX:
            before = clock.now() - keep * DAY_SECONDS
            try:
                gone += await store.prune(before)
                if any(await store.prunable(before, limit=1)):
                    pause = PRUNE_PAUSE_SECONDS
                elif gone:
                    maintenance_log.info("pruned %d lineages that ended more than %g days ago", gone, keep)
                    gone = 0
            except StoreError as error:
                maintenance_log.log(outage_log_level(error), "retention could not run: %s", error)
        await clock.sleep(pause)


schedule_log = own_logger("ramet.schedule")

PAUSE_SECONDS_MIN = 0.05
SETTINGS_SECONDS_MAX = 20.0
"""Most seconds between two readings of the settings, however seldom maintenance runs."""


async def keep_schedules(
    store: Store,
    clock: Clock,
    seconds: Callable[[], float],
    *,
    client: Client,
    wanted: Iterable[ScheduleDeclaration],
    limits: Limits,
) -> None:
    """Store what the app declares, then run every schedule's slots, and follow the settings. Runs until cancelled.

    Args:
        store, clock, client, wanted: of the worker, and what its app declares.
        seconds: how often to look for schedules that other programs made; a known slot is met on time.
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
            schedule_log.log(outage_log_level(error), "schedules could not be seen to: %s", error)
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
    """Plan one schedule. One that cannot be read any more must not keep the others from their slots."""
    try:
        found = plan(schedule, now)
        if found is None:
            return None
        run = [(at, lineage_of_slot(schedule, at, limits, live)) for at in found.run]
    except (ValueError, TypeError) as error:
        schedule_log.error("schedule %s cannot be planned: %s", schedule.name, error)
        return None
    return SlotPlan(schedule, run, found.missed, found.missed_from, found.next_at)


def _tell(slot: ScheduleSlot) -> None:
    if slot.outcome == "run":
        schedule_log.info("schedule %s: started %s", slot.schedule, slot.tracking_id)
    elif slot.outcome == "missed":
        schedule_log.warning("schedule %s: slots missed because no worker ran: %d", slot.schedule, slot.slots)
    else:
        schedule_log.warning("schedule %s: slot skipped, %s (%s)", slot.schedule, slot.reason, slot.tracking_id)


SEEN_SECONDS = 15.0
LAST_WORD_SECONDS_MAX = 5.0
"""A worker that ends waits no longer to say so: it falls silent, and that is noticed too."""


async def declare_limits(app: App, store: Store) -> None:
    """Store the limits of an app's queues, kinds and resources; what a person set stays."""
    await store.declare(_declared(app))


async def declare_first(
    app: App, store: Store, *, reach: DatabaseReachability, clock: Clock, pause_seconds: float, unless: asyncio.Event
) -> None:
    """Store the limits of an app before its worker claims; while the disk is full, wait and try again.

    Args:
        pause_seconds: between two tries.
        unless: ends the waiting when it is set.

    Raises:
        StoreError: any other error of the database.
    """
    tries = reach.tries()
    while not unless.is_set():
        try:
            return await declare_limits(app, store)
        except StoreFull as error:
            await sleep_unless(clock, tries.failed(error, "could not store the app's limits", pause_seconds), unless)


def _declared(app: App) -> DeclaredLimits:
    kinds = {kind.name: kind.sharing.concurrency for kind in app.registry.kinds}
    limits = {kind.name: declared_text(kind, app.limits) for kind in app.registry.kinds}
    return DeclaredLimits(dict(app.queues), kinds, list(app.resources.values()), limits)


def serving(name: str, kinds: Sequence[str], queues: Sequence[str], concurrency: int) -> WorkerStatus:
    """Return the description of a worker of this process."""
    return WorkerStatus(name, socket.gethostname()[:200], os.getpid(), tuple(kinds), tuple(queues), concurrency)


async def report_presence(store: Store, clock: Clock, worker: WorkerStatus, app: App) -> None:
    """Say who serves what, again and again; take it back at the end. Runs until cancelled.

    The app's declarations are stored again when they changed: limits of its lineages may follow settings.
    """
    declared = _declared(app)
    try:
        while True:
            try:
                await store.see_worker(worker)
                if (found := _declared(app)) != declared:
                    await store.declare(found)
                    declared = found
            except StoreError as error:
                log.debug("could not say what this worker serves: %s", error)
            await clock.sleep(SEEN_SECONDS)
    finally:
        try:
            async with asyncio.timeout(LAST_WORD_SECONDS_MAX):
                await store.forget_worker(worker.name)
        except (StoreError, TimeoutError) as error:
            log.debug("could not take back what this worker serves: %s", error)
