"""Soft ceilings stop reserving; a hard one that is passed ends what is in flight under it, once and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.alerts.rules import MonitorLimits
from ramet.model.lineage.guard import BlockReason
from ramet.model.money import ActualCost, Charge, ReserveRequest, ReserveResult
from ramet.model.reasons import block_words
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.errors import StoreError
from tests.support.world import LEASE_SECONDS, World, checkpoint

DAY_SECONDS = 86_400.0


async def reserve(world: World, claimed: ClaimedTask, amount: int, name: str) -> ReserveResult:
    standing = claimed.standing
    [answer] = await world.store.reserve([ReserveRequest(name, standing.seq, standing.fence, amount)])
    return answer


async def book(world: World, name: str, amount: int) -> None:
    [booked] = await world.store.settle_reserved([ActualCost(name, amount)])
    assert booked.actual == amount


async def put(world: World, **settings: int) -> None:
    for name, value in settings.items():
        await world.store.put_setting(f"cost.{name}", value, "int", "")


async def sums(world: World, tracking_id: str = "line") -> tuple[int, int, int]:
    row = await world.store.lineage(tracking_id)
    assert row is not None
    return row.spent, row.reserved, row.under_reserved


async def calling(world: World, *keys: str, tracking_id: str = "line", **limits: Any) -> list[ClaimedTask]:
    """A lineage of tasks that are all claimed, each with a reservation of 10 named after its key."""
    await world.submit(*map(world.task, keys), tracking_id=tracking_id, **limits)
    claims = sorted(await world.claim(len(keys)), key=lambda claimed: claimed.key)
    for claimed in claims:
        assert (await reserve(world, claimed, 10, claimed.key)).refused is None
    return claims


async def told(world: World, claimed: ClaimedTask) -> tuple[str, str | None]:
    task = await world.get(claimed.id)
    return task.state.value, task.reason


# --- soft


async def test_nothing_is_reserved_above_the_soft_ceiling_of_a_lineage(world: World) -> None:
    [claimed] = await calling(world, "a", soft_cost=60, max_cost=100)
    assert (await reserve(world, claimed, 50, "to the last")).refused is None
    refused = await reserve(world, claimed, 1, "one more")
    assert (refused.refused, refused.retry_seconds) == ("cost", 10.0)
    assert "the soft ceiling of the lineage is $0.00000006" in block_words("reserve", refused.facts)
    await book(world, "a", 90)
    assert await sums(world) == (90, 50, 80), "what was spent is booked above it"
    assert (await reserve(world, claimed, 1, "for good")).retry_seconds is None
    await world.sweep()
    assert await world.state(claimed.id) == "processing", "only the hard ceiling ends what is in flight"


@pytest.mark.parametrize("name", ["day", "global"])
async def test_the_soft_ceilings_of_the_day_and_of_the_database_bound_all(world: World, name: str) -> None:
    await put(world, **{f"{name}_soft": 25, f"{name}_max": 100})
    [a] = await calling(world, "a", tracking_id="one")
    [b] = await calling(world, "b", tracking_id="two")
    assert f"the soft ceiling of the {name}" in block_words("reserve", (await reserve(world, b, 6, "more")).facts)
    assert (await reserve(world, a, 5, "the rest")).refused is None
    costs = await world.store.costs()
    ceiling = costs.day if name == "day" else costs.total
    assert (ceiling.soft, ceiling.most, ceiling.reserved) == (25, 100, 25)


async def test_a_hard_ceiling_below_the_soft_one_holds(world: World) -> None:
    await put(world, day_soft=100, day_max=10)
    [claimed] = await calling(world, "a")
    refused = await reserve(world, claimed, 1, "more")
    assert block_words("reserve", refused.facts).startswith("the ceiling of the day")


async def test_a_soft_ceiling_alone_bounds_reservations_and_ends_nothing(world: World) -> None:
    [claimed] = await calling(world, "a", soft_cost=10)
    assert (await reserve(world, claimed, 1, "more")).refused == "cost"
    await book(world, "a", 1_000)
    await world.sweep()
    assert await world.state(claimed.id) == "processing"


async def test_a_lineage_at_its_soft_ceiling_spawns_nothing_more(world: World) -> None:
    await world.submit(soft_cost=60, max_cost=100)
    claimed = await world.claim_one()
    await world.settle(claimed, checkpoint(claimed), charge=Charge("paid", 60))
    assert await world.spawn(claimed, world.task("child")) == [BlockReason.COST.value]


async def test_work_goes_on_once_both_ceilings_were_raised(world: World) -> None:
    [claimed] = await calling(world, "a", soft_cost=10, max_cost=20)
    for limits in ({"soft_cost": 21}, {"soft_cost": 31, "max_cost": 30}):
        with pytest.raises(StoreError, match=r"soft_cost cannot be .*: give at most max_cost"):
            await world.store.raise_limits("line", limits, by="ann")
    await world.store.raise_limits("line", {"max_cost": 30}, by="ann")
    assert (await reserve(world, claimed, 10, "b")).refused == "cost", "the soft one holds"
    after = await world.store.raise_limits("line", {"soft_cost": 30}, by="ann")
    assert (after.soft_cost, after.max_cost) == (30, 30)
    assert (await reserve(world, claimed, 20, "b")).refused is None


# --- hard


async def test_whoever_has_a_call_in_flight_ends_when_the_lineages_hard_ceiling_is_passed(world: World) -> None:
    ours = await calling(world, "a", "b", "c", "d", max_cost=40)
    theirs = await calling(world, "e", tracking_id="beside", max_cost=40)
    await book(world, "a", 40)
    await world.sweep()
    assert await world.states(*[claimed.id for claimed in ours]) == ["processing"] * 4, "reached is not passed"
    await book(world, "b", 1)
    await world.sweep()
    assert await world.states(ours[0].id, ours[1].id, theirs[0].id) == ["processing"] * 3, "nothing in flight"
    reason = "cost: the ceiling of the lineage is $0.00000004, $0.000000041 spent"
    assert [await told(world, claimed) for claimed in ours[2:]] == [("failed", reason)] * 2
    assert await sums(world) == (61, 0, 30), "what they reserved counts as spent"
    assert (await world.settle(ours[2])).refused == "stale"
    history = await world.store.history(ours[2].id)
    assert history is not None
    [record] = history.transitions
    assert (record.name, record.to_state, record.by, record.reason) == ("over_ceiling", "failed", "engine", reason)
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert lineage.state == "running"
    assert (await reserve(world, ours[0], 1, "never")).retry_seconds is None
    await world.settle(ours[0])
    await world.settle(ours[1])
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.success, lineage.failed) == ("finished", 2, 2)


async def test_a_charge_passes_a_hard_ceiling_too(world: World) -> None:
    a, b = await calling(world, "a", "b", max_cost=40)
    await world.settle(a, checkpoint(a), charge=Charge("paid", 41))
    await world.sweep()
    assert await world.states(a.id, b.id) == ["failed", "failed"]


async def test_one_that_waits_for_its_provider_ends_after_its_last_handler(world: World) -> None:
    await world.submit(world.task("a", on_end=1), world.task("b"), max_cost=40)
    a, b = sorted(await world.claim(2), key=lambda claimed: claimed.key)
    for claimed in (a, b):
        await reserve(world, claimed, 20, claimed.key)
    await book(world, "b", 41)
    for _ in range(3):
        await world.sweep()
    assert await world.state(a.id) == "pending"
    assert await sums(world) == (41, 20, 21), "the handler may still learn what the call cost"
    last = await world.claim_one()
    assert (last.id, last.standing.ending) == (a.id, "failed")
    await book(world, "a", 3)
    await world.settle(last)
    assert (await told(world, a))[0] == "failed"
    assert await sums(world) == (44, 0, 21)
    history = await world.store.history(a.id)
    assert history is not None
    assert [record.name for record in history.transitions] == ["over_ceiling"]


@pytest.mark.parametrize(("name", "hit"), [("day", ["a", "b"]), ("global", ["a", "b", "old"])])
async def test_the_hard_ceilings_of_the_day_and_of_the_database_end_what_is_booked_under_them(
    world: World, name: str, hit: list[str]
) -> None:
    world.clock.advance(DAY_SECONDS - world.clock.now % DAY_SECONDS - 1.0)
    [old] = await calling(world, "old", tracking_id="yesterday")
    world.clock.advance(2.0)
    if name == "day":
        await put(world, day_max=40)
    [a] = await calling(world, "a", tracking_id="one")
    [b, c] = await calling(world, "b", "c", tracking_id="two")
    await book(world, "c", 41)
    if name == "global":
        await put(world, global_max=40)  # A person who lowers a ceiling passes it, too.
    await world.sweep()
    ended = [claimed.key for claimed in (a, b, c, old) if (await told(world, claimed))[0] == "failed"]
    assert ended == hit
    assert f"the ceiling of the {name} is" in str((await told(world, a))[1])


async def test_a_ceiling_that_was_raised_again_ends_nobody(world: World) -> None:
    a, b = await calling(world, "a", "b", max_cost=40)
    await book(world, "a", 41)
    await world.store.raise_limits("line", {"max_cost": 60}, by="ann")
    await world.sweep()
    assert await world.states(a.id, b.id) == ["processing", "processing"]
    assert (await reserve(world, a, 9, "more")).refused is None


async def test_a_snoozed_task_ends_and_a_stale_one_is_not_taken_twice(world: World) -> None:
    a, b, _ = await calling(world, "a", "b", "c", max_cost=40)
    await world.settle(a, snoozed(a))
    world.clock.advance(LEASE_SECONDS)
    await book(world, "c", 41)
    await world.sweep()
    states = await world.states(a.id, b.id)
    assert states == ["failed", "failed"]
    spent = await sums(world)
    await world.sweep()
    assert await sums(world) == spent == (61, 0, 31)


def snoozed(claimed: ClaimedTask) -> ev.Snooze:
    return ev.Snooze(claimed.standing.fence, 10_000.0)


# --- told


async def test_a_passed_ceiling_is_an_alert_while_the_lineage_lives(world: World) -> None:
    limits = MonitorLimits(budget_share=2.0)
    a, _ = await calling(world, "a", "b", max_cost=40)
    await put(world, global_max=50)
    await book(world, "a", 45)
    assert [alert.pattern for alert in (await world.store.look(limits, force=True)).fired] == ["over_ceiling"]
    await put(world, global_max=44)
    assert [alert.tracking_id for alert in (await world.store.look(limits, force=True)).fired] == [None]
    found = {alert.tracking_id: alert for alert in await world.store.alerts()}
    assert found["line"].severity == "critical"
    assert "the lineage has spent $0.000000045, over its ceiling of $0.00000004" in found["line"].subject
    await world.sweep()
    await world.run_all()
    await world.settle(a)
    await put(world, global_max=1_000)
    world.clock.advance(limits.seconds)
    resolved = (await world.store.look(limits, force=True)).resolved
    assert sorted(str(alert.tracking_id) for alert in resolved) == ["None", "line"]
