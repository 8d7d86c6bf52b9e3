"""Paused paths: nothing at or below one is claimed until it goes on, and all else is not held up."""

from __future__ import annotations

from ramet.engine.explain.explain import explain
from ramet.model.paths import PathPause, PathRule, conflict
from ramet.model.task.task import Wait
from tests.support.world import World


async def pathed(world: World, *paths: tuple[str, ...], **fields: object) -> list[str]:
    return await world.submit(*(world.task(path=PathRule(path, **fields)) for path in paths))  # type: ignore[arg-type]


async def keys(world: World) -> list[tuple[str, ...]]:
    """The paths of the tasks that can be claimed now."""
    return sorted([(await world.get(claimed.id)).path for claimed in await world.claim(50)])


async def test_what_is_not_paused_cannot_be_resumed_and_twice_is_once(world: World) -> None:
    assert not await world.store.resume_path(("a",), by="ada")
    assert await world.store.pause_path(("a",), by="ada")
    assert not await world.store.pause_path(("a",), by="eve")
    assert [act.act for act in await world.store.acts()] == ["pause_path"]


async def test_nothing_at_or_below_a_paused_path_is_claimed_and_everything_else_is(world: World) -> None:
    tasks = await pathed(world, ("a", "b"), ("a", "b", "c"), ("a", "x"), ("ab",), ("z",))
    await world.submit(world.task("none"), world.task(queue="night", path=PathRule(("a", "b"))), tracking_id="others")
    now = world.clock.now
    assert await world.store.pause_path(("a", "b"), by="ada", reason="the disk is full")
    assert await world.store.path_pauses() == [PathPause(("a", "b"), "default", None, now, "ada", "the disk is full")]
    assert await keys(world) == [(), ("a", "x"), ("ab",), ("z",)]
    assert (await world.get(tasks[0])).wait == Wait.PAUSED
    assert await world.claim(50) == []
    assert len(await world.claim(50, queues=("night",))) == 1, "a path belongs to its queue"
    found = await explain(world.store, tasks[0])
    assert found is not None
    assert (found.why[0].code, found.why[0].facts["reason"]) == ("path_paused", "the disk is full")
    assert found.why[0].remedy == "ramet paths a b --resume"
    present = await world.store.present()
    assert (present.waits[Wait.PAUSED].number, present.waits[""].number) == (1, 0)


async def test_after_the_pause_all_go_in_their_old_order(world: World) -> None:
    first, second, third = await pathed(world, ("a",), ("a",), ("a", "b"))
    await world.store.pause_path(("a",), by="ada")
    assert await world.claim(50) == []
    await world.sweep()
    assert await world.store.resume_path(("a",), by="ada", reason="done")
    for task in (first, second, third):
        claimed = await world.claim_one()
        assert claimed.id == task
        await world.settle(claimed)
    act = (await world.store.acts())[0]
    assert (act.act, act.reason, act.detail) == ("resume_path", "done", {"path": ["a"], "queue": "default"})


async def test_a_pause_above_holds_on_when_the_one_below_ends(world: World) -> None:
    await pathed(world, ("a", "b"))
    await world.store.pause_path(("a",), by="ada")
    await world.store.pause_path(("a", "b"), by="ada")
    assert await world.claim(5) == []
    await world.store.resume_path(("a", "b"), by="ada")
    assert await world.claim(5) == []
    await world.store.resume_path(("a",), by="ada")
    assert await keys(world) == [("a", "b")]


async def test_a_path_of_a_lineage_is_paused_in_that_lineage_alone(world: World) -> None:
    [own] = await pathed(world, ("a",), scope="lineage")
    await world.submit(world.task(path=PathRule(("a",), scope="lineage")), tracking_id="other")
    await world.store.pause_path(("a",), tracking_id="line", by="ada")
    assert len(await world.claim(5)) == 1
    found = await explain(world.store, own)
    assert found is not None
    assert found.why[0].code == "path_paused"


async def test_who_is_cancelled_in_a_paused_path_is_gone_and_what_runs_may_end(world: World) -> None:
    first, second = await pathed(world, ("a",), ("a", "b"))
    running = await world.claim_one()
    await world.store.pause_path(("a",), by="ada")
    await world.settle(running)
    assert await world.state(first) == "success"
    assert await world.claim(5) == []
    assert await world.store.cancel(second, by="ada")
    await world.store.resume_path(("a",), by="ada")
    assert await world.claim(5) == []


def test_the_empty_path_conflicts_with_nothing_so_no_pause_covers_it() -> None:
    assert not conflict((), ("a",))
    assert not PathPause(("a",), "default", None, 0.0, "ada", None).covers((), "default", None)
