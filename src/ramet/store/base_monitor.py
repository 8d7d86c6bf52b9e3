"""The part of the Store protocol for the monitor; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from ramet.model.alerts.notifications import AlertChannel, AlertNotice, NoticeRules
from ramet.model.alerts.rules import Alert, MonitorLimits


class Looked(NamedTuple):
    """What one step of the monitor did."""

    ran: bool
    """False when it is not time yet, or another worker took this step."""
    more: bool = False
    """True when the look is not finished: another step follows at once."""
    fired: tuple[Alert, ...] = ()
    """Alerts that began to fire in this step."""
    resolved: tuple[Alert, ...] = ()


class MonitorStore(Protocol):
    """What the monitor asks of a database."""

    async def look(self, limits: MonitorLimits, *, force: bool = False, rules: NoticeRules | None = None) -> Looked:
        """One bounded step of a look for suspicious patterns; records what it finds.

        Only what changed since the last look is read. Safe in any number of workers at once: a step that two take is
        done by one of them.

        Args:
            limits: when to look and what to tolerate.
            force: look although it is not time yet.
            rules: when people are told; what they are to be told is written with what was found.
        """
        ...

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
        ...

    async def alert(self, alert_id: int) -> Alert | None:
        """One alert; None when there is none."""
        ...

    async def acknowledge_alert(self, alert_id: int, *, by: str = "client", reason: str | None = None) -> bool:
        """A person took notice of a firing alert: it is not repeated. Recorded as an act. False when it does not fire,
        or somebody did before."""
        ...

    async def put_alert_thresholds(self, thresholds: Mapping[str, int | None]) -> None:
        """Store kinds' own largest number of demands; None: a kind is never alerted about."""
        ...

    async def alert_notices(
        self, alert_id: int | None = None, *, waiting: bool = False, limit: int = 100
    ) -> list[AlertNotice]:
        """Notices, newest first (at most 1,000): of one alert or any; with ``waiting`` those still to be sent."""
        ...

    async def alert_channels(self) -> list[AlertChannel]:
        """Channels that workers had within the last week, by name."""
        ...

    async def see_alert_channels(self, targets: Mapping[str, str]) -> None:
        """Note which channels a worker has, and where they lead to, without secrets."""
        ...

    async def notices_due(self, names: Collection[str]) -> bool:
        """Whether :meth:`take_notices` may have something to do. Writes nothing."""
        ...

    async def take_notices(self, names: Collection[str], rules: NoticeRules, *, limit: int = 10) -> list[AlertNotice]:
        """Take notices of these channels that are to be sent now, the oldest first, for two minutes.

        Who took them says what came of each by :meth:`settle_notice`; what nobody speaks of is taken again after that,
        with the same ``delivery_id``. Notices of one alert and channel are taken one after the other, in their order.
        """
        ...

    async def try_channel(self, channel: str, *, by: str) -> AlertNotice:
        """Write a notice that only tries a channel, taken already by who asks for it."""
        ...

    async def settle_notice(
        self, notice: AlertNotice, rules: NoticeRules, *, error: str | None = None, again: bool = True
    ) -> None:
        """Write what came of an attempt: delivered without ``error``, else tried again later, or given up."""
        ...
