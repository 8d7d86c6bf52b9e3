"""Leases: heartbeats keep a claim, a lease that ran out gives the task back, and too many losses are poison."""

from __future__ import annotations

import pytest

from ramet.model.task import events as ev
from tests.support.world import LEASE_SECONDS, World


async def test_a_heartbeat_extends_the_leases_of_all_claims_in_hand(world: World) -> None:
    ids = await world.submit(*(world.task() for _ in range(3)))
    held = [(item.standing.seq, item.standing.fence) for item in await world.claim(3)]
    for _ in range(5):
        world.clock.advance(LEASE_SECONDS - 1.0)
        assert await world.store.heartbeat(held, LEASE_SECONDS) == frozenset()
    await world.sweep()
    assert await world.states(*ids) == ["processing"] * 3
    assert {(await world.get(task_id)).lease_until for task_id in ids} == {world.clock.now + LEASE_SECONDS}


async def test_a_heartbeat_tells_which_claims_are_lost_and_extends_only_the_others(world: World) -> None:
    ids = await world.submit(*(world.task() for _ in range(5)))
    fine, settled, cancelled, reclaimed, _ = await world.claim(5)
    await world.settle(settled)
    await world.store.cancel(cancelled.id, tree=False, by="test")
    world.clock.advance(LEASE_SECONDS - 1.0)
    assert await world.store.heartbeat([(fine.standing.seq, 1)], LEASE_SECONDS) == frozenset()
    world.clock.advance(1.0)
    await world.sweep()
    again = await world.claim_task(reclaimed.id)
    held = [(item.standing.seq, 1) for item in (fine, settled, cancelled, reclaimed)] + [(99_999, 1)]
    lost = await world.store.heartbeat(held, LEASE_SECONDS)
    assert lost == {settled.standing.seq, cancelled.standing.seq, reclaimed.standing.seq, 99_999}
    assert (await world.get(ids[0])).lease_until == world.clock.now + LEASE_SECONDS
    assert (await world.get(ids[3])).lease_until == again.standing.lease_until


async def test_a_heartbeat_with_another_fence_or_after_the_lease_extends_nothing(world: World) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    until = claimed.standing.lease_until
    assert await world.store.heartbeat([(claimed.standing.seq, 2)], LEASE_SECONDS) == {claimed.standing.seq}
    world.clock.advance(LEASE_SECONDS)
    assert await world.store.heartbeat([(claimed.standing.seq, 1)], LEASE_SECONDS) == {claimed.standing.seq}
    assert (await world.get(task_id)).lease_until == until


async def test_no_heartbeats_are_no_work(world: World) -> None:
    assert await world.store.heartbeat([], LEASE_SECONDS) == frozenset()


async def test_claims_of_a_lineage_that_ended_are_told_as_lost(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    await world.store.cancel_lineage("line", by="test")
    assert await world.store.heartbeat([(claimed.standing.seq, 1)], LEASE_SECONDS) == {claimed.standing.seq}
    await world.sweep()


async def test_a_claim_is_reclaimed_when_its_lease_ends_and_not_before(world: World) -> None:
    [task_id] = await world.submit()
    claimed = await world.claim_one()
    world.clock.advance(LEASE_SECONDS - 0.001)
    assert (await world.store.sweep()).reclaimed == 0
    world.clock.advance(0.001)
    assert (await world.store.sweep()).reclaimed == 1
    task = await world.get(task_id)
    assert (task.state, task.attempts, task.losses, task.worker) == ("pending", 0, 1, None)
    assert (await world.settle(claimed)).refused == "stale"
    assert (await world.claim_one()).standing.fence == 2


async def test_a_lost_attempt_does_not_use_up_max_attempts(world: World) -> None:
    [task_id] = await world.submit(world.task(max_attempts=1))
    for _ in range(4):
        await world.claim_one()
        world.clock.advance(LEASE_SECONDS)
        await world.sweep()
    assert (await world.settle(await world.claim_one())).state == "success"
    assert await world.outcomes(task_id) == ["lost"] * 4 + ["success"]


async def test_ten_losses_are_poison(world: World) -> None:
    [task_id, other] = await world.submit(world.task(task_seconds=None), world.task(delay_seconds=100_000.0))
    for loss in range(1, 11):
        assert await world.state(task_id) == "pending"
        await world.claim_one()
        world.clock.advance(LEASE_SECONDS)
        swept = await world.store.sweep()
        assert (swept.reclaimed, swept.poisoned) == ((1, 0) if loss < 10 else (0, 1))
    task = await world.get(task_id)
    assert (task.state, task.reason, task.losses) == ("failed", "poison: 10 claims lost, 0 of them alone", 10)
    assert await world.state(other) == "pending"


async def test_reclaim_goes_in_batches(world: World) -> None:
    await world.submit(*(world.task() for _ in range(10)))
    await world.claim(10)
    world.clock.advance(LEASE_SECONDS)
    assert [(await world.store.sweep(limit=4)).reclaimed for _ in range(4)] == [4, 4, 2, 0]


async def test_a_task_past_its_deadline_fails_while_it_waits(world: World) -> None:
    [task_id, never] = await world.submit(world.task(task_seconds=100.0), world.task(delay_seconds=500.0))
    claimed = await world.claim_one()
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1_000.0))
    world.clock.advance(99.9)
    assert (await world.store.sweep()).expired == 0
    world.clock.advance(0.1)
    assert (await world.store.sweep()).expired == 1
    task = await world.get(task_id)
    assert (task.state, task.reason, task.finished_at) == ("failed", "task_deadline", world.clock.now)
    assert await world.state(never) == "pending"


