"""Bounded reads, as methods of a store; :mod:`ramet.store.base_views` has the promises."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ramet.model.views import Branch, KindState, LineagePage, Present, TaskCheckpoint, TwigPage
from ramet.store import viewing, viewing_trees
from ramet.store.verbs import Verbs


class ViewVerbs(Verbs):
    """See :class:`ramet.store.base_views.ViewStore`."""

    async def present(self) -> Present:
        return await self._read(viewing.present)

    async def lineage_page(
        self, *, states: Iterable[str] = (), limit: int = 50, before: str | None = None
    ) -> LineagePage:
        return await self._read(partial(viewing.lineage_page, states=states, limit=limit, before=before))

    async def branches(self, *, tracking_id: str | None = None, parent_id: str | None = None) -> tuple[Branch, ...]:
        return await self._read(partial(viewing_trees.branches, tracking_id=tracking_id, parent_id=parent_id))

    async def twigs(
        self,
        *,
        tracking_id: str | None = None,
        parent_id: str | None = None,
        kind: str,
        state: str,
        limit: int = 50,
        after: int = 0,
    ) -> TwigPage:
        return await self._read(
            partial(
                viewing_trees.twigs,
                tracking_id=tracking_id,
                parent_id=parent_id,
                kind=kind,
                state=state,
                limit=limit,
                after=after,
            )
        )

    async def checkpoint(self, task_id: str) -> TaskCheckpoint | None:
        return await self._read(partial(viewing_trees.checkpoint, task_id=task_id))

    async def deepest(self, tracking_ids: Iterable[str]) -> dict[str, int]:
        return await self._read(partial(viewing_trees.deepest, tracking_ids=tracking_ids))

    async def lineage_counts(self, tracking_id: str) -> tuple[KindState, ...]:
        return await self._read(partial(viewing_trees.lineage_counts, tracking_id=tracking_id))
