"""A trap that stops honest pages: a person allows their shape and offers them again, and nothing else gets in."""

from __future__ import annotations

import json

import pytest

from ramet.model.keys import shape_of
from ramet.model.task.task import NewTask
from ramet.store.errors import StoreError
from tests.support.world import World


def page(world: World, key: str, kind: str = "page") -> NewTask:
    return world.task(f"https://x.example/{key}", kind, shape=shape_of(f"https://x.example/{key}"))


async def trapped(world: World) -> None:
    """Of each shape one page is granted."""
    await world.submit(world.task("root"), max_shape=1)
    wanted = [*(page(world, f"a/{n}") for n in range(3)), *(page(world, f"day/{n}") for n in range(3))]
    answer = await world.settle(await world.claim_one(), spawns=[*wanted, page(world, "a/7", "image")])
    assert [told.reason for told in answer.spawns] == [None, "trap", "trap", None, "trap", "trap", None]
    assert answer.spawns[1].detail == (
        "the lineage has 1 keys of the shape x.example/a/#: if they are honest, allow the shape"
    )


@pytest.mark.parametrize(
    "told", ["https://x.example/a/#", "x.example/a/#", "HTTPS://X.example/a/#/", "https://x.example/a/17"]
)
async def test_an_allowed_shape_lets_honest_pages_in_and_no_others(world: World, told: str) -> None:
    await trapped(world)
    lineage = await world.store.raise_limits("line", {}, allow_shapes=[told], by="ann", reason="articles")
    assert lineage.shapes_allowed == {"x.example/a/#": None}
    found = await world.store.reoffer("line", by="ann")
    assert (len(found.created), found.still_blocked) == (2, {"trap": 2})
    [_, act] = await world.store.acts("line")
    assert (act.act, act.by, act.reason, act.detail) == (
        "raise_limits", "ann", "articles", {"allow_shapes": ["x.example/a/#"]},
    )  # fmt: skip


async def test_a_shape_may_have_a_limit_of_its_own(world: World) -> None:
    await trapped(world)
    await world.store.raise_limits("line", {}, allow_shapes=["https://x.example/a/#=2"], by="ann")
    assert len((await world.store.reoffer("line", by="ann")).created) == 1
    await world.store.raise_limits("line", {}, allow_shapes=["x.example/a/#"], by="ann")
    assert len((await world.store.reoffer("line", by="ann")).created) == 1
    for less in ("x.example/a/#=5", "x.example/day/#=0"):
        with pytest.raises(StoreError, match="give more, a limit is only raised"):
            await world.store.raise_limits("line", {}, allow_shapes=[less], by="ann")
    with pytest.raises(StoreError, match="the shape ' ' is not valid"):
        await world.store.raise_limits("line", {"max_tasks": 10**6}, allow_shapes=[" "], by="ann")


async def test_a_lineage_begins_with_the_shapes_that_its_limits_allow(world: World) -> None:
    await world.submit(world.task("root"), max_shape=1, allow_shapes=("https://x.example/a/#",))
    wanted = [*(page(world, f"a/{n}") for n in range(3)), *(page(world, f"day/{n}") for n in range(2))]
    answer = await world.settle(await world.claim_one(), spawns=wanted)
    assert [told.reason for told in answer.spawns] == [None, None, None, None, "trap"]


@pytest.mark.parametrize(
    ("only", "left"),
    [
        ({"shape": "https://x.example/day/#"}, {"a/1", "a/2"}),
        ({"key": "https://x.example/a/2"}, {"a/1", "day/1", "day/2"}),
        ({"kind": "image"}, {"a/1", "a/2", "day/1", "day/2"}),
        ({"kind": "page", "shape": "x.example/a/#"}, {"day/1", "day/2"}),
        ({"kind": "page", "reasons": ["budget"]}, {"a/1", "a/2", "day/1", "day/2"}),
    ],
)
async def test_only_what_is_wanted_is_offered_again(world: World, only: dict[str, object], left: set[str]) -> None:
    await trapped(world)
    await world.store.raise_limits("line", {"max_shape": 50}, by="ann")
    after = None
    while True:  # Pages that pass over what is not wanted come to an end.
        found = await world.store.reoffer("line", by="ann", limit=1, after=after, **only)  # type: ignore[arg-type]
        after = found.after
        if after is None:
            break
    blocks = await world.store.blocks("line", reason="trap")
    assert {block.key.removeprefix("https://x.example/") for block in blocks if block.reoffered_at is None} == left
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert json.loads(lineage.left_out or "{}").get("trap", 0) == len(left)
