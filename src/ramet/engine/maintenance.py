"""The maintenance loop: due, stale, overdue and ended tasks. Safe to run in every worker at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from ramet.engine.clock import Clock
from ramet.engine.monitor import Monitor
from ramet.store.base import Store
from ramet.store.errors import StoreError

log = logging.getLogger("ramet.maintenance")

SWEEP_SECONDS = 5.0


async def maintain(
    store: Store, clock: Clock, seconds: float = SWEEP_SECONDS, thresholds: Mapping[str, int | None] | None = None
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
        except StoreError as error:
            # A busy or full database is tried again: giving up here would leave stale claims for ever.
            log.warning("maintenance could not run: %s", error)
            await clock.sleep(seconds)
            continue
        if swept.reclaimed or swept.poisoned:
            log.info("reclaimed %d stale claims, %d ended as poison", swept.reclaimed, swept.poisoned)
        if swept.lineages_ended:
            log.warning("%d lineages ended by their deadline", swept.lineages_ended)
        await clock.sleep(0 if swept.changed else seconds)
