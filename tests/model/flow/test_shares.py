"""Taking from buckets: never more than they bear, and equal shares between lineages (DESIGN §8, §10)."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.flow.resources import TOLERANCE_SECONDS, Resource, ResourcePolicy, cut, paused
from ramet.model.flow.shares import (
    GRACE_SECONDS,
    KEEP_SECONDS,
    OFF_SECONDS,
    Bucket,
    BucketCheck,
    ResourceShare,
    after_grant,
    after_refusal,
    check_bucket,
    position,
)

NOW = 1_000_000.0


class Store:
    """Buckets in memory; asks as a claim does."""

    def __init__(self, **policies: ResourcePolicy) -> None:
        self.buckets = {name: Bucket(Resource(name), policy, {}) for name, policy in policies.items()}

    def take(self, lineage: str, now: float, **amounts: float) -> float:
        told = {name: check_bucket(self.buckets[name], lineage, amount, now) for name, amount in amounts.items()}
        seconds = max(each.seconds for each in told.values())
        for name, amount in amounts.items():
            bucket = self.buckets[name]
            after = after_grant(bucket, lineage, amount, now)
            self.buckets[name] = after_refusal(bucket, lineage, amount, now, told[name]) if seconds else after
        return seconds


def rate(per_second: float, burst: float = 1.0) -> ResourcePolicy:
    return ResourcePolicy("a", rate_per_second=per_second, burst=burst)


@given(
    st.floats(0.01, 100.0),
    st.integers(1, 50),
    st.lists(
        st.tuples(st.floats(-20.0, 60.0), st.sampled_from("ABC"), st.floats(0.01, 80.0), st.booleans()), max_size=60
    ),
)
def test_over_any_window_a_bucket_gives_no_more_than_burst_and_rate(
    per_second: float, burst: int, moves: list[tuple[float, str, float, bool]]
) -> None:
    policy = rate(per_second, float(burst))
    store, now, latest = Store(a=policy), NOW, -math.inf
    given_out: list[tuple[float, float]] = []
    for seconds, lineage, amount, slower in moves:
        now += seconds
        latest = max(latest, now)
        if slower:
            bucket = store.buckets["a"]
            store.buckets["a"] = bucket._replace(resource=cut(bucket.resource, policy, now))
        told = store.take(lineage, now, a=amount)
        assert told >= 0
        if not told:
            given_out.append((latest, amount))
    slack = 1e-6 + TOLERANCE_SECONDS * per_second * len(moves)
    for at, (begin, _) in enumerate(given_out):
        total = largest = 0.0
        for end, amount in given_out[at:]:
            # What is above the burst is paid back before anything else is given.
            total, largest = total + amount, max(largest, amount)
            assert total <= max(burst, largest) + per_second * (end - begin) + slack


@given(st.floats(0.01, 1e3), st.floats(1.0, 50.0), st.floats(0.01, 200.0), st.floats(0.0, 100.0))
def test_who_comes_at_the_moment_that_it_was_told_is_given_what_it_wants(
    per_second: float, burst: float, amount: float, used: float
) -> None:
    store = Store(a=rate(per_second, burst))
    assert store.take("A", NOW, a=used or 1.0) == 0.0
    seconds = store.take("A", NOW, a=amount)
    assert seconds == 0.0 or store.take("A", NOW + seconds, a=amount) == 0.0


def test_all_or_nothing() -> None:
    store = Store(requests=rate(1.0, 10.0), tokens=rate(10.0, 100.0))
    assert store.take("A", NOW, requests=1, tokens=100) == 0.0
    assert store.take("A", NOW, requests=1, tokens=50) == pytest.approx(5.0)
    assert store.take("A", NOW, requests=9) == 0.0


def test_what_has_no_rate_gives_any_amount_and_what_rests_gives_none() -> None:
    store = Store(a=ResourcePolicy("a"))
    assert store.take("A", NOW, a=1e9) == 0.0
    bucket = store.buckets["a"]
    assert check_bucket(bucket._replace(resource=paused(bucket.resource, NOW + 7.0, "429")), "A", 1, NOW).seconds == 7.0
    off = bucket.resource._replace(opened_at=NOW, opened_by="ada")
    assert check_bucket(bucket._replace(resource=off), "A", 1, NOW).seconds == OFF_SECONDS
    cool = ResourcePolicy("a", cooldown_seconds=60.0)
    assert check_bucket(Bucket(off, cool, {}), "A", 1, NOW).seconds == 60.0
    assert check_bucket(Bucket(off, cool, {}), "A", 1, NOW + 60.0).seconds == 0.0


def test_a_clock_that_jumps_ahead_brings_a_burst_and_one_set_back_brings_nothing() -> None:
    store = Store(a=rate(1.0, 5.0))
    assert [store.take("A", NOW, a=1) for _ in range(6)] == [0, 0, 0, 0, 0, pytest.approx(1.0)]
    assert [store.take("A", NOW + 1e6, a=1) > 0 for _ in range(6)] == [False] * 5 + [True]
    assert store.take("A", NOW, a=1) == pytest.approx(1e6 + 1.0)


def run(
    policies: dict[str, ResourcePolicy],
    callers: dict[str, int],
    amounts: dict[str, dict[str, float]],
    seconds: float,
    **options: float,
) -> Counter[str]:
    """Callers who ask again at the moment that they were told, or a little later; what each lineage was given."""
    draw, store, numbers = random.Random(7), Store(**policies), itertools.count()
    given_out: Counter[str] = Counter()
    waiting = [(NOW, next(numbers), lineage) for lineage, count in callers.items() for _ in range(count)]
    draw.shuffle(waiting)
    heapq.heapify(waiting)
    while waiting[0][0] < NOW + seconds:
        now, _, lineage = heapq.heappop(waiting)
        told = store.take(lineage, now, **amounts[lineage])
        if not told:
            given_out[lineage] += 1
            told = options.get("think", 0.0)
        late = draw.uniform(0, options.get("late", 0.05))
        heapq.heappush(waiting, (now + told + late, next(numbers), lineage))
    return given_out


@pytest.mark.parametrize("burst", [1.0, 20.0])
@pytest.mark.parametrize(("late", "per_second"), [(0.001, 10.0), (0.05, 1.0), (0.5, 0.1)])
def test_a_lineage_with_one_caller_gets_as_much_as_one_with_a_hundred(
    burst: float, late: float, per_second: float
) -> None:
    each, seconds = {"a": 1.0}, 300 / per_second
    given_out = run({"a": rate(per_second, burst)}, {"A": 100, "B": 1}, {"A": each, "B": each}, seconds, late=late)
    assert given_out["B"] >= 0.4 * given_out.total()
    assert given_out["A"] >= 0.4 * given_out.total()
    assert given_out.total() >= 0.8 * 300


def test_shares_are_equal_in_units_not_in_calls() -> None:
    amounts = {"A": {"a": 10.0}, "B": {"a": 1.0}}
    given_out = run({"a": rate(10.0, 20.0)}, {"A": 50, "B": 5}, amounts, 1_000)
    assert 0.4 <= 10 * given_out["A"] / (10 * given_out["A"] + given_out["B"]) <= 0.6


def test_of_two_buckets_the_scarce_one_is_shared_and_nobody_waits_for_the_other() -> None:
    policies = {"requests": rate(10.0, 10.0), "tokens": rate(1_000.0, 2_000.0)}
    amounts = {"A": {"requests": 1.0, "tokens": 50.0}, "B": {"requests": 1.0, "tokens": 1_500.0}}
    given_out = run(policies, {"A": 40, "B": 40}, amounts, 200)
    used = 50 * given_out["A"] + 1_500 * given_out["B"]
    assert used >= 0.9 * 1_000 * 200 or given_out.total() >= 0.9 * 10 * 200
    assert 1_500 * given_out["B"] >= 0.4 * used


def test_what_a_lineage_does_not_come_for_goes_to_the_others() -> None:
    each = {"a": 1.0}
    given_out = run({"a": rate(10.0, 20.0)}, {"A": 100, "B": 1}, {"A": each, "B": each}, 100, think=1.0)
    assert given_out["B"] >= 40
    assert given_out.total() >= 0.9 * 10 * 100


def test_who_never_comes_back_costs_the_others_its_grace_at_most() -> None:
    store = Store(a=rate(1.0))
    assert store.take("A", NOW, a=1) == 0.0
    assert store.take("A", NOW, a=1) == pytest.approx(1.0)
    assert store.take("B", NOW, a=1) == pytest.approx(1.0)
    assert store.take("A", NOW + 1.0, a=1) == 0.0
    assert store.take("A", NOW + 2.0, a=1) > 0.0
    assert store.take("A", NOW + 1.0 + GRACE_SECONDS, a=1) == 0.0


def test_nobody_gets_anything_for_the_time_in_which_it_did_not_ask() -> None:
    shares = {"A": ResourceShare("A", 500.0, 1.0, NOW, NOW + 100.0), "B": ResourceShare("B", 3.0, 0.0, NOW, NOW + 60.0)}
    bucket = Bucket(Resource("a", tokens=0.0, refilled_at=NOW), rate(1.0), shares)
    asked = [("B", 10.0, 500.0), ("C", 0.0, 500.0), ("B", 1.0, 495.0), ("B", GRACE_SECONDS, 495.0), ("B", 5.1, 500.0)]
    for lineage, later, taken in asked:
        told = check_bucket(bucket, lineage, 1.0, NOW + later)
        assert after_refusal(bucket, lineage, 1.0, NOW + later, told).shares[lineage].taken == taken


def test_what_a_clock_says_that_was_set_back_keeps_nothing_for_anybody() -> None:
    assert not ResourceShare("A", 0.0, 1.0, NOW + 3_600.0, NOW + 3_700.0).waits(NOW)


def test_what_was_taken_and_wanted_is_remembered_for_so_long_and_only_where_somebody_was_refused() -> None:
    bucket = Bucket(Resource("a", tokens=5.0, refilled_at=NOW), rate(1.0, 5.0), {})
    assert after_grant(bucket, "A", 2.0, NOW) == bucket._replace(resource=Resource("a", tokens=3.0, refilled_at=NOW))
    told = check_bucket(bucket, "A", 5.0, NOW + 0.0)
    assert (told.seconds, told.queued) == (0.0, False)
    empty = bucket._replace(resource=Resource("a", tokens=0.0, refilled_at=NOW))
    told = check_bucket(empty, "A", 2.0, NOW)
    assert (told.seconds, told.queued) == (2.0, True)
    waiting = after_refusal(empty, "A", 2.0, NOW, told)
    assert waiting.shares == {"A": ResourceShare("A", 0.0, 2.0, NOW, NOW + 2.0 + GRACE_SECONDS + KEEP_SECONDS)}
    given = after_grant(waiting, "A", 2.0, NOW + 2.0)
    assert given.shares == {"A": ResourceShare("A", 2.0, 0.0, NOW + 2.0, NOW + 2.0 + KEEP_SECONDS)}
    held = after_refusal(waiting, "A", 1.0, NOW + 1.0, BucketCheck(9.0, False))
    assert held.shares == {"A": ResourceShare("A", 0.0, 0.0, NOW + 1.0, NOW + 1.0 + KEEP_SECONDS)}
    assert after_refusal(empty, "A", 1.0, NOW, BucketCheck(9.0, False)) == empty


def test_who_wants_no_more_than_there_is_has_room_whatever_the_clock_says() -> None:
    bucket = Bucket(Resource("a", tokens=1.0, refilled_at=NOW + 10.0), rate(1.0, 5.0), {})
    assert check_bucket(bucket, "A", 1.0, NOW) == BucketCheck(0.0, False)
    assert check_bucket(bucket, "A", 2.0, NOW) == BucketCheck(11.0, True)


def test_a_lineage_is_waited_for_from_when_it_asked_until_what_it_took_is_all_that_counts() -> None:
    share = ResourceShare("A", 0.0, 1.0, NOW, NOW + 5.0 + KEEP_SECONDS)
    assert [share.waits(NOW + later) for later in (-0.1, 0.0, 4.9, 5.0)] == [False, True, True, False]
    assert not share._replace(wanted=0.0).waits(NOW)


def test_what_rests_says_for_how_long_and_nobody_queues_for_it() -> None:
    empty = Bucket(Resource("a", tokens=0.0, refilled_at=NOW), rate(1.0), {})
    for rest, told in ((0.5, BucketCheck(0.5, False)), (0.0, BucketCheck(1.0, True))):
        resting = empty._replace(resource=paused(empty.resource, NOW + rest, "429"))
        assert check_bucket(resting, "A", 1.0, NOW) == told
    assert check_bucket(Bucket(Resource("a"), ResourcePolicy("a"), {}), "A", 1.0, 0.0) == BucketCheck(0.0, False)
    assert check_bucket(empty, "A", TOLERANCE_SECONDS, NOW) == BucketCheck(0.0, False)


def test_who_comes_anew_stands_with_the_first_of_those_who_wait_or_behind_all() -> None:
    shares = {"A": ResourceShare("A", 500.0, 0.0, NOW, NOW + 60.0), "B": ResourceShare("B", 5.0, 1.0, NOW, NOW + 100.0)}
    bucket = Bucket(Resource("a", tokens=0.0, refilled_at=NOW), rate(1.0), shares)
    assert position(bucket, "C", NOW) == 5.0
    assert position(bucket, "C", NOW + 50.0) == 500.0
    assert position(bucket._replace(shares={}), "C", NOW) == 0.0
    # Without a rate nobody is behind: who waits and who comes are one.
    assert position(bucket._replace(policy=ResourcePolicy("a")), "A", NOW + 1.0) == 500.0
    ahead = {"A": ResourceShare("A", 3.0, 0.0, NOW, NOW + 60.0), "B": ResourceShare("B", 5.0, 1.0, NOW, NOW + 100.0)}
    assert position(bucket._replace(policy=ResourcePolicy("a"), shares=ahead), "A", NOW + 1.0) == 5.0
    assert after_grant(bucket, "B", 2.0, NOW).shares["B"].taken == 7.0
    assert after_grant(bucket, "A", 2.0, NOW).shares["A"].taken == 502.0
    assert after_grant(bucket, "A", 2.0, NOW).resource.tokens == -2.0
