"""What somebody does not want keeps a listing below a cap, whatever else fits; each cap is listed with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.jobs.matching.caps import ceiling_of
from ramet.jobs.matching.score import Score, fresh_score, score_of
from ramet.jobs.posting import Posting
from tests.jobs.matching.sample_listings import DAY, LONG, NOW, posting, reading_of, settings_with

KIM: dict[str, Any] = {
    "name": "Kim", "technologies": {"Python": "required", "PostgreSQL": "required"}, "titles": ["backend"],
    "seniority": ["senior", "staff"], "arrangements": ["remote"], "salary_wanted": 170_000, "experience_years": 9,
    "utc_offset": -8,
}  # fmt: skip
"""The guide's kind of profile, without a filter."""
TEXT = f"{LONG} We use Python, PostgreSQL, Kubernetes and AWS."


def scored(case: Posting, *, match: Any = None, known: Any = None, **profile: Any) -> Score:
    settings = settings_with(profile=KIM | profile, match=match or {})
    return score_of(case, reading_of(case, **known or {}), None, settings, NOW)


def backend(title: str = "Senior Backend Engineer", text: str = TEXT, **fields: Any) -> Posting:
    return posting(title, text, **({"posted_at": NOW - DAY / 2, "location": "Remote - US"} | fields))


def caps(score: Score) -> list[str]:
    return [part["reason"] for part in score.adjustments if part["category"] == "cap"]


def test_what_fits_has_no_cap() -> None:
    score = scored(backend())
    assert (score.priority, score.is_match, caps(score)) == ("High", True, [])


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (backend("Intern, Backend", employment_type="Internship"), "an internship, wanted: senior, staff"),
        (backend("Junior Backend Engineer"), "junior level, wanted: senior, staff"),
        (backend(location="Denver, CO (On-site)"), "onsite work, wanted: remote"),
        (backend(location="Denver, CO (Hybrid)"), "hybrid work, wanted: remote"),
        (backend(salary="$90,000 - $110,000 a year"), "pay ends 35% below what is wanted"),
        (
            backend("Senior Sales Engineer", text=f"{LONG} We use Python and PostgreSQL."),
            "the title is of another profession than the wanted ones",
        ),
    ],
)
def test_what_the_guides_profile_does_not_want_is_no_match(case: Posting, told: str) -> None:
    score = scored(case)
    assert any(told in reason for reason in caps(score)), score.adjustments
    assert (score.priority, score.is_match) != ("High", True)
    assert not score.is_match
    assert score.final <= ceiling_of(score.adjustments) < 80


def test_where_neither_title_nor_technologies_fit_nothing_does() -> None:
    score = scored(backend("Human Resources Partner", f"{LONG} Pay, leave and people."), country="US")
    assert (score.static, score.final) == (0, 0)
    assert caps(score)[0] == "at most 0: neither its title nor a technology is one of the profile's"


def test_a_text_with_other_technologies_alone_has_a_cap() -> None:
    text = f"{LONG} Requirements: Java, Spring Boot, Oracle, Angular."
    score = scored(backend(text=text), match={"base": 70})
    assert caps(score) == ["at most 65: none of its technologies is the profile's"]
    assert score.final == 65


def test_an_old_listing_is_never_of_high_priority_and_the_reason_says_so() -> None:
    score = scored(backend(posted_at=NOW - 45 * DAY), match={"freshness_older": 0})
    assert (score.priority, score.final) == ("Medium", 84)
    assert score.adjustments[-1]["reason"] == "posted more than 30 days ago; at most 84"
    assert score.final == round(score.static + score.adjustments[-1]["points"], 1)


def test_a_cap_holds_at_any_age() -> None:
    settings = settings_with(profile=KIM, match={"arrangement_cap": 84, "base": 60})
    case = backend(location="Denver, CO (Hybrid)", posted_at=None)
    score = score_of(case, reading_of(case), None, settings, NOW)
    ceiling = ceiling_of(score.adjustments)
    assert ceiling == 84
    for age in (0.1, 2, 10, 20, 40):
        assert fresh_score(score.static, NOW - age * DAY, settings, NOW, ceiling)[0] <= 84


def test_pay_a_little_below_the_wish_costs_less_than_pay_far_below() -> None:
    pays = [f"${pay},000 a year" for pay in (170, 165, 140, 115, 80)]
    found = [scored(backend(salary=pay)) for pay in pays]
    assert [ceiling_of(score.adjustments) for score in found] == [100, 90, 84, 75, 65]


def test_somebody_who_wants_it_has_no_cap() -> None:
    intern = backend("Intern, Backend", employment_type="Internship")
    assert caps(scored(intern, seniority=["junior"])) == []
    office = backend(location="Denver, CO (On-site)")
    assert caps(scored(office, arrangements=["remote", "onsite"])) == []
    assert caps(scored(office, preferred_city="Denver", preferred_region="CO")) == []
    assert caps(scored(backend(location="Denver, CO", workplace=None))) == []


def test_where_one_would_have_to_move_it_depends_on_whether_one_would() -> None:
    case = backend(location="Paris, France (Hybrid)")
    lives: dict[str, Any] = {"country": "Belgium", "permits": ["EU"], "arrangements": ["hybrid"], "utc_offset": 1}
    stays, moves = scored(case, **lives), scored(case, **lives, relocate=True)
    assert (ceiling_of(stays.adjustments), ceiling_of(moves.adjustments)) == (60, 84)
    assert stays.final <= 60 < moves.final
    here = scored(backend(location="Ghent, Belgium (Hybrid)"), **lives)
    assert [part["points"] for part in here.adjustments if part["category"] == "place"] == [5]


def test_what_a_listing_does_not_say_is_told_and_has_no_points() -> None:
    score = scored(backend(location="Remote"), country="US")
    [told] = [part for part in score.adjustments if part["category"] == "place"]
    assert (told["points"], told["reason"]) == (0, "it is not said from where one may work")
    assert score.final == scored(backend(location="Remote")).final


def test_benefits_of_another_country_lower_a_listing_without_a_place() -> None:
    text = f"{TEXT} Benefits: day 1 HMO, PhilHealth and leave credits."
    told = scored(backend(text=text, location="Remote"), country="US")
    assert caps(told) == ["at most 75: no place is named, and its benefits are those of Philippines"]
    assert caps(scored(backend(text=text, location="Remote"), country="PH")) == []
    assert caps(scored(backend(text=text), country="US")) == []


def test_rows_that_an_older_version_stored_have_no_ceiling() -> None:
    assert ceiling_of([{"category": "title", "points": 10}, 3, None]) == 100
    assert ceiling_of([{"category": "cap", "cap": "high"}]) == 100
