"""Rates: what a refusal cuts and time brings back, and what a server's words change (DESIGN §8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.flow.resources import (
    EXHAUSTED,
    FLOOR,
    RECOVERY_SECONDS,
    Rate,
    Resource,
    ResourcePolicy,
    ResponseLimits,
    adapted,
    cut,
    paused,
    rate_of,
    refilled,
    room,
)

NOW = 1_000_000.0
API = Resource("api")


def summed(rate: Rate, since: float, until: float, steps: int = 20_000) -> float:
    """What is gained, step by step."""
    width = (until - since) / steps
    return sum(rate.at(since + (step + 0.5) * width) * width for step in range(steps))


@pytest.mark.parametrize(("since", "until"), [(-40, -10), (-40, 100), (20, 100), (20, 900), (700, 900), (5, 5)])
@pytest.mark.parametrize("left", [None, 0.1, 2.0, 8.0, 9.0])
def test_what_is_gained_is_the_rate_at_every_moment_summed_up(left: float | None, since: float, until: float) -> None:
    rate = Rate(8.0, 5.0, left, NOW)
    assert rate.gained(NOW + since, NOW + until) == pytest.approx(summed(rate, NOW + since, NOW + until), rel=1e-3)


@given(
    st.floats(0.01, 1e4),
    st.none() | st.floats(FLOOR, 1.0),
    st.floats(-600.0, 600.0),
    st.floats(0.001, 1e5),
)
def test_so_many_seconds_bring_so_many_units(full: float, part: float | None, since: float, units: float) -> None:
    rate = Rate(full, 1.0, None if part is None else part * full, NOW)
    seconds = rate.seconds_for(units, NOW + since)
    assert seconds > 0
    assert rate.gained(NOW + since, NOW + since + seconds) == pytest.approx(units, rel=1e-3, abs=full * 1e-6)


def test_at_the_edges_of_its_recovery_a_rate_gains_exactly_what_it_should() -> None:
    """Units a second: 300 at the cut, 2 more every second, 600 after 150 s, in which 67,500 were gained."""
    rate = Rate(600.0, 5.0, 300.0, NOW)
    for seconds, units in {0.0: 0.0, 1.0: 301.0, 2.0: 604.0, 150.0: 67_500.0, 151.0: 68_100.0}.items():
        assert rate.gained(NOW, NOW + seconds) == units
        assert rate.gained(NOW - 1.0, NOW + seconds) == units + 300.0
        assert rate.seconds_for(units, NOW) == seconds
        assert rate.seconds_for(units + 300.0, NOW - 1.0) == seconds + 1.0


def test_nothing_takes_no_time_and_a_rate_that_no_refusal_left_lower_is_as_exact_as_one_without() -> None:
    assert [Rate(7.0, 5.0, cut, NOW).seconds_for(0.0, NOW + 33.3) for cut in (None, 0.7, 7.0)] == [0.0, 0.0, 0.0]
    assert Rate(7.0, 5.0, 7.0, NOW).seconds_for(0.3, NOW + 20.3) == 0.3 / 7.0


def test_a_refusal_halves_the_rate_and_time_brings_it_back_evenly() -> None:
    policy = ResourcePolicy("api", rate_per_second=8.0)
    rate = rate_of(cut(API, policy, NOW), policy)
    assert rate is not None
    assert [rate.at(NOW + part * RECOVERY_SECONDS) for part in (0, 0.25, 0.5, 2.0)] == [4.0, 6.0, 8.0, 8.0]
    assert rate.at(NOW - 1e6) == 4.0


def test_refusals_of_calls_under_way_at_the_first_one_cut_once_and_none_cuts_below_the_floor() -> None:
    policy = ResourcePolicy("api", rate_per_second=8.0)
    first = paused(cut(API, policy, NOW), NOW + 10.0, "429")
    assert cut(first, policy, NOW + 1.0) == first
    resource = API
    for _ in range(20):
        resource = cut(resource, policy, NOW)
    assert resource.cut_rate == 8.0 * FLOOR
    assert cut(API, ResourcePolicy("api"), NOW) == API


def told(resource: Resource = API, policy: ResourcePolicy | None = None, **fields: float) -> Resource:
    return adapted(resource, policy or ResourcePolicy("api"), ResponseLimits(**fields), NOW)


@pytest.mark.parametrize(
    ("said", "limit", "rate", "burst"),
    [(None, 600.0, 10.0, 100.0), (2.0, 600.0, 2.0, 50.0), (50.0, 600.0, 10.0, 50.0), (50.0, 6.0, 0.1, 6.0)],
)
def test_of_policy_and_server_the_stricter_holds(said: float | None, limit: float, rate: float, burst: float) -> None:
    policy = ResourcePolicy("api") if said is None else ResourcePolicy("api", rate_per_second=said, burst=50.0)
    found = rate_of(told(policy=policy, limit_per_minute=limit), policy)
    assert found is not None
    assert (found.full, found.burst) == (rate, burst)


def test_what_is_left_at_the_server_lowers_what_is_in_store_and_never_raises_it() -> None:
    policy = ResourcePolicy("api", rate_per_second=1.0, burst=50.0)
    assert told(policy=policy, remaining=7.0).tokens == 7.0
    assert told(policy=policy, remaining=70.0).tokens == 50.0
    poor = refilled(API, policy, NOW)._replace(tokens=-5.0)
    assert told(poor, policy, remaining=7.0).tokens == -5.0


def test_a_limit_that_is_used_up_for_long_is_one_of_a_longer_time_than_a_minute() -> None:
    day = told(limit_per_minute=200.0, remaining=0.0, reset_seconds=86_400.0)
    assert day.told_rate == pytest.approx(200 / 86_400)
    minute = told(limit_per_minute=200.0, remaining=0.0, reset_seconds=30.0)
    assert minute.told_rate == pytest.approx(200 / 60)
    unknown = told(remaining=0.0, reset_seconds=30.0)
    assert room(unknown, ResourcePolicy("api"), NOW, 0) == (0, "paused", NOW + 30.0)
    assert unknown.paused_reason == EXHAUSTED
    assert told(remaining=1.0, reset_seconds=30.0) == API


def test_nothing_left_of_a_limit_that_is_not_told_is_a_refusal() -> None:
    policy = ResourcePolicy("api", rate_per_second=8.0)
    refused = told(policy=policy, remaining=0.0, reset_seconds=30.0)
    assert (refused.cut_rate, refused.tokens, refused.paused_until) == (4.0, 0.0, NOW + 30.0)
    assert told(refused, policy, remaining=0.0, reset_seconds=20.0) == refused
    with_limit = told(policy=policy, limit_per_minute=960.0, remaining=0.0, reset_seconds=30.0)
    assert (with_limit.cut_rate, with_limit.paused_until) == (None, 0.0)


def test_an_answer_closes_a_breaker_that_is_half_open_and_no_other() -> None:
    policy = ResourcePolicy("api", cooldown_seconds=60.0)
    opened = API._replace(opened_at=NOW - 60.0, opened_by="engine", opened_reason="503")
    assert told(opened, policy, remaining=5.0).opened_at is None
    assert told(opened, ResourcePolicy("api"), remaining=5.0).opened_at is not None
    assert told(opened._replace(opened_at=NOW - 59.0), policy, remaining=5.0).opened_at is not None


def test_claims_go_by_the_same_rate() -> None:
    policy = ResourcePolicy("api", rate_per_second=2.0)
    slow = cut(API, policy, NOW)._replace(tokens=0.0)
    assert room(slow, policy, NOW, 0).until == pytest.approx(NOW + 1.0, abs=0.01)
    assert room(told(limit_per_minute=60.0)._replace(tokens=0.5), ResourcePolicy("api"), NOW, 0).until == pytest.approx(
        NOW + 0.5
    )


@given(st.floats(0.01, 100.0), st.floats(0.0, 1.0), st.floats(0.0, 600.0))
def test_a_claim_that_comes_at_the_moment_that_it_was_told_finds_room(full: float, used: float, later: float) -> None:
    """Else a worker would look again and again without any time passing."""
    now = 1_800_000_000.0
    policy = ResourcePolicy("api", rate_per_second=full)
    resource = cut(API, policy, now)._replace(tokens=-used, refilled_at=now)
    until = room(resource, policy, now + later, 0).until
    assert until is None or room(resource, policy, until, 0).claims == 1
