"""The heartbeat loop: keeps the leases of all claims in hand, and lets go of those that are lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ramet.engine.claims import ClaimsInHand
from ramet.engine.clock import Clock
from ramet.store.base import Store
from ramet.store.errors import StoreError

log = logging.getLogger("ramet.worker")

BATCH = 5_000


Seconds = float | Callable[[], float]


def _now(seconds: Seconds) -> float:
    return seconds() if callable(seconds) else seconds


async def keep_alive(
    store: Store,
    claims: ClaimsInHand,
    clock: Clock,
    *,
    lease_seconds: Seconds,
    heartbeat_seconds: Seconds,
    on_lost: Callable[[frozenset[int]], None],
    hurry: asyncio.Event | None = None,
) -> None:
    """Extend leases every ``heartbeat_seconds``; give up a claim whose lease may have lapsed. Runs until cancelled.

    ``hurry`` asks for a round at once. Seconds that may change are given as functions, asked before every round.

    A failed heartbeat says nothing about the claims: it is tried again while their leases run.
    """
    pause = _now(heartbeat_seconds)
    hurry = hurry or asyncio.Event()
    while True:
        await _sleep(clock, pause, hurry)
        pause, lease = _now(heartbeat_seconds), _now(lease_seconds)
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
                lost = await store.heartbeat(part, lease)
            except StoreError as error:
                log.warning("heartbeat failed: %s", error)
                pause = min(pause, 1.0)
                break
            claims.extend(((seq, fence) for seq, fence in part if seq not in lost), sent_at + lease)
            # The answer is about the claims that were asked for: a task settled and claimed anew meanwhile is ours.
            still = frozenset(seq for seq, fence in part if seq in lost and claims.holds(seq, fence))
            if still:
                on_lost(still)


async def _sleep(clock: Clock, seconds: float, hurry: asyncio.Event) -> None:
    waiting = asyncio.create_task(hurry.wait())
    sleeping = asyncio.create_task(clock.sleep(seconds))
    try:
        await asyncio.wait({waiting, sleeping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        sleeping.cancel()
    hurry.clear()


async def watch_ends(store: Store, claims: ClaimsInHand, clock: Clock, seconds: float, hurry: asyncio.Event) -> None:
    """Ask for heartbeats at once when a task was ended from outside (cancelled, say). Runs until cancelled.

    A look is one small read, so a handler is told soon without heartbeats that are as frequent; they remain the truth.
    """
    seen: int | None = None
    while True:
        try:
            if claims or seen is None:
                ends = await store.ends()
                if seen is not None and ends != seen:
                    hurry.set()
                seen = ends
        except StoreError as error:
            log.debug("could not ask for ends: %s", error)
        await clock.sleep(seconds)
