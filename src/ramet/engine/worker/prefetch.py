"""How many tasks to hold: enough that no slot waits for the database, no more than that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ramet.engine.base.clock import Clock
from ramet.engine.base.work import Work
from ramet.engine.kinds.registry import Kind

AHEAD_SECONDS = 0.25
"""Work to hold beyond what runs."""
BATCH_SECONDS = 0.05
"""Claim at least this much at a time, so that fast tasks come in large batches."""
HELD_MAX = 4_000
SMOOTHING = 0.5
MEASURE_SECONDS = 0.05


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
            # Up at once, down by halves: a backlog of fast tasks is half done before a slow average has noticed.
            self._per_second = max(measured, self._per_second + (measured - self._per_second) * SMOOTHING)
            self._count, self._since = 0, self._clock.monotonic()

    def wanted(self, held: int) -> int:
        """How many to claim now; 0 when it is better to wait for more room."""
        target = min(HELD_MAX, self._concurrency + int(self._per_second * AHEAD_SECONDS))
        room = target - held
        batch = max(1, min(target // 2, int(self._per_second * BATCH_SECONDS)))
        return room if room >= batch else 0


class _Lane:
    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.held = 0


class BatchLanes:
    """Kinds with batch handlers are claimed beside the others: as many as fill the batches of all slots.

    Without them nothing else is done here, and nothing is counted.
    """

    def __init__(self, clock: Clock, kinds: Sequence[Kind], concurrency: int) -> None:
        self._lanes = {
            kind.name: _Lane(Pace(clock, min(HELD_MAX, concurrency * kind.how.batch)))
            for kind in kinds
            if kind.how.batch > 1
        }

    def __contains__(self, kind: object) -> bool:
        return kind in self._lanes

    @property
    def held(self) -> int:
        """Claims in hand of these kinds."""
        return sum(lane.held for lane in self._lanes.values())

    def wanted(self) -> list[tuple[Sequence[str], int]]:
        """Which kinds to claim now, and how many of each."""
        wants = (((kind,), lane.pace.wanted(lane.held)) for kind, lane in self._lanes.items())
        return [(kinds, count) for kinds, count in wants if count]

    def took(self, works: Iterable[Work]) -> None:
        """These are in hand."""
        if self._lanes:
            for work in works:
                if work.kind in self._lanes:
                    self._lanes[work.kind].held += 1

    def left(self, works: Iterable[Work]) -> int:
        """These are in hand no more; returns how many of them were of these kinds."""
        count = 0
        if self._lanes:
            for work in works:
                lane = self._lanes.get(work.kind)
                if lane is not None:
                    count += 1
                    lane.held -= 1
                    lane.pace.settled(1)
        return count
