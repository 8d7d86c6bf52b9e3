"""Flow control, as methods of a store; :mod:`ramet.store.base_flow` has the promises."""

from __future__ import annotations

from functools import partial

from ramet.model.pausing import Queue
from ramet.store import pausing
from ramet.store.verbs import Verbs


class FlowVerbs(Verbs):
    """See :class:`ramet.store.base_flow.FlowStore`."""

    async def pause_lineage(self, tracking_id: str, *, by: str, reason: str | None = None) -> bool:
        return await self._write(partial(pausing.pause_lineage, tracking_id=tracking_id, by=by, reason=reason))

    async def resume_lineage(self, tracking_id: str, *, by: str, reason: str | None = None) -> bool:
        return await self._write(partial(pausing.resume_lineage, tracking_id=tracking_id, by=by, reason=reason))

    async def pause_queue(self, name: str, *, by: str, reason: str | None = None) -> bool:
        return await self._write(partial(pausing.pause_queue, name=name, by=by, reason=reason))

    async def resume_queue(self, name: str, *, by: str, reason: str | None = None) -> bool:
        return await self._write(partial(pausing.resume_queue, name=name, by=by, reason=reason))

    async def queues(self) -> list[Queue]:
        return await self._read(pausing.queues)
