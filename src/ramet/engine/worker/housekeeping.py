"""The loops that keep a database in order whatever its tasks are: every worker runs them, at once and safely."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from ramet.engine.alerts.notifications import keep_telling
from ramet.engine.app.app import App
from ramet.engine.base.clock import Clock
from ramet.engine.client.client import Client
from ramet.engine.settings.live import Tuning
from ramet.engine.worker.maintenance import maintain, prune
from ramet.engine.worker.scheduler import keep_schedules
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger

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
        ("tell", partial(keep_telling, client.store, clock, tuning.sweep_seconds)),
    ]


def started(loops: Iterable[tuple[str, Loop]], clock: Clock) -> list[asyncio.Task[Any]]:
    """Run the loops of a worker; see :func:`restarted`."""
    return [asyncio.create_task(restarted(name, loop, clock), name=name) for name, loop in loops]


async def restarted(name: str, loop: Loop, clock: Clock) -> Any:
    """Run a loop of a worker, and begin it again when it fails: one task, resource or row must not end all others.

    Raises:
        StoreError: the database failed in a way that waiting does not mend.
    """
    while True:
        try:
            return await loop()
        except StoreError:
            raise
        except Exception:
            log.exception("the %s loop of this worker failed: it begins again", name)
            await clock.sleep(AGAIN_SECONDS)
