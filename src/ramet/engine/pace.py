"""How many tasks to hold: enough that no slot waits for the database, no more than that."""

from __future__ import annotations

from ramet.engine.clock import Clock

AHEAD_SECONDS = 0.25
"""Work to hold beyond what runs."""
BATCH_SECONDS = 0.05
"""Claim at least this much at a time, so that fast tasks come in large batches."""
HELD_MAX = 4_000
SMOOTHING = 0.5
MEASURE_SECONDS = 0.1


class Pace:
    """Learns how fast tasks are settled. Slow handlers hold as many claims as slots; fast ones prefetch."""

    def __init__(self, clock: Clock, concurrency: int) -> None:
        self._clock = clock
        self._concurrency = concurrency
        self._per_second = 0.0
        self._count = 0
        self._since = clock.monotonic()

    def settled(self, count: int) -> None:
        """So many tasks were settled just now."""
        self._count += count
        elapsed = self._clock.monotonic() - self._since
        if elapsed >= MEASURE_SECONDS:
            measured = self._count / elapsed
            self._per_second += (measured - self._per_second) * SMOOTHING
            self._count, self._since = 0, self._clock.monotonic()

    def wanted(self, held: int) -> int:
        """How many to claim now; 0 when it is better to wait for more room."""
        target = min(HELD_MAX, self._concurrency + int(self._per_second * AHEAD_SECONDS))
        room = target - held
        batch = max(1, min(target // 2, int(self._per_second * BATCH_SECONDS)))
        return room if room >= batch else 0
