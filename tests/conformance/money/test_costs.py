"""Money: spent and reserved never pass a ceiling, what was spent is always booked, and every refusal is stored."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from ramet.model.lineage.lineage import Lineage
from ramet.model.money import ActualCost, Charge, ReserveRequest, ReserveResult
from ramet.model.reasons import block_words
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from ramet.store.errors import StoreError
from ramet.store.requests import ClaimRequest, NewLineage
from ramet.store.rows import money
from ramet.store.store import Store
from tests.support.world import LEASE_SECONDS, World, failing, hand_back, in_threads

DAY_SECONDS = 86_400.0
NUMBERS = itertools.count(1)


async def reserve(world: World, claimed: ClaimedTask, amount: int, name: str | None = None) -> ReserveResult:
    standing = claimed.standing
    name = name or f"r{next(NUMBERS)}"
    [answer] = await world.store.reserve([ReserveRequest(name, standing.seq, standing.fence, amount)])
    return answer


async def line(world: World, tracking_id: str = "line") -> Lineage:
    lineage = await world.store.lineage(tracking_id)
    assert lineage is not None
    return lineage


async def sums(world: World, tracking_id: str = "line") -> tuple[int, int, int]:
    row = await line(world, tracking_id)
    return row.spent, row.reserved, row.under_reserved


async def put_ceiling(world: World, key: str, amount: int) -> None:
    await world.store.put_setting(key, amount, "int", "")


async def test_what_is_reserved_is_kept_until_it_is_settled_with_what_it_cost(world: World) -> None:
    await world.submit(max_cost=100)
    claimed = await world.claim_one()
    answer = await reserve(world, claimed, 60)
    assert answer == ReserveResult(answer.id)
    assert await sums(world) == (0, 60, 0)
    [booked] = await world.store.settle_reserved([ActualCost(answer.id, 25)])
    assert (booked.actual, booked.over) == (25, 0)
    assert await sums(world) == (25, 0, 0)
    found = await world.store.costs("line")
    assert (found.day.spent, found.total.spent) == (25, 25)
    [kind], [task] = found.kinds, found.tasks
    assert (kind.kind, kind.calls, kind.spent) == ("page", 1, 25)
    assert (task.task_id, task.spent, task.reserved) == (claimed.id, 25, 0)


async def test_costs_of_kinds_and_tasks_are_those_of_the_latest_calls(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(money, "LOOKS_MAX", 2)
    await world.submit(world.task(), world.task(), world.task())
    for amount, claimed in enumerate(await world.claim(3), 1):
        await reserve(world, claimed, amount)
        assert (await world.store.costs("line")).more == (amount == 3)
    found = await world.store.costs("line")
    assert [kind.reserved for kind in found.kinds] == [5]
    assert {task.reserved for task in found.tasks} == {2, 3}
    assert (await sums(world))[1] == 6


async def test_a_lineages_ceiling_is_reached_and_never_passed_by_one(world: World) -> None:
    await world.submit(max_cost=100)
    claimed = await world.claim_one()
    assert (await reserve(world, claimed, 100)).refused is None
    refused = await reserve(world, claimed, 1)
    assert (refused.refused, refused.retry_seconds) == ("cost", 10.0)
    assert "nothing left" in block_words("reserve", refused.facts)
    assert await sums(world) == (0, 100, 0)


@pytest.mark.parametrize(("key", "name"), [("cost.day_max", "day"), ("cost.global_max", "global")])
async def test_the_ceilings_of_the_day_and_of_the_database_bound_all_lineages(
    world: World, key: str, name: str
) -> None:
    await put_ceiling(world, key, 100)
    await world.submit(tracking_id="a")
    await world.submit(tracking_id="b")
    a, b = await world.claim(2)
    first = await reserve(world, a, 70)
    assert f"ceiling of the {name}" in block_words("reserve", (await reserve(world, b, 31)).facts)
    await world.store.settle_reserved([ActualCost(first.id, 90)])
    assert (await reserve(world, b, 11)).refused == "cost"
    assert (await reserve(world, b, 10)).refused is None
    world.clock.advance(DAY_SECONDS)
    await world.submit(tracking_id="c")
    again = await reserve(world, await world.claim_one(), 50)
    assert again.refused == (None if name == "day" else "cost")


async def test_a_days_money_is_booked_to_the_day_that_reserved_it(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    held = await reserve(world, claimed, 10)
    world.clock.advance(DAY_SECONDS)
    await world.store.settle_reserved([ActualCost(held.id, 8)])
    assert (await world.store.costs()).day.spent == 0
    assert (await world.store.costs()).total.spent == 8


async def test_settling_twice_is_settling_once(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    held = await reserve(world, claimed, 10)
    for amount in (7, 7, 9):
        [booked] = await world.store.settle_reserved([ActualCost(held.id, amount)])
        assert booked.actual == 7
    first, second = await world.store.settle_reserved([ActualCost(held.id, 3), ActualCost("nobody", 3)])
    assert (first.actual, second.actual) == (7, None)
    assert await sums(world) == (7, 0, 0)


async def test_repeating_a_request_reserves_once(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    for _ in range(2):
        assert (await reserve(world, claimed, 10, "same")).refused is None
    assert await sums(world) == (0, 10, 0)


async def test_a_higher_actual_is_booked_in_full_and_told(world: World) -> None:
    await world.submit(max_cost=100)
    claimed = await world.claim_one()
    held, other = await reserve(world, claimed, 40), await reserve(world, claimed, 60)
    [booked] = await world.store.settle_reserved([ActualCost(held.id, 55)])
    assert (booked.actual, booked.over) == (55, 15)
    assert await sums(world) == (55, 60, 15)
    assert (await reserve(world, claimed, 0)).refused == "cost"
    await world.store.settle_reserved([ActualCost(other.id, 0)])
    assert await sums(world) == (55, 0, 15)
    assert (await reserve(world, claimed, 45)).refused is None


async def test_a_stale_claim_reserves_nothing_and_settles_what_it_has(world: World) -> None:
    await world.submit(max_cost=100)
    claimed = await world.claim_one()
    held = await reserve(world, claimed, 40)
    world.clock.advance(LEASE_SECONDS)
    assert (await reserve(world, claimed, 1)).refused == "stale"
    await world.sweep()
    assert await sums(world) == (0, 40, 0), "the task lives on, and what it called may still cost"
    newer = await world.claim_one()
    assert (await reserve(world, claimed, 1)).refused == "stale"
    assert (await reserve(world, newer, 60)).refused is None
    await world.store.settle_reserved([ActualCost(held.id, 30)])
    assert await sums(world) == (30, 60, 0)


@pytest.mark.parametrize("how", ["success", "failed", "cancelled", "lineage", "poison"])
async def test_when_a_task_ends_what_it_left_open_counts_as_spent_until_somebody_settles_it(
    world: World, how: str
) -> None:
    [task_id] = await world.submit(max_cost=100)
    claimed = await world.claim_one()
    held = await reserve(world, claimed, 40)
    if how == "success":
        await world.settle(claimed)
    elif how == "failed":
        await world.settle(claimed, failing(claimed))
    elif how == "cancelled":
        await world.store.cancel(task_id, tree=False, by="ann")
    elif how == "lineage":
        await world.store.cancel_lineage("line", by="ann")
        assert await sums(world) == (0, 40, 0)
        assert (await reserve(world, claimed, 1)).refused == "cancelled"
        await world.sweep()
    else:
        for _ in range(9):
            world.clock.advance(LEASE_SECONDS)
            await world.sweep()
            await world.claim_one()
        world.clock.advance(LEASE_SECONDS)
        await world.sweep()
    assert (await world.get(task_id)).state.terminal
    assert await sums(world) == (40, 0, 0)
    assert (await reserve(world, claimed, 1)).refused == "stale"
    [booked] = await world.store.settle_reserved([ActualCost(held.id, 50)])
    assert (booked.actual, booked.over) == (50, 10)
    assert await sums(world) == (50, 0, 10)


async def test_a_handed_back_or_retried_task_keeps_what_it_reserved(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    await reserve(world, claimed, 10)
    await world.settle(claimed, hand_back(claimed))
    assert await sums(world) == (0, 10, 0)


async def test_what_was_spent_is_booked_after_the_lineage_was_pruned(world: World) -> None:
    await world.submit(max_cost=100)
    claimed = await world.claim_one()
    paid, held = await reserve(world, claimed, 10), await reserve(world, claimed, 40)
    await world.store.settle_reserved([ActualCost(paid.id, 10)])
    await world.settle(claimed)
    assert await world.store.prune(world.clock.now + 1.0) == 1
    assert (await world.store.costs()).total.spent == 50
    [booked] = await world.store.settle_reserved([ActualCost(held.id, 15)])
    assert booked.actual == 15
    assert (await world.store.costs()).total.spent == 25


async def test_what_a_pruned_lineage_left_open_goes_after_a_day_and_the_sums_stay(world: World) -> None:
    for name in ("line", "kept"):
        [task_id] = await world.submit(world.task(name), tracking_id=name, max_cost=100)
        claimed = await world.claim_one()
        await reserve(world, claimed, 10, f"{name}-left")
        await reserve(world, claimed, 40, f"{name}-late")
        await world.settle(claimed, failing(claimed))
        world.clock.advance(1.0)
        if name == "kept":
            assert await world.store.revive([task_id], by="ann") == [task_id]
    assert await world.store.prune(world.clock.now, limit=1) == 1
    before = await world.store.read("SELECT day, spent, reserved FROM ramet_spend ORDER BY day")

    async def names() -> list[str]:
        return [name for (name,) in await world.store.read("SELECT id FROM ramet_reservations ORDER BY id")]

    everything = ["kept-late", "kept-left", "line-late", "line-left"]
    world.clock.advance(DAY_SECONDS - 2.0)
    await world.store.settle_reserved([ActualCost("line-late", 40)])
    await world.store.prune(world.clock.now)
    assert await names() == everything, "not open for a day yet"
    world.clock.advance(1.1)
    await world.store.prune(world.clock.now - DAY_SECONDS / 2)
    assert await names() == ["kept-late", "kept-left", "line-late"], "settled half a day ago at most"
    world.clock.advance(DAY_SECONDS)
    await world.store.prune(world.clock.now - DAY_SECONDS / 2)
    assert await names() == ["kept-late", "kept-left"], "their task is there"
    assert await world.store.read("SELECT day, spent, reserved FROM ramet_spend ORDER BY day") == before
    [told] = await world.store.settle_reserved([ActualCost("line-left", 7)])
    assert told.actual is None
    assert (await world.store.costs()).total.spent == 100


async def test_a_refused_reservation_is_stored_with_its_ceiling(world: World) -> None:
    [task_id] = await world.submit(max_cost=5)
    claimed = await world.claim_one()
    for _ in range(3):
        assert (await reserve(world, claimed, 6)).retry_seconds is None
    [block] = await world.store.blocks("line", reason="reserve")
    assert (block.count, block.first_parent, block.kind, block.key) == (3, task_id, "page", claimed.key)
    assert block.detail == (
        "the ceiling of the lineage is $0.000000005: $0.00 spent, $0.00 reserved, $0.000000005 left, "
        "$0.000000006 wanted"
    )
    history = await world.store.history(task_id)
    assert history is not None
    assert history.blocks == (block,)


async def test_a_charge_commits_with_the_task_and_counts_as_progress(world: World) -> None:
    await world.submit(max_cost=100)
    claimed = await world.claim_one()
    refused = await world.settle(claimed._replace(standing=claimed.standing._replace(fence=9)), charge=Charge("x", 5))
    assert refused.refused == "stale"
    assert await sums(world) == (0, 0, 0)
    answer = await world.settle(claimed, ev.Continue(claimed.standing.fence, False), charge=Charge("c", 30))
    assert answer.state == "pending", "without progress it would have been a success"
    assert await sums(world) == (30, 0, 0)
    again = await world.claim_one()
    await world.settle(again, charge=Charge("d", 80))
    assert await sums(world) == (110, 0, 10)
    assert (await world.store.costs()).day.spent == 110


async def test_a_lineage_that_spent_its_ceiling_spawns_nothing_more(world: World) -> None:
    await world.submit(max_cost=100)
    claimed = await world.claim_one()
    assert await world.spawn(claimed, world.task("a")) == [None]
    answer = await world.settle(
        claimed, ev.Progress(claimed.standing.fence, LEASE_SECONDS), charge=Charge("c", 100), spawns=[world.task("b")]
    )
    [told] = answer.spawns
    assert (told.reason, told.detail) == ("cost", "the lineage has spent $0.0000001 of $0.0000001")
    assert await world.spawn(claimed, world.task("a")) == ["in_flight"], "a duplicate is told as what it is"


async def test_endless_attempts_need_a_ceiling(world: World) -> None:
    poll = world.task(max_attempts=None)
    with pytest.raises(StoreError, match="max_attempts=None needs a ceiling"):
        await world.submit(poll)
    await world.submit(tracking_id="free")
    assert await world.spawn(await world.claim_one(), world.task("p", max_attempts=None)) == ["cost"]
    await world.submit(poll, tracking_id="bounded", max_cost=10)
    assert await world.spawn(await world.claim_one(), world.task("p", max_attempts=None)) == [None]


async def test_under_concurrency_a_ceiling_is_never_passed_by_one(shared: Store) -> None:
    [root] = await shared.submit([NewLineage("line", [World(shared, None).task()], max_cost=100)])  # type: ignore[arg-type]
    [claimed] = await shared.claim(ClaimRequest("w", ("default",), ("page",), 1, LEASE_SECONDS))
    granted: list[int] = []

    async def spend() -> None:
        for amount in (7, 11, 3) * 8:
            name = f"r{next(NUMBERS)}"
            [answer] = await shared.reserve([ReserveRequest(name, claimed.standing.seq, 1, amount)])
            if answer.refused is None:
                granted.append(amount)
                if amount == 3:
                    await shared.settle_reserved([ActualCost(name, 1)])
            await asyncio.sleep(0)

    await in_threads(*[spend] * 6)
    row = await shared.lineage(root.tracking_id)
    assert row is not None
    assert row.spent + row.reserved <= 100
    assert row.reserved == sum(amount for amount in granted if amount != 3)
    assert row.spent == granted.count(3)
