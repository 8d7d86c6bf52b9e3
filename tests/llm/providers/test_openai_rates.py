"""Times and limits in headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.llm.providers.base import RateLimit
from ramet.llm.providers.openai_errors import period_seconds, rates_from, retry_after_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360.0), ("20ms", 0.02), ("1s", 1.0), ("1h2m3.5s", 3723.5), ("59.96s", 59.96), ("12", 12.0),
        ("0s", 0.0), ("", None), ("soon", None), ("-1s", None), ("6m 0s", None), ("1s junk", None), ("1e9", None),
    ],
)  # fmt: skip
def test_a_period_is_read_or_it_is_none(text: str, seconds: float | None) -> None:
    assert period_seconds(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "604800"}, 604800.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT", "date": "Wed, 21 Oct 2015 07:27:00 GMT"}, 60.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "6m0s"}, None),
        ({}, None),
    ],
)
def test_the_time_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers) == seconds


def test_limits_that_are_not_told_are_left_out() -> None:
    headers = {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-limit-tokens": "-1",
    }
    assert rates_from(headers) == (RateLimit("requests", 500, 499, 0.12),)
    assert rates_from({}) == ()


@given(st.text(), st.text())
def test_no_header_is_an_error(told: str, reset: str) -> None:
    names = ("retry-after", "retry-after-ms", "date", "x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens")
    headers = dict.fromkeys(names, told) | {"x-ratelimit-reset-tokens": reset}
    rates_from(headers)
    seconds = retry_after_seconds(headers)
    assert seconds is None or seconds >= 0.0
