"""Who was in a place of a line while somebody else was: told by the order of lines in the effect log (I7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from tests.chaos.rows import ACCEPTED, Rows
from tests.faults.effects import Effect


class Stay(NamedTuple):
    """A handler's time in a place, by line numbers of the log."""

    task: str
    fence: int
    path: tuple[str, ...]
    entered: int
    left: int

    def conflicts(self, other: Stay) -> bool:
        """Whether one path is a prefix of the other's."""
        shorter = min(len(self.path), len(other.path))
        return self.path[:shorter] == other.path[:shorter]


def overlaps(rows: Rows, told: list[Effect]) -> Iterator[str]:
    """Two handlers on conflicting paths at once, whose ends were both accepted: so both held live claims.

    One whose end was refused had lost its claim before; when, the log cannot tell, and what it did there after that
    nobody can undo (I7).
    """
    now: list[Stay] = []
    for stay in sorted(_stays(rows, told), key=lambda stay: stay.entered):
        now = [other for other in now if other.left > stay.entered]
        for other in now:
            if stay.conflicts(other):
                yield (
                    f"task {stay.task} (fence {stay.fence}) entered {list(stay.path)} while task {other.task} "
                    f"(fence {other.fence}) was in {list(other.path)}"
                )
        now.append(stay)


def _stays(rows: Rows, told: list[Effect]) -> Iterator[Stay]:
    entered: dict[tuple[str, int], int] = {}
    for at, effect in enumerate(told):
        claim = (effect.task, effect.fence)
        if effect.step == "entered":
            entered[claim] = at
        elif effect.step == "left" and claim in entered and rows.outcome_of(*claim) in ACCEPTED:
            yield Stay(*claim, tuple(json.loads(effect.what)), entered[claim], at)
