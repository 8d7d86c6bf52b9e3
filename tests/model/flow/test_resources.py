"""Rates, pauses and breakers of resources, as pure rules (DESIGN §6, §10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.flow.resources import (
    TOLD_BURST_SECONDS,
    Resource,
    ResourcePolicy,
    ResponseLimits,
    adapted,
    cut,
    failed,
    give_back,
    is_full,
    paused,
    policy_of,
    rate_of,
    refilled,
    room,
    spend,
    succeeded,
    switched_off,
)

NOW = 1_000_000.0
HOST = Resource("host:a")


def limited(rate: float = 2.0, burst: float = 5.0) -> ResourcePolicy:
    return ResourcePolicy("host:*", rate_per_second=rate, burst=burst)


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
    policy = ResourcePolicy("a", concurrency=3)
    assert [room(HOST, policy, NOW, used).claims for used in (0, 2, 3, 9)] == [3, 1, 0, 0]
    assert room(HOST, policy, NOW, 3).reason == "concurrency"
    assert room(HOST, ResourcePolicy("a"), NOW, 99).claims is None


def test_the_name_itself_goes_before_the_longest_prefix_and_that_before_the_default() -> None:
    policies = [
        ResourcePolicy("*", concurrency=1),
        ResourcePolicy("host:*", concurrency=2),
        ResourcePolicy("host:a.*", concurrency=3),
        ResourcePolicy("host:a.b", concurrency=4),
    ]
    found = [policy_of(name, policies).concurrency for name in ("host:a.b", "host:a.bc", "host:x", "api", "host:a")]
    assert found == [4, 3, 2, 1, 2]
    assert policy_of("api", policies[1:]) == ResourcePolicy("api")


def test_five_failures_in_a_row_open_the_breaker_and_a_success_begins_anew() -> None:
    policy = ResourcePolicy("a")
    resource = HOST
    for _ in range(4):
        resource = failed(resource, policy, NOW, "503")
    assert resource.opened_at is None
    assert failed(succeeded(resource), policy, NOW, "503").opened_at is None
    opened = failed(resource, policy, NOW, "503")
    assert (opened.opened_at, opened.opened_reason) == (NOW, "5 failures in a row, the last: 503")
    assert room(opened, policy, NOW + 1e9, 0) == (0, "disabled", None)


def test_with_a_cool_down_one_at_a_time_shows_how_it_is() -> None:
    policy = ResourcePolicy("a", breaker_failures=1, cooldown_seconds=60.0)
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
        resource = failed(resource, ResourcePolicy("a", breaker_failures=0), NOW, "503")
    assert resource.opened_at is None


def test_of_several_pauses_the_latest_end_holds() -> None:
    resource = paused(paused(HOST, NOW + 60.0, "busy"), NOW + 30.0, "less busy")
    assert paused(resource, NOW + 60.0, "as busy") is resource
    assert room(resource, ResourcePolicy("a"), NOW + 59.0, 0) == (0, "paused", NOW + 60.0)
    assert resource.paused_reason == "busy"
    assert room(resource, ResourcePolicy("a"), NOW + 60.0, 0).claims is None


def test_a_resource_is_full_when_forgetting_what_was_used_changes_nothing() -> None:
    used = spend(HOST, limited(), NOW, 2)
    assert is_full(HOST, limited(), NOW)
    assert not is_full(used, limited(), NOW + 0.9)
    assert is_full(used, limited(), NOW + 1.0)
    assert is_full(used, ResourcePolicy("a"), NOW)
    assert not is_full(HOST._replace(tokens=0.0, refilled_at=NOW), limited(), NOW)
    assert not is_full(
        HOST._replace(tokens=0.0, refilled_at=NOW), ResourcePolicy("a", rate_per_second=1.0, burst=1.0), NOW
    )


def test_a_handler_switches_a_resource_off_and_what_waits_for_a_person_keeps_its_first_reason() -> None:
    off = switched_off(HOST, HOST, ResourcePolicy("a"), NOW, "gone")
    assert (off.opened_at, off.opened_by, off.opened_reason) == (NOW, "engine", "gone")
    counted = off._replace(failures=3)
    assert switched_off(off, counted, ResourcePolicy("a"), NOW + 1.0, "again") is counted
    cool = ResourcePolicy("a", cooldown_seconds=60.0)
    again = switched_off(off, counted, cool, NOW + 1.0, "again")
    assert again == counted._replace(opened_at=NOW + 1.0, opened_reason="again")


def test_a_breaker_says_who_opened_it_and_why() -> None:
    opened = failed(HOST._replace(failures=4), ResourcePolicy("a"), NOW, "503")
    assert opened == HOST._replace(
        failures=5, opened_at=NOW, opened_by="engine", opened_reason="5 failures in a row, the last: 503"
    )
    assert succeeded(opened) == HOST


def test_a_refusal_halves_the_rate_once_for_all_that_was_under_way() -> None:
    slower = cut(HOST, limited(), NOW)
    assert slower == HOST._replace(tokens=5.0, refilled_at=NOW, cut_rate=1.0, cut_at=NOW)
    resting = paused(slower, NOW + 10.0, "429")
    assert cut(resting, limited(), NOW + 9.0) is resting
    assert cut(resting, limited(), NOW + 10.0).cut_at == NOW + 10.0
    assert cut(HOST, ResourcePolicy("a"), NOW) is HOST


@pytest.mark.parametrize(
    ("told", "rate", "tokens"),
    [
        (ResponseLimits(limit_per_minute=60.0), 1.0, 5.0),
        (ResponseLimits(limit_per_minute=60.0, remaining=3.0), 1.0, 3.0),
        (ResponseLimits(limit_per_minute=60.0, remaining=30.0, reset_seconds=600.0), 1.0, 5.0),
        (ResponseLimits(limit_per_minute=60.0, remaining=0.0, reset_seconds=600.0), 0.1, 0.0),
        (ResponseLimits(limit_per_minute=60.0, remaining=0.0, reset_seconds=6.0), 1.0, 0.0),
        (ResponseLimits(limit_per_minute=60.0, remaining=0.0), 1.0, 0.0),
        (ResponseLimits(limit_per_minute=60.0, remaining=1.0, reset_seconds=600.0), 1.0, 1.0),
        (ResponseLimits(remaining=2.0), None, 2.0),
        (ResponseLimits(remaining=9.0), None, 5.0),
        (ResponseLimits(), None, 5.0),
    ],
)
def test_a_server_that_tells_its_limits_makes_a_resource_slower(
    told: ResponseLimits, rate: float | None, tokens: float
) -> None:
    after = adapted(HOST, limited(), told, NOW)
    assert (after.told_rate, after.tokens, after.paused_until, after.cut_rate) == (rate, tokens, 0.0, None)


def test_what_is_left_there_adds_nothing_here() -> None:
    used = HOST._replace(tokens=0.0, refilled_at=NOW)
    for remaining in (0.5, 3.0):
        assert adapted(used, limited(), ResponseLimits(remaining=remaining), NOW).tokens == 0.0


def test_a_limit_that_is_used_up_and_whose_size_nobody_told_is_a_refusal() -> None:
    after = adapted(HOST, limited(), ResponseLimits(remaining=0.0, reset_seconds=30.0), NOW)
    assert (after.paused_until, after.cut_rate, after.tokens) == (NOW + 30.0, 1.0, 0.0)
    assert after.paused_reason == "its limit is used up, as its server says"
    assert adapted(HOST, ResourcePolicy("a"), ResponseLimits(remaining=0.0), NOW) == HOST
    assert (
        adapted(HOST, ResourcePolicy("a"), ResponseLimits(remaining=0.0, reset_seconds=30.0), NOW).paused_until
        == NOW + 30.0
    )


def test_a_response_closes_a_breaker_that_was_half_open_and_no_other() -> None:
    policy = ResourcePolicy("a", cooldown_seconds=60.0)
    off = HOST._replace(opened_at=NOW, opened_by="engine", opened_reason="503", failures=5)
    assert adapted(off, policy, ResponseLimits(), NOW + 59.0) == off
    assert adapted(off, policy, ResponseLimits(), NOW + 60.0) == HOST
    assert adapted(off, ResourcePolicy("a"), ResponseLimits(), NOW + 60.0) == off


def test_of_what_a_policy_says_and_a_server_told_the_stricter_holds() -> None:
    told = HOST._replace(told_rate=1.0)
    rate = rate_of(told, limited(2.0, 5.0))
    assert rate is not None
    assert (rate.full, rate.burst) == (1.0, 5.0)
    assert rate_of(HOST, ResourcePolicy("a")) is None
    for server, policy, full, burst in (
        (4.0, limited(2.0, 5.0), 2.0, 5.0),
        (0.05, limited(2.0, 5.0), 0.05, 3.0),
        (0.01, limited(2.0, 5.0), 0.01, 1.0),
        (4.0, ResourcePolicy("a", burst=1.0), 4.0, 4.0 * TOLD_BURST_SECONDS),
        (0.001, ResourcePolicy("a", burst=0.5), 0.001, 1.0),
        (0.001, ResourcePolicy("a", burst=7.0), 0.001, 7.0),
    ):
        rate = rate_of(HOST._replace(told_rate=server, cut_rate=0.5, cut_at=NOW), policy)
        assert rate == (full, burst, 0.5, NOW)


def test_a_clock_that_was_set_back_brings_no_token_twice() -> None:
    used = spend(HOST, limited(), NOW, 2)
    assert used == HOST._replace(tokens=3.0, refilled_at=NOW)
    assert refilled(used, limited(), NOW - 60.0) == used
    assert refilled(used, limited(), NOW) == used
    assert refilled(used._replace(tokens=9.0), limited(), NOW - 60.0).tokens == 5.0
    assert refilled(used, limited(), NOW + 0.5) == HOST._replace(tokens=4.0, refilled_at=NOW + 0.5)
    fresh = HOST._replace(refilled_at=NOW)
    assert refilled(fresh, limited(), NOW - 60.0) == fresh._replace(tokens=5.0)
    assert spend(HOST, ResourcePolicy("a"), NOW, 2) is HOST
    assert give_back(HOST, limited(), 2) is HOST
    assert give_back(used, ResourcePolicy("a"), 2) is used
