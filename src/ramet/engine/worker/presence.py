"""Being seen: what an app declares is stored before its worker claims, and the worker says what it serves."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence

from ramet.engine.app.app import App
from ramet.engine.base.clock import Clock, sleep_unless
from ramet.engine.base.retrying import Reach
from ramet.engine.client.new_lineage import declared_text
from ramet.model.flow.queues import Declared as DeclaredLimits
from ramet.model.flow.queues import WorkerSeen
from ramet.store.base import Store
from ramet.store.errors import StoreError, StoreFull
from ramet.store.loggers import own_logger

log = own_logger("ramet.worker")

SEEN_SECONDS = 15.0
LAST_WORD_SECONDS_MAX = 5.0
"""A worker that ends waits no longer to say so: it falls silent, and that is noticed too."""


async def declare_limits(app: App, store: Store) -> None:
    """Store the limits of an app's queues, kinds and resources; what a person set stays."""
    await store.declare(_declared(app))


async def declare_first(
    app: App, store: Store, *, reach: Reach, clock: Clock, pause_seconds: float, unless: asyncio.Event
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


def serving(name: str, kinds: Sequence[str], queues: Sequence[str], concurrency: int) -> WorkerSeen:
    """What a worker of this process says about itself."""
    return WorkerSeen(name, socket.gethostname()[:200], os.getpid(), tuple(kinds), tuple(queues), concurrency)


async def be_seen(store: Store, clock: Clock, worker: WorkerSeen, app: App) -> None:
    """Say who serves what, again and again; take it back at the end. Runs until cancelled.

    What the app declares is stored again when it changed: limits of its lineages may follow settings.
    """
    told = _declared(app)
    try:
        while True:
            try:
                await store.see_worker(worker)
                if (found := _declared(app)) != told:
                    await store.declare(found)
                    told = found
            except StoreError as error:
                log.debug("could not say what this worker serves: %s", error)
            await clock.sleep(SEEN_SECONDS)
    finally:
        try:
            async with asyncio.timeout(LAST_WORD_SECONDS_MAX):
                await store.forget_worker(worker.name)
        except (StoreError, TimeoutError) as error:
            log.debug("could not take back what this worker serves: %s", error)
