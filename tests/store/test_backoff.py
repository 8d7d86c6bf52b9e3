"""Pauses grow, are bounded and spread, and begin anew after a success."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from ramet.store.backoff import Backoff


def always(value: float) -> Backoff:
    return Backoff(first_seconds=0.1, seconds_max=3.0, draw=lambda: value)


def test_the_span_doubles_up_to_its_bound_and_stays_there() -> None:
    backoff = always(1.0)
    assert [backoff.failed() for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0, 3.0]


def test_a_pause_is_drawn_from_the_whole_span() -> None:
    assert [always(part).failed() for part in (0.0, 0.5, 0.75)] == pytest.approx([0.0, 0.05, 0.075])
    backoff = Backoff(first_seconds=1.0, seconds_max=1.0, draw=random.Random(1).random)
    pauses = sorted(backoff.failed() for _ in range(1_000))
    assert pauses[0] < 0.02
    assert pauses[-1] > 0.98
    assert max(after - before for before, after in pairwise(pauses)) < 0.05, "no part of the span is left out"


def test_a_success_begins_anew_and_tells_what_it_ended() -> None:
    backoff = always(1.0)
    assert backoff.succeeded() == 0
    for _ in range(5):
        backoff.failed()
    assert backoff.failures == 5
    assert backoff.succeeded() == 5
    assert backoff.failures == 0
    assert backoff.failed() == 0.1


def test_a_database_that_is_away_for_years_still_has_a_next_pause() -> None:
    backoff = always(1.0)
    for _ in range(5_000):
        assert backoff.failed() <= 3.0


@pytest.mark.parametrize(("first", "most"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0)])
def test_bounds_that_make_no_sense_are_refused(first: float, most: float) -> None:
    with pytest.raises(ValueError, match="back-off"):
        Backoff(first_seconds=first, seconds_max=most)
