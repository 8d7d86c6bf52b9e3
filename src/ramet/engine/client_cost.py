"""The part of the client for money. Amounts are whole nano-dollars."""

from __future__ import annotations

from ramet.model.cost import Costs
from ramet.store.base import Store


class CostClient:
    """See :class:`ramet.engine.client.Client`."""

    store: Store

    async def costs(self, tracking_id: str | None = None, *, limit: int = 100) -> Costs:
        """What was spent and reserved: today, in all, by lineage; of one lineage also by kind and task."""
        return await self.store.costs(tracking_id, limit=limit)
