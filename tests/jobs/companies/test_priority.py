"""Priority and tiers of companies, and that a profile which says nothing is never taken for tier D."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ramet.jobs.companies.facts import CompanyFacts, priority_of, tier_of
from ramet.jobs.errors import InputError
from ramet.jobs.settings import CompanySettings, Profile
from ramet.jobs.text.places import places_of

SETTINGS = CompanySettings()
PROFILE = Profile(
    name="sample",
    technologies={"Python": "required", "NodeJS": "required", "PostgreSQL": "ok", "PHP": "strike", "COBOL": "fail"},
    preferred_city="Portland",
    preferred_region="OR",
)


def facts(**given: object) -> CompanyFacts:
    return CompanyFacts(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("company", "score", "tier"),
    [
        (facts(), 0, "D"),
        (facts(tech_stack=("python", "node.js")), 40, "D"),
        (facts(tech_stack=("python", "node.js", "postgresql", "react")), 45, "D"),
        (facts(tech_stack=("python", "php")), 10, "D"),
        # What is not wanted takes from the technologies, never from the rest.
        (facts(tech_stack=("cobol",), remote_first=True), 15, "D"),
        (facts(tech_stack=("python", "node.js"), remote_first=True, ai_ml=True), 65, "C"),
        (facts(offices=places_of("Portland, Oregon")), 50, "C"),
        (facts(offices=places_of("Portland, Maine")), 0, "D"),
        (facts(offices=places_of("Portland")), 0, "D"),
        (facts(offices=places_of("Berlin; Portland, OR"), tech_stack=("python", "node.js")), 90, "B"),
        (facts(offices=places_of("Portland, OR"), tech_stack=("python", "node.js"), ai_ml=True), 100, "A"),
    ],
)
def test_every_part_of_the_score_is_a_reason(company: CompanyFacts, score: float, tier: str) -> None:
    priority = priority_of(company, SETTINGS, PROFILE)
    assert priority is not None
    assert (priority.score, priority.tier) == (score, tier)
    assert sum(reason["points"] for reason in priority.reasons) == score
    assert all(reason["reason"] for reason in priority.reasons)


def test_technologies_are_worth_a_hundred_at_most() -> None:
    many = [f"tool{number}" for number in range(30)]
    profile = Profile(name="sample", technologies=dict.fromkeys(many, "required"))
    priority = priority_of(facts(tech_stack=tuple(many)), SETTINGS, profile)
    assert priority is not None
    assert (priority.score, priority.tier) == (100, "A")


def test_points_and_bounds_are_settings() -> None:
    settings = CompanySettings(technology_points={"required": 7}, tier_c=14, remote_first_bonus=1)
    priority = priority_of(facts(tech_stack=("python", "node.js"), remote_first=True), settings, PROFILE)
    assert priority is not None
    assert (priority.score, priority.tier) == (15, "C")
    assert [tier_of(score, SETTINGS) for score in (150, 149.9, 100, 99, 70, 69, 50, 49, 0, -5)] == list("SAABBCCDDD")


def test_without_a_profile_there_is_no_tier_not_even_d() -> None:
    assert priority_of(facts(remote_first=True, tech_stack=("python",)), SETTINGS, Profile()) is None


def test_two_spellings_of_a_technology_count_once() -> None:
    profile = Profile(name="sample", technologies={"NodeJS": "required", "node.js": "ok"})
    priority = priority_of(facts(tech_stack=("node.js", "nodejs")), SETTINGS, profile)
    assert priority is not None
    assert priority.score == 20


@pytest.mark.parametrize(
    "ranks", [{"technologies": {"Python": {"rank": "required", "points": 0}}}, {"Python": "requird"}]
)
def test_a_nested_or_misspelt_profile_is_an_error_and_never_silently_worth_nothing(ranks: Any) -> None:
    with pytest.raises(ValidationError):
        Profile(name="sample", technologies=ranks)
    # Nor does it get by where nobody has checked it.
    unchecked = Profile.model_construct(name="sample", technologies=ranks)
    with pytest.raises(InputError, match="give one of required, ok, strike, fail"):
        priority_of(facts(tech_stack=("python",)), SETTINGS, unchecked)
