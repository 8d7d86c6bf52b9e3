"""The pace: hold enough that no slot waits for the database, and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ramet.engine.worker.worker import AHEAD_SECONDS, HELD_MAX, SettleRate
from tests.support.fakes import Hands


def paced(per_second: float, concurrency: int = 8, seconds: int = 20) -> SettleRate:
    """A pace that has seen so many tasks a second."""
    clock = Hands()
    pace = SettleRate(clock, concurrency)
    for _ in range(seconds * 5):
        clock.at += 0.2
        pace.settled(int(per_second / 5))
    return pace


def test_before_anything_is_known_it_holds_as_many_as_there_are_slots() -> None:
    pace = SettleRate(Hands(), 8)
    assert pace.wanted(0) == 8
    assert pace.wanted(7) == 1
    assert pace.wanted(8) == 0


def test_slow_handlers_prefetch_nothing() -> None:
    pace = paced(per_second=0)
    assert pace.wanted(8) == 0
    assert pace.wanted(6) == 2


def test_fast_handlers_prefetch_a_quarter_of_a_second() -> None:
    pace = paced(per_second=1_000)
    assert abs(pace.wanted(0) - (8 + 1_000 * AHEAD_SECONDS)) < 5


def test_fast_handlers_claim_in_batches_and_not_one_by_one() -> None:
    pace = paced(per_second=1_000)
    target = pace.wanted(0)
    assert pace.wanted(target - 1) == 0, "room for one is no reason to ask"
    assert pace.wanted(target - 60) == 60


def test_it_never_holds_more_than_its_bound() -> None:
    assert paced(per_second=1_000_000).wanted(0) == HELD_MAX


def test_it_forgets_a_burst() -> None:
    clock = Hands()
    pace = SettleRate(clock, 4)
    clock.at += 0.2
    pace.settled(10_000)
    burst = pace.wanted(0)
    for _ in range(20):
        clock.at += 0.2
        pace.settled(0)
    assert burst > pace.wanted(0) == 4


def test_where_what_it_holds_does_not_begin_it_holds_as_many_as_there_are_slots() -> None:
    pace = paced(per_second=1_000)
    pace.stalled()
    assert pace.wanted(0) == 8


def test_the_first_settled_batch_tells_how_fast_tasks_are() -> None:
    clock = Hands()
    pace = SettleRate(clock, 16)
    clock.at += 0.01
    pace.settled(16, taken_at=clock.at - 0.01)
    assert pace.wanted(0) == 16 + 1_600 * AHEAD_SECONDS


def test_slow_handlers_that_end_together_do_not_look_fast() -> None:
    clock = Hands()
    pace = SettleRate(clock, 16)
    clock.at += 1.0
    pace.settled(1, taken_at=clock.at - 1.0)
    clock.at += 0.001
    pace.settled(15, taken_at=clock.at - 1.001)
    assert pace.wanted(0) <= 16 + 16 * AHEAD_SECONDS


def test_a_claim_that_took_no_time_at_all_says_nothing() -> None:
    clock = Hands()
    pace = SettleRate(clock, 16)
    pace.settled(16, taken_at=clock.at)
    assert pace.wanted(0) == 16


@given(
    counts=st.lists(st.integers(0, 100_000), max_size=20),
    concurrency=st.integers(1, 200),
    held=st.integers(0, 10_000),
)
def test_wanting_and_holding_never_pass_the_bound_and_an_empty_hand_always_wants(
    counts: list[int], concurrency: int, held: int
) -> None:
    clock = Hands()
    pace = SettleRate(clock, concurrency)
    for count in counts:
        clock.at += 0.15
        pace.settled(count)
    wanted = pace.wanted(held)
    assert wanted >= 0
    assert wanted == 0 or held + wanted <= HELD_MAX
    assert pace.wanted(0) >= concurrency, "a worker that holds nothing would sleep for ever"
