"""A blocked queue refuses submits and nothing else; once it has drained, the task asked for comes once."""

from __future__ import annotations

import pytest

from ramet.model.flow.resources import Queue
from ramet.model.task import events as ev
from ramet.model.task.task import TaskState
from ramet.store.errors import QueueBlocked
from ramet.store.requests import NewLineage, TaskQuery
from tests.support.world import World


def after(world: World, **fields: object) -> NewLineage:
    """What is to come once the queue has drained."""
    return NewLineage("after", [world.task("after", **fields)])  # type: ignore[arg-type]


async def queue(world: World) -> Queue:
    [found] = await world.store.queues()
    return found


async def test_a_submit_is_refused_with_words_and_nothing_of_its_batch_is_kept(world: World) -> None:
    assert not await world.store.unblock_queue("default", by="ada")
    assert await world.store.block_queue("default", by="ada", reason="the move")
    assert not await world.store.block_queue("default", by="eve")
    with pytest.raises(
        QueueBlocked, match=r"queue default is blocked for submits by ada: the move; .*ramet unblock def"
    ):
        await world.store.submit([
            NewLineage("other", [world.task(queue="night")]), NewLineage("own", [world.task()]),
        ])  # fmt: skip
    assert await world.store.lineages() == []
    await world.submit(world.task(queue="night"), tracking_id="night")
    assert await world.store.unblock_queue("default", by="ada", reason="moved")
    await world.submit(world.task())
    assert [(act.act, act.by, act.reason) for act in await world.store.acts()] == [
        ("unblock_queue", "ada", "moved"), ("block_queue", "ada", "the move"),
    ]  # fmt: skip


async def test_a_submit_that_is_repeated_after_the_block_is_answered_as_before(world: World) -> None:
    root = world.task("root")
    [first] = await world.submit(root)
    await world.store.block_queue("default", by="ada")
    assert await world.submit(root) == [first]


async def test_spawns_retries_and_revives_of_what_is_there_go_on(world: World) -> None:
    [root] = await world.submit()
    claimed = await world.claim_one()
    await world.store.block_queue("default", by="ada")
    [child] = await world.grow(claimed, world.task())
    claimed = await world.claim_task(child)
    await world.settle(claimed, ev.Fail(claimed.standing.fence, "odd"))
    assert await world.store.revive([child], by="ada") == [child]
    assert await world.state(root) == "success"


async def test_the_task_comes_once_when_the_last_of_the_queue_has_ended(world: World) -> None:
    await world.submit(world.task("a"), world.task("b", delay_seconds=50.0))
    await world.store.block_queue("default", on_drained=after(world, payload='{"from": "default"}'), by="ada")
    assert (await queue(world)).on_drained == "page"
    claimed = await world.claim_one()
    await world.sweep()
    assert await world.store.lineage("after") is None
    await world.grow(claimed, world.task("c"))
    await world.sweep()
    world.clock.advance(50.0)
    await world.run_all()
    assert not await world.store.idle(["page"]), "it is about to come"
    await world.sweep()
    await world.sweep()
    [task] = await world.store.roots("after")
    assert (task.state, task.payload) == (TaskState.PENDING, {"from": "default"})
    found = await queue(world)
    assert (found.on_drained, found.drained_at, found.blocked_at is not None) == (None, world.clock.now, True)
    await world.run_all()
    await world.sweep()
    assert len((await world.store.tasks(TaskQuery(limit=50))).tasks) == 4


async def test_an_empty_queue_has_drained_already_and_another_queue_does_not_count(world: World) -> None:
    await world.submit(world.task(queue="night"), tracking_id="night")
    await world.store.block_queue("default", on_drained=after(world), by="ada")
    await world.sweep()
    assert await world.store.lineage("after") is not None


async def test_a_queue_that_is_unblocked_before_it_drains_starts_nothing(world: World) -> None:
    await world.submit()
    await world.store.block_queue("default", on_drained=after(world), by="ada")
    await world.store.unblock_queue("default", by="ada")
    await world.run_all()
    await world.sweep()
    assert await world.store.lineage("after") is None
    assert (await queue(world)).on_drained is None


async def test_the_task_of_a_lineages_end_is_waited_for(world: World) -> None:
    end = world.task("end", id="end")
    await world.store.submit([NewLineage("line", [world.task()], on_end=end)])
    await world.store.block_queue("default", on_drained=after(world), by="ada")
    await world.settle(await world.claim_one())
    await world.sweep()
    ended = await world.store.lineage("line#end1")
    assert ended is not None
    assert (ended.live, await world.store.lineage("after")) == (1, None)
    await world.run_all()
    await world.sweep()
    assert await world.store.lineage("after") is not None
