"""The maintenance loops: due, stale, overdue and ended tasks, and retention. Safe to run in every worker at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ramet.engine.alerts.monitor import Monitor
from ramet.engine.base.clock import Clock
from ramet.engine.base.retrying import loudness
from ramet.engine.settings.setting import SWEEP_SECONDS
from ramet.store.base import Store
from ramet.store.errors import StoreError, StoreLost
from ramet.store.loggers import own_logger

log = own_logger("ramet.maintenance")

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
            log.log(loudness(error), "maintenance could not run: %s", error)
            await clock.sleep(seconds())
            continue
        if swept.reclaimed or swept.poisoned:
            log.info("reclaimed %d stale claims, %d ended as poison", swept.reclaimed, swept.poisoned)
        if swept.lineages_ended:
            log.warning("%d lineages ended by their deadline", swept.lineages_ended)
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
                    log.info("pruned %d lineages that ended more than %g days ago", gone, keep)
                    gone = 0
            except StoreError as error:
                log.log(loudness(error), "retention could not run: %s", error)
        await clock.sleep(pause)
