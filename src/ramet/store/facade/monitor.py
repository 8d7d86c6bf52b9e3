"""The monitor, as methods of a store; :mod:`ramet.store.base_monitor` has the promises."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from ramet.model.alerts.notifications import AlertChannel, AlertNotice, NoticeRules
from ramet.model.alerts.rules import Alert, MonitorLimits
from ramet.store.base_monitor import Looked
from ramet.store.facade.runs import Verbs
from ramet.store.maintenance import monitor, notification_outbox


class MonitorVerbs(Verbs):
    """See :class:`ramet.store.base_monitor.MonitorStore`."""

    async def look(self, limits: MonitorLimits, *, force: bool = False, rules: NoticeRules | None = None) -> Looked:
        # The long part reads without the write lock; judging what it found is short.
        seen = await self._read(partial(monitor.gather, limits=limits, force=force))
        if seen is None:
            return Looked(ran=False)
        return await self._write(partial(monitor.judge, seen=seen, limits=limits, rules=rules or NoticeRules()))

    async def alerts(
        self,
        *,
        firing: bool = True,
        resolved: bool = False,
        tracking_id: str | None = None,
        limit: int = 100,
        before: int | None = None,
    ) -> list[Alert]:
        return await self._read(
            partial(
                monitor.alerts,
                firing=firing,
                over=resolved,
                tracking_id=tracking_id,
                limit=limit,
                before=before,
            )
        )

    async def alert(self, alert_id: int) -> Alert | None:
        return await self._read(partial(monitor.alert, alert_id=alert_id))

    async def acknowledge_alert(self, alert_id: int, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(monitor.acknowledge, alert_id=alert_id, by=by, reason=reason))

    async def put_alert_thresholds(self, thresholds: Mapping[str, int | None]) -> None:
        await self._write(partial(monitor.put_thresholds, thresholds=thresholds))

    async def alert_notices(
        self, alert_id: int | None = None, *, waiting: bool = False, limit: int = 100
    ) -> list[AlertNotice]:
        return await self._read(partial(notification_outbox.notices, alert_id=alert_id, waiting=waiting, limit=limit))

    async def alert_channels(self) -> list[AlertChannel]:
        return await self._read(notification_outbox.channels)

    async def see_alert_channels(self, targets: Mapping[str, str]) -> None:
        await self._write(partial(notification_outbox.see_channels, targets=targets))

    async def notices_due(self, names: Collection[str]) -> bool:
        return await self._read(partial(notification_outbox.notices_due, names=names))

    async def take_notices(self, names: Collection[str], rules: NoticeRules, *, limit: int = 10) -> list[AlertNotice]:
        return await self._write(partial(notification_outbox.take_notices, names=names, rules=rules, limit=limit))

    async def try_channel(self, channel: str, *, by: str) -> AlertNotice:
        return await self._write(partial(notification_outbox.try_channel, channel=channel, by=by))

    async def settle_notice(
        self, notice: AlertNotice, rules: NoticeRules, *, error: str | None = None, again: bool = True
    ) -> None:
        await self._write(
            partial(notification_outbox.settle_notice, notice=notice, error=error, again=again, rules=rules)
        )
