"""Time that passes only when the test says so."""

from __future__ import annotations

import asyncio
import heapq
import itertools


class FakeClock:
    """Both of the engine's clocks, and the store's: give it to :func:`ramet.testing.fresh_client`.

    Args:
        now: Unix seconds to begin with.
    """

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now
        self._monotonic = 1_000.0
        self._sleeping: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def now(self) -> float:
        """Unix seconds."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Return when the test has let so many seconds pass; at once for none."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleeping, (self._monotonic + seconds, next(self._numbers), waiting))
        await waiting

    def advance(self, seconds: float) -> None:
        """Let time pass. What slept until then goes on with the next turn of the loop.

        Raises:
            ValueError: a negative number; :meth:`set_back` moves the wall clock alone.
        """
        if seconds < 0:
            raise ValueError("time does not run backwards: use set_back for a wall clock that was changed")
        self._now += seconds
        self._monotonic += seconds
        while self._sleeping and self._sleeping[0][0] <= self._monotonic:
            _, _, waiting = heapq.heappop(self._sleeping)
            if not waiting.done():
                waiting.set_result(None)

    def set_back(self, seconds: float) -> None:
        """Set the wall clock back, as a time server would; a negative number sets it ahead. Nothing wakes."""
        self._now -= seconds
