"""The part of the scenario for the monitor: what it finds, and who is told."""

from __future__ import annotations

from ramet.model.alerts.notifications import NoticeRules
from ramet.model.alerts.rules import MonitorLimits
from tests.support.world import LEASE_SECONDS, World, failing, settlement


async def look(world: World) -> None:
    """A look of the monitor that finds something of everything, and one after which all is resolved."""
    await world.store.put_alert_thresholds({"image": 5, "loose": None})
    [held, storm] = await world.submit(world.task("a"), world.task("b"), tracking_id="odd", retries_per_minute=1)
    for task_id in (held, storm):
        claimed = await world.claim_task(task_id)
        for _ in range(4):
            world.clock.advance(1.0)
            await world.spawn(claimed, world.task(claimed.key), world.task(f"of {claimed.key}"))
        if task_id == storm:
            await world.settle(claimed, failing(claimed, "busy", "transient"))
    again = await world.claim(10, kinds=("page",))
    await world.store.settle([settlement(item, failing(item, "busy", "transient")) for item in again])
    world.clock.advance(5.0)
    await world.sweep()
    held_again = await world.claim(10)
    world.clock.advance(LEASE_SECONDS + 100.0)
    limits = MonitorLimits(depth_max=0)
    while (await world.store.look(limits, force=True)).more:
        pass
    for tracking_id in (None, "odd"):
        for firing in (True, False):
            assert await world.store.alerts(firing=firing, tracking_id=tracking_id)
    await tell(world)
    world.clock.advance(4_000.0)
    await world.store.look(limits)
    assert held_again


async def tell(world: World) -> None:
    """What the monitor found is told, and once it cannot be; a person takes notice."""
    store, rules = world.store, NoticeRules()
    [alert, *_] = await store.alerts()
    assert (await store.alerts(before=alert.id + 1))[0] == await store.alert(alert.id) == alert
    assert await store.acknowledge_alert(alert.id, by="test", reason="seen")
    await store.see_alert_channels({"webhook": "https://hooks.example.org/..."})
    await store.try_channel("webhook", by="test")
    assert await store.notices_due(["log", "webhook"])
    [first, *others] = await store.take_notices(["log", "webhook"], rules)
    await store.settle_notice(first, rules, error="500")
    for notice in others:
        await store.settle_notice(notice, rules)
    assert await store.alert_channels()
    assert [notice.attempts for notice in await store.alert_notices(first.alert_id)] == [1]
    assert first.id in [notice.id for notice in await store.alert_notices(waiting=True)]
