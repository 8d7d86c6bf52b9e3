"""The bar of issue 28: scores against two rankings by hand for each of two profiles."""

from __future__ import annotations

import pytest

from tests.jobs.matching.score_report import rank_correlation
from tests.jobs.sampled.frozen import scored_readings

SPEARMAN_MIN = 0.7


@pytest.mark.parametrize("sample", ["first", "second"])
@pytest.mark.parametrize("profile", ["us", "eu"])
def test_scores_separate_as_a_person_does(sample: str, profile: str) -> None:
    scored = scored_readings(sample, profile)
    assert len(scored) == 30
    assert rank_correlation([one.grade for one in scored], [one.score for one in scored]) >= SPEARMAN_MIN


@pytest.mark.parametrize("sample", ["first", "second"])
@pytest.mark.parametrize("profile", ["us", "eu"])
def test_nothing_that_a_person_would_never_take_is_above_what_they_would_apply_to(sample: str, profile: str) -> None:
    scored = scored_readings(sample, profile)
    lowest = min(one.score for one in scored if one.verdict == "apply")
    assert [one.name for one in scored if one.verdict == "never" and one.score >= lowest] == []
