"""The part of the client that shows paths: who holds one, who waits, and for whom."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.paths import HeldBack, PathChain, PathPage, path_of
from ramet.store.store import Store


class PathsClient:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store

    async def paths(
        self,
        prefix: Sequence[str] = (),
        *,
        queue: str | None = None,
        tracking_id: str | None = None,
        limit: int = 50,
    ) -> PathPage:
        """Tasks at or below a path, and those at its prefixes, which conflict with it, in the order of their tickets.

        Without a path: those that hold one, the ones with most tasks behind them first (of a thousand). A delayed task
        takes its place when it is due and is not listed before.

        Args:
            prefix: elements of the path.
            queue: a path belongs to a queue; None is ``default``, and without a path every queue.
            tracking_id: for paths of scope ``lineage``: which lineage; without a path, only tasks of this lineage.
            limit: at most so many tasks (1,000).

        Raises:
            InvalidPath: the path cannot be one.
        """
        return await self.store.paths(path_of(prefix), queue=queue, tracking_id=tracking_id, limit=limit)

    async def blocked_by(self, task_id: str, *, limit: int = 1_000) -> PathChain | None:
        """Where a live task stands in line, what it waits for, and the chain from there to one that waits for no path.

        None for a task without a path, or that ended. A long chain is cut after ``limit`` steps (at most
        1,000); its end is told all the same.
        """
        return await self.store.blocked_by(task_id, limit=limit)

    async def held_back(self, tracking_id: str, *, limit: int = 10_000) -> HeldBack:
        """How many tasks of other lineages cannot begin before one of this lineage ends, directly or in turn.

        Counted up to ``limit`` (at most 10,000).
        """
        return await self.store.held_back(tracking_id, limit=limit)
