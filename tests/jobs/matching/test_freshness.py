"""Points for age, given anew as a listing grows older."""

from __future__ import annotations

import pytest

from ramet.jobs.matching.score import fresh_score
from ramet.jobs.settings import JobsSettings
from tests.jobs.matching.original_settings import original_settings
from tests.jobs.matching.sample_listings import DAY, NOW, settings_with


@pytest.mark.parametrize(
    ("days", "points"),
    [(-1, 15), (0, 15), (1, 15), (1.01, 5), (2, 5), (3, 0), (7, -35), (14, -40), (30, -45), (31, -50), (None, -10)],
)
def test_the_originals_steps(days: float | None, points: float) -> None:
    posted_at = None if days is None else NOW - days * DAY
    final, adjustment = fresh_score(60, posted_at, original_settings(), NOW)
    assert (final, adjustment["points"], adjustment["category"]) == (60 + points, points, "freshness")


def test_a_score_stays_between_0_and_100() -> None:
    settings = settings_with(match={"freshness": [[1, 20]], "freshness_older": -20})
    assert fresh_score(90, NOW, settings, NOW)[0] == 100
    assert fresh_score(10, NOW - 2 * DAY, settings, NOW)[0] == 0


def test_the_order_of_the_steps_and_none_at_all_are_no_matter() -> None:
    backwards = settings_with(match={"freshness": [[9, 1], [1, 5]]})
    assert fresh_score(50, NOW - DAY / 2, backwards, NOW)[0] == 55
    assert fresh_score(50, NOW, settings_with(match={"freshness": []}), NOW)[0] == 40
    assert fresh_score(50, None, JobsSettings(), NOW)[0] == 50
