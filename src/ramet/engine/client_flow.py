"""The part of the client for flow control: pauses, limits, breakers, workers."""

from __future__ import annotations

from ramet.model.flow import Queue
from ramet.store.base import Store


class FlowClient:
    """See :class:`ramet.engine.client.Client`."""

    store: Store

    async def pause_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim nothing more of a lineage and stop its clocks, for at most 30 days. False when it is not running."""
        return await self.store.pause_lineage(tracking_id, by=by, reason=reason)

    async def resume_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Let a paused lineage go on; its deadlines move by the time it was paused. False when it is not paused."""
        return await self.store.resume_lineage(tracking_id, by=by, reason=reason)

    async def pause_queue(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim nothing more from a queue and stop the clocks of what began in it. False when it is paused already."""
        return await self.store.pause_queue(name, by=by, reason=reason)

    async def resume_queue(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Claim from a paused queue again. False when it is not paused."""
        return await self.store.resume_queue(name, by=by, reason=reason)

    async def queues(self) -> list[Queue]:
        """Every queue that was ever limited or paused, by name."""
        return await self.store.queues()
