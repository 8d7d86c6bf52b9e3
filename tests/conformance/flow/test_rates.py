"""Buckets in the database: exact under any number of takers, fenced, fair between lineages (DESIGN §8, §10)."""

from __future__ import annotations

import heapq
import itertools
import time
from collections import Counter
from functools import partial

import pytest

from ramet.model.flow.resources import Resource, ResourcePolicy, ResponseLimits
from ramet.model.flow.shares import KEEP_SECONDS, OFF_SECONDS, TakeRequest, TakeResult
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.store.answers import ClaimedTask
from ramet.store.requests import ClaimRequest, NewLineage
from ramet.store.store import Store
from ramet.store.verbs import rates
from tests.support.backends import Backend
from tests.support.world import LEASE_SECONDS, World, in_threads

API = "api:requests"
TOKENS = "api:tokens"


async def limited(world: World, name: str = API, rate: float = 2.0, burst: float = 5.0) -> None:
    await world.store.limit_resource(ResourcePolicy(name, rate_per_second=rate, burst=burst), by="ada")


def asked(claimed: ClaimedTask, **amounts: float) -> TakeRequest:
    names = {"requests": API, "tokens": TOKENS}
    standing = claimed.standing
    return TakeRequest(standing.seq, standing.fence, tuple((names[what], amount) for what, amount in amounts.items()))


async def take(world: World, claimed: ClaimedTask, **amounts: float) -> float:
    [answer] = await world.store.take([asked(claimed, **amounts)])
    assert answer.refused is None
    return answer.seconds


async def in_store(world: World, name: str = API) -> Resource:
    [resource] = await world.store.resources(name)
    return resource


async def shares(world: World) -> list[tuple[str, float]]:
    return sorted(await world.store.read("SELECT tracking_id, wanted FROM ramet_shares"))


async def test_a_burst_and_then_what_time_brings(world: World) -> None:
    await limited(world)
    await world.submit()
    claimed = await world.claim_one(lease_seconds=1e7)
    assert [await take(world, claimed, requests=1) for _ in range(5)] == [0.0] * 5
    assert await take(world, claimed, requests=1) == pytest.approx(0.5)
    world.clock.advance(0.5)
    assert await take(world, claimed, requests=1) == 0.0
    world.clock.advance(1e6)
    assert [await take(world, claimed, requests=1) > 0 for _ in range(6)] == [False] * 5 + [True]
    world.clock.advance(-3_600.0)
    assert await take(world, claimed, requests=1) == pytest.approx(3_600.5)


async def test_of_several_buckets_all_or_none(world: World) -> None:
    await limited(world)
    await limited(world, TOKENS, rate=10.0, burst=100.0)
    await world.submit()
    claimed = await world.claim_one()
    assert await take(world, claimed, requests=1, tokens=80) == 0.0
    assert await take(world, claimed, requests=1, tokens=80) == pytest.approx(6.0)
    assert (await in_store(world)).tokens == 4.0
    assert await take(world, claimed, requests=4) == 0.0


async def test_an_amount_above_the_burst_is_given_once_and_paid_back(world: World) -> None:
    await limited(world, TOKENS, rate=10.0, burst=100.0)
    await world.submit()
    claimed = await world.claim_one()
    assert await take(world, claimed, tokens=1_000) == 0.0
    assert (await in_store(world, TOKENS)).tokens == -900.0
    assert await take(world, claimed, tokens=1) == pytest.approx(90.1)


async def test_a_later_request_sees_what_an_earlier_one_took(world: World) -> None:
    await limited(world)
    await world.submit()
    claimed = await world.claim_one()
    first, second = await world.store.take([asked(claimed, requests=3), asked(claimed, requests=3)])
    assert [first.seconds, second.seconds] == [0.0, pytest.approx(0.5)]


async def test_a_stale_claim_and_one_of_a_lineage_that_ended_take_nothing(world: World) -> None:
    await limited(world)
    await world.submit(tracking_id="first")
    first = await world.claim_one()
    await world.submit(tracking_id="second")
    second = await world.claim_one()
    await world.store.cancel_lineage("second", by="ada")
    world.clock.advance(1.0)
    later = first._replace(standing=first.standing._replace(fence=first.standing.fence + 1))
    told = await world.store.take([asked(item, requests=1) for item in (later, second, first)])
    assert [answer.refused for answer in told] == ["stale", "cancelled", None]
    assert (await in_store(world)).tokens == 4.0
    world.clock.advance(LEASE_SECONDS)
    [answer] = await world.store.take([asked(first, requests=1)])
    assert answer.refused == "stale"


