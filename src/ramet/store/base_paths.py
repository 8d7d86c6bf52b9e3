"""The part of the Store protocol that shows paths; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ramet.model.paths import HeldBack, PathChain, PathPage


class PathStore(Protocol):
    """Who holds a path, who waits, and for whom. Every answer reads a bounded number of rows, however many wait."""

    async def paths(
        self, prefix: Sequence[str] = (), *, queue: str | None = None, tracking_id: str | None = None, limit: int = 50
    ) -> PathPage:
        """Tasks at or below a path, and those at its proper prefixes, which conflict with it, in the order of tickets.

        Without a prefix: holders, those with most tasks behind them first (of the first thousand). A delayed task has
        no place in line yet and is not listed.

        Args:
            prefix: elements of the path.
            queue: paths belong to a queue; None is ``default``, without a prefix any queue.
            tracking_id: look at paths of scope ``lineage`` in this lineage; without a prefix, only at its tasks.
            limit: at most so many (1,000).
        """
        ...

    async def blocked_by(self, task_id: str, *, limit: int = 1_000) -> PathChain | None:
        """Where a live task stands in line, what it waits for, and the chain up to the one that waits for no path.

        At most ``limit`` steps (1,000). None when it has no path, or does not exist.
        """
        ...

    async def held_back(self, tracking_id: str, *, limit: int = 10_000) -> HeldBack:
        """How many tasks of other lineages wait for tickets of this one, directly or in turn; at most ``limit``."""
        ...
