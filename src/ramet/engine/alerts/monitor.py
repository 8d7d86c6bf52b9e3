"""The monitor: looks for suspicious patterns every few minutes, and sends the notices of its alerts.

It is a part of the maintenance loop and safe in every worker at once: the first to come does the look, the others see
that it is done. It changes no task; it only writes alerts and notices (DESIGN §2, alert).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from ramet.engine.alerts.channels import Channel, Channels, NotDelivered, configured
from ramet.engine.base.clock import Clock
from ramet.engine.base.retrying import outage_log_level
from ramet.engine.settings.setting import SETTINGS, SWEEP_SECONDS
from ramet.model.alerts.notifications import CLAIM_SECONDS, LOG, AlertNotice, NoticeRules
from ramet.model.alerts.rules import MonitorLimits
from ramet.store.answers import MonitorStepResult
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.store import Store

ASK_SECONDS = 60.0
"""Least seconds between two questions of a worker whether a look is due; the database has the time of the last."""


def monitor_limits(settings: Mapping[str, Any]) -> MonitorLimits:
    """Return the limits from the stored settings ``monitor.<name>``; one that is missing or not a number has its
    default.
    """
    given = {}
    for name, default in MonitorLimits()._asdict().items():
        value = settings.get(f"monitor.{name}")
        if isinstance(value, (int, float)) and value >= 0:
            given[name] = type(default)(value)
    return MonitorLimits(**given)


def notice_rules(settings: Mapping[str, Any]) -> NoticeRules:
    """Return the rules from the stored settings ``alerts.<name>``; one that is missing or wrong has its default."""
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
        looked = MonitorStepResult(ran=False, more=True)
        while looked.more:
            looked = await self._store.look(limits, rules=rules)
            await self._clock.sleep(0)


log = own_logger("ramet.monitor")

SEND_SECONDS = CLAIM_SECONDS / 4
"""One attempt takes no longer, so that a notice is not taken by another while it is sent."""
TOGETHER_MAX = 10
"""Notices that a worker sends at once."""
SEEN_SECONDS = 3_600.0
"""Between two times that a worker says which channels it has."""


async def send_loop(
    store: Store,
    clock: Clock,
    seconds: Callable[[], float] = lambda: SWEEP_SECONDS,
    channels: Callable[[], Channels] = configured,
) -> None:
    """Send what is to be sent, every so often. Runs until cancelled."""
    have = channels()
    for name, why in have.wrong.items():
        log.warning("alerts are not sent through %s: %s", name, why)
    seen_at = float("-inf")
    while True:
        sent = 0
        try:
            if clock.monotonic() - seen_at >= SEEN_SECONDS:
                await register_channels(store, have.by_name)
                seen_at = clock.monotonic()
            sent = await send_due(store, have.by_name)
        except StoreError as error:
            log.log(outage_log_level(error), "alerts could not be sent: %s", error)
        await clock.sleep(0 if sent == TOGETHER_MAX else seconds())


async def register_channels(store: Store, channels: Mapping[str, Channel]) -> None:
    """Say which channels there are: notices are written for them from then on. Everybody has the log."""
    others = {name: channel.target for name, channel in channels.items() if name != LOG}
    if others:
        await store.see_alert_channels(others)


async def send_due(store: Store, channels: Mapping[str, Channel]) -> int:
    """Send what is to be sent now, up to :data:`TOGETHER_MAX` notices; returns how many were tried.

    Raises:
        StoreError: the database cannot be used. A notice that was sent and not recorded is sent again, by any worker.
    """
    if not await store.notices_due([*channels]):
        return 0
    rules = notice_rules(await store.settings())
    notices = await store.take_notices([*channels], rules, limit=TOGETHER_MAX)
    if notices:
        await asyncio.gather(*(send_notice(store, channels[notice.channel], notice, rules) for notice in notices))
    return len(notices)


async def send_notice(store: Store, channel: Channel, notice: AlertNotice, rules: NoticeRules) -> str | None:
    """Send one notice and write what came of it; returns why it was not delivered, None when it was."""
    error, again = None, True
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await channel.send(notice)
    except NotDelivered as failed:
        error, again = " ".join(str(failed).split()), failed.again
    except TimeoutError:
        error = f"no answer within {SEND_SECONDS:g} s"
    except Exception as failed:
        # Whatever another package's channel raises: its words may hold a secret, so only its name is kept.
        error = f"the channel failed: {type(failed).__name__}"
    if notice.event == "test":
        again = False
    if error is not None:
        log.info("notice %d of alert %s through %s, attempt %d: %s", notice.id, notice.alert_id, notice.channel,
                 notice.attempts, error)  # fmt: skip
    await store.settle_notice(notice, rules, error=error, again=again)
    return error


async def try_channels(store: Store, channels: Mapping[str, Channel], by: str) -> dict[str, str | None]:
    """Send a test through each of these channels; by name, why it was not delivered, None where it was."""
    errors: dict[str, str | None] = {}
    for name, channel in channels.items():
        errors[name] = await send_notice(store, channel, await store.try_channel(name, by=by), NoticeRules())
    return errors
