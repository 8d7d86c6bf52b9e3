"""Where a worker's handlers run."""

from __future__ import annotations

import random

from ramet.engine.app.app import App
from ramet.engine.base.clock import Clock
from ramet.engine.client.client import Client
from ramet.engine.worker.child_process import ChildPlan
from ramet.engine.worker.handlers import Handlers, InProcess
from ramet.engine.worker.pool import Pool


def place(
    app: App,
    client: Client,
    worker: str,
    target: str | None,
    *,
    concurrency: int,
    lease_seconds: float,
    rng: random.Random,
    clock: Clock,
) -> Handlers:
    """In the worker's own loop without a ``target``, else in processes that load the app from there."""
    if target is None:
        return InProcess(app, client, concurrency=concurrency, lease_seconds=lease_seconds, rng=rng, clock=clock)
    store, live = client.store, app.registry.live
    plan = ChildPlan(target, store.address, lease_seconds, worker, store.slots_folder, live, store.ahead_seconds)
    return Pool(app.registry, plan, concurrency, rng, processes=app.processes)