async def test_a_task_past_its_deadline_is_left_in_peace_while_a_fresh_attempt_runs(world: World) -> None:
    [task_id] = await world.submit(world.task(task_seconds=100.0))
    claimed = await world.claim_one()
    world.clock.advance(150.0)
    assert (await world.store.sweep()).expired == 0
    assert (await world.settle(claimed)).state == "success"
    assert await world.state(task_id) == "success"


async def test_an_attempt_that_needs_another_after_the_deadline_is_the_last(world: World) -> None:
    [task_id] = await world.submit(world.task(task_seconds=100.0))
    claimed = await world.claim_one()
    world.clock.advance(150.0)
    answer = await world.settle(claimed, ev.Snooze(1, 1.0))
    assert (answer.state, answer.reason) == ("failed", "task_deadline")
    assert await world.outcomes(task_id) == ["snooze"]


async def test_a_claim_that_was_lost_after_the_deadline_fails(world: World) -> None:
    [task_id] = await world.submit(world.task(task_seconds=100.0))
    await world.claim_one()
    world.clock.advance(LEASE_SECONDS)
    await world.sweep()
    task = await world.get(task_id)
    assert (task.state, task.reason) == ("failed", "task_deadline")
    assert await world.outcomes(task_id) == ["lost"]


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_a_sweep_promotes_what_is_due(world: World, limit: int) -> None:
    await world.submit(*(world.task(delay_seconds=float(n)) for n in range(1, 7)))
    world.clock.advance(4.0)
    assert (await world.store.sweep(limit=limit)).due == min(limit, 4)
    assert [item.key for item in await world.claim(100)] == ["key1", "key2", "key3", "key4"]


async def test_idle_says_whether_tasks_of_these_kinds_are_live(world: World) -> None:
    await world.submit(world.task(delay_seconds=50.0))
    assert not await world.store.idle(["page", "image"])
    assert await world.store.idle(["image"])
    world.clock.advance(50.0)
    claimed = await world.claim_one()
    assert not await world.store.idle(["page"])
    await world.settle(claimed)
    assert await world.store.idle(["page"])


async def test_claims_below_a_cancelled_task_are_told_as_lost_before_any_sweep(world: World) -> None:
    [root] = await world.submit(world.task("root"))
    parent = await world.claim_one()
    below, _ = await world.grow(parent, world.task("below"), world.task("other"))
    [other_root] = await world.submit(world.task("root"), tracking_id="other line")
    held = [(item.standing.seq, item.standing.fence) for item in await world.claim(3)]
    assert await world.store.heartbeat(held, LEASE_SECONDS) == frozenset()
    await world.store.cancel(below, tree=True, by="test")
    [lost] = await world.store.heartbeat(held, LEASE_SECONDS)
    assert lost == held[0][0]
    await world.store.cancel(root, tree=True, by="test")
    assert len(await world.store.heartbeat(held, LEASE_SECONDS)) == 2, "both below the root, none of another lineage"
    assert await world.state(other_root) == "processing"
    await world.sweep()


async def test_ends_from_outside_are_counted_and_no_other(world: World) -> None:
    ids = await world.submit(*(world.task() for _ in range(5)))
    claimed = await world.claim(2)
    quiet = await world.store.ends()
    await world.settle(claimed[0])
    assert await world.store.cancel(ids[3], tree=False, by="test")
    assert await world.store.ends() == quiet, "nobody has these in hand"
    seen = [quiet]
    assert await world.store.cancel(ids[1], tree=False, by="test")
    seen.append(await world.store.ends())
    assert await world.store.cancel(ids[2], tree=True, by="test")
    seen.append(await world.store.ends())
    assert await world.store.cancel_lineage("line", by="test")
    seen.append(await world.store.ends())
    assert sorted(set(seen)) == seen
    assert not await world.store.cancel_lineage("line", by="test")
    assert await world.store.ends() == seen[-1]
    await world.sweep()
