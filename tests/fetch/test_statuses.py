"""What statuses mean, and when a server wants to be asked again."""

from __future__ import annotations

import pytest

from ramet import Permanent, Transient
from ramet.fetch.errors import BusyAnswer, Gone, Refused, Trouble, failure_of, retry_after_seconds

NOW = 1_793_000_000.0
"""Sun, 26 Oct 2026 07:33:20 GMT"""


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206, 304])
def test_answers_are_no_failures(status: int) -> None:
    assert failure_of("https://a.example/", status, {}, NOW) is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, Gone), (410, Gone), (400, Refused), (401, Refused), (403, Refused), (418, Refused), (451, Refused),
        (300, Refused), (408, Trouble), (425, Trouble), (500, Trouble), (502, Trouble), (503, Trouble), (504, Trouble),
        (599, Trouble), (429, BusyAnswer),
    ],
)  # fmt: skip
def test_a_status_says_who_is_at_fault(status: int, kind: type[Exception]) -> None:
    failure = failure_of("https://a.example/jobs?key=secret", status, {}, NOW)
    assert type(failure) is kind
    assert failure.status == status
    assert failure.url == "https://a.example/jobs?key=secret"
    assert str(status) in str(failure)
    assert "a.example/jobs" in str(failure)
    assert "secret" not in str(failure)
    assert isinstance(failure, Permanent) == (kind in {Gone, Refused})
    assert isinstance(failure, Transient) == (kind is Trouble)


def test_a_server_that_is_down_for_a_time_is_busy() -> None:
    failure = failure_of("https://a.example/", 503, {"retry-after": "120"}, NOW)
    assert isinstance(failure, BusyAnswer)
    assert failure.seconds == 120.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0), (" 0 ", 0.0), ("999999999999", 999_999_999_999.0),
        ("Sun, 26 Oct 2026 07:34:20 GMT", 60.0), ("Sun, 26 Oct 2026 07:34:20", 60.0),
        ("Sun, 26 Oct 2026 09:34:20 +0200", 60.0), ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("", None), ("soon", None), ("-5", None), ("1.5", None), ("²", None), ("Sun, 99 Oct 2026 07:34:20 GMT", None),
        ("9" * 5_000, float("9" * 60)),
    ],
)  # fmt: skip
def test_the_time_to_come_back_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert retry_after_seconds(text, NOW) == seconds
