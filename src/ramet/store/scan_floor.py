"""Lowest rank of the waiting tasks, while the entries of taken ones before it cannot be removed (docs/decisions/0036).

A claim reads the waiting tasks in order, from the beginning of an index. In PostgreSQL the entries of tasks that were
taken stay there until no open transaction can see them any more; one that stays open for minutes makes every claim walk
over everything that was claimed since. Then, and only then, claims begin where the last ones found a task, and look
from the very beginning for a tenth of the time. A task that came to wait before that place (a retry, a reclaimed task)
is found by the next such look: at most a few seconds late.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from typing import NamedTuple

SLOW_SECONDS = 0.01
"""A look from the beginning that takes longer than this, beyond what its rows cost, walked over what is gone."""
ROW_SECONDS = 0.00002
"""Seconds that a row that was found may cost."""
SHARE = 10
"""Multiple of the duration of a slow look from the beginning that passes before the next one."""

Position = tuple[float, ...]
Floor = Mapping[int, Position]
"""Rank from which a scan begins."""


class _FloorEntry(NamedTuple):
    until: float
    """Monotonic seconds: before that claims begin at the floor."""
    seconds: float
    """Seconds that the last look from the beginning took."""
    floor: Floor


class ScanFloors:
    """Floors of scans as one process knows them. Safe in many threads: a lost update costs one slow look."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _FloorEntry] = {}

    def of(self, scan: Hashable) -> Floor | None:
        """Return the floor of this scan; None from the very beginning."""
        known = self._known.get(scan)
        if known is None:
            return None
        now = time.monotonic()
        if now < known.until:
            return known.floor or None  # After a first slow look nothing is known yet.
        # One looks from the beginning; the others go on as before until it is back.
        self._known[scan] = known._replace(until=now + 2 * known.seconds)
        return None

    def is_slow(self, scan: Hashable, seconds: float, found: int) -> bool:
        """Return whether this look from the beginning was slow, and the one before it too. One alone may have another
        cause.
        """
        if seconds - found * ROW_SECONDS < SLOW_SECONDS:
            self._known.pop(scan, None)
            return False
        if scan in self._known:
            return True
        self._known[scan] = _FloorEntry(0.0, seconds, {})
        return False

    def begin_at(self, scan: Hashable, floor: Floor, seconds: float) -> None:
        """Begin the next looks here, after a slow one from the beginning."""
        self._known[scan] = _FloorEntry(time.monotonic() + SHARE * seconds, seconds, {**floor})

    def rise(self, scan: Hashable, firsts: Floor) -> None:
        """Raise the floor to what a scan from it found first."""
        known = self._known.get(scan)
        if known is not None and firsts:
            self._known[scan] = known._replace(floor={**known.floor, **firsts})

    def last(self, scan: Hashable) -> Floor:
        """Return the last known floor, whether it holds or not."""
        known = self._known.get(scan)
        return known.floor if known is not None else {}


def raised_floor(before: Floor, firsts: Floor, filled: bool) -> Floor:
    """Return the floor after a look from the beginning.

    Tasks below the floor were missed earlier and are claimed now. The floor is lowered only if the look hit its limit.
    """
    after = dict(before)
    for rank, first in firsts.items():
        after[rank] = first if rank not in before or (filled and rank == max(firsts)) else max(before[rank], first)
    return after
