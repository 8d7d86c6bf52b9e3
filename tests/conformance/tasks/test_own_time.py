"""While a task waits for money, a server, a rate or its turn at a resource, its own time stands still (DESIGN §4)."""

from __future__ import annotations

from ramet.model.task import events as ev
from ramet.model.task.binding import ItemSettlement
from ramet.store.answers import ClaimedTask
from tests.support.world import World

OWN, LINEAGE = 100.0, 5_000.0


def later(claimed: ClaimedTask, seconds: float, **more: str) -> ev.Snooze:
    return ev.Snooze(claimed.standing.fence, seconds, "no room", more.get("resource"), uses_time=False)


async def test_a_wait_longer_than_its_time_leaves_it_what_it_had(world: World) -> None:
    await world.submit(world.task("a", task_seconds=OWN, max_attempts=None), lineage_seconds=LINEAGE, max_cost=1)
    claimed = await world.claim_one()
    world.clock.advance(40.0)
    assert (await world.settle(claimed, later(claimed, 1_000.0))).state == "pending"
    world.clock.advance(999.0)
    await world.sweep()
    assert await world.claim(1) == []
    world.clock.advance(1.0)
    again = await world.claim_one()
    assert again.standing.deadline_at == world.clock.now + OWN - 40.0
    assert again.standing.attempts == 1


async def test_its_lineages_deadline_ends_the_wait(world: World) -> None:
    [task_id] = await world.submit(world.task("a", task_seconds=OWN), lineage_seconds=LINEAGE)
    claimed = await world.claim_one()
    await world.settle(claimed, later(claimed, 10 * LINEAGE))
    world.clock.advance(LINEAGE - 1.0)
    await world.sweep()
    assert (await world.get(task_id)).state == "pending"
    world.clock.advance(1.0)
    await world.sweep()
    assert (await world.get(task_id)).reason == "lineage_deadline"


async def test_a_raised_deadline_of_the_lineage_leaves_it_what_it_had(world: World) -> None:
    await world.submit(world.task("a", task_seconds=OWN), lineage_seconds=LINEAGE)
    claimed = await world.claim_one()
    await world.settle(claimed, later(claimed, LINEAGE - 50.0))
    await world.store.raise_limits("line", {}, by="ann", extend_seconds=2 * LINEAGE)
    world.clock.advance(LINEAGE - 50.0)
    assert (await world.claim_one()).standing.deadline_at == world.clock.now + OWN


async def test_a_servers_word_stops_the_time_of_all_that_wait_for_that_resource(world: World) -> None:
    ids = await world.submit(
        *(world.task(key, task_seconds=OWN, resource="api") for key in "ab"), lineage_seconds=LINEAGE
    )
    first, second = await world.claim(2)
    await world.settle(second, ev.Snooze(second.standing.fence, 1.0))
    await world.settle(first, later(first, 1_000.0, resource=""))
    world.clock.advance(600.0)
    await world.sweep()
    assert [(await world.get(task_id)).state for task_id in ids] == ["pending", "pending"]
    world.clock.advance(401.0)
    found = await world.claim(2)
    left = sorted((each.standing.deadline_at or 0.0) - world.clock.now for each in found)
    # The one that named no server's time waited a second on its own account.
    assert left == [OWN - 1.0, OWN]


async def test_a_bound_task_is_let_go_with_its_time(world: World) -> None:
    _, item_id = await world.submit(
        world.task("lane"), world.task("item", task_seconds=OWN, queue="items"), lineage_seconds=LINEAGE
    )
    lane = await world.claim_one()
    [told] = await world.store.bind(lane.standing.seq, lane.standing.fence, [item_id])
    assert told.number is not None
    item = ItemSettlement(item_id, told.number, "pending", delay_seconds=1_000.0, uses_time=False)
    await world.settle(lane, ev.Snooze(lane.standing.fence, 1_000.0), items=[item])
    world.clock.advance(1_000.0)
    await world.sweep()
    lane = await world.claim_one()
    [again] = await world.store.bind(lane.standing.seq, lane.standing.fence, [item_id])
    assert again.refused is None
    task = await world.get(item_id)
    assert task.deadline_at == world.clock.now + OWN
