"""Time for runs that are to look like an hour of work: it goes on a little with every look at it."""

from __future__ import annotations

import time

from ramet.testing import FakeClock


class TickingClock(FakeClock):
    """Each look takes some seconds, so that tasks take time and lie beside each other, the same in every run."""

    def __init__(self, now: float, tick_seconds: float) -> None:
        super().__init__(now)
        self.tick_seconds = tick_seconds

    def now(self) -> float:
        self.advance(self.tick_seconds)
        return super().now()


class RealClock:
    """The machine's pace, from a moment that the test chose: for workers with all their loops."""

    def __init__(self, now: float) -> None:
        self._ahead_seconds = now - time.time()

    def now(self) -> float:
        """Unix seconds of the test's day."""
        return time.time() + self._ahead_seconds
