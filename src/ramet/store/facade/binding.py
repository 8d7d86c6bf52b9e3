"""Tasks that another task settles, as methods of a store; :mod:`ramet.store.base_binding` has the promises."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ramet.model.task.binding import Binding, BoundTask, StageCount
from ramet.store.facade.runs import Verbs
from ramet.store.reads import details
from ramet.store.verbs import fenced


class BindingVerbs(Verbs):
    """See :class:`ramet.store.base_binding.BindingStore`."""

    async def bind(self, seq: int, fence: int, task_ids: Sequence[str]) -> list[Binding]:
        return await self._write_beside(partial(fenced.bind, seq=seq, fence=fence, task_ids=task_ids))

    async def bound(self, settler_id: str, *, limit: int = 1_000, after: str | None = None) -> list[BoundTask]:
        return await self._read(partial(fenced.bound, settler_id=settler_id, limit=limit, after=after))

    async def claimable(self, kind: str, queue: str, *, limit: int = 1_000) -> list[str]:
        return await self._read(partial(fenced.claimable, kind=kind, queue=queue, limit=limit))

    async def bound_counts(self, tracking_id: str) -> dict[str, int]:
        return await self._read(partial(fenced.bound_counts, tracking_id=tracking_id))

    async def stage_counts(self, kind: str, tracking_id: str | None = None) -> list[StageCount]:
        return await self._read(partial(details.stage_counts, kind=kind, tracking_id=tracking_id))
