"""The monitor, as methods of a store; :mod:`ramet.store.base_monitor` has the promises."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ramet.model.alerts import Alert, MonitorLimits
from ramet.store import monitoring
from ramet.store.base_monitor import Looked
from ramet.store.verbs import Verbs


class MonitorVerbs(Verbs):
    """See :class:`ramet.store.base_monitor.MonitorStore`."""

    async def look(self, limits: MonitorLimits, *, force: bool = False) -> Looked:
        # The long part reads without the write lock; judging what it found is short.
        seen = await self._read(partial(monitoring.gather, limits=limits, force=force))
        if seen is None:
            return Looked(ran=False)
        return await self._write(partial(monitoring.judge, seen=seen, limits=limits))

    async def alerts(self, *, firing: bool = True, tracking_id: str | None = None, limit: int = 100) -> list[Alert]:
        return await self._read(partial(monitoring.alerts, firing=firing, tracking_id=tracking_id, limit=limit))

    async def put_alert_thresholds(self, thresholds: Mapping[str, int | None]) -> None:
        await self._write(partial(monitoring.put_thresholds, thresholds=thresholds))
