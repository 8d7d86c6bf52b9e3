"""What a lineage came to: told to its ``on_lineage_end`` task (DESIGN §4)."""

from __future__ import annotations

from dataclasses import dataclass

END_SECONDS = 172_800.0
"""How long the task of a lineage's end may wait and run."""


@dataclass(frozen=True, slots=True)
class LineageTotals:
    """A lineage at the moment when it had ended and its last task had too."""

    tracking_id: str
    number: int
    """1 at its first end; a revive that reopens the lineage leads to another one."""
    state: str
    """``finished``, ``failed`` (its deadline) or ``cancelled``."""
    reason: str | None
    started_at: float
    """Unix seconds."""
    ended_at: float
    tasks: int
    success: int
    filtered: int
    skipped: int
    failed: int
    cancelled: int
    blocks: dict[str, int]
    """Refused spawns by reason."""
    spent: int
    """Nano-dollars; what was not settled yet counts in full."""
    under_reserved: int


def end_name(tracking_id: str, number: int) -> str:
    """The tracking id of the lineage in which the task of an end runs."""
    return f"{tracking_id}#end{number}"
