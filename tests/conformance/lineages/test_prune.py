"""Pruning takes everything of a lineage that ended long enough ago, and nothing of any other."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.engine.client.schedules import Schedules
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.loops import tick
from ramet.model.lineage.limits import Limits
from ramet.model.paths import PathRule
from ramet.store.errors import LineageExists, StoreError
from tests.support.world import World, checkpoint, failing

TABLES = (
    "ramet_lineages", "ramet_tasks", "ramet_live", "ramet_identities", "ramet_checkpoints", "ramet_attempts",
    "ramet_transitions", "ramet_blocks", "ramet_block_counts", "ramet_shapes", "ramet_edges", "ramet_acts",
)  # fmt: skip


async def live_through(world: World, name: str) -> None:
    """A lineage that leaves rows in every table but the hot one."""
    [root, second] = await world.submit(world.task("r"), world.task("s"), tracking_id=name, max_tasks=3)
    claimed = await world.claim_task(root)
    await world.store.raise_limits(name, {"max_tasks": 4}, by="test")
    keys = ("r", "a", "b", "c", "d", "e", "f", "g")
    await world.spawn(claimed, *(world.task(key, keep_edge=1, shape=key) for key in keys))
    await world.settle(claimed, checkpoint(claimed), pipeline_state="{}")
    await world.settle(claimed)
    await world.store.cancel(second, tree=False, by="test")
    broken = await world.claim_one()
    await world.settle(broken, failing(broken))
    await world.run_all()


async def rows(world: World) -> dict[str, list[Any]]:
    return {table: await world.store.read(f"SELECT * FROM {table}") for table in TABLES}


async def test_a_lineage_stays_until_nobody_waits_for_a_path_of_it(world: World) -> None:
    path = PathRule(("doc",))
    [held] = await world.submit(world.task(path=path), tracking_id="old")
    below = PathRule(("doc", "a"))
    [behind, last] = await world.submit(world.task(path=below), world.task(path=path), tracking_id="new")
    claimed = await world.claim_one()
    await world.store.cancel(held, tree=False, by="test")
    world.clock.advance(1.0)
    assert await world.store.prune(world.clock.now) == 0, "its worker may still run it"
    await world.store.acknowledge([(claimed.standing.seq, claimed.standing.fence)])
    assert await world.store.prune(world.clock.now) == 0, "who is skipped with it is still to be told"
    await world.sweep()
    assert await world.store.prune(world.clock.now) == 1
    assert await world.state(behind) == "skipped"
    assert (await world.claim_one()).id == last


async def test_everything_of_a_lineage_goes_and_nothing_else(world: World) -> None:
    await live_through(world, "kept")
    kept = await rows(world)
    assert [table for table, found in kept.items() if not found] == ["ramet_live"]
    await live_through(world, "old")
    assert all(len(found) == 2 * len(kept[table]) for table, found in (await rows(world)).items())
    lineage = await world.store.lineage("kept")
    assert lineage is not None
    assert lineage.ended_at is not None
    # Both ended at the same moment: the younger is told apart by ending it later.
    world.clock.advance(10.0)
    await world.store.revive([task_id for (task_id,) in await world.store.read(
        "SELECT id FROM ramet_tasks WHERE tracking_id = 'kept' AND state = 'failed'")], by="test")  # fmt: skip
    await world.run_all()
    kept = {table: [row for row in found if "kept" in row] for table, found in (await rows(world)).items()}
    assert await world.store.prune(world.clock.now) == 1
    assert await rows(world) == kept
    assert await world.store.prune(world.clock.now) == 0


async def test_only_what_ended_before_the_moment_is_pruned(world: World) -> None:
    await live_through(world, "old")
    ended_at = world.clock.now
    assert await world.store.prune(ended_at) == 0
    assert await world.store.prune(ended_at + 0.001) == 1
    assert await world.store.lineage("old") is None


async def test_live_lineages_are_never_pruned(world: World) -> None:
    await world.submit(tracking_id="running")
    await world.submit(tracking_id="cancelled")
    await world.store.cancel_lineage("cancelled", by="test")
    world.clock.advance(1e6)
    assert await world.store.prune(world.clock.now) == 0
    assert await world.store.lineage("running") is not None
    assert await world.store.lineage("cancelled") is not None
    await world.sweep()
    assert await world.store.prune(world.clock.now) == 1


async def test_pruning_goes_in_batches(world: World) -> None:
    for n in range(5):
        await world.submit(tracking_id=f"line{n}")
    await world.run_all()
    world.clock.advance(1.0)
    assert [await world.store.prune(world.clock.now, limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert (await rows(world))["ramet_identities"] == []


async def test_after_pruning_a_tracking_id_is_free_and_task_numbers_go_on(world: World) -> None:
    await world.submit(world.task("a"))
    first = await world.claim_one()
    await world.settle(first)
    world.clock.advance(1.0)
    await world.store.prune(world.clock.now)
    await world.submit(world.task("b"))
    assert (await world.claim_one()).standing.seq > first.standing.seq


async def sizes(world: World) -> dict[str, int]:
    return {table: len(found) for table, found in (await rows(world)).items()}


async def test_a_large_lineage_goes_in_parts_and_its_row_last(world: World) -> None:
    await world.submit(*(world.task(f"k{n}") for n in range(20)), tracking_id="large")
    await live_through(world, "small")
    await world.run_all()
    world.clock.advance(1.0)
    left = []
    while (await world.store.prunable(world.clock.now)).lineages:
        before = (await sizes(world))["ramet_tasks"]
        gone = await world.store.prune(world.clock.now, rows=6)
        after = await sizes(world)
        assert before - after["ramet_tasks"] <= 6
        left.append((after["ramet_lineages"], gone))
        await world.check()
    assert left[0] == (2, 0)
    assert sum(gone for _, gone in left) == 2
    assert all(count == 0 for count in (await sizes(world)).values())


async def test_what_is_being_pruned_can_neither_be_revived_nor_submitted_again(world: World) -> None:
    ids = await world.submit(*(world.task(f"k{n}") for n in range(10)))
    await world.store.cancel_lineage("line", by="test")
    await world.sweep()
    world.clock.advance(1.0)
    assert await world.store.prune(world.clock.now, rows=3) == 0
    left = [task_id for task_id in ids if await world.store.get(task_id) is not None]
    assert len(left) == 7
    with pytest.raises(StoreError, match="lineage line is being pruned: nothing of it can be revived"):
        await world.store.revive(left[:1], by="test")
    with pytest.raises(LineageExists):
        await world.submit(world.task("another"))
    while await world.store.prune(world.clock.now, rows=3) == 0:
        pass
    await world.submit(world.task("another"))


async def test_how_much_could_go_is_counted_without_taking_it(world: World) -> None:
    for n in range(3):
        await world.submit(world.task("a"), world.task("b"), tracking_id=f"line{n}")
    await world.run_all()
    world.clock.advance(1.0)
    assert await world.store.prunable(world.clock.now) == (3, 6, 0)
    assert await world.store.prunable(world.clock.now, limit=1) == (1, 2, 0)
    assert await world.store.prunable(world.clock.now - 5.0) == (0, 0, 0)


async def test_what_became_of_slots_goes_with_its_age(world: World) -> None:
    schedules = Schedules(Registry(Limits()), world.store, Limits())
    await schedules.add("page", every_seconds=60.0)
    for _ in range(4):
        world.clock.advance(60.0)
        await tick(world.store, 60.0, Limits())
        await world.run_all()
    assert await world.store.prunable(world.clock.now - 90.0) == (2, 2, 2)
    while any(await world.store.prunable(world.clock.now - 90.0)):
        await world.store.prune(world.clock.now - 90.0, limit=1, rows=1)
    assert [slot.slot_at - world.clock.now for slot in await world.store.slots("page")] == [0.0, -60.0]
    assert len(await world.store.lineages()) == 2
