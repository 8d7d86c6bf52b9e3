"""The claims that a worker holds, and how long it may trust each of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Held(NamedTuple):
    """One claim in hand."""

    fence: int
    lapses_at: float
    """Monotonic seconds, counted from before the claim (or heartbeat) was sent: never later than the store's lease."""


class ClaimsInHand:
    """All claims of one worker, by task number."""

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, seq: object) -> bool:
        return seq in self._held

    def take(self, claims: Iterable[tuple[int, int]], lapses_at: float) -> None:
        """Note new claims, as (seq, fence)."""
        for seq, fence in claims:
            self._held[seq] = Held(fence, lapses_at)

    def extend(self, claims: Iterable[tuple[int, int]], lapses_at: float) -> None:
        """A heartbeat for these (seq, fence) succeeded."""
        for seq, fence in claims:
            if self.holds(seq, fence):
                self._held[seq] = Held(fence, lapses_at)

    def holds(self, seq: int, fence: int) -> bool:
        """True while this very claim is in hand; a newer one of the same task is another."""
        held = self._held.get(seq)
        return held is not None and held.fence == fence

    def current(self, seq: int, fence: int, now: float) -> bool:
        """True while this claim is in hand and its lease cannot have lapsed."""
        return self.holds(seq, fence) and self._held[seq].lapses_at > now

    def drop(self, claims: Iterable[tuple[int, int]]) -> list[int]:
        """These (seq, fence) are in hand no more; returns the tasks of which nothing is in hand now."""
        gone = [seq for seq, fence in claims if self.holds(seq, fence)]
        for seq in gone:
            self._held.pop(seq, None)
        return gone

    def lapsed(self, now: float) -> frozenset[int]:
        """Claims whose lease may have lapsed."""
        return frozenset(seq for seq, held in self._held.items() if held.lapses_at <= now)

    def pairs(self, seqs: Iterable[int] | None = None) -> list[tuple[int, int]]:
        """(seq, fence) of all claims, or of these."""
        chosen = self._held if seqs is None else [seq for seq in seqs if seq in self._held]
        return [(seq, self._held[seq].fence) for seq in chosen]
