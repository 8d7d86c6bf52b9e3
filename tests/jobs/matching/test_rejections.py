"""Hard rejections: the first decides, each needs that the listing says so, and what it does not say passes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.jobs.matching.filter import judge
from ramet.jobs.text.salaries import Salary
from tests.jobs.matching.sample_listings import (
    DAY,
    LONG,
    NOW,
    hard_name,
    judged,
    points,
    posting,
    reading_of,
    settings_with,
)

STRICT: dict[str, Any] = {
    "excluded_job_types": ["sales", "hr", "support", "customer success"],
    "excluded_seniority": ["associate", "intern", "entry-level"],
    "excluded_keywords": ["security clearance", "must relocate"],
    "salary_floor": 100_000,
    "reject_commission_only": True,
    "allow_hybrid": False,
    "allow_onsite": False,
    "reject_days": 7,
}


def test_a_listing_that_says_nothing_passes_everything() -> None:
    result = judged(posting(title="", description=""), settings_with(filter=STRICT))
    assert (result.passed, result.total_strikes, result.rejection_summary) == (True, 0, "")


def test_nothing_is_refused_or_punished_by_the_defaults() -> None:
    case = posting("Sales Intern", f"On-site in Oslo. Commission only, rockstar. {LONG}", posted_at=NOW - 300 * DAY)
    result = judged(case, settings_with(), salary=Salary(10, 10, "USD"), years_min=1)
    assert (result.passed, result.strikes) == (True, ())


@pytest.mark.parametrize(
    ("title", "refused_by"),
    [
        ("Sales Engineer", "excluded_job_type"),
        ("Customer-Success Manager", "excluded_job_type"),
        ("Salesforce Developer", None),
        ("Supportability Engineer", None),
        ("HR Systems Engineer", "excluded_job_type"),
        ("Threat Hunter", None),
        ("Internal Tools Engineer", None),
        ("Software Engineer Intern", "excluded_seniority"),
        ("Entry level engineer", "excluded_seniority"),
    ],
)
def test_kinds_and_levels_are_whole_words_of_the_title(title: str, refused_by: str | None) -> None:
    assert hard_name(judged(posting(title), settings_with(filter=STRICT))) == refused_by


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("We are hiring a talented sales representative.", True),
        ("This support role is for you.", True),
        ("We are looking for an experienced customer success lead.", True),
        ("In this sales position you call customers.", True),
        ("Apply for the customer success role today.", True),
        ("Sales role in Oslo", True),
        ("This is not a support role.", False),
        ("Five years in a customer-facing sales role.", False),
        ("You come from the support role of a product.", False),
        ("Experience in a similar support position helps.", False),
        ("You work with our sales and support teams.", False),
        ("We are seeking an engineer to support our customers.", False),
        ("Hiring HR staff. An HR role.", False),
        ("Support\nRole overview: you build things.", False),
        ("Contact sales@example.org", False),
    ],
)
def test_a_text_has_to_offer_the_kind_of_work(text: str, refused: bool) -> None:
    result = judged(posting(description=f"{LONG}\n{text}"), settings_with(filter=STRICT))
    assert (hard_name(result) == "excluded_job_type") is refused


def test_texts_can_be_left_alone() -> None:
    case = posting(description=f"{LONG} This support role is for you.")
    assert judged(case, settings_with(filter=STRICT | {"job_types_in_text": False})).passed


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("An active Security Clearance is needed.", True),
        ("Candidates must relocate to Oslo.", True),
        ("No security clearance is needed.", False),
        ("Security clearance is not required.", False),
        ("You do not need a security clearance.", False),
        ("Security clearance level: None", False),
        ("Security clearance:\nNone\nMore", False),
        ("Security clearance level: secret", True),
        ("Security clearance needed. Questions: none", True),
        ("Not for everybody. Security clearance needed.", True),
        ("We build security. Clearance sales.", False),
    ],
)
def test_keywords_count_unless_they_are_taken_back(text: str, refused: bool) -> None:
    result = judged(posting(description=f"{LONG} {text}"), settings_with(filter=STRICT))
    assert (hard_name(result) == "excluded_keyword") is refused


@pytest.mark.parametrize(
    ("salary", "refused"),
    [
        (Salary(60_000, 99_999, "USD"), True),
        (Salary(60_000, 100_000, "USD"), False),
        (Salary(60_000, None, "USD"), False),
        (Salary(20_000, 30_000, "EUR"), False),
        (None, False),
    ],
)
def test_the_upper_end_of_a_salary_counts_in_the_profiles_currency(salary: Salary | None, refused: bool) -> None:
    result = judged(posting(), settings_with(filter=STRICT), salary=salary)
    assert (hard_name(result) == "salary_floor") is refused


def test_commission_only_age_and_refused_technologies() -> None:
    settings = settings_with(filter=STRICT, profile={"technologies": {"WordPress": "fail"}})
    assert hard_name(judged(posting(), settings, commission_only=True)) == "commission_only"
    assert hard_name(judged(posting(posted_at=NOW - 7.1 * DAY), settings)) == "job_age"
    assert hard_name(judged(posting(posted_at=NOW - 6.9 * DAY), settings)) is None
    assert hard_name(judged(posting(posted_at=NOW + DAY), settings)) is None
    assert hard_name(judged(posting("WordPress developer"), settings)) == "failed_technology"


def test_the_stop_list_comes_first_and_the_first_rejection_ends_the_search() -> None:
    case = posting("Sales Intern", company="Acme", posted_at=NOW - 30 * DAY)
    result = judged(case, settings_with(filter=STRICT, stop={"companies": ["acme"]}))
    assert (hard_name(result), len(result.hard_rejections), result.strikes) == ("stop_list", 1, ())
    assert result.rejection_summary == "stop list: company acme"
    assert hard_name(judged(case, settings_with(filter=STRICT))) == "excluded_job_type"


def test_switched_off_only_the_stop_list_holds() -> None:
    off = settings_with(filter=STRICT | {"enabled": False}, stop={"companies": ["acme"]})
    assert judged(posting("Sales Intern"), off).passed
    assert hard_name(judged(posting(company="Acme"), off)) == "stop_list"


def test_strikes_add_up_and_fail_at_the_threshold() -> None:
    profile = {"technologies": {"Java": "strike", "PHP": "strike", "Python": "required"}}
    case = posting("Java and PHP developer", posted_at=NOW - 2 * DAY)
    below = judged(case, settings_with(profile=profile, filter={"strike_threshold": 6}))
    at = judged(case, settings_with(profile=profile, filter={"strike_threshold": 5}))
    assert points(below) == points(at) == {"bad_technology": 4, "no_required_technology": 1}
    assert (below.passed, below.total_strikes, below.strike_threshold) == (True, 5, 6)
    assert (at.passed, at.total_strikes, at.strike_threshold) == (False, 5, 5)
    assert "java (2)" in at.rejection_summary
    assert "\n" not in at.rejection_summary


def test_a_result_is_stored_with_every_field() -> None:
    case = posting("Java developer")
    result = judge(case, reading_of(case), settings_with(profile={"technologies": {"Java": "strike"}}), NOW)
    stored = json.loads(json.dumps(result.as_json()))
    assert stored["passed"] is True
    assert set(stored) == {
        "passed", "total_strikes", "strike_threshold", "rejection_summary", "hard_rejections", "strikes",
    }  # fmt: skip
    assert stored["strikes"] == [
        {
            "filter_category": "technology", "filter_name": "bad_technology", "reason": "technology: java",
            "detail": "named in title or requirements", "severity": "strike", "points": 2,
        }
    ]  # fmt: skip


def test_a_text_of_a_megabyte_is_judged() -> None:
    case = posting(description="support role not " * 60_000)
    assert hard_name(judged(case, settings_with(filter=STRICT))) is None
