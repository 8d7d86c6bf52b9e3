"""What limits allow at worst, beside the numbers of the safety design and beside counting one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.lineage.limits import CLAIMING_SHARE, HOUR_SECONDS, PRESETS, Limits, bill, waits, worst_case

HALF_A_DOLLAR_FOR_1000 = 500_000
TWO_DOLLARS_FOR_1000 = 2_000_000
DOLLAR = 1_000_000_000

NUMBERS = {
    # invocations, items a cycle, items, calls; dollars at 0.5 and at 2 for 1,000; seconds of a stuck item
    "conservative": ((24, 2_000, 24_000, 96_000), (12, 48), 243.5),
    "balanced": ((36, 3_000, 36_000, 252_000), (18, 72), 443.5),
    "aggressive": ((72, 6_000, 72_000, 792_000), (36, 144), 715.5),
}


@pytest.mark.parametrize("name", PRESETS)
def test_the_worst_hour_of_each_preset(name: str) -> None:
    counts, dollars, stuck = NUMBERS[name]
    worst = worst_case(PRESETS[name])
    assert worst.cycles == 12
    assert (worst.invocations, worst.items_per_cycle, worst.items, worst.calls) == counts
    bills = [bill(worst, price) for price in (HALF_A_DOLLAR_FOR_1000, TWO_DOLLARS_FOR_1000)]
    assert [found.items for found in bills] == [amount * DOLLAR for amount in dollars]
    assert [found.calls for found in bills] == [worst.calls * found.call_price for found in bills]
    assert worst.item_seconds == stuck
    assert worst.item_seconds_within == min(stuck, 600.0)


def test_runs_that_overlap_take_longer_than_an_hour_in_an_hour_and_one_at_a_time_cannot() -> None:
    worst = worst_case(Limits())
    assert worst.overlapping == 6
    assert worst.running_seconds == 36 * 600.0
    assert worst.running_seconds_alone == HOUR_SECONDS
    quick = worst_case(replace(Limits(), invocation_seconds=10.0))
    assert (quick.overlapping, quick.running_seconds, quick.running_seconds_alone) == (1, 360.0, 360.0)


def test_a_call_may_take_its_share_of_the_time_in_which_items_are_claimed() -> None:
    limits = replace(Limits(), invocation_seconds=100.0, invocation_items=50, invocation_concurrency=4)
    worst = worst_case(limits)
    assert worst.claiming_seconds == 100.0 * CLAIMING_SHARE
    assert worst.call_seconds_in_time == worst.claiming_seconds * 4 / 50
    assert worst_case(replace(limits, invocation_items=0)).call_seconds_in_time == math.inf


def test_the_waits_double_from_half_a_second_to_eight() -> None:
    assert [waits(retries) for retries in range(8)] == [0.0, 0.5, 1.5, 3.5, 7.5, 15.5, 23.5, 31.5]
    assert waits(10_000) == 7.5 + 9_996 * 8.0


@given(
    every=st.floats(1.0, 100_000.0),
    depth=st.integers(0, 20),
    items=st.integers(0, 5_000),
    retries=st.integers(0, 20),
    phase=st.floats(0.0, 1.0),
)
def test_no_hour_has_more_than_the_worst_one(every: float, depth: int, items: int, retries: int, phase: float) -> None:
    limits = Limits(
        schedule_seconds=every, max_chain_depth=depth, invocation_items=items, call_retries=retries
    )  # fmt: skip
    worst = worst_case(limits)
    slots = 0
    # Multiplied, not added up: 3,000 additions of 1.2 make a little less than an hour.
    while every * (phase + slots) < HOUR_SECONDS and slots <= 4_000:
        slots += 1
    taken = sum(items for _ in range(slots) for _ in range(depth + 1))
    assert taken <= worst.items
    assert taken * (retries + 1) <= worst.calls
    assert worst.items == worst.cycles * worst.items_per_cycle


@pytest.mark.parametrize(
    "limits",
    [Limits(schedule_seconds=0.0), Limits(invocation_items=0), Limits(max_chain_depth=0, call_retries=0),
     Limits(invocation_seconds=0.0), Limits(call_seconds=0.0)],
)  # fmt: skip
def test_limits_of_nothing_have_a_worst_case_too(limits: Limits) -> None:
    worst = worst_case(limits)
    assert worst.items == worst.cycles * (limits.max_chain_depth + 1) * limits.invocation_items
    assert worst.item_seconds_within <= limits.invocation_seconds


def test_a_schedule_comes_at_most_every_second_and_a_part_of_a_cycle_counts_as_one() -> None:
    cycles = {every: worst_case(Limits(schedule_seconds=every)).cycles for every in (0.0, 1.0, 1.5, 7.0, 9_999.0)}
    assert cycles == {0.0: 3_600, 1.0: 3_600, 1.5: 2_400, 7.0: 515, 9_999.0: 1}
    assert worst_case(Limits(schedule_seconds=0.5, invocation_seconds=9.0)).overlapping == 27
    assert worst_case(Limits(schedule_seconds=7.0, invocation_seconds=9.0)).overlapping == 4
