"""The score of a listing: a number from 0 to 100 in which every point is listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.matching.freshness import fresh_score
from ramet.jobs.matching.preferences import at_preferred_office
from ramet.jobs.matching.ranks import ranks_of
from ramet.jobs.matching.skills import Adjusted, Skills, skill_points, skills_of
from ramet.jobs.matching.wishes import Wished, wish_points
from ramet.jobs.posting import Posting
from ramet.jobs.profile import Profile
from ramet.jobs.scoring_settings import MatchSettings
from ramet.jobs.text.places import is_at, places_of
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.values import shallow

KEYWORDS_MAX = 25
"""Words that an application should use."""


@dataclass(frozen=True, slots=True)
class CompanySignals:
    """What is known of the company that offers a listing."""

    size_category: str | None = None
    """``large``, ``medium`` or ``small``."""
    tier: str | None = None
    """``S`` to ``D``."""
    tech_stack: tuple[str, ...] = ()
    headquarters: str | None = None
    """As its pages say it: ``Portland, OR``."""


@dataclass(frozen=True, slots=True)
class Score:
    """How well a listing fits, and why."""

    base: float
    static: float
    """Without the age: ``base`` and all adjustments but the last, which is that of the age."""
    final: float
    """``static`` with the points for the age, from 0 to 100."""
    adjustments: tuple[dict[str, Any], ...]
    """Each ``{category, reason, points}``, in tenths of a point. Where the sum would leave 0 to 100, the last but one
    is ``limit`` and takes back what is beyond."""
    matched_skills: tuple[str, ...]
    missing_skills: tuple[str, ...]
    preferred_office: bool
    threshold: float
    """From which score on this listing is a match."""
    is_match: bool
    priority: str
    """``High``, ``Medium`` or ``Low``."""
    intake: dict[str, Any]
    """For an application: ``prioritizedSkills``, ``atsKeywords``; what takes a writer stays empty."""

    def as_json(self) -> dict[str, Any]:
        """A value for JSON, from which :meth:`from_json` makes the same score."""
        return shallow(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Score:
        """The score that :meth:`as_json` told of.

        Raises:
            ValueError: it is none.
        """
        try:
            told = {field.name: value[field.name] for field in fields(cls)}
            for name in ("adjustments", "matched_skills", "missing_skills"):
                told[name] = tuple(told[name])
        except (KeyError, TypeError) as error:
            raise ValueError(f"no score of a listing: {error!r}") from error
        return cls(**told)


def score_of(
    posting: Posting, reading: Reading, company: CompanySignals | None, settings: JobsSettings, now: float
) -> Score:
    """Score a listing by rules alone. The same listing, company and settings give the same score.

    Without a profile there is nothing to compare with: the score is the base, and never a match.

    Args:
        company: None: not known yet. Its headquarters count as an office where the listing names another or none.
        now: Unix seconds.
    """
    rules, profile = settings.match, settings.profile
    ranks = ranks_of(profile)
    skills = skills_of(posting, reading, ranks, rules)
    at_office = profile.given and _is_at_office(reading, company, profile)
    told: list[Adjusted] = []
    if profile.given:
        known = company or CompanySignals()
        told += skill_points(skills, known.tech_stack, ranks, rules)
        told += wish_points(Wished(posting, reading, profile, rules, at_office))
        told += _company_points(known, rules)
    static, listed = _added(rules.base, told)
    final, age = fresh_score(static, posting.posted_at, settings, now)
    if not profile.given:
        final, age = static, {"category": "profile", "reason": "there is no profile to compare with", "points": 0.0}
    threshold = rules.preferred_office_min_score if at_office else rules.min_score
    return Score(
        base=rules.base,
        static=static,
        final=final,
        adjustments=(*listed, age),
        matched_skills=skills.matched,
        missing_skills=skills.missing,
        preferred_office=at_office,
        threshold=threshold,
        is_match=profile.given and final >= threshold,
        priority=priority_word(final, rules),
        intake=_intake(skills, reading),
    )


def _is_at_office(reading: Reading, company: CompanySignals | None, profile: Profile) -> bool:
    """Whether the listing, or else the company as a whole, is at the preferred office."""
    if at_preferred_office(reading, profile):
        return True
    if company is None or not company.headquarters or not profile.preferred_city.strip():
        return False
    places = places_of(company.headquarters)
    return any(is_at(place, profile.preferred_city, profile.preferred_region) for place in places)


def priority_word(points: float, rules: MatchSettings) -> str:
    """``High``, ``Medium`` or ``Low``."""
    if points >= rules.high_priority:
        return "High"
    return "Medium" if points >= rules.medium_priority else "Low"


def _company_points(company: CompanySignals, rules: MatchSettings) -> Iterator[Adjusted]:
    if company.size_category in rules.size_points:
        yield "company", f"a {company.size_category} company", rules.size_points[company.size_category]
    if company.tier in rules.tier_points:
        yield "company", f"of tier {company.tier}", rules.tier_points[company.tier]


def _added(base: float, told: Iterable[Adjusted]) -> tuple[float, list[dict[str, Any]]]:
    """The sum, kept between 0 and 100, and its parts; those of no points are no adjustments."""
    rounded = [(category, reason, round(points, 1)) for category, reason, points in told]
    rounded = [part for part in rounded if part[2]]
    total = round(base + sum(points for _, _, points in rounded), 1)
    kept = min(100.0, max(0.0, total))
    if kept != total:
        reason = "no score is above 100" if total > kept else "no score is below 0"
        rounded.append(("limit", reason, round(kept - total, 1)))
    return kept, [{"category": category, "reason": reason, "points": points} for category, reason, points in rounded]


def _intake(skills: Skills, reading: Reading) -> dict[str, Any]:
    keywords = dict.fromkeys(
        [*reading.required_technologies, *skills.matched, *reading.technologies, *reading.fields_of_work]
    )
    return {
        "prioritizedSkills": list(skills.matched),
        "atsKeywords": list(keywords)[:KEYWORDS_MAX],
    }
