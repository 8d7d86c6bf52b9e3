"""What the monitor finds in the present: breakers, budgets, deadlines, kinds that nobody serves, waits for nothing."""

from __future__ import annotations

from typing import Any

from ramet.model.alerts import Alert, MonitorLimits
from ramet.model.flow import WorkerSeen
from tests.world import World

LIMITS = MonitorLimits()


async def look(world: World, limits: MonitorLimits = LIMITS) -> dict[str, Alert]:
    """A whole look, now; what fires, by pattern."""
    while (await world.store.look(limits, force=True)).more:
        pass
    return {alert.pattern: alert for alert in await world.store.alerts()}


async def serve(world: World, *kinds: str) -> None:
    await world.store.see_worker(WorkerSeen("w", "host", 1, kinds, ("default",), 1))


def worst(alert: Alert) -> dict[str, Any]:
    first: dict[str, Any] = alert.evidence["worst"][0]
    return first


async def test_kinds_that_no_worker_serves_are_told_until_one_does(world: World) -> None:
    await serve(world, "page")
    await world.submit(world.task(), world.task(kind="image"))
    found = await look(world)
    assert set(found) == {"unserved"}
    assert (worst(found["unserved"])["kind"], worst(found["unserved"])["weight"]) == ("image", 1)
    await serve(world, "page", "image")
    assert await look(world) == {}


async def test_a_breaker_that_is_open_is_told_with_who_opened_it_and_what_waits(world: World) -> None:
    await serve(world, "page")
    await world.submit(world.task(resource="host"), world.task(resource="host"))
    await world.store.open_breaker("host", by="ada", reason="it is down")
    found = await look(world)
    assert set(found) == {"breaker_open"}
    assert found["breaker_open"].subject == "the breaker of resource host was opened by ada (it is down): 2 tasks wait"
    await world.store.close_breaker("host", by="ada")
    assert await look(world) == {}


async def test_tasks_that_are_nearly_used_up_are_told(world: World) -> None:
    await serve(world, "page")
    await world.submit(*(world.task() for _ in range(7)), max_tasks=10)
    assert await look(world) == {}
    await world.spawn(await world.claim_one(), world.task())
    found = await look(world)
    assert set(found) == {"budget"}
    assert found["budget"].tracking_id == "line"
    assert found["budget"].subject == "80% of the budget is used (tasks): 8 of 10"


async def test_a_share_of_a_small_limit_is_no_alarm(world: World) -> None:
    await serve(world, "page")
    await world.submit(*(world.task() for _ in range(5)), max_tasks=5)
    assert await look(world) == {}


async def test_time_that_is_nearly_over_is_told_with_what_is_left(world: World) -> None:
    await serve(world, "page")
    await world.submit(lineage_seconds=1_000.0)
    await world.submit(tracking_id="later", lineage_seconds=100_000.0)
    world.clock.advance(799.0)
    await serve(world, "page")
    assert await look(world) == {}
    world.clock.advance(1.0)
    found = await look(world)
    assert set(found) == {"deadline_near"}
    assert found["deadline_near"].subject == "lineage line has used 80% of its time: 200 s are left"
    await world.run_all()
    assert await look(world) == {}


async def test_many_lost_attempts_of_a_kind_are_told(world: World) -> None:
    await serve(world, "page")
    await world.submit(*(world.task() for _ in range(3)))
    await world.claim(3)
    world.clock.advance(301.0)
    await world.sweep()
    await serve(world, "page")
    assert await look(world, LIMITS._replace(lost_max=3)) == {}
    found = await look(world, LIMITS._replace(lost_max=2))
    assert set(found) == {"expired_leases"}
    assert (worst(found["expired_leases"])["name"], worst(found["expired_leases"])["weight"]) == ("page", 3)
    world.clock.advance(3_601.0)
    await serve(world, "page")
    assert await look(world, LIMITS._replace(lost_max=2)) == {}
