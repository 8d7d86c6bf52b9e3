"""The claims that a worker holds, how long it may trust each of them, and the heartbeats that extend their leases."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ramet.engine.base.clock import Clock, sleep_unless
from ramet.engine.base.retrying import DatabaseReachability
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.requests import Settlement
from ramet.store.store import Store


class _Held(NamedTuple):
    fence: int
    lapses_at: float
    """Monotonic seconds, counted from before the claim (or heartbeat) was sent: never later than the store's lease."""
    taken_at: float


class WorkerClaims:
    """All claims of one worker, by task number."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, seq: object) -> bool:
        return seq in self._held

    def take(self, claims: Iterable[tuple[int, int]], lapses_at: float, taken_at: float = 0.0) -> None:
        """Note new claims, as (seq, fence), with the monotonic seconds at which they were asked for."""
        taken = dict(claims)
        held = {fence: _Held(fence, lapses_at, taken_at) for fence in set(taken.values())}
        for seq in self._held.keys() & taken.keys():
            del self._held[seq]
        self._held.update(zip(taken, map(held.__getitem__, taken.values()), strict=True))

    def taken_at(self, seq: int) -> float:
        """Return monotonic seconds at which this task's claim was asked for; 0 without a claim of it."""
        held = self._held.get(seq)
        return 0.0 if held is None else held.taken_at

    def extend(self, claims: Iterable[tuple[int, int]], lapses_at: float) -> None:
        """Extend the leases of these (seq, fence), whose heartbeat succeeded."""
        for seq, fence in claims:
            held = self._held.get(seq)
            if held is not None and held.fence == fence:
                self._held[seq] = held._replace(lapses_at=lapses_at)

    def holds(self, seq: int, fence: int) -> bool:
        """Return True while this very claim is held; a newer one of the same task is another."""
        held = self._held.get(seq)
        return held is not None and held.fence == fence

    def current(self, seq: int, fence: int, now: float) -> bool:
        """Return True while this claim is held and its lease cannot have lapsed."""
        held = self._held.get(seq)
        return held is not None and held.fence == fence and held.lapses_at > now

    def still_current(self, settlements: Sequence[Settlement], now: float) -> list[Settlement]:
        """Return the settlements whose claims are :meth:`current`."""
        held = self._held
        return [
            item
            for item in settlements
            if (mine := held.get(item.seq)) is not None and mine.fence == item.fence and mine.lapses_at > now
        ]

    def oldest_taken_at(self) -> float:
        """Return monotonic seconds at which the oldest held claim was asked for; infinite without claims."""
        for held in self._held.values():  # In the order of the claims.
            return held.taken_at
        return math.inf

    def drop(self, claims: Iterable[tuple[int, int]]) -> list[int]:
        """Drop these (seq, fence); return the tasks that have no held claim now."""
        gone = []
        for seq, fence in claims:
            held = self._held.get(seq)
            if held is not None and held.fence == fence:
                del self._held[seq]
                gone.append(seq)
        return gone

    def lapsed(self, now: float) -> frozenset[int]:
        """Claims whose lease may have lapsed."""
        return frozenset(seq for seq, held in self._held.items() if held.lapses_at <= now)

    def lapses_at(self) -> float:
        """Return monotonic seconds at which the first of them may lapse; infinite without claims."""
        return min((held.lapses_at for held in self._held.values()), default=math.inf)

    def pairs(self, seqs: Iterable[int] | None = None) -> list[tuple[int, int]]:
        """(seq, fence) of all claims, or of these."""
        if seqs is None:
            return [(seq, held.fence) for seq, held in self._held.items()]
        return [(seq, self._held[seq].fence) for seq in seqs if seq in self._held]


log = own_logger("ramet.worker")

BATCH = 5_000
ENDS_SECONDS = 0.5
"""Seconds after which a handler learns at the latest that its task was ended from outside."""
AGAIN_SECONDS = 1.0
"""Seconds after a heartbeat that a busy or full database refused until the next one."""


