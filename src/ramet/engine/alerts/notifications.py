"""The loop that tells people of alerts: it takes notices from the outbox, sends them, and writes what came of it.

Every worker runs it, at once and safely. It is a loop of its own, so that a receiver that hangs holds nothing up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from ramet.engine.alerts.channels import Channel, Channels, NotDelivered, configured
from ramet.engine.alerts.monitor import notice_rules
from ramet.engine.base.clock import Clock
from ramet.engine.base.retrying import loudness
from ramet.engine.settings.setting import SWEEP_SECONDS
from ramet.model.alerts.notifications import CLAIM_SECONDS, LOG, AlertNotice, NoticeRules
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.store import Store

log = own_logger("ramet.monitor")

SEND_SECONDS = CLAIM_SECONDS / 4
"""One attempt takes no longer, so that a notice is not taken by another while it is sent."""
TOGETHER_MAX = 10
"""Notices that a worker sends at once."""
SEEN_SECONDS = 3_600.0
"""Between two times that a worker says which channels it has."""


async def keep_telling(
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
                await see(store, have.by_name)
                seen_at = clock.monotonic()
            sent = await tell_once(store, have.by_name)
        except StoreError as error:
            log.log(loudness(error), "alerts could not be sent: %s", error)
        await clock.sleep(0 if sent == TOGETHER_MAX else seconds())


async def see(store: Store, channels: Mapping[str, Channel]) -> None:
    """Say which channels there are: notices are written for them from then on. Everybody has the log."""
    others = {name: channel.target for name, channel in channels.items() if name != LOG}
    if others:
        await store.see_alert_channels(others)


async def tell_once(store: Store, channels: Mapping[str, Channel]) -> int:
    """Send what is to be sent now, up to :data:`TOGETHER_MAX` notices; returns how many were tried.

    Raises:
        StoreError: the database cannot be used. What was sent and not recorded is sent again, by any worker.
    """
    if not await store.notices_due([*channels]):
        return 0
    rules = notice_rules(await store.settings())
    notices = await store.take_notices([*channels], rules, limit=TOGETHER_MAX)
    if notices:
        await asyncio.gather(*(tell(store, channels[notice.channel], notice, rules) for notice in notices))
    return len(notices)


async def tell(store: Store, channel: Channel, notice: AlertNotice, rules: NoticeRules) -> str | None:
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
    told: dict[str, str | None] = {}
    for name, channel in channels.items():
        told[name] = await tell(store, channel, await store.try_channel(name, by=by), NoticeRules())
    return told
