"""Fairness between lineages: nobody's backlog is another's wait (DESIGN §10)."""

from __future__ import annotations

from typing import Any

from ramet.model.task import events as ev
from ramet.model.task.ordering import BY_DUE
from ramet.model.task.task import NewTask
from ramet.store.requests import NewLineage
from tests.support.world import World, settlement

BATCH = 20


async def backlog(world: World, tracking_id: str, tasks: int, **fields: Any) -> None:
    await world.submit(*(world.task(**fields) for _ in range(tasks)), tracking_id=tracking_id)


async def served(world: World, claims: int, batch: int = BATCH) -> list[str]:
    """The lineages of the next claims, in their order; each task is completed."""
    order: list[str] = []
    while len(order) < claims:
        taken = await world.claim(min(batch, claims - len(order)))
        if not taken:
            return order
        await world.store.settle([settlement(claimed) for claimed in taken])
        order += [claimed.standing.tracking_id for claimed in taken]
    return order


async def test_a_lineage_of_ten_does_not_wait_for_one_of_thousands(world: World) -> None:
    await backlog(world, "large", 5_000)
    await served(world, 1_000, 100)
    await backlog(world, "small", 10)
    order = await served(world, 2 * 10 + BATCH)
    assert order.count("small") == 10
    # They alternate: at no point has the large one had more than its half and one batch.
    for at, name in enumerate(order[:20], 1):
        assert name == "small" or order[:at].count("large") <= at // 2 + 1


async def test_the_large_lineage_goes_on_while_small_ones_keep_coming(world: World) -> None:
    await backlog(world, "large", 100)
    large = 0
    for number in range(30):
        # As many newcomers as there are claims: they alone could fill every one of them.
        lineages = [NewLineage(f"small {number} {part}", [world.task()]) for part in range(BATCH)]
        await world.store.submit(lineages)
        large += (await served(world, BATCH)).count("large")
    assert large >= 12


async def test_lineages_of_one_task_are_claimed_in_order_of_age(world: World) -> None:
    names = [f"line{n:03d}" for n in range(60)]
    await world.store.submit([NewLineage(name, [world.task()]) for name in names[:30]])
    order = await served(world, 10, 3)
    await world.store.submit([NewLineage(name, [world.task()]) for name in names[30:]])
    assert order + await served(world, 50, 7) == names


async def test_a_lineage_that_was_served_before_has_no_debt_and_no_credit(world: World) -> None:
    await backlog(world, "early", 200)
    assert len(await served(world, 200)) == 200
    [root] = await world.submit(world.task("root"), tracking_id="early again")
    claimed = await world.claim_task(root)
    await world.grow(claimed, *(world.task() for _ in range(30)))
    await backlog(world, "late", 30)
    order = await served(world, 20)
    assert 8 <= order.count("late") <= 12


async def test_many_claims_of_one_kind_do_not_make_newcomers_of_another_wait(world: World) -> None:
    await backlog(world, "large", 200, kind="image")
    await backlog(world, "busy", 2_000)
    while taken := await world.claim(500, kinds=("page",)):
        await world.store.settle([settlement(claimed) for claimed in taken])
    await backlog(world, "small", 5, kind="image")
    order = [claimed.standing.tracking_id for claimed in await world.claim(11)]
    assert order.count("small") == 5


async def test_a_lineage_with_a_backlog_of_one_kind_has_its_turn_in_another(world: World) -> None:
    await backlog(world, "mixed", 1_000)
    await backlog(world, "images", 200, kind="image")
    claimed = await world.claim_one()
    await world.grow(claimed, *(world.task(kind="image") for _ in range(5)))
    order = [claimed.standing.tracking_id for claimed in await world.claim(12, kinds=("image",))]
    assert order.count("mixed") == 5


async def test_priority_goes_before_turns(world: World) -> None:
    await backlog(world, "large", 50)
    await backlog(world, "small", 3)
    await backlog(world, "urgent", 30, priority=1)
    assert await served(world, 30) == ["urgent"] * 30


async def test_a_retry_keeps_its_place(world: World) -> None:
    await backlog(world, "first", 3)
    claimed = await world.claim_one()
    await backlog(world, "second", 50)
    await served(world, 10)
    await world.settle(claimed, ev.Snooze(claimed.standing.fence, 1.0))
    world.clock.advance(1.0)
    assert (await world.claim_one()).id == claimed.id


async def test_a_task_that_continues_itself_queues_behind_those_who_waited(world: World) -> None:
    first = world.task("again", max_chain_depth=100)
    await world.submit(first, tracking_id="endless")
    await backlog(world, "patient", 40)
    order: list[str] = []
    for _ in range(40):
        claimed = await world.claim_one()
        order.append(claimed.standing.tracking_id)
        fence = claimed.standing.fence
        await world.settle(claimed, ev.Continue(fence, True) if claimed.id == first.id else ev.Complete(fence))
    assert order.count("patient") >= 18


async def test_the_level_of_an_idle_class_is_forgotten(world: World) -> None:
    await backlog(world, "line", 5)
    await served(world, 3, 1)
    world.clock.advance(10_000.0)
    await world.sweep()
    assert await world.store.read("SELECT kind FROM ramet_turns") == [("page",)]
    await served(world, 2)
    world.clock.advance(10_000.0)
    await world.sweep()
    assert await world.store.read("SELECT kind FROM ramet_turns") == []


async def test_every_child_takes_a_turn_of_its_own_over_several_settlements(world: World) -> None:
    [root] = await world.submit(world.task("root"))
    claimed = await world.claim_one()
    for part in range(3):
        children = [NewTask(f"c{part}{n}", "page", f"c{part}{n}", "null") for n in range(2)]
        assert await world.spawn(claimed, *children) == [None, None]
    await world.settle(claimed)
    turns = await world.store.read("SELECT turn FROM ramet_live ORDER BY seq")
    assert [turn for (turn,) in turns] == list(range(turns[0][0], turns[0][0] + 6))
    assert root


async def test_kinds_with_different_pasts_share_a_worker(world: World) -> None:
    await backlog(world, "pages", 600)
    assert len(await served(world, 500, 100)) == 500
    await backlog(world, "images", 100, kind="image")
    kinds = [claimed.standing.kind for claimed in await world.claim(20)]
    assert min(kinds.count("page"), kinds.count("image")) >= 8


async def test_a_pulled_task_that_begins_anew_keeps_its_turn(world: World) -> None:
    """Its rank says how long it waits already; the others queue again behind those who wait."""
    await world.submit(world.task("pulled", breadth=BY_DUE, id="pulled"), world.task("other", "image", id="other"))
    turns = "SELECT l.turn FROM ramet_live l JOIN ramet_tasks t ON t.seq = l.seq ORDER BY t.id"
    [[other], [pulled]] = await world.store.read(turns)
    for claimed in await world.claim(2, pulled=True):
        await world.settle(claimed, ev.Continue(claimed.standing.fence, progressed=True))
    assert await world.store.read(turns) == [(other + 1,), (pulled,)]
    assert {claimed.id for claimed in await world.claim(2, pulled=True)} == {"pulled", "other"}
