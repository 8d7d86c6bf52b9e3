"""A score is explained by its points to the tenth; what nobody said gives and takes none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ramet.jobs.matching.score import CompanySignals, Score, priority_word, score_of
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority
from ramet.jobs.text.places import Place
from ramet.jobs.text.salaries import Salary
from tests.jobs.matching.original_settings import original_settings
from tests.jobs.matching.real_postings import listings, matches
from tests.jobs.matching.sample_listings import DAY, LONG, NOW, posting, reading_of, settings_with
from tests.jobs.matching.score_report import better_share, rank_correlation, scores

RANKS = {"Python": "required", "Postgres": "ok", "PHP": "strike"}


def scored(
    case: Posting | None = None,
    company: CompanySignals | None = None,
    *,
    match: Any = None,
    known: Any = None,
    **profile: Any,
) -> Score:
    """The score under a profile with these fields, of a listing of which ``known`` is known."""
    case = case or posting(posted_at=NOW - 5 * DAY)
    settings = settings_with(profile={"name": "Ana"} | profile, match=match or {})
    return score_of(case, reading_of(case, **known or {}), company, settings, NOW)


def points(score: Score, category: str) -> float:
    return float(sum(part["points"] for part in score.adjustments if part["category"] == category))


def assert_explained(score: Score) -> None:
    """The listed points make the score, all of it."""
    *listed, age = score.adjustments
    assert age["category"] in ("freshness", "profile")
    assert score.static == round(score.base + sum(part["points"] for part in listed), 1)
    assert score.final == min(100, max(0, round(score.static + age["points"], 1)))
    assert all(part["reason"] and "\n" not in part["reason"] for part in score.adjustments)
    assert all(part["points"] for part in listed if part["category"] not in ("place", "cap"))


def test_an_open_profile_gives_the_base_alone() -> None:
    score = scored(posting("Senior PHP engineer", f"{LONG} 9 years of Java. On-site.", location="Oslo"))
    assert (score.static, score.final, score.priority, score.is_match) == (50, 50, "Low", False)
    assert [part["category"] for part in score.adjustments] == ["freshness"]


def test_without_a_profile_it_is_said_and_nothing_is_a_match() -> None:
    case = posting("Python engineer", posted_at=NOW)
    settings = settings_with(match={"min_score": 0, "base": 90}, profile={"technologies": RANKS})
    score = score_of(case, reading_of(case), CompanySignals("large", "S"), settings, NOW)
    assert (score.final, score.is_match) == (90, False)
    assert [part["reason"] for part in score.adjustments] == ["there is no profile to compare with"]
    assert_explained(score)


def test_the_same_listing_has_the_same_score() -> None:
    case = posting("Python engineer", f"{LONG} Requirements: Postgres, Kafka, Redis", posted_at=NOW)
    assert scored(case, technologies=RANKS) == scored(case, technologies=dict(reversed(RANKS.items())))


def test_technologies_weigh_more_in_title_and_requirements() -> None:
    text = f"{LONG} We use Kafka, Redis, Java and Postgres."
    none = scored(posting("Engineer", f"{LONG} We use Kafka, Redis and Java."), technologies=RANKS)
    some = scored(posting("Engineer", text), technologies=RANKS)
    known = {"technologies": ("kafka", "redis", "java", "postgresql"), "required_technologies": ("postgresql",)}
    asked = scored(posting("Engineer", text), technologies=RANKS, known=known)
    titled = scored(posting("Postgres engineer", text), technologies=RANKS)
    assert none.static < some.static < asked.static < titled.static
    assert points(none, "skills") < 0
    assert titled.matched_skills == ("postgresql",)
    assert set(titled.missing_skills) == {"kafka", "redis", "java"}


def test_required_counts_more_than_ok_and_unwelcome_takes_points() -> None:
    text = f"{LONG} We use Java and Kafka and %s."
    by_rank = [
        scored(posting("Engineer", text % name), technologies=RANKS).static for name in ("Python", "Postgres", "PHP")
    ]
    assert by_rank == sorted(by_rank, reverse=True)
    assert len(set(by_rank)) == 3
    worst = scored(posting("Engineer", f"{LONG} PHP, PHP, PHP"), technologies=RANKS)
    assert {part["reason"] for part in worst.adjustments if part["points"] == -3} == {"unwelcome: php"}
    assert worst.missing_skills == ("php",)


def test_nothing_but_the_profiles_technologies_gives_all_of_the_bonus() -> None:
    many = "Python, Postgres, Django, Flask, Redis, Kafka"
    case = posting("Python engineer", f"{LONG} We use {many}.")
    ranks = dict.fromkeys(many.split(", "), "required")
    assert points(scored(case, technologies=ranks), "skills") == 30
    assert points(scored(case, technologies=ranks, match={"skill_bonus_max": 12}), "skills") == 12
    nothing = {"skill_bonus_max": 0, "skill_penalty_max": 0}
    assert points(scored(case, technologies=ranks, match=nothing), "skills") == 0


def test_a_text_without_technologies_takes_the_companys() -> None:
    signals = CompanySignals(None, None, ("Python", "Java"))
    assert points(scored(technologies=RANKS), "skills") == 0
    assert points(scored(company=signals, technologies=RANKS), "skills") == 2.5
    assert points(scored(posting("Java engineer"), signals, technologies=RANKS), "skills") < 0


@pytest.mark.parametrize(
    ("category", "profile", "known", "expected"),
    [
        ("title", {"titles": ["back-end", "engineer"]}, {}, 10),
        ("title", {"titles": ["designer"]}, {}, -15),
        ("seniority", {"seniority": ["senior", "staff"]}, {"seniority": Seniority.STAFF, "seniority_word": "staff"}, 5),
        ("seniority", {"seniority": ["senior"]}, {"seniority": Seniority.JUNIOR, "seniority_word": "junior"}, -12),
        ("seniority", {"seniority": ["staff"]}, {"seniority": Seniority.LEAD, "seniority_word": "lead"}, -6),
        ("seniority", {"seniority": ["senior"]}, {"seniority": Seniority.MID, "seniority_word": None}, 0),
        ("seniority", {"seniority": ["mid"]}, {"seniority": Seniority.MID, "seniority_word": None}, 5),
        ("seniority", {"seniority": ["senior"]}, {"seniority": Seniority.UNKNOWN, "seniority_word": None}, 0),
        ("experience", {"experience_years": 4}, {"years_min": 6}, -4),
        ("experience", {"experience_years": 0}, {"years_min": 20}, -10),
        ("experience", {"experience_years": 6}, {"years_min": 6}, 0),
        ("experience", {"experience_years": 6}, {"years_min": None}, 0),
        ("arrangement", {"arrangements": ["remote"]}, {"arrangement": Arrangement.REMOTE}, 5),
        ("arrangement", {"arrangements": ["remote"]}, {"arrangement": Arrangement.ONSITE}, -10),
        ("arrangement", {"arrangements": ["remote"]}, {"arrangement": Arrangement.UNKNOWN}, 0),
        ("salary", {"salary_wanted": 100_000}, {"salary": Salary(80_000, 100_000, "USD")}, 5),
        ("salary", {"salary_wanted": 100_000}, {"salary": Salary(60_000, 80_000, "USD")}, -6),
        ("salary", {"salary_wanted": 100_000}, {"salary": Salary(None, 20_000, "USD")}, -15),
        ("salary", {"salary_wanted": 100_000}, {"salary": Salary(60_000, None, "USD")}, 0),
        ("salary", {"salary_wanted": 100_000}, {"salary": Salary(60_000, 70_000, "EUR")}, 0),
        ("salary", {"salary_wanted": 100_000}, {"salary": None}, 0),
        ("time_zone", {"utc_offset": -8}, {"utc_offset": -8.0}, 5),
        ("time_zone", {"utc_offset": -8}, {"utc_offset": -6.0}, -2),
        ("time_zone", {"utc_offset": -8}, {"utc_offset": 5.5}, -15),
        ("time_zone", {"utc_offset": -11}, {"utc_offset": 13.0}, 5),
        ("time_zone", {"utc_offset": -8}, {"utc_offset": None}, 0),
    ],
)
def test_each_wish_has_its_points(category: str, profile: Any, known: Any, expected: float) -> None:
    score = scored(known=known, **profile)
    assert points(score, category) == expected
    assert score.static == 50 + expected
    assert_explained(score)


PORTLAND = Place("Portland", "OR", "US", -8.0)
OFFICE: dict[str, Any] = {"preferred_city": "Portland", "preferred_region": "OR", "arrangements": ["remote"]}


def test_the_preferred_office_has_a_bonus_and_a_lower_threshold() -> None:
    known = {"places": (Place("Seattle", "WA", "US", -8.0), PORTLAND), "arrangement": Arrangement.HYBRID}
    score = scored(known=known, **OFFICE)
    assert (score.preferred_office, score.static, score.threshold, score.is_match) == (True, 65, 65, True)
    assert scored(known=known, match={"preferred_office_bonus": 14}, **OFFICE).is_match is False
    elsewhere = scored(known=known | {"places": (replace(PORTLAND, region="ME"),)}, **OFFICE)
    assert (elsewhere.preferred_office, elsewhere.static, elsewhere.threshold) == (False, 40, 80)


def test_the_preferred_office_counts_where_the_listing_is_whatever_the_company_says_of_itself() -> None:
    # The about page of the company says Portland, Oregon: it is not asked.
    case = posting("Software Engineer, macOS", f"{LONG} You know Swift.", location="Pompano Beach, USA")
    score = scored(case, CompanySignals("large", "S"), technologies=RANKS, titles=["software engineer"], **OFFICE)
    assert (score.preferred_office, score.threshold, points(score, "preferred_office")) == (False, 80, 0)
    assert not score.is_match


def test_the_company_counts_by_size_and_tier_where_they_have_points() -> None:
    signals = CompanySignals("large", "S", ())
    assert scored(company=signals).static == 55
    assert scored(company=signals, match={"size_points": {"large": 10, "small": -5}}).static == 65
    assert scored(company=CompanySignals("small", "D"), match={"size_points": {"small": -5}}).static == 45


@pytest.mark.parametrize(("base", "static", "limit"), [(95, 100, -5), (5, 5, None)])
def test_a_score_ends_at_100_and_says_so(base: float, static: float, limit: float | None) -> None:
    titles = ["engineer"] if base > 50 else []
    score = scored(titles=titles, match={"base": base})
    assert score.static == static
    assert [part["points"] for part in score.adjustments if part["category"] == "limit"] == ([limit] if limit else [])
    assert_explained(score)


def test_a_score_ends_at_0_and_says_so() -> None:
    score = scored(titles=["designer"], match={"base": 5, "freshness": [[7, -3]]})
    assert (score.static, score.final) == (0, 0)
    assert points(score, "limit") == 10
    assert_explained(score)


def test_age_is_apart_from_the_static_score() -> None:
    new, old = posting(posted_at=NOW), posting(posted_at=NOW - 60 * DAY)
    assert (scored(new).static, scored(new).final) == (50, 55)
    assert (scored(old).static, scored(old).final) == (50, 40)


@pytest.mark.parametrize(
    ("points_", "word"), [(100, "High"), (85, "High"), (84.9, "Medium"), (70, "Medium"), (69.9, "Low")]
)
def test_priorities_begin_at_their_scores(points_: float, word: str) -> None:
    assert priority_word(points_, JobsSettings().match) == word


def test_a_score_survives_being_stored() -> None:
    score = scored(posting("Python engineer", f"{LONG} Kafka"), technologies=RANKS, titles=["engineer"])
    assert Score.from_json(json.loads(json.dumps(score.as_json()))) == score
    assert score.intake["prioritizedSkills"] == ["python"]
    assert set(score.intake["atsKeywords"]) == {"python", "kafka"}
    with pytest.raises(ValueError, match="no score"):
        Score.from_json({"base": 1})


def test_every_real_listing_is_explained() -> None:
    for score in [*scores(matches(), original_settings()), *scores(listings(), original_settings())]:
        assert_explained(score)


def test_what_a_real_user_kept_scores_above_other_listings() -> None:
    settings = original_settings()
    wishes = {"titles": ["software engineer", "developer", "full stack"], "seniority": ["senior", "staff"]}
    settings = settings.model_copy(update={"profile": settings.profile.model_copy(update=wishes)})
    kept = [score.static for score in scores(matches(), settings)]
    others = [score.static for score in scores(listings(), settings)]
    originals = [case.original_score or 0.0 for case in matches()]
    assert better_share(kept, others) > 0.65
    assert rank_correlation(kept, originals) > 0.2


def test_rank_correlation_is_that_of_ranks() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 90]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9487, abs=1e-4)
    assert rank_correlation([1, 1], [1, 2]) == 0
