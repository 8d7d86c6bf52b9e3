"""Strikes: each rule with its number, none for what a listing does not say."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.jobs.text.salaries import Salary
from tests.jobs.matching.sample_listings import DAY, LONG, NOW, judged, points, posting, settings_with

RANKS = {"Python": "required", "GCP": "required", "Google Cloud": "ok", "Go": "ok", "C#": "strike", ".NET": "strike"}


def struck(rules: dict[str, Any], *, profile: dict[str, Any] | None = None, case: Any = None, **known: Any) -> Any:
    return points(judged(case or posting(), settings_with(filter=rules, profile=profile or {}), **known))


@pytest.mark.parametrize(
    ("salary", "expected"),
    [(Salary(90_000, 140_000, "USD"), 2), (Salary(90_000, 150_000, "USD"), 0), (Salary(1, 2, "EUR"), 0), (None, 0)],
)
def test_a_low_salary(salary: Salary | None, expected: float) -> None:
    assert struck({"salary_below": 150_000}, salary=salary).get("low_salary", 0) == expected


@pytest.mark.parametrize(
    ("least", "most", "expected"), [(3, None, 1), (3, 5, 1), (5, 8, 0), (6, None, 0), (None, None, 0)]
)
def test_few_years(least: int | None, most: int | None, expected: float) -> None:
    assert struck({"experience_below": 6}, years_min=least, years_max=most).get("low_experience", 0) == expected


def test_more_years_than_the_profile_has() -> None:
    rules = {"experience_over_points": 3}
    assert struck(rules, profile={"experience_years": 4}, years_min=5, years_max=None) == {"high_experience": 3}
    assert struck(rules, profile={"experience_years": 5}, years_min=5, years_max=8) == {}
    assert struck(rules, years_min=20, years_max=None) == {}


def test_the_first_level_of_the_title_counts() -> None:
    rules = {"seniority_points": {"principal": 1, "manager": 1, "mid-level": 2}}
    assert struck(rules, case=posting("Principal Engineering Manager")) == {"level": 1}
    assert struck(rules, case=posting("Mid Level Engineer")) == {"level": 2}
    assert struck(rules, case=posting("Product management")) == {}


def test_unwelcome_technologies_count_each_by_their_own_points() -> None:
    case = posting("C# and .NET developer", f"{LONG} Python helps.")
    profile: dict[str, Any] = {"technologies": RANKS}
    assert struck({}, profile=profile, case=case) == {"bad_technology": 4}
    assert struck({"technology_points": 1}, profile=profile, case=case) == {"bad_technology": 2}
    assert struck({}, profile=profile | {"technology_points": {"c#": 3}}, case=case) == {"bad_technology": 5}


def test_no_wanted_technology_at_all_in_a_text() -> None:
    profile = {"technologies": RANKS}
    assert struck({}, profile=profile, case=posting(description=f"{LONG} You write Go.")) == {
        "no_required_technology": 1
    }
    assert struck({}, profile=profile, case=posting(description=f"{LONG} We are on Google Cloud Platform.")) == {}
    assert struck({}, profile=profile, case=posting(description="")) == {}
    assert struck({}, profile={"technologies": {"Go": "ok"}}) == {}


def test_a_profile_may_rank_fields_of_work() -> None:
    case = posting(description=f"{LONG} You know machine learning.")
    wanted = {"technologies": {"Machine Learning": "required"}}
    assert struck({}, profile=wanted, case=case) == {}
    assert struck({}, profile={"technologies": {"Machine Learning": "strike"}}, case=case) == {"bad_technology": 2}


def test_technologies_that_the_profile_lacks_when_they_are_given_points() -> None:
    case = posting("Rust engineer", f"{LONG} We use Kafka and Python.")
    rules = {"missing_primary_points": 3, "missing_other_points": 1}
    result = judged(case, settings_with(filter=rules, profile={"technologies": RANKS}))
    told = {finding.reason: finding.points for finding in result.strikes}
    assert told == {"not in the profile: rust": 3, "not in the profile: kafka": 1}
    assert struck(rules, case=case) == {}


@pytest.mark.parametrize(("description", "expected"), [("x" * 199, 1), ("x" * 200, 0), ("", 0), ("  ", 0)])
def test_a_short_text(description: str, expected: float) -> None:
    assert struck({}, case=posting(description=description)).get("short_description", 0) == expected


def test_the_first_buzzword_counts_once_and_short_ones_in_titles_only() -> None:
    rules = {"buzzwords": ["ninja", "rockstar", "pro"]}
    assert struck(rules, case=posting(description=f"{LONG} A rockstar and ninja.")) == {"buzzword": 1}
    assert struck(rules, case=posting("Code Ninja")) == {"buzzword": 1}
    assert struck(rules, case=posting(description=f"{LONG} A pro. Ninjas welcome.")) == {}
    assert struck(rules, case=posting("Pro developer")) == {"buzzword": 1}


def test_an_old_listing() -> None:
    assert struck({"strike_days": 1}, case=posting(posted_at=NOW - 1.5 * DAY)) == {"job_age": 1}
    assert struck({"strike_days": 1}, case=posting(posted_at=NOW - 0.5 * DAY)) == {}
    assert struck({"strike_days": 1}) == {}
    assert struck({"strike_days": 1, "age_points": 0}, case=posting(posted_at=NOW - 9 * DAY)) == {}
