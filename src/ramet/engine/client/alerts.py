"""The part of the client for alerts."""

from __future__ import annotations

from ramet.engine.alerts.channels import configured
from ramet.engine.alerts.monitor import monitor_limits, notice_rules
from ramet.engine.alerts.notifications import try_channels
from ramet.model.alerts.notifications import AlertChannel, AlertNotice
from ramet.model.alerts.rules import Alert
from ramet.store.store import Store


class MonitorClient:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store

    async def alerts(
        self,
        *,
        firing: bool = True,
        resolved: bool = False,
        tracking_id: str | None = None,
        limit: int = 100,
        before: int | None = None,
    ) -> list[Alert]:
        """Alerts, newest first (at most 1,000): those that fire, with ``resolved=True`` those that are over, with
        ``firing=False`` alone all; of one lineage or any; before the alert of this number."""
        return await self.store.alerts(
            firing=firing, resolved=resolved, tracking_id=tracking_id, limit=limit, before=before
        )

    async def alert(self, alert_id: int) -> Alert | None:
        """One alert; None when there is none, or it was pruned."""
        return await self.store.alert(alert_id)

    async def check_alerts(self) -> list[Alert]:
        """Run the monitor now, to the end of what changed since its last look; returns the alerts that fire."""
        stored = await self.store.settings()
        limits, rules = monitor_limits(stored), notice_rules(stored)
        while (await self.store.look(limits, force=True, rules=rules)).more:
            pass
        return await self.store.alerts(limit=1_000)

    async def acknowledge_alert(self, alert_id: int, *, by: str = "client", reason: str | None = None) -> bool:
        """A person took notice of a firing alert: it is sent no more while it fires. Recorded as an act.

        Returns:
            False when it does not fire, or somebody did before.
        """
        return await self.store.acknowledge_alert(alert_id, by=by, reason=reason)

    async def alert_notices(
        self, alert_id: int | None = None, *, waiting: bool = False, limit: int = 100
    ) -> list[AlertNotice]:
        """What people were told or are to be told, newest first (at most 1,000): of one alert or any; with
        ``waiting`` only what is still to be sent."""
        return await self.store.alert_notices(alert_id, waiting=waiting, limit=limit)

    async def alert_channels(self) -> list[AlertChannel]:
        """Ways to people that workers had within the last week, by name; the log is everybody's and not among them."""
        return await self.store.alert_channels()

    async def try_alert_channels(self, channel: str | None = None, *, by: str = "client") -> dict[str, str | None]:
        """Send a test through every channel that is set up in this process, or through one.

        Returns:
            By name of the channel, why it was not delivered; None where it was.

        Raises:
            ValueError: this process has no such channel; one line says what to set.
        """
        here = configured()
        if channel is not None and channel not in here.by_name:
            why = here.wrong.get(channel, f"it is not set up here: there are {', '.join(sorted(here.by_name))}")
            raise ValueError(f"channel {channel!r}: {why}")
        wanted = {name: one for name, one in here.by_name.items() if channel in (None, name)}
        told: dict[str, str | None] = dict(here.wrong) if channel is None else {}
        return told | await try_channels(self.store, wanted, by)
