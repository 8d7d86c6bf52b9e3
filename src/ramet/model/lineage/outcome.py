"""What a lineage came to, beside its state: finished says that nothing of it is live, not that all was done (I8)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

CANCELLED = "cancelled"
"""Among what was left out: tasks that a person cancelled. All others are reasons of the guard."""


class OutcomeKind(StrEnum):
    """What lineages can be filtered by. One that has failures can be incomplete, too."""

    CLEAN = "clean"
    """Nothing failed, and nothing was left out."""
    FAILURES = "failures"
    """Some of its tasks are failed."""
    INCOMPLETE = "incomplete"
    """Spawns were refused by a limit, a cycle or the stop list, or tasks were cancelled."""


class LineageOutcome(NamedTuple):
    """How clean a lineage is, so far or at its end."""

    failures: int
    """Tasks that are failed now: a retry takes one back."""
    left_out: Mapping[str, int]
    """What was wanted and does not exist, by reason: refused spawns that nobody was granted later, and cancelled tasks.
    Duplicates are none, nor is a link of a kind about a place back to its ancestor."""

    @property
    def clean(self) -> bool:
        """True when nothing failed and nothing was left out."""
        return not (self.failures or self.left_out)

    @property
    def kinds(self) -> tuple[OutcomeKind, ...]:
        """Every kind of outcome that it has."""
        found = ((OutcomeKind.FAILURES, self.failures), (OutcomeKind.INCOMPLETE, self.left_out))
        return tuple(kind for kind, there in found if there) or (OutcomeKind.CLEAN,)

    def __str__(self) -> str:
        """In words: ``clean``, ``with failures: 3``, ``incomplete: 12 refused by budget``, or the last two together."""
        parts = [f"with failures: {self.failures:,}"] if self.failures else []
        if self.left_out:
            told = [
                f"{count:,} cancelled" if reason == CANCELLED else f"{count:,} refused by {reason}"
                for reason, count in sorted(self.left_out.items(), key=lambda item: (-item[1], item[0]))
            ]
            parts.append(f"incomplete: {', '.join(told)}")
        return "; ".join(parts) or OutcomeKind.CLEAN.value


def together(outcomes: list[LineageOutcome]) -> LineageOutcome:
    """The outcome of several lineages as one."""
    left_out: dict[str, int] = {}
    for outcome in outcomes:
        for reason, count in outcome.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    return LineageOutcome(sum(outcome.failures for outcome in outcomes), left_out)
