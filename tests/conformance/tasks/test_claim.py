"""Claims: in order, only what was asked for and may run, each task to one worker, under a fence that grows."""

from __future__ import annotations

from functools import partial

from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.requests import ClaimRequest, NewLineage
from ramet.store.store import Store
from tests.support.world import LEASE_SECONDS, World, checkpoint, hand_back, in_threads, settlement


async def keys(world: World, limit: int = 100, **request: object) -> list[str]:
    """The keys of what is claimed, in the order of the claim."""
    return [claimed.key for claimed in await world.claim(limit, **request)]


async def test_higher_priority_first_then_the_older(world: World) -> None:
    await world.submit(world.task("old"), world.task("urgent", priority=5), tracking_id="first")
    await world.submit(world.task("new"), tracking_id="second")
    await world.submit(world.task("late"), world.task("last", priority=-1), tracking_id="third")
    assert await keys(world) == ["urgent", "old", "new", "late", "last"]


async def test_the_order_holds_over_several_kinds_and_queues(world: World) -> None:
    await world.submit(
        world.task("1", "image", queue="q2"),
        world.task("2", "page", queue="q1"),
        world.task("3", "page", queue="q2", priority=1),
        world.task("4", "image", queue="q1"),
    )
    assert await keys(world, 3, queues=("q1", "q2")) == ["3", "1", "2"]
    assert await keys(world, queues=("q1", "q2")) == ["4"]


async def test_in_a_breadth_queue_the_smaller_depth_goes_first(world: World) -> None:
    [root, _] = await world.submit(world.task("root", breadth=1), world.task("other root", priority=-3, breadth=1))
    await world.grow(await world.claim_task(root), world.task("child", priority=9, breadth=1))
    await world.submit(world.task("later root", priority=-4, breadth=1), tracking_id="second")
    order = [await keys(world, 1) for _ in range(4)]
    assert order == [["other root"], ["later root"], ["child"], []]


async def test_only_the_kinds_and_queues_that_were_asked_for_are_claimed(world: World) -> None:
    await world.submit(world.task("a", "image"), world.task("b", "page", queue="slow"), world.task("c", "page"))
    assert await keys(world, kinds=("page",)) == ["c"]
    assert await keys(world, kinds=("page",), queues=("slow",)) == ["b"]
    assert await keys(world, kinds=("unknown",)) == []
    assert await keys(world, kinds=("image",)) == ["a"]


async def test_a_delayed_task_is_claimed_when_it_is_due_and_not_before(world: World) -> None:
    [task_id] = await world.submit(world.task("a", delay_seconds=10.0))
    assert (await world.get(task_id)).wait == "due"
    assert await world.store.next_due_at() == world.clock.now + 10.0
    world.clock.advance(9.999)
    assert await keys(world) == []
    world.clock.advance(0.001)
    assert await keys(world) == ["a"]
    assert await world.store.next_due_at() is None


async def test_a_clock_that_was_set_back_holds_back_nobody_else(world: World) -> None:
    await world.submit(world.task("early"))
    world.clock.advance(-3_600.0)
    await world.submit(world.task("now"), tracking_id="second")
    assert await keys(world, 1) == ["now"]
    assert await keys(world, 1) == []
    world.clock.advance(3_600.0)
    assert await keys(world, 1) == ["early"]


async def test_at_most_limit_tasks_are_claimed(world: World) -> None:
    await world.submit(*(world.task() for _ in range(10)))
    assert [len(await world.claim(limit)) for limit in (0, 1, 3, 100)] == [0, 1, 3, 6]


