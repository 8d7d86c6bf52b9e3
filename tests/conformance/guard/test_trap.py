"""A lineage spawns at most ``max_shape`` keys of one shape, for kinds that ask for it."""

from __future__ import annotations

import pytest

from ramet.model.keys import shape_of
from ramet.model.task.task import NewTask
from tests.support.world import World, settlement

PAGES = "https://example.com/list?page="


def trapped(world: World, key: str, kind: str = "page") -> NewTask:
    return world.task(key, kind, shape=shape_of(key))


async def test_the_bound_is_exact_over_parents_and_batches(world: World) -> None:
    await world.submit(*(world.task(kind="image") for _ in range(4)), max_shape=10)
    batch = [
        settlement(claimed, spawns=[trapped(world, f"{PAGES}{at}{n}") for n in range(1, 5)])
        for at, claimed in enumerate(await world.claim(4))
    ]
    answers = await world.store.settle(batch[:2]) + await world.store.settle(batch[2:])
    told = [answer.reason for settled in answers for answer in settled.spawns]
    assert told == [None] * 10 + ["trap"] * 6
    [block, *_] = await world.store.blocks("line", reason="trap")
    assert block.detail == (
        "the lineage has 10 keys of the shape example.com/list?page: if they are honest, allow the shape"
    )


async def test_other_shapes_kinds_and_lineages_have_their_own_count(world: World) -> None:
    await world.submit(world.task(kind="image"), max_shape=1)
    claimed = await world.claim_one()
    wanted = [
        trapped(world, f"{PAGES}1"),
        trapped(world, "https://example.com/other?page=1"),
        trapped(world, f"{PAGES}2", kind="loose"),
        trapped(world, f"{PAGES}3"),
        world.task(f"{PAGES}4", "image"),
    ]
    assert await world.spawn(claimed, *wanted) == [None, None, None, "trap", None]
    [other] = await world.submit(world.task(kind="image"), tracking_id="other", max_shape=1)
    assert await world.spawn(await world.claim_task(other), trapped(world, f"{PAGES}3")) == [None]


async def test_a_duplicate_and_what_another_bound_refuses_count_nothing(world: World) -> None:
    await world.submit(world.task(kind="image"), max_shape=2, max_fan_out=2)
    claimed = await world.claim_one()
    one, two, three = (trapped(world, f"{PAGES}{n}") for n in range(3))
    assert await world.spawn(claimed, one, one, two, three) == [None, "in_flight", None, "fan_out"]
    assert await world.store.read("SELECT shape, count FROM ramet_shapes") == [("example.com/list?page", 2)]


async def test_roots_are_a_persons_choice_and_count_nothing(world: World) -> None:
    await world.submit(*(trapped(world, f"{PAGES}{n}") for n in range(5)), max_shape=1)
    claimed = await world.claim_one()
    assert await world.spawn(claimed, trapped(world, f"{PAGES}8"), trapped(world, f"{PAGES}9")) == [None, "trap"]


async def test_a_handler_lowers_max_shape_and_never_raises_it(world: World) -> None:
    await world.submit(world.task(kind="image"), max_shape=5)
    claimed = await world.claim_one()
    answer = await world.settle(
        claimed, lower=(("max_shape", 1), ("max_shape", 3)), spawns=[trapped(world, f"{PAGES}{n}") for n in range(2)]
    )
    assert [told.reason for told in answer.spawns] == [None, "trap"]


@pytest.mark.parametrize("raised", [3, 100])
async def test_after_raising_max_shape_the_trapped_are_offered_again(world: World, raised: int) -> None:
    await world.submit(world.task(kind="image"), max_shape=2)
    await world.settle(await world.claim_one(), spawns=[trapped(world, f"{PAGES}{n}") for n in range(6)])
    await world.store.raise_limits("line", {"max_shape": raised}, by="ann")
    told = await world.store.reoffer("line", by="ann", reasons=["trap"])
    assert (len(told.created), dict(told.still_blocked)) == ((1, {"trap": 3}) if raised == 3 else (4, {}))
