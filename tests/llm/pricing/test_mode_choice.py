"""Which mode is chosen, and the sentence that says why."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramet import PRESETS, Limits
from ramet.llm.errors import LlmError
from ramet.llm.pricing.mode_choice import choose_mode, in_flight_max, rate_of, sweep_seconds
from ramet.llm.providers.base import Capabilities, Mode

HOUR = 3_600.0
CHAT = Capabilities(1, 10**7, 60.0, False, False, 1.0, None)
BACKGROUND = Capabilities(1, 10**7, 7_200.0, True, False, 1.0, 600.0)
KEPT_FOR_DAYS = Capabilities(1, 10**7, 7_200.0, True, False, 1.0, None)
BATCH = Capabilities(50_000, 2 * 10**8, 24 * HOUR, True, True, 0.5, None)
ALL = {Mode.CHAT: CHAT, Mode.BACKGROUND: BACKGROUND, Mode.BATCH: BATCH}
LOCAL = {Mode.CHAT: CHAT}


def test_up_to_600_prompts_for_each_request_a_second_go_one_by_one_more_go_in_batches() -> None:
    assert choose_mode(600, requests_per_second=1.0, caps=ALL).mode is Mode.BACKGROUND
    assert choose_mode(601, requests_per_second=1.0, caps=ALL).mode is Mode.BATCH
    assert choose_mode(6_000, requests_per_second=10.0, caps=ALL).mode is Mode.BACKGROUND
    assert choose_mode(6_001, requests_per_second=10.0, caps=ALL).mode is Mode.BATCH


def test_who_waits_for_answers_gets_no_batch_and_is_told_what_has_to_wait() -> None:
    found = choose_mode(100_000, requests_per_second=1.0, caps=ALL, latency_seconds=HOUR)
    assert found.mode is Mode.BACKGROUND
    assert found.in_flight_max == 600
    assert found.sweep_seconds == 600.0
    assert "within 60 min" in found.why
    assert "600 at most are in flight" in found.why
    patient = choose_mode(100_000, requests_per_second=1.0, caps=ALL, latency_seconds=48 * HOUR)
    assert patient.mode is Mode.BATCH


def test_a_hundred_thousand_in_batches_are_two_calls_a_sweep() -> None:
    found = choose_mode(100_000, requests_per_second=1.0, caps=ALL)
    assert (found.mode, found.sweep_seconds) == (Mode.BATCH, 2.0)
    assert "27.8 h" in found.why
    assert "save 50%" in found.why
    assert "at most are in flight" not in found.why


def test_one_by_one_they_would_take_longer_than_they_may() -> None:
    assert sweep_seconds(100_000, 1.0, BACKGROUND) == 100_000.0
    assert in_flight_max(1.0, BACKGROUND) == 600
    assert in_flight_max(1.0, KEPT_FOR_DAYS) == 3_600, "asked about twice within the two hours of an item"
    assert in_flight_max(1.0, KEPT_FOR_DAYS, HOUR) == 1_800


def test_a_server_of_ones_own_is_simply_called() -> None:
    assert choose_mode(100_000, requests_per_second=1.0, caps=ALL, free=True).mode is Mode.CHAT
    only = choose_mode(5, requests_per_second=1.0, caps=LOCAL, latency_seconds=1.0)
    assert (only.mode, "no other mode" in only.why) == (Mode.CHAT, True)


def test_a_provider_without_batches_is_asked_one_by_one() -> None:
    caps = {Mode.CHAT: CHAT, Mode.BACKGROUND: BACKGROUND}
    found = choose_mode(10_000, requests_per_second=1.0, caps=caps)
    assert (found.mode, found.in_flight_max) == (Mode.BACKGROUND, 600)
    assert "no batches" in found.why


@pytest.mark.parametrize("mode", list(Mode))
def test_a_given_mode_wins(mode: Mode) -> None:
    found = choose_mode(10**6, requests_per_second=1.0, caps=ALL, free=True, latency_seconds=1.0, given=mode)
    assert found.mode is mode
    assert found.why.startswith(f"{mode}, as given")


def test_a_mode_that_a_provider_does_not_have_is_refused_with_those_it_has() -> None:
    with pytest.raises(LlmError, match="no mode batch: give chat"):
        choose_mode(1, requests_per_second=1.0, caps=LOCAL, given=Mode.BATCH)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="give a number above 0"):
        choose_mode(1, requests_per_second=rate, caps=ALL)


def test_the_rate_is_the_lower_of_what_was_told_and_what_the_cycles_allow() -> None:
    assert rate_of(Limits()) == 10.0, "3,000 every 300 s"
    assert rate_of(Limits(), 60.0) == 1.0
    assert rate_of(PRESETS["aggressive"], 10**9) == 20.0


@settings(deadline=None)
@given(
    backlog=st.integers(0, 10**7),
    rate=st.floats(0.001, 10_000),
    caps=st.sampled_from([ALL, LOCAL, {Mode.BACKGROUND: BACKGROUND, Mode.BATCH: BATCH}, {Mode.BATCH: BATCH}]),
    free=st.booleans(),
    latency=st.none() | st.floats(0, 10**6),
)
def test_what_is_in_flight_can_always_be_swept_in_time(
    backlog: int, rate: float, caps: dict[Mode, Capabilities], free: bool, latency: float | None
) -> None:
    found = choose_mode(backlog, requests_per_second=rate, caps=caps, free=free, latency_seconds=latency)
    assert found.mode in caps
    assert "\n" not in found.why
    own = caps[found.mode]
    # One call has to be allowed, however slow the rate is.
    longest = max(min(own.result_seconds or 10**9, max(own.window_seconds, 7_200.0) / 2), 1 / rate)
    assert found.sweep_seconds <= longest * 1.001 + 1 / rate