async def test_without_a_rate_anything_is_given_and_nothing_written(world: World) -> None:
    await world.store.limit_resource(ResourcePolicy(TOKENS, concurrency=1), by="ada")
    await world.submit()
    claimed = await world.claim_one()
    assert await take(world, claimed, requests=1e9, tokens=1e9) == 0.0
    assert await world.store.resources() == []


async def test_what_rests_gives_nothing(world: World) -> None:
    await world.submit(world.task(), world.task())
    claimed, other = await world.claim(2)
    await world.settle(other, ev.Snooze(other.standing.fence, 7.0, "429", API))
    assert await take(world, claimed, requests=1) == pytest.approx(7.0)
    world.clock.advance(7.0)
    assert await take(world, claimed, requests=1) == 0.0
    await world.store.open_breaker(API, by="ada", reason="bill")
    assert await take(world, claimed, requests=1) == OFF_SECONDS
    await world.store.close_breaker(API, by="ada")
    assert await take(world, claimed, requests=1) == 0.0


# --- what servers say


async def test_a_refusal_halves_the_rate_which_comes_back(world: World) -> None:
    await limited(world, rate=8.0, burst=1.0)
    await world.submit(world.task(), world.task(), world.task())
    claimed, *others = await world.claim(3)
    for other in others:
        await world.settle(other, ev.Snooze(other.standing.fence, 2.0, "429", API))
    assert (await in_store(world)).cut_rate == 4.0
    world.clock.advance(2.0)
    assert await take(world, claimed, requests=1) == 0.0
    assert await take(world, claimed, requests=1) == pytest.approx(0.25, abs=0.01)
    world.clock.advance(200.0)
    assert await take(world, claimed, requests=1) == 0.0
    assert await take(world, claimed, requests=1) == pytest.approx(0.125)


