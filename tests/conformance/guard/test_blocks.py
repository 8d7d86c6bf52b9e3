"""Stored refusals (promise I8): one row per (lineage, kind, key, reason) with its count, and then counters."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.store.answers import ClaimedTask
from ramet.store.rows.blocks import new_task_from_text
from tests.support.world import World, settlement


async def two_claims(world: World, **limits: Any) -> tuple[ClaimedTask, ClaimedTask]:
    await world.submit(world.task("first"), world.task("second"), **limits)
    first, second = await world.claim(2)
    return first, second


async def test_a_block_is_stored_once_with_its_count_and_its_first_and_last_parent(world: World) -> None:
    first, second = await two_claims(world)
    since = world.clock.now
    for claimed in (first, first, second):
        await world.spawn(claimed, world.task("first", "image"), world.task("first", "image"))
        world.clock.advance(10.0)
    stored = {block.reason: block for block in await world.store.blocks("line")}
    cycle, duplicate = stored["cycle"], stored["in_flight"]
    assert (cycle.kind, cycle.key, cycle.count, cycle.winner) == ("image", "first", 4, first.id)
    assert (cycle.first_parent, cycle.last_parent) == (first.id, first.id)
    assert "already works on this key" in cycle.detail
    assert (duplicate.count, duplicate.first_parent, duplicate.last_parent) == (1, second.id, second.id)
    assert duplicate.winner == (await world.claim_one(kinds=("image",))).id
    assert (cycle.first_at, cycle.last_at) == (since, since + 10.0)
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert lineage.blocks == 2


async def test_the_last_parent_is_the_one_that_asked_last(world: World) -> None:
    first, second = await two_claims(world, max_tasks=2)
    for claimed in (first, second):
        await world.spawn(claimed, world.task("x"))
    [block] = await world.store.blocks("line")
    assert (block.first_parent, block.last_parent, block.count) == (first.id, second.id, 2)


LIMITS: dict[str, dict[str, Any]] = {
    "depth": {"max_spawn_depth": 0},
    "budget": {"max_tasks": 3},
    "fan_out": {"max_fan_out": 0},
    "deadline": {"lineage_seconds": 50.0},
}


@pytest.mark.parametrize("reason", LIMITS)
async def test_what_was_wanted_is_kept_whole_where_a_person_may_raise_the_limit(world: World, reason: str) -> None:
    await world.submit(*map(world.task, ("first", "second", "third")), **LIMITS[reason])
    first, *_ = await world.claim(3)
    world.clock.advance(50.0)
    new = world.task("x", payload='{"keep": "me"}', priority=3, delay_seconds=1.5, queue="q", max_attempts=None)
    told = await world.spawn(first, new, world.task("first"))
    assert told[0] == reason
    stored = await world.store.read("SELECT reason, wanted FROM ramet_blocks ORDER BY key DESC")
    assert (stored[0][0], new_task_from_text(stored[0][1])) == (reason, new)
    if told[1] == "cycle":
        assert stored[1] == ("cycle", None)


async def test_one_key_may_be_blocked_for_several_reasons(world: World) -> None:
    first, second = await two_claims(world, max_tasks=3)
    await world.spawn(first, world.task("x", "image"))
    await world.spawn(second, world.task("x", "image"))
    await world.settle(await world.claim_one(kinds=("image",)))
    await world.spawn(second, world.task("x", "image"), world.task("x", "page"))
    assert [(b.kind, b.reason) for b in await world.store.blocks("line")] == [
        ("image", "done"),
        ("image", "in_flight"),
        ("page", "budget"),
    ]


async def test_block_rows_are_at_most_max_tasks_and_then_counted_by_parent_kind_and_reason(world: World) -> None:
    first, second = await two_claims(world, max_tasks=2)
    for claimed in (first, second):
        await world.spawn(claimed, *(world.task(f"x{n}", "image") for n in range(5)))
    stored = await world.store.blocks("line")
    assert [(block.key, block.count) for block in stored] == [("x0", 2), ("x1", 2)]
    counted = await world.store.read("SELECT parent_id, kind, reason, count FROM ramet_block_counts ORDER BY parent_id")
    assert counted == [(first.id, "image", "budget", 3), (second.id, "image", "budget", 3)]
    assert await world.store.block_totals("line") == {("image", "budget"): 10}
    await world.spawn(second, world.task("x0", "image"), world.task("y", "image"))
    assert (await world.store.blocks("line"))[0].count == 3
    assert await world.store.block_totals("line") == {("image", "budget"): 12}


async def test_what_no_row_names_is_listed_by_parent_the_most_frequent_first(world: World) -> None:
    first, second = await two_claims(world, max_tasks=2)
    await world.spawn(first, *(world.task(f"x{n}", "image") for n in range(5)))
    await world.spawn(second, *(world.task(f"x{n}", "image") for n in range(9)))
    for listed in (await world.store.parent_block_counts("line"), await world.store.parent_block_counts(kind="image")):
        assert [(one.tracking_id, one.parent_id, one.parent_kind, one.times) for one in listed] == [
            ("line", second.id, "page", 7),
            ("line", first.id, "page", 3),
        ]
        assert {(one.kind, one.reason) for one in listed} == {("image", "budget")}
    assert len(await world.store.parent_block_counts("line", limit=1)) == 1
    assert await world.store.parent_block_counts("line", kind="page") == []
    assert await world.store.parent_block_counts("other") == []


async def test_duplicates_leave_half_of_the_rows_to_what_a_person_may_offer_again(world: World) -> None:
    first, second = await two_claims(world, max_tasks=5)
    wanted = [world.task(f"x{n}") for n in range(9)]
    await world.spawn(first, *wanted[:3])
    lost = second._replace(standing=second.standing._replace(fence=second.standing.fence + 1))
    # A lost attempt wants more than the lineage may ever have, before anything else is refused.
    assert await world.spawn(lost, *wanted) == ["stale"] * 9
    assert await world.spawn(first, *wanted) == ["in_flight"] * 3 + ["budget"] * 6
    rows = [(block.reason, block.key) for block in await world.store.blocks("line")]
    assert sorted(rows) == [("budget", "x3"), ("budget", "x4"), ("stale", "x0"), ("stale", "x1"), ("stale", "x2")]
    counted = await world.store.read("SELECT reason, count FROM ramet_block_counts ORDER BY reason")
    assert counted == [("budget", 4), ("in_flight", 3), ("stale", 6)]


async def test_blocks_are_found_by_kind_key_and_reason(world: World) -> None:
    await world.submit(*(world.task(key) for key in ("first", "second", "third", "fourth")), max_tasks=4)
    await world.settle(
        await world.claim_one(), spawns=[world.task(key, kind) for key in ("first", "x") for kind in ("page", "image")]
    )

    async def found(**filters: Any) -> list[tuple[str, str, str]]:
        return [(b.kind, b.key, b.reason) for b in await world.store.blocks("line", **filters)]

    everything = await found()
    assert len(everything) == 4
    for at, name in enumerate(("kind", "key", "reason")):
        for value in {row[at] for row in everything}:
            assert await found(**{name: value}) == [row for row in everything if row[at] == value]
    assert await found(kind="image", key="x", reason="budget") == [("image", "x", "budget")]
    assert await found(reason="nothing") == []
    assert len(await world.store.blocks("line", limit=3)) == 3
    assert await world.store.blocks("other") == []
    with pytest.raises(ValueError, match="cannot be filtered by"):
        await world.store.blocks("line", colour="red")


async def test_blocks_of_many_parents_in_one_batch_are_all_counted(world: World) -> None:
    await world.submit(*(world.task(f"r{n}") for n in range(20)), max_tasks=20)
    batch = [settlement(claimed, spawns=[world.task("x"), world.task("r0")]) for claimed in await world.claim(20)]
    await world.store.settle(batch)
    counts = {(b.key, b.reason): b.count for b in await world.store.blocks("line")}
    assert counts == {("x", "budget"): 20, ("r0", "cycle"): 1, ("r0", "in_flight"): 19}
