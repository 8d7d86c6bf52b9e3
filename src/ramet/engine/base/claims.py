"""The claims that a worker holds, and how long it may trust each of them."""

from __future__ import annotations

import math
from collections.abc import Iterable


class ClaimsInHand:
    """All claims of one worker, by task number."""

    def __init__(self) -> None:
        self._fences: dict[int, int] = {}
        self._lapses_at: dict[int, float] = {}
        """Monotonic seconds, counted from before the claim (or heartbeat) was sent: never later than the store's
        lease."""
        self._taken_at: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._fences)

    def __contains__(self, seq: object) -> bool:
        return seq in self._fences

    def take(self, claims: Iterable[tuple[int, int]], lapses_at: float, taken_at: float = 0.0) -> None:
        """Note new claims, as (seq, fence), with the monotonic seconds at which they were asked for."""
        taken = dict(claims)
        self._fences |= taken
        self._lapses_at |= dict.fromkeys(taken, lapses_at)
        self._taken_at |= dict.fromkeys(taken, taken_at)

    def taken_at(self, seq: int) -> float:
        """Monotonic seconds at which this task's claim was asked for; 0 when nothing of it is in hand."""
        return self._taken_at.get(seq, 0.0)

    def extend(self, claims: Iterable[tuple[int, int]], lapses_at: float) -> None:
        """A heartbeat for these (seq, fence) succeeded."""
        for seq, fence in claims:
            if self.holds(seq, fence):
                self._lapses_at[seq] = lapses_at

    def holds(self, seq: int, fence: int) -> bool:
        """True while this very claim is in hand; a newer one of the same task is another."""
        return self._fences.get(seq) == fence

    def current(self, seq: int, fence: int, now: float) -> bool:
        """True while this claim is in hand and its lease cannot have lapsed."""
        return self._fences.get(seq) == fence and self._lapses_at[seq] > now

    def drop(self, claims: Iterable[tuple[int, int]]) -> list[int]:
        """These (seq, fence) are in hand no more; returns the tasks of which nothing is in hand now."""
        held = self._fences
        gone = [seq for seq, fence in claims if held.get(seq) == fence]
        for seq in gone:
            held.pop(seq, None)
            self._lapses_at.pop(seq, None)
            self._taken_at.pop(seq, None)
        return gone

    def lapsed(self, now: float) -> frozenset[int]:
        """Claims whose lease may have lapsed."""
        return frozenset(seq for seq, lapses_at in self._lapses_at.items() if lapses_at <= now)

    def lapses_at(self) -> float:
        """Monotonic seconds at which the first of them may lapse; infinite when none is in hand."""
        return min(self._lapses_at.values(), default=math.inf)

    def pairs(self, seqs: Iterable[int] | None = None) -> list[tuple[int, int]]:
        """(seq, fence) of all claims, or of these."""
        if seqs is None:
            return list(self._fences.items())
        return [(seq, self._fences[seq]) for seq in seqs if seq in self._fences]