async def test_what_headers_say_is_kept_for_all(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    await world.store.adapt(API, ResponseLimits(limit_per_minute=600.0, remaining=2.0))
    assert [await take(world, claimed, requests=1) for _ in range(3)] == [0.0, 0.0, pytest.approx(0.1)]
    await limited(world, rate=1.0, burst=50.0)
    assert await take(world, claimed, requests=1) == pytest.approx(1.0)
    await world.store.adapt(API, ResponseLimits(limit_per_minute=6.0))
    assert await take(world, claimed, requests=1) == pytest.approx(10.0)


async def test_a_used_up_limit_of_unknown_size_pauses(world: World) -> None:
    await world.submit()
    claimed = await world.claim_one()
    await world.store.adapt(API, ResponseLimits(remaining=0.0, reset_seconds=20.0))
    assert await take(world, claimed, requests=1) == pytest.approx(20.0)


async def test_what_says_nothing_new_writes_nothing(world: World) -> None:
    for told in (ResponseLimits(), ResponseLimits(remaining=9.0), ResponseLimits(remaining=0.0)):
        await world.store.adapt(API, told)
    assert await world.store.resources() == []
    await limited(world)
    await world.store.adapt(API, ResponseLimits(limit_per_minute=600.0, remaining=599.0))
    before = await in_store(world)
    world.clock.advance(5.0)
    await world.store.adapt(API, ResponseLimits(limit_per_minute=600.0, remaining=598.0))
    assert await in_store(world) == before


async def test_claims_go_by_what_headers_say_too(world: World) -> None:
    await world.submit(*(world.task(resource=API) for _ in range(5)))
    await world.store.adapt(API, ResponseLimits(limit_per_minute=60.0, remaining=2.0))
    assert len(await world.claim(10)) == 2
    world.clock.advance(1.0)
    assert len(await world.claim(10)) == 1


async def test_what_was_learned_is_forgotten_after_a_day_without_use(world: World) -> None:
    await world.store.adapt(API, ResponseLimits(limit_per_minute=60.0, remaining=1.0))
    world.clock.advance(86_399.0)
    await world.sweep()
    assert (await in_store(world)).told_rate == 1.0
    world.clock.advance(2.0)
    await world.sweep()
    assert await world.store.resources() == []


# --- lineages


@pytest.mark.parametrize("seconds", [5.0, pytest.param(20.0, marks=pytest.mark.nightly)])
async def test_a_lineage_of_one_task_gets_as_much_as_one_of_a_hundred(world: World, seconds: float) -> None:
    await limited(world, rate=10.0, burst=3.0)
    await world.submit(*(world.task() for _ in range(100)), tracking_id="many")
    await world.submit(tracking_id="one")
    claims = await world.claim(200, lease_seconds=1e6)
    numbers, began = itertools.count(), world.clock.now
    waiting = [(began + n * 1e-4, next(numbers), item) for n, item in enumerate(claims)]
    heapq.heapify(waiting)
    got: Counter[str] = Counter()
    while waiting[0][0] < began + seconds:
        moment, _, item = heapq.heappop(waiting)
        world.clock.now = moment
        pause = await take(world, item, requests=1)
        got[item.standing.tracking_id] += not pause
        heapq.heappush(waiting, (moment + pause + 1e-3, next(numbers), item))
    assert sum(got.values()) >= 0.9 * 10.0 * seconds
    assert abs(got["many"] - got["one"]) <= 0.1 * 10.0 * seconds


async def test_shares_are_kept_only_while_somebody_is_refused(world: World) -> None:
    await limited(world)
    await world.submit(tracking_id="first")
    first = await world.claim_one()
    await world.submit(tracking_id="second")
    second = await world.claim_one()
    assert await take(world, first, requests=5) == 0.0
    assert await shares(world) == []
    seconds = await take(world, second, requests=2)
    assert await shares(world) == [("second", 2.0)]
    world.clock.advance(seconds)
    assert await take(world, second, requests=2) == 0.0
    assert await shares(world) == [("second", 0.0)]
    world.clock.advance(KEEP_SECONDS + 1.0)
    await world.sweep()
    assert await shares(world) == []


async def test_nothing_is_left_for_a_lineage_that_is_paused_or_over(world: World) -> None:
    await limited(world, rate=1.0, burst=1.0)
    await world.submit(tracking_id="first")
    first = await world.claim_one()
    await world.submit(tracking_id="second")
    second = await world.claim_one()
    assert await take(world, first, requests=1) == 0.0
    assert await take(world, second, requests=1) > 0.0
    world.clock.advance(1.0)
    assert await take(world, first, requests=1) == 0.0
    assert await take(world, second, requests=1) > 0.0
    world.clock.advance(1.0)
    assert await take(world, first, requests=1) > 0.0
    await world.store.pause_lineage("second", by="ada")
    assert await take(world, first, requests=1) == 0.0


async def test_eight_takers_of_two_stores_never_get_more_than_the_bucket_bears(backend: Backend) -> None:
    stores = [backend.open(), backend.open()]
    burst, rate = 5.0, 40.0
    await stores[0].limit_resource(ResourcePolicy(API, rate_per_second=rate, burst=burst), by="ada")
    lineages = [NewLineage(f"line{n}", [NewTask(f"t{n}", "page", f"k{n}", "null")]) for n in range(8)]
    await stores[0].submit(lineages)
    claims = await stores[0].claim(ClaimRequest("w", ("default",), ("page",), 8, LEASE_SECONDS))
    given_out: list[tuple[float, float]] = []

    async def work(store: Store, claimed: ClaimedTask) -> None:
        while len(given_out) < 60:
            began = time.time()
            [answer] = await store.take([asked(claimed, requests=1)])
            if answer == TakeResult(0.0):
                given_out.append((began, time.time()))

    await in_threads(*(partial(work, stores[n % 2], claimed) for n, claimed in enumerate(claims)))
    # Each was given at some moment between its two times, so that a window is as long as it can have been.
    for begin in sorted(begin for begin, _ in given_out):
        for end in sorted(end for _, end in given_out):
            inside = sum(begin <= first and last <= end for first, last in given_out)
            assert inside <= burst + rate * max(0.0, end - begin) + 0.01
    for store in stores:
        await store.close()


async def test_a_word_that_another_worker_brought_meanwhile_changes_nothing(world: World) -> None:
    """Both saw that it was new."""
    word = partial(rates.adapt, name=API, limits=ResponseLimits(limit_per_minute=600.0, remaining=2.0))
    await world.store._write_beside(word)
    before = await in_store(world)
    await world.store._write_beside(word)
    assert await in_store(world) == before
