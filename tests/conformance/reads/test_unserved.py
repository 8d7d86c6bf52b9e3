"""Which live kinds nobody serves, and which resources come first: reads that stop at a bound."""

from __future__ import annotations

import pytest

from ramet.model.flow.queues import Unserved, WorkerSeen
from ramet.model.paths import PathRule
from ramet.store.reads import flow, live
from tests.support.world import World


async def test_unserved_tasks_are_counted_whatever_they_wait_for(world: World) -> None:
    store = world.store
    await world.submit(world.task(), world.task(queue="aside"), tracking_id="paused")
    await store.pause_lineage("paused", by="test")
    assert await world.claim(5) == []
    for rule in (PathRule(("doc",)),) * 2:
        await world.submit(world.task(path=rule), tracking_id=f"in line {len(await store.lineages())}")
    await world.submit(world.task(delay_seconds=9.0), tracking_id="late")
    await world.submit(world.task(delay_seconds=9.0, path=PathRule(("doc",))), tracking_id="late in line")
    await world.submit(world.task(resource="site"), tracking_id="site")
    await world.submit(world.task(kind="image"), world.task(queue="other"), tracking_id="free")
    assert await store.unserved() == [
        Unserved("aside", "page", 1), Unserved("default", "image", 1), Unserved("default", "page", 6),
        Unserved("other", "page", 1),
    ]  # fmt: skip
    assert len(await world.claim(1, kinds=("image",))) == 1
    assert Unserved("default", "image", 1) in await store.unserved()
    seen = WorkerSeen("w", "host", 1, ("page",), ("default", "other"), 1, world.clock.now, world.clock.now)
    await store.see_worker(seen)
    assert await store.unserved() == [Unserved("aside", "page", 1), Unserved("default", "image", 1)]


async def test_counting_what_nobody_serves_stops_at_bounds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "HELD_BACK_LOOKS_MAX", 2)
    monkeypatch.setattr(live.counted, "__defaults__", ((), 3))
    await world.submit(*(world.task() for _ in range(4)), tracking_id="many")
    await world.submit(*(world.task(kind="image", delay_seconds=9.0) for _ in range(2)), tracking_id="two")
    assert await world.store.unserved() == [Unserved("default", "image", 2), Unserved("default", "page", 3, more=True)]
    await world.submit(world.task(kind="loose", delay_seconds=3.0), tracking_id="one")
    assert [(item.kind, item.more) for item in await world.store.unserved()] == [
        ("image", True), ("loose", True), ("page", True)
    ]  # fmt: skip


async def test_open_breakers_come_first_then_resources_for_which_tasks_wait(world: World) -> None:
    store = world.store
    for name in ("a", "b", "z"):
        await store.open_breaker(name, by="test")
    for name in ("a", "b"):
        await store.close_breaker(name, by="test")
    await world.submit(*(world.task(resource=name) for name in ("m", "y")))
    assert [one.name for one in await store.resources(limit=1)] == ["z"]
    assert (await store.resources(limit=3))[0].name == "z"
    assert {one.name for one in await store.resources(limit=9)} >= {"a", "b", "m", "y", "z"}
