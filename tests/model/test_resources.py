"""Rates, pauses and breakers of resources, as pure rules (DESIGN §6, §10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.resources import (
    Policy,
    Resource,
    failed,
    give_back,
    paused,
    policy_of,
    refilled,
    room,
    spend,
    succeeded,
)

NOW = 1_000_000.0
HOST = Resource("host:a")


def limited(rate: float = 2.0, burst: float = 5.0) -> Policy:
    return Policy("host:*", rate_per_second=rate, burst=burst)


@given(
    st.floats(0.01, 100.0),
    st.integers(1, 50),
    st.lists(st.tuples(st.floats(-20.0, 60.0), st.integers(0, 40)), max_size=60),
)
def test_over_any_window_there_are_never_more_claims_than_burst_and_rate(
    rate: float, burst: int, moves: list[tuple[float, int]]
) -> None:
    policy, resource, now, latest = limited(rate, float(burst)), HOST, NOW, float("-inf")
    claimed: list[tuple[float, int]] = []
    for seconds, wanted in moves:
        now += seconds
        latest = max(latest, now)
        space = room(resource, policy, now, 0).claims
        assert space is not None
        taken = min(space, wanted)
        resource = spend(resource, policy, now, taken)
        # A clock that is set back and runs again does not bring the same seconds twice.
        claimed.append((latest, taken))
    for at, (begin, _) in enumerate(claimed):
        total = 0
        for end, taken in claimed[at:]:
            total += taken
            assert total <= burst + rate * (end - begin) + 1e-6 * (1 + rate)


def test_a_burst_is_there_at_once_and_comes_back_with_time() -> None:
    policy = limited()
    resource = spend(HOST, policy, NOW, 5)
    assert room(resource, policy, NOW, 0).until == pytest.approx(NOW + 0.5)
    assert room(resource, policy, NOW + 0.5, 0).claims == 1
    assert room(resource, policy, NOW + 1.0, 0).claims == 2
    assert room(resource, policy, NOW + 100.0, 0).claims == 5


def test_what_goes_back_unstarted_gives_its_token_back_and_never_more_than_a_burst() -> None:
    policy = limited()
    resource = spend(HOST, policy, NOW, 5)
    assert room(give_back(resource, policy, 2), policy, NOW, 0).claims == 2
    assert give_back(refilled(HOST, policy, NOW), policy, 9).tokens == 5.0


def test_concurrency_counts_what_is_held() -> None:
    policy = Policy("a", concurrency=3)
    assert [room(HOST, policy, NOW, used).claims for used in (0, 2, 3, 9)] == [3, 1, 0, 0]
    assert room(HOST, policy, NOW, 3).reason == "concurrency"
    assert room(HOST, Policy("a"), NOW, 99).claims is None


def test_the_name_itself_goes_before_the_longest_prefix_and_that_before_the_default() -> None:
    policies = [Policy("*", concurrency=1), Policy("host:*", concurrency=2), Policy("host:a.*", concurrency=3),
                Policy("host:a.b", concurrency=4)]  # fmt: skip
    found = [policy_of(name, policies).concurrency for name in ("host:a.b", "host:a.bc", "host:x", "api", "host:a")]
    assert found == [4, 3, 2, 1, 2]
    assert policy_of("api", policies[1:]) == Policy("api")


def test_five_failures_in_a_row_open_the_breaker_and_a_success_begins_anew() -> None:
    policy = Policy("a")
    resource = HOST
    for _ in range(4):
        resource = failed(resource, policy, NOW, "503")
    assert resource.opened_at is None
    assert failed(succeeded(resource), policy, NOW, "503").opened_at is None
    opened = failed(resource, policy, NOW, "503")
    assert (opened.opened_at, opened.opened_reason) == (NOW, "5 failures in a row, the last: 503")
    assert room(opened, policy, NOW + 1e9, 0) == (0, "disabled", None)


def test_with_a_cool_down_one_at_a_time_shows_how_it_is() -> None:
    policy = Policy("a", breaker_failures=1, cooldown_seconds=60.0)
    opened = failed(HOST, policy, NOW, "503")
    assert room(opened, policy, NOW + 59.0, 0) == (0, "breaker", NOW + 60.0)
    assert room(opened, policy, NOW + 60.0, 0).claims == 1
    assert room(opened, policy, NOW + 60.0, 1) == (0, "breaker", None)
    again = failed(opened, policy, NOW + 61.0, "503")
    assert room(again, policy, NOW + 120.0, 0).until == NOW + 121.0
    assert room(succeeded(again), policy, NOW + 61.0, 9).claims is None


def test_a_policy_without_a_breaker_counts_and_never_opens() -> None:
    resource = HOST
    for _ in range(100):
        resource = failed(resource, Policy("a", breaker_failures=0), NOW, "503")
    assert resource.opened_at is None


def test_of_several_pauses_the_latest_end_holds() -> None:
    resource = paused(paused(HOST, NOW + 60.0, "busy"), NOW + 30.0, "less busy")
    assert room(resource, Policy("a"), NOW + 59.0, 0) == (0, "paused", NOW + 60.0)
    assert resource.paused_reason == "busy"
    assert room(resource, Policy("a"), NOW + 60.0, 0).claims is None
