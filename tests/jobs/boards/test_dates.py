"""The forms in which boards say when something was posted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.jobs.boards.dates import AHEAD_MAX, DAY, parse_posted

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()


def at(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-16T11:55:32-04:00", at(2026, 7, 16, 15, 55, 32)),
        ("2026-04-20T22:43:56.531+00:00", at(2026, 4, 20, 22, 43, 56) + 0.531),
        ("2018-06-08T02:11:28.000Z", at(2018, 6, 8, 2, 11, 28)),
        ("2026-04-09T09:54:06.573+0000", at(2026, 4, 9, 9, 54, 6) + 0.573),
        ("2026-10-07T16:45:52.7251234567Z", at(2026, 10, 7, 16, 45, 52) + 0.725123),
        ("2026-10-10 10:10:39 UTC", at(2026, 10, 10, 10, 10, 39)),
        ("2026-10-10 10:10:39 +0200", at(2026, 10, 10, 8, 10, 39)),
        ("2026-08-05", at(2026, 8, 5)),
        ("2026-8-5", at(2026, 8, 5)),
        ("2026/08/05", at(2026, 8, 5)),
        ("20260805", at(2026, 8, 5)),
        ("31.12.2025", at(2025, 12, 31)),
        ("05.08.2026", at(2026, 8, 5)),
        ("25/08/2026", at(2026, 8, 25)),
        ("08/25/2026", at(2026, 8, 25)),
        ("Tue, 26 May 2026 00:00:00 +0000", at(2026, 5, 26)),
        ("Tue, 26 May 2026 02:00:00 GMT", at(2026, 5, 26, 2)),
        ("08 May 2026", at(2026, 5, 8)),
        ("August 27, 2026", at(2026, 8, 27)),
        ("Sept. 3rd, 2026", at(2026, 9, 3)),
        ("3-Jun-2026", at(2026, 6, 3)),
        ("Posted on 08 May 2026", at(2026, 5, 8)),
        ("12 mars 2026", at(2026, 3, 12)),
        ("7 augusti 2026", at(2026, 8, 7)),
        ("Publicerad: 3 maj 2026", at(2026, 5, 3)),
        ("12. M\u00e4rz 2026", at(2026, 3, 12)),
        ("1. Dez. 2025", at(2025, 12, 1)),
        ("1er f\u00e9vrier 2026", at(2026, 2, 1)),
        ("14 juillet 2026", at(2026, 7, 14)),
        ("15 ao\u00fbt 2026", at(2026, 8, 15)),
        ("9 de enero de 2026", at(2026, 1, 9)),
        ("30 septiembre 2026", at(2026, 9, 30)),
        ("2 giugno 2026", at(2026, 6, 2)),
        ("1\u00ba de mar\u00e7o de 2026", at(2026, 3, 1)),
        ("4 outubro 2026", at(2026, 10, 4)),
        ("17 mei 2026", at(2026, 5, 17)),
        ("5. desember 2025", at(2025, 12, 5)),
        ("21. marts 2026", at(2026, 3, 21)),
        (1764205361939, 1764205361.939),
        (1764205361, 1764205361.0),
        ("1764205361938", 1764205361.938),
        (1785801600, 1785801600.0),
        ("Posted Today", NOW),
        ("Posted Yesterday", NOW - DAY),
        ("Posted 3 Days Ago", NOW - 3 * DAY),
        ("Posted 30+ Days Ago", NOW - 30 * DAY),
        ("30+ Days Ago", NOW - 30 * DAY),
        ("2 weeks ago", NOW - 14 * DAY),
        ("an hour ago", NOW - 3600),
        ("5h ago", NOW - 5 * 3600),
        ("1 month ago", NOW - 30 * DAY),
        ("vor 3 Tagen", NOW - 3 * DAY),
        ("Ver\u00f6ffentlicht vor 2 Wochen", NOW - 14 * DAY),
        ("il y a 5 jours", NOW - 5 * DAY),
        ("hace m\u00e1s de 30 d\u00edas", NOW - 30 * DAY),
        ("h\u00e1 4 horas", NOW - 4 * 3600),
        ("2 settimane fa", NOW - 14 * DAY),
        ("3 dagen geleden", NOW - 3 * DAY),
        ("f\u00f6r 6 dagar sedan", NOW - 6 * DAY),
        ("1 m\u00e5ned siden", NOW - 30 * DAY),
        ("Heute", NOW),
        ("i g\u00e5r", NOW - DAY),
    ],
)
def test_every_form_gives_its_moment(text: str | int, expected: float) -> None:
    found = parse_posted(text, NOW)
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "soon",
        "3 Locations",
        "ago",
        True,
        0,
        12,
        -5,
        "2026-13-40",
        "12 mars 26",
        "12 Mar 26",
        "Tue, 26 May 26 00:00:00 +0000",
        "05.08.26",
        "3 jui 2026",
        "3 tage frei",
        "05/08/2026",
        "99999999999999999999",
        10**400,
        float("inf"),
        float("nan"),
        "2190-01-01",
        "1970-01-01",
        "0000-00-00",
        "9" * 100_000,
        "1 day ago " * 10_000,
        "0001-01-01T00:00:00+23:59",
    ],
)
def test_what_is_no_date_gives_none(text: str | float | None) -> None:
    assert parse_posted(text, NOW) is None


@given(st.one_of(st.none(), st.integers(), st.floats(), st.booleans(), st.text()))
def test_nothing_raises(value: str | float | None) -> None:
    found = parse_posted(value, NOW)
    assert found is None or isinstance(found, float)


@given(st.floats(min_value=at(1995, 1, 1), max_value=at(2026, 1, 1)))
def test_an_iso_date_is_what_it_says(seconds: float) -> None:
    text = datetime.fromtimestamp(seconds, tz=UTC).isoformat()
    assert parse_posted(text, NOW) == pytest.approx(seconds, abs=1e-3)
    assert parse_posted(text.replace("+00:00", "Z"), NOW) == pytest.approx(seconds, abs=1e-3)


def test_a_date_of_publication_is_not_in_the_future_and_an_end_may_be() -> None:
    for ahead, is_believed in ((DAY, True), (2 * DAY, True), (3 * DAY, False), (33 * DAY, False), (300 * DAY, False)):
        assert (parse_posted(NOW + ahead, NOW) is not None) is is_believed
        assert parse_posted(NOW + ahead, NOW, AHEAD_MAX) == NOW + ahead
    assert parse_posted(NOW + 500 * DAY, NOW, AHEAD_MAX) is None
