"""What waiting for others would come to, as methods of a store; :mod:`ramet.store.base_waiting` has the promises."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ramet.store.facade.runs import Verbs
from ramet.store.reads import path_reach


class WaitingVerbs(Verbs):
    """See :class:`ramet.store.base_waiting.WaitingStore`."""

    async def holds_back(self, in_hand: Sequence[int], task_id: str) -> str | None:
        return await self._read(partial(path_reach.holds_back, in_hand=in_hand, task_id=task_id))

    async def holds_back_lineage(self, in_hand: Sequence[int], tracking_id: str) -> str | None:
        return await self._read(partial(path_reach.holds_back_lineage, in_hand=in_hand, tracking_id=tracking_id))
