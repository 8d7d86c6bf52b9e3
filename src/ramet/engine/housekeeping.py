"""The loops that keep a database in order whatever its tasks are: every worker runs them, at once and safely."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from ramet.engine.app import App
from ramet.engine.client import Client
from ramet.engine.clock import Clock
from ramet.engine.maintenance import maintain, prune
from ramet.engine.notices import keep_telling
from ramet.engine.scheduler import keep_schedules
from ramet.engine.settings import Tuning


def housekeeping(app: App, client: Client, clock: Clock, tuning: Tuning) -> list[tuple[str, Coroutine[Any, Any, None]]]:
    """Maintenance, retention, schedules and alerts, as (name, loop); each runs until it is cancelled."""
    client.settings.monotonic = clock.monotonic
    schedules = keep_schedules(
        client.store, clock, tuning.sweep_seconds, client=client, wanted=app.schedules, limits=app.limits
    )
    return [
        ("maintain", maintain(client.store, clock, tuning.sweep_seconds, app.alert_thresholds)),
        ("prune", prune(client.store, clock, tuning.retention_days)),
        ("schedule", schedules),
        ("tell", keep_telling(client.store, clock, tuning.sweep_seconds)),
    ]
