"""What the numbers of a tally mean, and that nothing is lost between its columns and its fields."""

from __future__ import annotations

import pytest

from ramet.model.flow.resources import CommitTimes
from ramet.model.reasons import Reason
from ramet.model.tallies import (
    BUCKETS_SECONDS,
    CHAINS,
    COLUMNS,
    DEPTHS,
    ENDS,
    OTHER,
    OUTCOMES,
    RETRIES,
    ZERO,
    ReasonTally,
    Tallies,
    count_attempt,
    count_created,
    count_ended,
    count_revived,
    first_word,
    numbers_of,
    tally_of,
)
from ramet.model.task.task import TERMINAL


def test_every_column_is_a_field_and_comes_back_from_it() -> None:
    numbers = list(range(1, len(COLUMNS) + 1))
    assert numbers_of(tally_of("page", 60.0, 60.0, numbers)) == numbers
    assert len(set(COLUMNS)) == len(COLUMNS) == len(ZERO)
    assert {*ENDS} == {state.value for state in TERMINAL}


@pytest.mark.parametrize("bound", BUCKETS_SECONDS)
def test_a_bound_belongs_to_its_own_bucket(bound: float) -> None:
    numbers = [*ZERO]
    count_attempt(numbers, "success", 0, 1, waited_seconds=bound, ran_seconds=bound + 0.001)
    tally, place = tally_of("page", 0.0, 0.0, numbers), BUCKETS_SECONDS.index(bound)
    assert [at for at, count in enumerate(tally.waited.counts) if count] == [place]
    assert [at for at, count in enumerate(tally.ran.counts) if count] == [place + 1]
    assert tally.waited.seconds == pytest.approx(bound)


def test_what_is_deeper_or_tried_more_often_than_is_told_apart_counts_as_the_last() -> None:
    numbers = [*ZERO]
    count_created(numbers, DEPTHS + 90, 2)
    count_ended(numbers, "failed", CHAINS + 90, 3)
    count_attempt(numbers, "error", RETRIES + 90, 4, waited_seconds=-1.0, ran_seconds=1e9)
    tally = tally_of("page", 0.0, 0.0, numbers)
    assert (tally.depths[-1], tally.chains[-1], tally.retried["error"][-1]) == (2, 3, 4)
    assert (tally.waited.counts[0], tally.waited.seconds, tally.ran.counts[-1]) == (4, 0.0, 4)
    assert tally.live == -1


def test_a_first_run_is_no_retry() -> None:
    numbers = [*ZERO]
    count_attempt(numbers, "success", 0, 1, waited_seconds=0.0, ran_seconds=0.0)
    count_attempt(numbers, "success", -1, 1, waited_seconds=0.0, ran_seconds=0.0)
    assert tally_of("page", 0.0, 0.0, numbers).retried["success"][:2] == (2, 0)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_is_counted_and_only_what_was_handed_back_has_no_time(outcome: str) -> None:
    numbers = [*ZERO]
    count_attempt(numbers, outcome, 0, 1, waited_seconds=1.0, ran_seconds=1.0)
    tally = tally_of("page", 0.0, 0.0, numbers)
    assert {name: count for name, count in tally.attempts.items() if count} == {outcome: 1}
    assert tally.ran.count == tally.waited.count == (outcome != "returned")


def test_the_sum_of_spans_reaches_from_the_first_to_the_last() -> None:
    ones = [1] * len(COLUMNS)
    rows = tuple(tally_of(kind, at, 60.0, ones) for kind in ("image", "page") for at in (60.0, 180.0))
    total = Tallies(rows, ()).total()
    assert (total.kind, total.at, total.seconds, total.created) == ("", 60.0, 180.0, 4)
    more = (*rows, tally_of("page", 240.0, 60.0, [5] * len(COLUMNS)))
    assert Tallies(more, ()).total("page") == tally_of("page", 60.0, 240.0, [7] * len(COLUMNS))
    assert Tallies(more, ()).total("image") == tally_of("image", 60.0, 180.0, [2] * len(COLUMNS))
    assert Tallies((), ()).total() == tally_of("", 0.0, 0.0, ZERO)


def test_a_reason_of_the_engine_is_counted_by_its_code() -> None:
    assert first_word(Reason("cancelled", by="ann: me", text="so")) == "cancelled"
    assert first_word(Reason("on_end_overdue", seconds=3_600.0)) == "on_end_overdue"


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("attempts_exhausted: 4", "attempts_exhausted"),
        ("permanent_error", "permanent_error"),
        ("HTTP-404: https://example.org", "HTTP-404"),
        ("the page is gone", OTHER),
        ("https://example.org/?token=secret", "https"),
        ("x" * 41, OTHER),
        ("<script>", OTHER),
        ("", OTHER),
        (None, OTHER),
    ],
)
def test_a_reason_is_counted_by_its_first_word_if_that_is_one(reason: str | None, word: str) -> None:
    assert first_word(reason) == word


def test_a_revived_task_lives_again() -> None:
    numbers = [*ZERO]
    count_revived(numbers, 3)
    count_revived(numbers, 2)
    tally = tally_of("page", 0.0, 0.0, numbers)
    assert (tally.revived, tally.live, sum(numbers)) == (5, 5, 5)


def test_the_transactions_of_a_verb_are_the_sum_of_its_buckets() -> None:
    assert CommitTimes("claim", (1, 0, 4), 0.5).commits == 5


def test_what_is_counted_is_added_to_what_was_counted_before() -> None:
    once, twice = [*ZERO], [*ZERO]
    for numbers, times in ((once, 5), (twice, 2), (twice, 3)):
        count_created(numbers, 1, times)
        count_revived(numbers, times)
        count_ended(numbers, "success", 1, times)
        count_attempt(numbers, "success", 1, times, waited_seconds=2.0, ran_seconds=3.0)
    assert once == twice
    tally = tally_of("page", 0.0, 0.0, once)
    assert (tally.created, tally.revived, tally.ended["success"], tally.attempts["success"]) == (5, 5, 5, 5)
    assert (tally.depths[1], tally.chains[1], tally.retried["success"][1]) == (5, 5, 5)
    assert (tally.waited.seconds, tally.ran.seconds) == (10.0, 15.0)


def test_refusals_are_counted_by_reason_of_one_kind_or_all() -> None:
    def tally(what: str, kind: str, reason: str, count: int) -> ReasonTally:
        return ReasonTally(what, kind, reason, 0.0, 60.0, count)

    tallies = Tallies((), (
        tally("blocked", "page", "done", 2), tally("blocked", "page", "done", 3), tally("blocked", "doc", "done", 4),
        tally("blocked", "page", "budget", 1), tally("blocked", "page", "reserve", 9),
        tally("failed", "page", "done", 8),
    ))  # fmt: skip
    assert tallies.refused() == {"done": 9, "budget": 1}
    assert tallies.refused("page") == {"done": 5, "budget": 1}
    assert tallies.refused("other") == {}