async def test_every_claim_has_a_new_fence_and_a_full_lease(world: World) -> None:
    [task_id] = await world.submit()
    for fence in (1, 2, 3):
        claimed = await world.claim_one(worker=f"w{fence}", lease_seconds=60.0 * fence)
        stand = claimed.standing
        assert (stand.fence, stand.attempts, stand.worker) == (fence, 1, f"w{fence}")
        assert (stand.claimed_at, stand.lease_until) == (world.clock.now, world.clock.now + 60.0 * fence)
        assert (await world.get(task_id)).lease_until == stand.lease_until
        await world.settle(claimed, hand_back(claimed))
        world.clock.advance(1.0)
    assert await world.outcomes(task_id) == ["returned"] * 3


async def test_a_claim_carries_what_the_handler_needs(world: World) -> None:
    [root] = await world.submit(world.task("root"), max_spawn_depth=4)
    [child] = await world.grow(await world.claim_one(), world.task("child", "image"))
    claimed = await world.claim_one()
    assert (claimed.id, claimed.key, claimed.parent_id) == (child, "child", root)
    assert (claimed.payload, claimed.ancestry_chain, claimed.max_spawn_depth) == ('{"number": 2}', f'["{root}"]', 4)
    assert claimed.pipeline_state is None
    await world.settle(claimed, checkpoint(claimed, "read"), pipeline_state='{"at": 1}')
    await world.settle(claimed, hand_back(claimed))
    again = await world.claim_one()
    assert (again.pipeline_state, again.standing.stage) == ('{"at": 1}', "read")


async def test_the_task_deadline_counts_from_the_first_claim_and_is_never_later_than_the_lineages(world: World) -> None:
    await world.submit(world.task(task_seconds=50.0), world.task(task_seconds=None), lineage_seconds=1_000.0)
    world.clock.advance(100.0)
    short, unbounded = await world.claim(2)
    assert short.standing.deadline_at == world.clock.now + 50.0
    assert unbounded.standing.deadline_at == world.clock.now + 900.0
    await world.settle(short, ev.Snooze(short.standing.fence, 5.0))
    world.clock.advance(5.0)
    again = await world.claim_one()
    assert again.standing.deadline_at == short.standing.deadline_at


async def test_tasks_of_a_lineage_that_ended_are_set_aside_and_do_not_block_others(world: World) -> None:
    await world.submit(*(world.task(priority=9) for _ in range(5)), tracking_id="over")
    await world.submit(world.task("a"), tracking_id="alive")
    await world.store.cancel_lineage("over", by="test")
    assert await keys(world, 1) == ["a"]
    assert await keys(world) == []
    await world.sweep()


async def test_a_lineage_past_its_deadline_gives_no_more_work_even_before_a_sweep(world: World) -> None:
    await world.submit(world.task("a"), lineage_seconds=10.0)
    await world.submit(world.task("b"), tracking_id="second")
    world.clock.advance(10.0)
    assert await keys(world) == ["b"]
    await world.sweep()
    assert await keys(world) == []


async def test_a_terminal_task_is_never_claimed_again(world: World) -> None:
    await world.submit(*(world.task() for _ in range(3)))
    await world.run_all()
    world.clock.advance(10 * LEASE_SECONDS)
    await world.sweep()
    assert await keys(world) == []


async def test_many_claimers_at_once_never_get_the_same_task(shared: Store) -> None:
    tasks = 400
    await shared.submit([NewLineage(f"line{n}", [new_task(n, at) for at in range(100)]) for n in range(tasks // 100)])
    taken: list[tuple[str, int]] = []

    async def work(name: str) -> None:
        while claimed := await shared.claim(ClaimRequest(name, ("default",), ("page",), 7, LEASE_SECONDS)):
            taken.extend((item.id, item.standing.fence) for item in claimed)
            await shared.settle([settlement(item) for item in claimed[::2]])

    await in_threads(*(partial(work, f"w{n}") for n in range(8)))
    assert len(taken) == len({task_id for task_id, _ in taken}) == tasks
    assert {fence for _, fence in taken} == {1}


def new_task(line: int, at: int) -> NewTask:
    return NewTask(f"{line}-{at}", "page", f"key{at}", "null")
