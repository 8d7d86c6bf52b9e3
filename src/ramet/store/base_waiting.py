"""The part of the Store protocol for those who wait for others while they have tasks in hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class WaitingStore(Protocol):
    """Whether waiting would never end (DESIGN §7)."""

    async def holds_back(self, in_hand: Sequence[int], task_id: str) -> str | None:
        """How the path of one of these claimed tasks (by number) holds back that task; None when it does not."""
        ...

    async def holds_back_lineage(self, in_hand: Sequence[int], tracking_id: str) -> str | None:
        """How the path of one of these claimed tasks holds back a task of that lineage; None when it does not.

        At most a thousand of its tasks that wait in line are looked at.
        """
        ...
