"""Keeps pulled claims alive: one heartbeat loop for all claims of a client that share a lease."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ramet.engine.base.claims import ClaimsInHand
from ramet.engine.base.clock import Clock
from ramet.engine.base.heartbeat import keep_alive
from ramet.model.lineage.limits import HEARTBEAT_SECONDS
from ramet.store.store import Store

Pair = tuple[int, int]
"""(seq, fence) of a claim."""


def heartbeat_seconds(lease_seconds: float) -> float:
    """How often a claim under such a lease is extended: every 30 s, and three times in a shorter one."""
    return min(HEARTBEAT_SECONDS, lease_seconds / 3)


class _Loop(NamedTuple):
    claims: ClaimsInHand
    task: asyncio.Task[None]


class Keeper:
    """Claims of one client that somebody works on just now. Belongs to one event loop."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.clock = clock
        self._store = store
        self._loops: dict[float, _Loop] = {}
        self._told: dict[Pair, Callable[[], None]] = {}

    def keep(self, pair: Pair, lapses_at: float, lease_seconds: float, on_lost: Callable[[], None]) -> None:
        """Extend the lease of a claim from now on; ``on_lost`` is called when it is no longer the caller's.

        Args:
            pair: (seq, fence).
            lapses_at: monotonic seconds, no later than the lease in the database.
            lease_seconds: what every heartbeat extends it to.
            on_lost: called once, in the event loop.
        """
        loop = self._loops.get(lease_seconds)
        if loop is None or loop.task.get_loop() is not asyncio.get_running_loop():
            loop = self._loops[lease_seconds] = self._start(lease_seconds)
        self._told[pair] = on_lost
        loop.claims.take([pair], lapses_at)

    def _start(self, lease_seconds: float) -> _Loop:
        claims = ClaimsInHand()

        def lost(seqs: frozenset[int]) -> None:
            for pair in claims.pairs(sorted(seqs)):
                claims.drop([pair])
                self._told.pop(pair)()

        beating = keep_alive(
            self._store,
            claims,
            self.clock,
            lease_seconds=lease_seconds,
            heartbeat_seconds=heartbeat_seconds(lease_seconds),
            on_lost=lost,
        )
        return _Loop(claims, asyncio.create_task(beating, name="ramet heartbeat of pulled claims"))

    def drop(self, pair: Pair, lease_seconds: float) -> None:
        """Stop extending a claim. The loop ends with the last one."""
        self._told.pop(pair, None)
        loop = self._loops.get(lease_seconds)
        if loop is None:
            return
        loop.claims.drop([pair])
        if not len(loop.claims):
            loop.task.cancel()
            del self._loops[lease_seconds]

    async def stop(self) -> None:
        """End all loops; leases run out by themselves."""
        tasks: Sequence[asyncio.Task[None]] = [loop.task for loop in self._loops.values()]
        self._loops, self._told = {}, {}
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
