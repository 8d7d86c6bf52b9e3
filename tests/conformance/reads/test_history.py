"""What is told of one task stays bounded, and says where it was cut."""

from __future__ import annotations

import pytest

from ramet.model.task import events as ev
from ramet.store.reads import history
from tests.support.world import LEASE_SECONDS, World


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a test reaches."""
    monkeypatch.setattr(history, "LIMIT_MAX", 3)
    monkeypatch.setattr(history, "LOOKED_AT_MAX", 4)


@pytest.mark.usefixtures("few")
async def test_of_many_attempts_the_newest_are_told_in_order(world: World) -> None:
    [task] = await world.submit(world.task())
    for fence in range(1, 6):
        await world.settle(await world.claim_one(), ev.Snooze(fence, 1.0))
        world.clock.advance(1.0)
        await world.sweep()
    found = await world.store.history(task)
    assert found is not None
    assert ([attempt.fence for attempt in found.attempts], found.cut) == ([3, 4, 5], ("attempts",))


@pytest.mark.usefixtures("few")
async def test_what_a_task_was_the_first_to_ask_for_is_told_however_much_its_lineage_was_refused(world: World) -> None:
    [other, last] = await world.submit(world.task("a"), world.task("z"))
    claims = {claimed.id: claimed for claimed in await world.claim(2)}
    for claim, keys in ((other, "bcdefg"), (last, "xyb")):
        children = [world.task(key, kind="image") for key in keys]
        await world.settle(claims[claim], ev.Progress(1, LEASE_SECONDS), spawns=children)
        await world.settle(claims[claim], ev.Progress(1, LEASE_SECONDS), spawns=[*children, *children[:1]])
    found, before = await world.store.history(last), await world.store.history(other)
    assert found is not None
    assert before is not None
    # b: both asked for it, x and y only the last one.
    assert ([block.key for block in found.blocks], found.cut) == (["b", "x", "y"], ("blocks",))
    told = [block.key for block in before.blocks]
    assert (told, len(told), before.cut) == (sorted(set(told) & set("bcdefg")), 3, ("blocks",)), "any three, in order"


async def test_a_short_history_is_whole(world: World) -> None:
    [task] = await world.submit(world.task("own"))
    claimed = await world.claim_one()
    await world.settle(claimed, spawns=[world.task("own", "image"), world.task("own")])
    found = await world.store.history(task)
    assert found is not None
    assert (len(found.attempts), len(found.blocks), found.cut) == (1, 2, ())
