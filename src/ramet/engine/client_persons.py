"""The part of the client for what people do beyond single tasks, and the record of it."""

from __future__ import annotations

from ramet.model.acts import Act
from ramet.store.base import Store


class PersonsClient:
    """See :class:`ramet.engine.client.Client`."""

    store: Store

    async def acts(self, tracking_id: str | None = None, *, limit: int = 100, before: int | None = None) -> list[Act]:
        """What people did to one lineage, or to anything; newest first, at most 1,000, before an act's number."""
        return await self.store.acts(tracking_id, limit=limit, before=before)
