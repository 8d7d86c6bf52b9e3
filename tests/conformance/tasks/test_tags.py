"""Tags: of tasks and of the lineages that begin with them; listed by, kept to the end, and gone with the lineage."""

from __future__ import annotations

import pytest

from ramet.model.task.task import TaskState
from ramet.model.values import InvalidText, checked_tags
from ramet.store.requests import TaskQuery
from tests.support.world import World


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        (["a"] * 5 + [str(n) for n in range(10)], "11 tags are over 10"),
        (["x" * 65], "a tag"),
        ([""], "a tag is empty"),
        (["a", 1], "a tag"),
        ("nightly", "give a list of texts"),
    ],
)
def test_tags_that_cannot_be_are_refused(tags: list[str], said: str) -> None:
    with pytest.raises(InvalidText, match=said):
        checked_tags(tags)


def test_each_tag_is_kept_once_in_order() -> None:
    assert checked_tags(["b", "a", "b", "x" * 64]) == ("a", "b", "x" * 64)


async def listed(world: World, tag: str, **query: object) -> list[str]:
    """Keys of the tasks with a tag."""
    page = await world.store.tasks(TaskQuery(tag=tag, **query))  # type: ignore[arg-type]
    return [task.key for task in page.tasks]


async def test_tasks_are_listed_by_tag_whatever_else_is_asked(world: World) -> None:
    await world.submit(world.task("a", tags='["red", "blue"]'), world.task("b", tags='["red"]'))
    await world.submit(world.task("c"), tracking_id="other")
    claims = {claim.key: claim for claim in await world.claim(3)}
    await world.settle(claims["a"], spawns=[world.task("d", tags='["red"]'), world.task("e")])
    assert await listed(world, "red") == ["a", "b", "d"]
    assert await listed(world, "red", newest=True, limit=2) == ["d", "b"]
    assert await listed(world, "red", states=frozenset({TaskState.SUCCESS})) == ["a"]
    assert await listed(world, "red", min_depth=1) == await listed(world, "red", key="d") == ["d"]
    assert await listed(world, "red", parent_id=claims["a"].id) == ["d"]
    assert await listed(world, "red", tracking_id="other") == await listed(world, "green") == []
    first = await world.get(claims["a"].id)
    assert (first.tags, (await world.get(claims["c"].id)).tags) == (("blue", "red"), ())


async def test_a_lineage_has_the_tags_of_its_roots(world: World) -> None:
    for name, tags in (("x", '["red"]'), ("y", None), ("z", '["red", "blue"]')):
        await world.submit(world.task(name, tags=tags), tracking_id=name)
    await world.settle(await world.claim_one(), spawns=[world.task("below", tags='["green"]')])

    async def lineages(tag: str, **more: object) -> list[str]:
        page = await world.store.lineage_page(tag=tag, **more)  # type: ignore[arg-type]
        return [row.tracking_id for row in page.lineages]

    assert (await lineages("red"), await lineages("blue"), await lineages("green")) == (["x", "z"], ["z"], [])
    first = await world.store.lineage_page(tag="red", limit=1)
    assert ([row.tracking_id for row in first.lineages], first.next_before) == (["x"], "x")
    assert await lineages("red", before="x") == ["z"]
    await world.store.cancel_lineage("x", by="test")
    assert await lineages("red", states=["running"]) == ["z"]


async def test_tags_go_with_their_lineage(world: World) -> None:
    await world.submit(world.task("a", tags='["red"]'))
    await world.settle(await world.claim_one())
    await world.sweep()
    world.clock.advance(1_000.0)
    assert await world.store.prune(world.clock()) == 1
    assert await listed(world, "red") == []
    assert (await world.store.lineage_page(tag="red")).lineages == ()
