"""How fast a resource bears use: a bucket whose rate a refusal cuts and time brings back (DESIGN §8).

Pure arithmetic over Unix seconds. A *unit* is what a bucket counts: claims, requests, tokens.
"""

from __future__ import annotations

import math
from typing import NamedTuple

RECOVERY_SECONDS = 300.0
"""A rate that a refusal cut grows by its full value in so long, evenly."""
FLOOR = 1 / 64
"""The part of its full value below which no refusal cuts a rate."""
TOLD_BURST_SECONDS = 10.0
"""Of a rate that only the server told, so many seconds of it may be used at once."""

RATE_MIN = 1e-6
"""Units a second: one in eleven days. No server is taken at its word for less; by less nothing can be divided."""

TOLERANCE_SECONDS = 1e-6
"""Who comes so much too early comes in time. Moments are rounded to a quarter of it; without this somebody could be
told to come back now, again and again."""


class Rate(NamedTuple):
    """What a bucket gains and holds."""

    full: float
    """Units a second where nothing was cut."""
    burst: float
    """Units that it holds at most."""
    cut: float | None = None
    """Units a second that were left at the last refusal; None where there was none."""
    cut_at: float = 0.0
    """When that was, Unix seconds."""

    def at(self, now: float) -> float:
        """Units a second at this moment."""
        if self.cut is None:
            return self.full
        return min(self.full, self.cut + self._growth * max(0.0, now - self.cut_at))

    @property
    def _growth(self) -> float:
        return self.full / RECOVERY_SECONDS

    def _since_cut(self, seconds: float) -> float:
        """Units gained in the first seconds after the cut; negative for moments before it."""
        assert self.cut is not None
        if self.cut >= self.full:
            return self.full * seconds
        if seconds <= 0:
            return self.cut * seconds
        growing = min(seconds, (self.full - self.cut) / self._growth)
        return self.cut * growing + self._growth * growing**2 / 2 + self.full * (seconds - growing)

    def gained(self, since: float, until: float) -> float:
        """Units gained from one moment to a later one."""
        if self.cut is None:
            return self.full * (until - since)
        return self._since_cut(until - self.cut_at) - self._since_cut(since - self.cut_at)

    def seconds_for(self, units: float, since: float) -> float:
        """How long it takes from this moment on to gain so many units."""
        if units <= 0:
            return 0.0
        if self.cut is None or self.cut >= self.full:
            return units / self.full
        begun = since - self.cut_at
        wanted = self._since_cut(begun) + units
        if wanted <= 0:
            return wanted / self.cut - begun
        growing = (self.full - self.cut) / self._growth
        grown = self._since_cut(growing)
        if wanted >= grown:
            return growing + (wanted - grown) / self.full - begun
        return (math.sqrt(self.cut**2 + 2 * self._growth * wanted) - self.cut) / self._growth - begun

    def halved(self, now: float) -> float:
        """The rate after a refusal at this moment, units a second."""
        return max(self.full * FLOOR, self.at(now) / 2)
