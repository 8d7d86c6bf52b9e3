"""Looking at paths, as methods of a store; :mod:`ramet.store.base_paths` has the promises."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ramet.model.paths import HeldBack, PathChain, PathPage
from ramet.store.facade.runs import Verbs
from ramet.store.reads import path_reach
from ramet.store.reads import paths as path_queries


class PathVerbs(Verbs):
    """See :class:`ramet.store.base_paths.PathStore`."""

    async def paths(
        self, prefix: Sequence[str] = (), *, queue: str | None = None, tracking_id: str | None = None, limit: int = 50
    ) -> PathPage:
        return await self._read(
            partial(path_queries.paths, prefix=prefix, queue=queue, tracking_id=tracking_id, limit=limit)
        )

    async def blocked_by(self, task_id: str, *, limit: int = 1_000) -> PathChain | None:
        return await self._read(partial(path_queries.blocked_by, task_id=task_id, limit=limit))

    async def held_back(self, tracking_id: str, *, limit: int = 10_000) -> HeldBack:
        return await self._read(partial(path_reach.held_back, tracking_id=tracking_id, limit=limit))
