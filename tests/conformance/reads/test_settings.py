"""Settings come back with the type they were stored with; a value of another type is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.world import World

VALUES: list[tuple[str, Any]] = [
    ("int", 5),
    ("int", -1),
    ("int", 2**60),
    ("float", 0.1),
    ("float", 1e300),
    ("string", "a 'quoted' ünïcödé\nline"),
    ("string", ""),
    ("json", {"a": [1, None, True, "ä"]}),
    ("json", None),
    ("json", "text"),
]


@pytest.mark.parametrize(("value_type", "value"), VALUES, ids=[f"{t}-{n}" for n, (t, _) in enumerate(VALUES)])
async def test_a_setting_keeps_its_value_and_type(world: World, value_type: str, value: Any) -> None:
    await world.store.put_setting("name", value, value_type, "what it does")
    found = await world.store.settings()
    assert found == {"name": value}
    assert type(found["name"]) is type(value)


async def test_a_setting_is_replaced_with_its_description_and_time(world: World) -> None:
    await world.store.put_setting("name", 1, "int", "old")
    world.clock.advance(5.0)
    await world.store.put_setting("name", "two", "string", "new")
    assert await world.store.read("SELECT key, value, value_type, description, updated_at FROM ramet_settings") == [
        ("name", "two", "string", "new", world.clock.now)
    ]


BAD = [("int", "many"), ("int", 1.5), ("float", "fast"), ("colour", "red"), ("json", {1, 2})]


@pytest.mark.parametrize(("value_type", "value"), BAD, ids=[f"{t}-{n}" for n, (t, _) in enumerate(BAD)])
async def test_a_value_of_another_type_is_refused(world: World, value_type: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        await world.store.put_setting("name", value, value_type, "what it does")
    assert await world.store.settings() == {}
