"""The part of the client for alerts."""

from __future__ import annotations

from ramet.engine.monitor import monitor_limits
from ramet.model.alerts import Alert
from ramet.store.base import Store


class MonitorClient:
    """See :class:`ramet.engine.client.Client`."""

    store: Store

    async def alerts(self, *, firing: bool = True, tracking_id: str | None = None, limit: int = 100) -> list[Alert]:
        """Alerts, newest first (at most 1,000): those that fire, with ``firing=False`` all; of one lineage or any."""
        return await self.store.alerts(firing=firing, tracking_id=tracking_id, limit=limit)

    async def check_alerts(self) -> list[Alert]:
        """Run the monitor now, to the end of what changed since its last look; returns the alerts that fire."""
        limits = monitor_limits(await self.store.settings())
        while (await self.store.look(limits, force=True)).more:
            pass
        return await self.store.alerts(limit=1_000)
