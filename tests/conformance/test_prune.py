"""Pruning takes everything of a lineage that ended long enough ago, and nothing of any other."""

from __future__ import annotations

from typing import Any

from tests.world import World, checkpoint, failing

TABLES = (
    "ramet_lineages", "ramet_tasks", "ramet_live", "ramet_identities", "ramet_checkpoints", "ramet_attempts",
    "ramet_transitions", "ramet_blocks", "ramet_block_counts",
)  # fmt: skip


async def live_through(world: World, name: str) -> None:
    """A lineage that leaves rows in every table but the hot one."""
    [root, second] = await world.submit(world.task("r"), world.task("s"), tracking_id=name, max_tasks=4)
    claimed = await world.claim_task(root)
    await world.spawn(claimed, *(world.task(key) for key in ("a", "b", "c", "d", "e", "f", "g")))
    await world.settle(claimed, checkpoint(claimed), pipeline_state="{}")
    await world.settle(claimed)
    await world.store.cancel(second, tree=False, by="test")
    broken = await world.claim_one()
    await world.settle(broken, failing(broken))
    await world.run_all()


async def rows(world: World) -> dict[str, list[Any]]:
    return {table: await world.store.read(f"SELECT * FROM {table}") for table in TABLES}


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
