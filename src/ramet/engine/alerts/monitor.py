"""The monitor: looks for suspicious patterns every few minutes and tells what it found (DESIGN §2, alert).

It is a part of the maintenance loop and safe in every worker at once: whoever comes first does the look, the others
see that it is done. It changes no task; it only writes alerts, and what people are to be told of them
(:mod:`ramet.engine.alerts.notifications` tells it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.engine.base.clock import Clock
from ramet.engine.settings.setting import SETTINGS
from ramet.model.alerts.notifications import NoticeRules
from ramet.model.alerts.rules import MonitorLimits
from ramet.store.answers import Looked
from ramet.store.store import Store

ASK_SECONDS = 60.0
"""How often a worker asks whether a look is due, at most; the database knows when the last one was."""


def monitor_limits(settings: Mapping[str, Any]) -> MonitorLimits:
    """The limits from the stored settings ``monitor.<name>``; one that is missing or no number has its default."""
    given = {}
    for name, default in MonitorLimits()._asdict().items():
        value = settings.get(f"monitor.{name}")
        if isinstance(value, (int, float)) and value >= 0:
            given[name] = type(default)(value)
    return MonitorLimits(**given)


def notice_rules(settings: Mapping[str, Any]) -> NoticeRules:
    """The rules from the stored settings ``alerts.<name>``; one that is missing or wrong has its default."""
    given = {}
    for name in NoticeRules._fields:
        setting = SETTINGS[f"alerts.{name}"]
        try:
            given[name] = setting.check(settings.get(setting.name, setting.default))
        except ValueError:
            continue  # `ramet doctor` names it.
    return NoticeRules(**given)


class Monitor:
    """One worker's part in the looks of all."""

    def __init__(self, store: Store, clock: Clock, thresholds: Mapping[str, int | None] | None = None) -> None:
        """Nothing is read before :meth:`look_when_due` is called for the first time a minute later."""
        self._store = store
        self._clock = clock
        self._thresholds = dict(thresholds or {})
        self._ask_at = clock.monotonic() + ASK_SECONDS

    async def declare(self) -> None:
        """Store what kinds declared, so that every worker and the command line judge alike."""
        if self._thresholds:
            await self._store.put_alert_thresholds(self._thresholds)

    async def look_when_due(self) -> None:
        """Look when the last look of any worker is long enough ago; costs nothing in between.

        Raises:
            StoreError: the database cannot be used; the look is tried again later.
        """
        if self._clock.monotonic() < self._ask_at:
            return
        stored = await self._store.settings()
        limits, rules = monitor_limits(stored), notice_rules(stored)
        self._ask_at = self._clock.monotonic() + min(ASK_SECONDS, limits.seconds)
        looked = Looked(ran=False, more=True)
        while looked.more:
            looked = await self._store.look(limits, rules=rules)
            await self._clock.sleep(0)