Seconds = float | Callable[[], float]


def _now(seconds: Seconds) -> float:
    return seconds() if callable(seconds) else seconds


async def keep_alive(
    store: Store,
    claims: WorkerClaims,
    clock: Clock,
    *,
    lease_seconds: Seconds,
    heartbeat_seconds: Seconds,
    on_lost: Callable[[frozenset[int]], None],
    hurry: asyncio.Event | None = None,
    reach: DatabaseReachability | None = None,
) -> None:
    """Extend leases every ``heartbeat_seconds``; give up a claim whose lease may have lapsed. Runs until cancelled.

    ``hurry`` asks for a round at once. Seconds that may change are given as functions, asked before every round.

    A failed heartbeat says nothing about the claims: it is tried again while their leases run. One that is not answered
    delays nothing: a claim is given up the moment that its lease may have lapsed, counted from before the last claim or
    heartbeat that succeeded was sent (DESIGN §10).
    """
    pause = _now(heartbeat_seconds)
    hurry = hurry or asyncio.Event()
    tries = (reach or DatabaseReachability(clock)).tries()
    give_up_lapsed = partial(_give_up_lapsed, claims, clock, on_lost)
    while True:
        await sleep_unless(clock, pause, hurry)
        hurry.clear()
        pause, lease = _now(heartbeat_seconds), _now(lease_seconds)
        give_up_lapsed()
        pairs = claims.pairs()
        for at in range(0, len(pairs), BATCH):
            part = pairs[at : at + BATCH]
            # From before the request: whatever happens on the way, the lease in the database ends later than ours.
            sent_at = clock.monotonic()
            try:
                lost = await _answer(store.heartbeat(part, lease), claims, clock, give_up_lapsed)
            except StoreError as error:
                left = claims.lapses_at() - clock.monotonic()
                pause = max(0.0, min(pause, left, tries.failed(error, "heartbeat failed", AGAIN_SECONDS)))
                break
            tries.succeeded()
            claims.extend(((seq, fence) for seq, fence in part if seq not in lost), sent_at + lease)
            # The answer is about the claims that were asked for: a task settled and claimed again meanwhile is ours.
            still = frozenset(seq for seq, fence in part if seq in lost and claims.holds(seq, fence))
            if still:
                on_lost(still)


def _give_up_lapsed(claims: WorkerClaims, clock: Clock, on_lost: Callable[[frozenset[int]], None]) -> None:
    lapsed = claims.lapsed(clock.monotonic())
    if lapsed:
        log.warning("%d claims lapsed before a heartbeat reached the database: their handlers stop", len(lapsed))
        on_lost(lapsed)


async def _answer(
    asked: Coroutine[Any, Any, frozenset[int]], claims: WorkerClaims, clock: Clock, give_up_lapsed: Callable[[], None]
) -> frozenset[int]:
    """Return the store's answer, however long it takes; claims that lapse meanwhile are given up when they do."""
    asking = asyncio.create_task(asked)
    try:
        await asyncio.sleep(0)  # Most often the answer, or its refusal, needs no more.
        while not asking.done():
            waited_for: set[asyncio.Task[Any]] = {asking}
            if claims:
                waited_for.add(asyncio.create_task(clock.sleep(max(0.0, claims.lapses_at() - clock.monotonic()))))
            await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
            for sleeping in waited_for - {asking}:
                sleeping.cancel()
            give_up_lapsed()
        return asking.result()
    finally:
        asking.cancel()


async def watch_ends(store: Store, claims: WorkerClaims, clock: Clock, seconds: float, hurry: asyncio.Event) -> None:
    """Ask for heartbeats at once when a task was ended from outside (cancelled, say). Runs until cancelled.

    A look is one small read, so a handler learns of it soon without heartbeats that are as frequent; they remain the
    truth.
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
