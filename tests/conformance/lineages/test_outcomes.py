"""What a lineage came to, beside its state: exact in every transaction that changes it (promise I8)."""

from __future__ import annotations

import pytest

from ramet.model.lineage.lineage import Lineage, LineageOutcome, OutcomeKind
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from tests.support.world import World, failing, settlement


async def lineage(world: World, tracking_id: str = "line") -> Lineage:
    found = await world.store.lineage(tracking_id)
    assert found is not None
    return found


async def outcome(world: World, tracking_id: str = "line") -> str:
    return str((await lineage(world, tracking_id)).outcome)


async def fail(world: World, claimed: ClaimedTask) -> None:
    await world.settle(claimed, ev.Fail(claimed.standing.fence, "broken"))


async def test_what_nobody_refused_and_nothing_failed_in_is_clean(world: World) -> None:
    await world.submit(world.task("root"))
    await world.grow(await world.claim_one(), world.task("a"), world.task("b"))
    assert await outcome(world) == "clean"
    await world.run_all()
    found = await lineage(world)
    assert (found.state, str(found.outcome), found.outcome.kinds) == ("finished", "clean", (OutcomeKind.CLEAN,))


async def test_a_failure_counts_until_a_person_retries_it(world: World) -> None:
    [root] = await world.submit(world.task("root"))
    await fail(world, await world.claim_one())
    found = await lineage(world)
    assert (found.state, str(found.outcome)) == ("finished", "with failures: 1")
    await world.store.revive([root], by="ann")
    await world.run_all()
    assert await outcome(world) == "clean"


async def test_what_a_limit_refused_counts_until_it_is_granted(world: World) -> None:
    await world.submit(world.task("root"), max_tasks=2)
    wanted = [world.task(key) for key in ("a", "b", "c", "b")]
    await world.settle(await world.claim_one(), spawns=wanted)
    await world.run_all()
    assert (await lineage(world)).outcome == LineageOutcome(0, {"budget": 2})
    assert await outcome(world) == "incomplete: 2 refused by budget"
    await world.store.raise_limits("line", {"max_tasks": 3}, by="ann")
    await world.store.reoffer("line", by="ann", limit=1)
    assert await outcome(world) == "incomplete: 1 refused by budget"
    await world.store.raise_limits("line", {"max_tasks": 9}, by="ann")
    # A parent that asks once more is granted it as well.
    await world.settle(await world.claim_one(), spawns=[world.task("c")])
    assert await outcome(world) == "clean"
    await world.store.reoffer("line", by="ann")
    assert await outcome(world) == "clean"


async def test_duplicates_and_links_back_of_places_are_everyday_life(world: World) -> None:
    await world.submit(world.task("root"), max_spawn_depth=1)
    await world.grow(await world.claim_one(), world.task("a"), world.task("b"))
    a, b = await world.claim(2)
    links = [world.task("root"), world.task("a"), world.task("b"), world.task("b")]
    await world.store.settle([settlement(a, spawns=links), settlement(b, spawns=links)])
    # Too deep, all of them, and all there.
    assert (await world.store.block_totals("line"))[("page", "depth")] == 8
    assert await outcome(world) == "clean"


async def test_a_cycle_of_a_kind_about_no_place_and_what_is_too_deep_are_left_out(world: World) -> None:
    await world.submit(world.task("root", "loose"), max_spawn_depth=1)
    root = await world.claim_one()
    assert await world.spawn(root, world.task("root", "loose")) == ["cycle"]
    await world.grow(root, world.task("a"))
    await world.settle(await world.claim_one(), spawns=[world.task("deep"), world.task("deeper")])
    assert await outcome(world) == "incomplete: 2 refused by depth, 1 refused by cycle"


async def test_beyond_the_stored_rows_refusals_are_counted_as_well(world: World) -> None:
    await world.submit(world.task("root"), max_tasks=1)
    root = await world.claim_one()
    await world.spawn(root, *(world.task(f"w{n}") for n in range(5)))
    assert (await lineage(world)).blocks == 1
    assert await outcome(world) == "incomplete: 5 refused by budget"


async def test_what_a_person_cancelled_is_left_out_and_failures_come_first(world: World) -> None:
    await world.submit(world.task("a"), world.task("b"), world.task("c"))
    await fail(world, await world.claim_one())
    assert await world.store.cancel((await world.claim_one()).id, tree=False, by="ann")
    await world.run_all()
    found = await lineage(world)
    assert str(found.outcome) == "with failures: 1; incomplete: 1 cancelled"
    assert found.outcome.kinds == (OutcomeKind.FAILURES, OutcomeKind.INCOMPLETE)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [("clean", ["c3", "c1", "c0"]), ("failures", ["both", "f"]), ("incomplete", ["both", "i"])],
)
async def test_lineages_are_filtered_by_outcome_page_by_page(world: World, wanted: str, names: list[str]) -> None:
    for name in ("c0", "c1", "f", "i", "both", "c3"):
        await world.submit(world.task("root"), tracking_id=name, max_tasks=1)
        claimed = await world.claim_one()
        if name in ("i", "both"):
            await world.spawn(claimed, world.task("more"))
        if name in ("f", "both"):
            await fail(world, claimed)
        else:
            await world.settle(claimed, None)
        world.clock.advance(1)
    found, before = [], None
    while True:
        page = await world.store.lineage_page(outcome=wanted, limit=1, before=before)
        found += [row.tracking_id for row in page.lineages]
        before = page.next_before
        if before is None:
            break
    assert found == names
    with pytest.raises(ValueError, match="'dirty' is not a valid outcome"):
        await world.store.lineage_page(outcome="dirty")


async def test_attempts_that_are_tried_again_are_no_failures(world: World) -> None:
    await world.submit(world.task("root"))
    claimed = await world.claim_one()
    await world.settle(claimed, failing(claimed, error_class="transient"))
    assert await outcome(world) == "clean"
