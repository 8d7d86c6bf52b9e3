"""A dry run of the guard: the answer that the spawn gets right after it, and not a row that changes."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.keys import shape_of
from ramet.model.lineage.guard import Allowed, Blocked, BlockReason
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from tests.support.world import World

EVERYTHING: dict[str, Any] = {"max_spawn_depth": 1, "max_tasks": 6, "max_fan_out": 3, "max_shape": 1}


def page(world: World, key: str) -> NewTask:
    """One of a kind with a trap."""
    return world.task(f"https://x.example/{key}", "page", shape=shape_of(f"https://x.example/{key}"))


async def standing(world: World) -> list[object]:
    """What a spawn changes: the lineage with its turns and totals, its blocks, the tasks."""
    store = world.store
    return [await store.lineage("line"), await store.blocks("line"), await store.counts("line")]


async def test_of_a_parent_that_is_not_there_nothing_is_said(world: World) -> None:
    assert await world.store.can_spawn("nobody", world.task("a", "plain")) is None


async def test_it_says_what_the_spawn_is_answered_and_writes_nothing(world: World) -> None:
    await world.submit(world.task("elsewhere", "plain", unique_seconds=1e9), tracking_id="other")
    await world.submit(world.task("root", "plain"), **EVERYTHING)
    claims = {claim.key: claim for claim in await world.claim(2, kinds=["plain"])}
    root = claims["root"]
    wanted = [
        page(world, "a/1"),
        page(world, "a/2"),
        page(world, "a/1"),
        world.task("root", "plain"),
        world.task("elsewhere", "plain", unique_seconds=1e9),
        world.task("fresh", "plain", unique_seconds=1e9),
        world.task("c", "plain"),
        world.task("d", "plain"),
    ]
    told = []
    for new in wanted:
        before = await standing(world)
        verdict = await world.store.can_spawn(root.id, new)
        assert await standing(world) == before
        [answer] = (await world.settle(root, ev.Progress(root.standing.fence, 300.0), spawns=[new])).spawns
        expected = Allowed() if answer.reason is None else Blocked(answer.reason, answer.facts)
        assert verdict == expected, new.key
        told.append(answer.reason)
    assert told == [
        None, BlockReason.TRAP, BlockReason.IN_FLIGHT, BlockReason.CYCLE, BlockReason.ELSEWHERE, None, None,
        BlockReason.FAN_OUT,
    ]  # fmt: skip


@pytest.mark.parametrize("ended", [False, True])
async def test_the_claim_of_the_parent_counts_as_current(world: World, ended: bool) -> None:
    [root] = await world.submit(world.task("root", "plain"))
    if ended:
        await world.settle(await world.claim_one(kinds=["plain"]), spawns=[world.task("a", "plain")])
    assert await world.store.can_spawn(root, world.task("b", "plain")) == Allowed()


async def test_an_ended_lineage_is_over_for_a_dry_run_too(world: World) -> None:
    [root] = await world.submit(world.task("root", "plain"))
    await world.store.cancel_lineage("line", by="test")
    verdict = await world.store.can_spawn(root, world.task("b", "plain"))
    assert isinstance(verdict, Blocked)
    assert verdict.reason is BlockReason.CANCELLED
    assert verdict.detail
