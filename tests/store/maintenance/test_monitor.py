"""Two workers in the same step of a look: what both gathered is judged once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from ramet.model.alerts.notifications import NoticeRules
from ramet.model.alerts.rules import MonitorLimits
from ramet.store.maintenance import monitor
from ramet.store.sqlite.store import SqliteStore
from tests.support.world import SettableClock, World

LIMITS = MonitorLimits()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    clock = SettableClock()
    world = World(SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True), clock)
    yield world
    await world.check()
    await world.store.close()


async def test_of_two_that_gathered_the_same_one_judges(world: World) -> None:
    store = world.store
    assert isinstance(store, SqliteStore)
    await world.submit(world.task("root"))
    root = await world.claim_one()
    for _ in range(3):
        world.clock.advance(1.0)
        await world.spawn(root, world.task("root"))
    await world.spawn(root, *(world.task("x", kind) for kind in ("page", "image", "loose")))
    gather = partial(monitor.gather, limits=LIMITS, force=False)
    first, second = await store._read(gather), await store._read(gather)
    assert first is not None
    assert second == first
    looked = await store._write(partial(monitor.judge, seen=first, limits=LIMITS, rules=NoticeRules()))
    assert (looked.ran, len(looked.fired)) == (True, 2)
    looked = await store._write(partial(monitor.judge, seen=second, limits=LIMITS, rules=NoticeRules()))
    assert (looked.ran, looked.fired) == (False, ())
    assert [alert.count for alert in await store.alerts()] == [1, 1]
    assert await store._read(gather) is None


async def test_stages_that_are_handed_on_are_not_even_judged(tmp_path: Path) -> None:
    clock = SettableClock()
    store = SqliteStore(tmp_path / "stages.db", clock=clock, inline=True)
    world = World(store, clock)
    await world.submit(world.task("x", "loose"))
    for kind in ("image", "page"):
        # A kind that looks for cycles among its own kind only may work on its parent's key.
        await world.grow(await world.claim_one(), world.task("x", kind, cycle_on="kind+key"))
    seen = await store._read(partial(monitor.gather, limits=LIMITS, force=True))
    await store.close()
    assert seen is not None
    assert (seen.keys, seen.whole) == ((), True)


async def test_the_database_itself_refuses_a_second_alert_that_fires(world: World) -> None:
    store = world.store
    assert isinstance(store, SqliteStore)
    again = (
        "INSERT INTO ramet_alerts (id, pattern, tracking_id, subject, evidence, severity, first_at, last_at, state, "
        "count) VALUES (?, 'deep_spawn', 'line', '', '{}', 'warning', 0, 0, ?, 1)"
    )
    store._connection.execute(again, (1, "resolved"))
    store._connection.execute(again, (2, "firing"))
    with pytest.raises(Exception, match="UNIQUE"):
        store._connection.execute(again, (3, "firing"))
