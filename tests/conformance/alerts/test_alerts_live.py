"""What the monitor finds in the present: breakers, budgets, deadlines, kinds that nobody serves, waits for nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.alerts.rules import Alert, MonitorLimits
from ramet.model.flow.resources import ResourcePolicy, WorkerStatus
from ramet.model.money import DAY_SETTING, GLOBAL_SETTING, ActualCost, ReserveRequest
from ramet.store.rows.paths import REPAIRS_COUNTER
from tests.support.world import World

LIMITS = MonitorLimits()


async def look(world: World, limits: MonitorLimits = LIMITS) -> dict[str, Alert]:
    """A whole look, now; what fires, by pattern."""
    while (await world.store.look(limits, force=True)).more:
        pass
    return {alert.pattern: alert for alert in await world.store.alerts()}


async def serve(world: World, *kinds: str) -> None:
    await world.store.see_worker(WorkerStatus("w", "host", 1, kinds, ("default",), 1))


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


async def test_a_budget_that_is_just_what_was_submitted_is_no_alarm_until_something_grows(world: World) -> None:
    await serve(world, "page")
    await world.submit(*(world.task() for _ in range(10)), max_tasks=11)
    assert await look(world) == {}
    await world.spawn(await world.claim_one(), world.task())
    assert (await look(world))["budget"].subject == "100% of the budget is used (tasks): 11 of 11"


async def test_a_budget_stays_nearly_used_however_quiet_it_is_until_somebody_raises_it(world: World) -> None:
    await serve(world, "page")
    await world.submit(*(world.task() for _ in range(7)), max_tasks=10)
    await world.grow(await world.claim_one(), world.task())
    assert set(await look(world)) == {"budget"}
    world.clock.advance(2 * LIMITS.quiet_seconds)
    await serve(world, "page")
    assert set(await look(world)) == {"budget"}
    await world.store.raise_limits("line", {"max_tasks": 11}, by="ada")
    assert await look(world) == {}


async def test_money_that_is_nearly_used_up_is_told_until_what_was_reserved_comes_back(world: World) -> None:
    await serve(world, "page")
    await world.submit(max_cost=100)
    standing = (await world.claim_one()).standing
    await world.store.reserve([ReserveRequest("call", standing.seq, standing.fence, 80)])
    found = await look(world)
    assert (found["budget"].tracking_id, worst(found["budget"])["name"]) == ("line", "cost")
    await world.store.settle_reserved([ActualCost("call", 10)])
    assert await look(world) == {}


@pytest.mark.parametrize(("setting", "name"), [(DAY_SETTING, "day"), (GLOBAL_SETTING, "database")])
async def test_a_ceiling_of_all_that_is_nearly_used_up_is_told_until_it_is_raised(
    world: World, setting: str, name: str
) -> None:
    await serve(world, "page")
    await world.submit()
    standing = (await world.claim_one()).standing
    await world.store.put_setting(setting, 100, "int", "")
    await world.store.reserve([ReserveRequest("call", standing.seq, standing.fence, 80)])
    found = await look(world)
    assert (found["budget"].tracking_id, worst(found["budget"])["name"]) == (None, name)
    await world.store.put_setting(setting, 1_000, "int", "")
    world.clock.advance(LIMITS.seconds)
    await serve(world, "page")
    assert "budget" not in await look(world)


async def test_tasks_whose_settler_is_gone_are_told_until_maintenance_lets_them_go(world: World) -> None:
    await serve(world, "page")
    _, settler = await world.submit(world.task(), world.task("settler"))
    claimed = await world.claim_task(settler)
    [bound] = await world.store.bind(claimed.standing.seq, claimed.standing.fence, ["t1"])
    assert bound.refused is None
    await world.settle(claimed)
    world.clock.advance(LIMITS.grace_seconds - 1.0)
    assert await look(world) == {}, "maintenance still may come"
    world.clock.advance(1.0)
    await serve(world, "page")
    found = await look(world)
    assert (set(found), worst(found["waits_for_nothing"])["name"]) == ({"waits_for_nothing"}, settler)
    assert found["waits_for_nothing"].severity == "critical"
    await world.sweep()
    assert await look(world) == {}


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


async def test_lost_attempts_are_told_that_are_few_of_every_kind(world: World) -> None:
    await serve(world, "page", "image")
    await world.submit(*(world.task(kind=kind) for kind in ("page", "image")))
    await world.claim(2)
    world.clock.advance(301.0)
    await world.sweep()
    await serve(world, "page", "image")
    assert await look(world, LIMITS._replace(lost_max=2)) == {}
    found = await look(world, LIMITS._replace(lost_max=1))
    assert found["expired_leases"].subject.startswith("2 attempts of all kinds were lost within 3600 s (tolerated: 1)")


async def test_tasks_that_wait_for_a_lineage_that_runs_are_told(world: World) -> None:
    """Nothing makes them; if they are there, nobody would wake them."""
    await serve(world, "page")
    await world.submit()
    await world.store.pause_lineage("line", by="ada")
    assert await world.claim(1) == []
    await world.store.ensure_tables(["UPDATE ramet_lineages SET state = 'running' WHERE tracking_id = 'line'"])
    found = (await look(world))["waits_for_nothing"]
    assert (worst(found)["name"], worst(found)["why"]) == ("line", "tasks wait until this lineage runs, and it does")
    await world.store.ensure_tables(["UPDATE ramet_lineages SET state = 'paused' WHERE tracking_id = 'line'"])
    assert await look(world) == {}


async def test_tasks_that_wait_for_a_resource_that_no_claim_looks_at_are_told(world: World) -> None:
    """Nothing makes them; if they are there, nobody would wake them."""
    await serve(world, "page")
    await world.store.limit_resource(ResourcePolicy("example.org", concurrency=1), by="ada")
    await world.submit(*(world.task(resource="example.org") for _ in range(2)))
    [claimed] = await world.claim(2)
    await world.store.ensure_tables(["UPDATE ramet_resources SET ready_at = NULL WHERE name = 'example.org'"])
    found = (await look(world))["waits_for_nothing"]
    assert worst(found)["name"] == "example.org"
    assert worst(found)["why"] == "tasks wait for this resource, and no claim looks at it"
    await world.settle(claimed)
    assert await look(world) == {}
    [claimed] = await world.claim(2)
    await world.settle(claimed)


async def test_repaired_paths_are_told_each_time_that_there_are_more(world: World) -> None:
    await serve(world, "page")
    told = []
    for repairs in (2, 2, 3):
        add = f"INSERT INTO ramet_counters (name, value) VALUES ('{REPAIRS_COUNTER}', {repairs}) "
        await world.store.ensure_tables([f"{add}ON CONFLICT (name) DO UPDATE SET value = excluded.value"])
        found = await look(world)
        told.append([worst(alert)["weight"] for alert in found.values()])
        world.clock.advance(2 * LIMITS.quiet_seconds)
        await serve(world, "page")
    assert told == [[2], [], [3]]
    await world.store.ensure_tables([f"DELETE FROM ramet_counters WHERE name = '{REPAIRS_COUNTER}'"])


async def test_only_the_ceiling_of_today_is_told_as_passed(world: World) -> None:
    await serve(world, "page")
    await world.submit()
    standing = (await world.claim_one()).standing
    await world.store.put_setting(DAY_SETTING, 100, "int", "")
    await world.store.reserve([ReserveRequest("call", standing.seq, standing.fence, 80)])
    await world.store.settle_reserved([ActualCost("call", 500)])
    found = await look(world)
    assert worst(found["over_ceiling"])["name"] == "day"
    world.clock.advance(2 * 86_400.0)
    await serve(world, "page")
    assert "over_ceiling" not in await look(world)
    await world.sweep()
