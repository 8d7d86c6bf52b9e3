"""The claims in hand: what a worker may still trust."""

from __future__ import annotations

import math

from ramet.engine.base.claims import WorkerClaims
from ramet.model.task import events as ev
from ramet.store.requests import Settlement


def hand() -> WorkerClaims:
    claims = WorkerClaims()
    claims.take([(1, 10), (2, 20), (3, 30)], lapses_at=100.0)
    return claims


def test_a_claim_is_current_until_its_lease_lapses_and_not_at_that_moment() -> None:
    claims = hand()
    assert claims.current(1, 10, 99.9)
    assert not claims.current(1, 10, 100.0)
    assert not claims.current(1, 10, 100.1)


def test_another_fence_or_another_task_is_not_current() -> None:
    claims = hand()
    assert not claims.current(1, 9, 0.0)
    assert not claims.current(1, 11, 0.0)
    assert not claims.current(4, 10, 0.0)


def test_a_heartbeat_moves_the_lapse_of_exactly_the_claims_it_was_for() -> None:
    claims = hand()
    claims.extend([(1, 10), (2, 19), (3, 30), (99, 1)], lapses_at=200.0)
    assert claims.lapsed(100.0) == {2}
    assert claims.lapsed(200.0) == {1, 2, 3}
    assert 99 not in claims, "a heartbeat brings nothing into the hand"


def test_what_was_dropped_is_neither_current_nor_lapsed() -> None:
    claims = hand()
    assert claims.drop([(1, 10), (2, 19), (7, 1)]) == [1]
    assert len(claims) == 2
    assert not claims.current(1, 10, 0.0)
    assert claims.lapsed(1_000.0) == {2, 3}
    assert claims.pairs() == [(2, 20), (3, 30)]
    assert claims.pairs([1, 3]) == [(3, 30)]


def test_a_newer_claim_of_the_same_task_replaces_the_older() -> None:
    claims = hand()
    claims.take([(1, 11)], lapses_at=300.0)
    assert not claims.current(1, 10, 0.0)
    assert claims.current(1, 11, 299.0)
    assert len(claims) == 3


def test_an_answer_about_an_older_claim_does_not_touch_the_newer() -> None:
    claims = hand()
    claims.take([(1, 11)], lapses_at=300.0)
    claims.extend([(1, 10)], lapses_at=900.0)
    assert claims.drop([(1, 10)]) == []
    assert claims.holds(1, 11)
    assert not claims.holds(1, 10)
    assert not claims.current(1, 11, 300.0)


def test_outcomes_count_that_are_of_claims_still_current() -> None:
    claims = hand()
    ended = [Settlement(seq, fence, ev.Complete(fence)) for seq, fence in ((1, 10), (2, 19), (3, 30), (9, 1))]
    assert claims.still_current(ended, 99.0) == [ended[0], ended[2]]
    assert claims.still_current(ended, 100.0) == []


def test_it_knows_since_when_it_holds_the_oldest_of_some_claims() -> None:
    claims = hand()
    claims.take([(4, 1)], lapses_at=300.0, taken_at=5.0)
    claims.take([(5, 1), (6, 2)], lapses_at=300.0, taken_at=6.0)
    assert claims.oldest_taken_at() == 0.0
    claims.drop([(1, 10), (2, 20), (3, 30)])
    assert claims.oldest_taken_at() == 5.0
    claims.take([(4, 2)], lapses_at=300.0, taken_at=9.0)
    assert claims.oldest_taken_at() == 6.0, "the newer claim of a task is not as old as the one before"
    claims.drop([(4, 2), (5, 1), (6, 2)])
    assert claims.oldest_taken_at() == math.inf
