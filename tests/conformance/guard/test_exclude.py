"""A person takes tasks out for good, and may take that back."""

from __future__ import annotations

import pytest

from ramet.store.errors import StoreError
from tests.support.world import World, failing


async def in_state(world: World, state: str, **fields: object) -> str:
    """A root in this state, with another one that keeps the lineage running."""
    new = world.task("a")._replace(**fields)  # type: ignore[arg-type]
    [task_id, _] = await world.submit(new, world.task("b", delay_seconds=5_000.0))
    if state == "cancelled":
        await world.store.cancel(task_id, tree=False, by="test")
    elif state != "pending":
        claimed = await world.claim_one()
        if state != "processing":
            await world.settle(claimed, failing(claimed) if state == "failed" else None)
    assert await world.state(task_id) == state
    return task_id


@pytest.mark.parametrize("state", ["pending", "failed", "cancelled"])
async def test_what_is_not_running_nor_done_is_skipped_for_good(world: World, state: str) -> None:
    task_id = await in_state(world, state)
    assert await world.store.exclude([task_id], by="ann", reason="not ours") == [task_id]
    task = await world.get(task_id)
    assert (task.state, task.reason) == ("skipped", "excluded: not ours")
    history = await world.store.history(task_id)
    assert history is not None
    told = history.transitions[-1]
    assert (told.name, told.from_state, told.to_state, told.by) == ("exclude", state, "skipped", "ann")


@pytest.mark.parametrize("state", ["processing", "success"])
async def test_what_runs_or_succeeded_is_left_as_it_is(world: World, state: str) -> None:
    task_id = await in_state(world, state)
    assert await world.store.exclude([task_id], by="ann") == []
    assert await world.state(task_id) == state


async def test_excluding_twice_changes_nothing(world: World) -> None:
    task_id = await in_state(world, "pending")
    await world.store.exclude([task_id], by="ann", reason="first")
    assert await world.store.exclude([task_id], by="bob", reason="second") == []
    assert (await world.get(task_id)).reason == "excluded: first"


async def test_the_identity_is_not_spawned_again_in_its_lineage(world: World) -> None:
    task_id = await in_state(world, "failed")
    await world.store.exclude([task_id], by="ann")
    world.clock.advance(5_000.0)
    await world.sweep()
    claimed = await world.claim_one()
    answer = await world.settle(claimed, spawns=[world.task("a")])
    assert [(told.reason, told.winner) for told in answer.spawns] == [("done", task_id)]


@pytest.mark.parametrize("state", ["pending", "failed", "cancelled"])
async def test_a_unique_identity_is_not_spawned_elsewhere_either(world: World, state: str) -> None:
    task_id = await in_state(world, state, unique_seconds=1e6)
    await world.store.exclude([task_id], by="ann")
    world.clock.advance(200_000.0)
    await world.submit(world.task(kind="image"), tracking_id="other", lineage_seconds=1e7)
    answer = await world.settle(await world.claim_one(kinds=("image",)), spawns=[world.task("a", unique_seconds=1e6)])
    assert [(told.reason, told.winner) for told in answer.spawns] == [("elsewhere", task_id)]


async def test_excluding_a_task_whose_key_somebody_else_holds_by_now_leaves_that_one(world: World) -> None:
    task_id = await in_state(world, "cancelled", unique_seconds=1e6)
    [other] = await world.submit(world.task("a", unique_seconds=1e6), tracking_id="other")
    assert await world.store.exclude([task_id], by="ann") == [task_id]
    assert await world.store.read("SELECT holder, held_until FROM ramet_uniques") == [(other, None)]


async def test_revive_undoes_it(world: World) -> None:
    task_id = await in_state(world, "pending", unique_seconds=1e6)
    await world.store.exclude([task_id], by="ann")
    assert await world.store.revive([task_id], by="bob", reason="ours after all") == [task_id]
    claimed = await world.claim_one()
    assert claimed.id == task_id
    await world.settle(claimed)


async def test_the_last_live_task_of_a_lineage_ends_it(world: World) -> None:
    task_id, other = await in_state(world, "pending"), "t2"
    await world.store.exclude([task_id, other], by="ann")
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert (lineage.state, lineage.skipped, lineage.live) == ("finished", 2, 0)


async def test_an_unknown_task_is_refused_and_nothing_is_excluded(world: World) -> None:
    task_id = await in_state(world, "pending")
    with pytest.raises(StoreError, match="no task nope"):
        await world.store.exclude([task_id, "nope"], by="ann")
    assert await world.state(task_id) == "pending"
