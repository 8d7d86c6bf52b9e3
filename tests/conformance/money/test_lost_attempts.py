"""Money that lost attempts left open: the call may have been made, and tasks that wait for money never wait for each
other."""

from __future__ import annotations

import pytest

from ramet.model.money import ActualCost, ReserveRequest, ReserveResult
from ramet.model.reasons import Reason, block_words
from ramet.model.task import events as ev
from ramet.store.answers import ClaimedTask
from tests.support.world import LEASE_SECONDS, World


async def reserve(
    world: World, claimed: ClaimedTask, amount: int, name: str, *, named: bool = False, repeatable: bool = False
) -> ReserveResult:
    standing = claimed.standing
    request = ReserveRequest(name, standing.seq, standing.fence, amount, named, repeatable)
    [answer] = await world.store.reserve([request])
    return answer


async def sums(world: World) -> tuple[int, int, int]:
    row = await world.store.lineage("line")
    assert row is not None
    return row.spent, row.reserved, row.under_reserved


async def lost(world: World) -> None:
    """All claims are lost: their processes were killed, and their leases ran out."""
    world.clock.advance(LEASE_SECONDS + 1)
    await world.sweep()
    world.clock.advance(60)


async def test_a_lost_named_call_is_booked_in_full_before_the_name_is_reserved_again(world: World) -> None:
    await world.submit(max_cost=100)
    first = await world.claim_one()
    held = await reserve(world, first, 40, "call", named=True)
    assert (await reserve(world, first, 40, "call", named=True)).id == held.id, "repeating it reserves once"
    await lost(world)
    second = await world.claim_one()
    again = await reserve(world, second, 40, "call", named=True)
    assert (again.refused, again.actual) == (None, None)
    assert again.id != held.id
    assert await sums(world) == (40, 40, 0)
    assert (await reserve(world, second, 40, "call", named=True)).id == again.id
    await world.store.settle_reserved([ActualCost(again.id, 10)])
    assert (await reserve(world, second, 40, "call", named=True)).actual == 10, "the call was made"
    await world.store.settle_reserved([ActualCost(held.id, 30)])
    assert await sums(world) == (40, 0, 0), "the lost worker was alive, and told what its call cost"


async def test_a_lost_named_call_leaves_no_room_under_a_ceiling(world: World) -> None:
    await world.submit(max_cost=70)
    await reserve(world, await world.claim_one(), 40, "call", named=True)
    await lost(world)
    refused = await reserve(world, await world.claim_one(), 40, "call", named=True)
    assert (refused.refused, refused.retry_seconds) == ("cost", None)
    assert await sums(world) == (40, 0, 0)


async def test_where_the_provider_deduplicates_the_name_is_the_same_reservation(world: World) -> None:
    await world.submit(max_cost=70)
    held = await reserve(world, await world.claim_one(), 40, "call", named=True, repeatable=True)
    await lost(world)
    again = await reserve(world, await world.claim_one(), 40, "call", named=True, repeatable=True)
    assert (again.id, again.refused) == (held.id, None)
    assert await sums(world) == (0, 40, 0)


async def test_a_name_is_not_another_that_begins_with_it(world: World) -> None:
    await world.submit(max_cost=100)
    first = await world.claim_one()
    await reserve(world, first, 10, "call_1", named=True)
    await reserve(world, first, 20, "call_12", named=True)
    await lost(world)
    second = await world.claim_one()
    assert (await reserve(world, second, 1, "call%1", named=True)).id == "call%1"
    await reserve(world, second, 10, "call_1", named=True)
    assert await sums(world) == (10, 31, 0)


async def put_off(world: World, claimed: ClaimedTask, refused: ReserveResult) -> None:
    """The handler let the refusal through."""
    assert refused.retry_seconds is not None
    fence = claimed.standing.fence
    await world.settle(claimed, ev.Snooze(fence, refused.retry_seconds, Reason("cost", **refused.facts)))


async def test_tasks_that_wait_for_money_never_wait_for_each_other(world: World) -> None:
    await world.submit(*map(world.task, "abcd"), max_cost=100)
    for claimed in await world.claim(3):
        await reserve(world, claimed, 30, f"lost {claimed.key}")
    await lost(world)
    claims = sorted(await world.claim(4), key=lambda claimed: claimed.key)
    refusals = [await reserve(world, claimed, 30, f"again {claimed.key}") for claimed in claims]
    assert [refused.retry_seconds for refused in refusals] == [10.0] * 4, "one of the others may give something back"
    for claimed, refused in zip(claims, refusals, strict=True):
        await put_off(world, claimed, refused)
    world.clock.advance(11)
    # All of them come back at once: that one is running again does not mean that it can give anything back.
    for claimed in await world.claim(4):
        refused = await reserve(world, claimed, 30, f"last {claimed.key}")
        assert (refused.refused, refused.retry_seconds) == ("cost", None)
        assert "by tasks that wait for money themselves" in block_words("reserve", refused.facts)


async def test_one_that_can_give_something_back_is_waited_for(world: World) -> None:
    await world.submit(*map(world.task, "abc"), max_cost=100)
    a, b, c = sorted(await world.claim(3), key=lambda claimed: claimed.key)
    await reserve(world, a, 30, "left open")
    await reserve(world, b, 50, "in flight")
    await put_off(world, a, await reserve(world, a, 40, "more"))
    assert (await reserve(world, c, 40, "wanted")).retry_seconds == 10.0
    await world.store.settle_reserved([ActualCost("in flight", 10)])
    assert (await reserve(world, c, 40, "wanted")).refused is None


@pytest.mark.parametrize("name", ["day", "global"])
async def test_the_ceilings_of_the_day_and_of_the_database_do_the_same(world: World, name: str) -> None:
    await world.store.put_setting(f"cost.{name}_max", 100, "int", "")
    await world.submit(*map(world.task, "ab"))
    for claimed in await world.claim(2):
        await reserve(world, claimed, 50, f"lost {claimed.key}")
    await lost(world)
    first, second = await world.claim(2)
    await put_off(world, first, await reserve(world, first, 50, "again"))
    refused = await reserve(world, second, 50, "last")
    tomorrow = 86_400.0 - world.clock.now % 86_400.0
    assert refused.retry_seconds == (tomorrow if name == "day" else None)
