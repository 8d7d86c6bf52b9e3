"""The part of the client for money, in whole nano-dollars, and for staged kinds."""

from __future__ import annotations

from ramet.model.money import Costs
from ramet.model.task.binding import StageCount
from ramet.store.store import Store


class CostClient:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store

    async def costs(self, tracking_id: str | None = None, *, limit: int = 100) -> Costs:
        """What was spent and reserved: today, in all, by lineage; of one lineage also by kind and task.

        Kinds and tasks are told of the lineage's latest 20,000 calls; :attr:`~ramet.Costs.more` says when there were
        others. Its sums are exact.
        """
        return await self.store.costs(tracking_id, limit=limit)

    async def bound_counts(self, tracking_id: str) -> dict[str, int]:
        """How many tasks of a lineage are bound, by the id of the task that settles them."""
        return await self.store.bound_counts(tracking_id)

    async def stage_counts(self, kind: str, tracking_id: str | None = None) -> list[StageCount]:
        """How many tasks of a staged kind are at which stage, in which state; in one lineage or in all."""
        return await self.store.stage_counts(kind, tracking_id)
