"""Under a claim that is not current nothing is written (promise I2), whatever is asked for and whyever it lapsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from tests.support.world import LEASE_SECONDS, World, effect, hand_back, with_fence

EVENTS: tuple[Callable[[int], ev.Event], ...] = (
    ev.Complete,
    lambda f: ev.Filter(f, "late"),
    lambda f: ev.Skip(f, "late"),
    lambda f: ev.Fail(f, "late"),
    lambda f: ev.Error(f, "late", "permanent", "x", 0.5),
    lambda f: ev.Snooze(f, 5.0),
    lambda f: ev.Continue(f, progressed=True),
    ev.HandBack,
    lambda f: ev.Checkpoint(f, LEASE_SECONDS, "next"),
    lambda f: ev.Progress(f, LEASE_SECONDS),
)
LAPSED = {
    "older fence": ("stale", "stale"),
    "fence of the future": ("stale", "stale"),
    "lease expired": ("stale", "stale"),
    "reclaimed": ("stale", "stale"),
    "handed back": ("stale", "stale"),
    "task cancelled": ("stale", "stale"),
    "settled before": ("stale", "ended"),
    "lineage cancelled": ("cancelled", "cancelled"),
    "lineage over its deadline": ("failed", "ended"),
    "tree cancelled": ("cancelled", "cancelled"),
}
"""How a claim lapsed -> why its settlement is refused, and why its spawns are."""


async def lapse(world: World, how: str) -> ClaimedTask:
    """A claim at depth 1 that is not current any more, for the named reason. A root beside it keeps the lineage open
    unless the lineage itself is what ended."""
    roots = [world.task(), world.task(kind="image")]
    if how == "settled before":
        roots.pop()
    [root, *_] = await world.submit(*roots, lineage_seconds=500.0)
    await world.grow(await world.claim_one(kinds=("page",)), world.task())
    claimed = await world.claim_one(kinds=("page",), lease_seconds=1_000.0 if "deadline" in how else LEASE_SECONDS)
    match how:
        case "older fence":
            await world.settle(claimed, hand_back(claimed))
            await world.claim_one(kinds=("page",))
        case "fence of the future":
            claimed = with_fence(claimed, 2)
        case "lease expired":
            world.clock.advance(LEASE_SECONDS)
        case "reclaimed":
            world.clock.advance(LEASE_SECONDS)
            await world.sweep()
        case "handed back":
            await world.settle(claimed, hand_back(claimed))
        case "task cancelled":
            await world.store.cancel(claimed.id, tree=False, by="test")
        case "settled before":
            await world.settle(claimed)
        case "lineage cancelled":
            await world.store.cancel_lineage("line", by="test")
        case "lineage over its deadline":
            world.clock.advance(500.0)
            assert await world.claim() == []
        case "tree cancelled":
            await world.store.cancel(root, tree=True, by="test")
    return claimed


async def written(world: World) -> list[Any]:
    """All that a settlement could write, but for the refused spawns and the end of a task whose lineage is over."""
    rows = await world.store.read("SELECT id, key, result FROM ramet_tasks ORDER BY seq")
    rows += await world.store.read("SELECT max_tasks, max_spawn_depth, tasks FROM ramet_lineages")
    rows += await world.store.read("SELECT seq, pipeline_state, progress FROM ramet_checkpoints")
    return [*rows, *await world.effects()]


async def hot(world: World) -> list[Any]:
    return await world.store.read("SELECT seq, state, fence, lease_until, stage, available_at, fan_out FROM ramet_live")


@pytest.mark.parametrize("how", LAPSED)
@pytest.mark.parametrize("event", EVENTS, ids=[type(event(1)).__name__ for event in EVENTS])
async def test_a_lapsed_claim_writes_nothing(world: World, how: str, event: Callable[[int], ev.Event]) -> None:
    claimed = await lapse(world, how)
    before, stood = await written(world), await hot(world)
    answer = await world.settle(
        claimed,
        event(claimed.standing.fence),
        result='"late"',
        spawns=[world.task("late"), world.task("later")],
        writes=[effect("late")],
        pipeline_state='{"late": 1}',
        progress='{"done": 1}',
        lower=(("max_tasks", 1),),
    )
    refused, blocked = LAPSED[how]
    assert (answer.state, answer.refused) == (None, refused)
    assert await written(world) == before
    assert [told.id for told in answer.spawns] == [None, None]
    assert [(b.reason, b.key, b.last_parent) for b in await world.store.blocks("line")] == [
        (blocked, "late", claimed.id),
        (blocked, "later", claimed.id),
    ]
    if refused == "stale":
        assert await hot(world) == stood
    await world.sweep()


async def test_a_task_that_ended_with_its_lineage_ends_when_its_worker_comes_back(world: World) -> None:
    claimed = await lapse(world, "lineage cancelled")
    answer = await world.settle(claimed)
    assert answer.reason == "cancelled by test"
    task = await world.get(claimed.id)
    assert (task.state, task.reason) == ("cancelled", "cancelled by test")
    assert await world.outcomes(claimed.id) == ["ended"]
    await world.sweep()


async def test_a_task_that_never_existed_is_stale(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    nobody = claimed._replace(standing=claimed.standing._replace(seq=99_999))
    answer = await world.settle(nobody, spawns=[world.task()])
    assert (answer.refused, list(answer.spawns)) == ("stale", [])
