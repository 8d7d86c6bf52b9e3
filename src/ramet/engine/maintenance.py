"""The maintenance loop: due, stale, overdue and ended tasks. Safe to run in every worker at once."""

from __future__ import annotations

import logging

from ramet.engine.clock import Clock
from ramet.store.base import Store
from ramet.store.errors import StoreError

log = logging.getLogger("ramet.maintenance")

SWEEP_SECONDS = 5.0


async def maintain(store: Store, clock: Clock, seconds: float = SWEEP_SECONDS) -> None:
    """Sweep, again at once while there is more to do, else every so often. Runs until cancelled."""
    while True:
        try:
            swept = await store.sweep()
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
