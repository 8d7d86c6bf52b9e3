"""A claim on one path takes only tasks at that path or below it, under the same rules as any claim."""

from __future__ import annotations

from ramet.model.flow.resources import DeclaredFlow, ResourcePolicy
from ramet.model.paths import PathRule
from tests.support.world import World


async def pathed(world: World, *paths: tuple[str, ...]) -> None:
    await world.submit(*(world.task("/".join(path), path=PathRule(path)) for path in paths))


async def keys(world: World, *path: str, limit: int = 50) -> list[str]:
    return [claimed.key for claimed in await world.claim(limit, path=path)]


async def test_what_is_elsewhere_or_has_no_path_is_left(world: World) -> None:
    await pathed(world, ("a",), ("ab", "c"), ("b",))
    await world.submit(world.task("none"), tracking_id="none")
    await world.submit(world.task("night", queue="night", path=PathRule(("d",))), tracking_id="night")
    assert await keys(world, "d") == []
    assert await keys(world, "a", "b") == []
    assert await keys(world, "ab") == ["ab/c"]
    assert sorted(await keys(world)) == ["a", "b", "none"]


async def test_what_is_in_line_behind_others_waits_all_the_same(world: World) -> None:
    await pathed(world, ("a",), ("a", "b"), ("a", "c"))
    [first] = await world.claim(5, path=("a",))
    assert first.key == "a"
    assert await keys(world, "a", "b") == []
    await world.settle(first)
    assert await keys(world, "a", "b") == ["a/b"]
    assert await keys(world, "a") == ["a/c"]


async def test_among_those_below_a_path_the_priority_decides(world: World) -> None:
    await world.submit(*(world.task(f"{at}", priority=at, path=PathRule(("a", str(at)))) for at in range(4)))
    assert await keys(world, "a", limit=2) == ["3", "2"]


async def test_a_paused_path_is_not_claimed_by_name_either(world: World) -> None:
    await pathed(world, ("a", "b"))
    await world.store.pause_path(("a",), by="ada")
    assert await keys(world, "a") == []


async def test_a_resource_lets_through_what_is_on_the_path_alone(world: World) -> None:
    await world.store.declare(DeclaredFlow({}, {}, [ResourcePolicy("api", concurrency=1)]))
    for key, path in (("first", ("b",)), ("second", ("a", "x"))):
        await world.submit(world.task(key, resource="api", path=PathRule(path)), tracking_id=key)
    assert await keys(world, "a") == ["second"]
    assert await keys(world) == [], "its one claim is held"
