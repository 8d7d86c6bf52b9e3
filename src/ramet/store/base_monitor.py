"""The part of the Store protocol for the monitor; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ramet.model.alerts import Alert, MonitorLimits


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

    async def look(self, limits: MonitorLimits, *, force: bool = False) -> Looked:
        """One bounded step of a look for suspicious patterns; records what it finds.

        Only what changed since the last look is read. Safe in any number of workers at once: a step that two take is
        done by one of them.

        Args:
            limits: when to look and what to tolerate.
            force: look although it is not time yet.
        """
        ...

    async def alerts(self, *, firing: bool = True, tracking_id: str | None = None, limit: int = 100) -> list[Alert]:
        """Alerts, newest first (at most 1,000): those that fire, with ``firing=False`` all; of one lineage or any."""
        ...

    async def put_alert_thresholds(self, thresholds: Mapping[str, int | None]) -> None:
        """Store kinds' own largest number of demands; None: a kind is never alerted about."""
        ...
