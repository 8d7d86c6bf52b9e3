"""What is known of a kind and key, as methods of a store; :mod:`ramet.store.base_explaining` has the promises."""

from __future__ import annotations

from functools import partial

from ramet.store.base_explaining import Known
from ramet.store.facade.runs import Verbs
from ramet.store.reads import key as explaining


class ExplainingVerbs(Verbs):
    """See :class:`ramet.store.base_explaining.ExplainingStore`."""

    async def known(self, kind: str, key: str, tracking_id: str | None = None, *, limit: int = 100) -> Known:
        return await self._read(partial(explaining.known, kind=kind, key=key, tracking_id=tracking_id, limit=limit))
