"""The heartbeat loop: keeps the leases of all claims in hand, and lets go of those that are lost."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ramet.engine.claims import ClaimsInHand
from ramet.engine.clock import Clock
from ramet.store.base import Store
from ramet.store.errors import StoreError

log = logging.getLogger("ramet.worker")

BATCH = 5_000


async def keep_alive(
    store: Store,
    claims: ClaimsInHand,
    clock: Clock,
    *,
    lease_seconds: float,
    heartbeat_seconds: float,
    on_lost: Callable[[frozenset[int]], None],
) -> None:
    """Extend leases every ``heartbeat_seconds``; give up a claim whose lease may have lapsed. Runs until cancelled.

    A failed heartbeat says nothing about the claims: it is tried again while their leases run.
    """
    pause = heartbeat_seconds
    while True:
        await clock.sleep(pause)
        pause = heartbeat_seconds
        lapsed = claims.lapsed(clock.monotonic())
        if lapsed:
            log.warning("%d claims lapsed before a heartbeat reached the database: their handlers stop", len(lapsed))
            on_lost(lapsed)
        pairs = claims.pairs()
        for at in range(0, len(pairs), BATCH):
            part = pairs[at : at + BATCH]
            # From before the request: whatever happens on the way, the lease in the database ends later than ours.
            sent_at = clock.monotonic()
            try:
                lost = await store.heartbeat(part, lease_seconds)
            except StoreError as error:
                log.warning("heartbeat failed: %s", error)
                pause = min(heartbeat_seconds, 1.0)
                break
            claims.extend(((seq, fence) for seq, fence in part if seq not in lost), sent_at + lease_seconds)
            # The answer is about the claims that were asked for: a task settled and claimed anew meanwhile is ours.
            still = frozenset(seq for seq, fence in part if seq in lost and claims.holds(seq, fence))
            if still:
                on_lost(still)
