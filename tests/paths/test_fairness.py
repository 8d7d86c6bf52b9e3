"""A parent between very many children starts after exactly those that came before it."""

from __future__ import annotations

import pytest

from tests.paths.named_tasks import Desk, on


async def starts_after(desk: Desk, children: int, at_once: int) -> int:
    """How many children have ended when the parent starts that stands between two such crowds."""
    await desk.submit(*(on(f"before{number}", "doc1", f"{number}") for number in range(children)))
    await desk.submit(on("parent", "doc1"))
    await desk.submit(*(on(f"after{number}", "doc1", f"{number % 7}") for number in range(children)))
    ended = 0
    while names := await desk.start(at_once):
        if "parent" in names:
            assert names == ["parent"]
            return ended
        assert all(name.startswith("before") for name in names)
        await desk.store.settle([desk.asked(name) for name in names])
        ended += len(names)
    raise AssertionError(f"the parent did not start after {ended} children")


async def drain(desk: Desk, at_once: int) -> int:
    """Complete whatever is left."""
    await desk.store.settle([desk.asked("parent")])
    ended = 0
    while not await desk.store.idle(["page"]):
        await desk.rest()
        names = await desk.start(at_once)
        assert names, "somebody is stuck"
        await desk.store.settle([desk.asked(name) for name in names])
        ended += len(names)
    return ended


async def test_a_parent_starts_after_exactly_those_before_it(desk: Desk) -> None:
    assert await starts_after(desk, 60, 7) == 60
    assert await drain(desk, 7) == 60


@pytest.mark.nightly
@pytest.mark.timeout(600)
async def test_a_parent_between_two_thousand_and_two_thousand_children_starts_after_the_first_ones(desk: Desk) -> None:
    assert await starts_after(desk, 2_000, 50) == 2_000
    assert await drain(desk, 50) == 2_000
