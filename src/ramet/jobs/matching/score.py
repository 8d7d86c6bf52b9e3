"""Points for age, apart from the rest of a score, so that they can be given again as a listing grows older."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from ramet.jobs.matching.caps import CATEGORY, SCORE_MAX, Cap, caps_of, ceiling_of
from ramet.jobs.matching.eligibility import eligibility_of
from ramet.jobs.matching.preferences import at_preferred_office, ranks_of
from ramet.jobs.matching.titles import title_match
from ramet.jobs.matching.wishes import (
    PLACE,
    Adjusted,
    ScoreInput,
    Skills,
    points_at,
    skill_points,
    skills_of,
    wish_points,
)
from ramet.jobs.posting import Posting, shallow
from ramet.jobs.settings import JobsSettings, ListingSettings, MatchSettings, Step
from ramet.jobs.text.posting_text import Reading

DAY_SECONDS = 86_400


def fresh_score(
    static: float, posted_at: float | None, settings: JobsSettings, now: float, ceiling: float = SCORE_MAX
) -> tuple[float, dict[str, Any]]:
    """Return a score with the points for its age today.

    Args:
        static: the score without them.
        now: Unix seconds, as ``posted_at``.
        ceiling: the most that it can be (:func:`ramet.jobs.matching.caps.ceiling_of` its adjustments).

    Returns:
        The score, from 0 to 100, and the adjustment ``{category, reason, points}``.
    """
    points, reason = _points(settings.match, posted_at, now)
    if posted_at is not None and now - posted_at > settings.match.old_days * DAY_SECONDS:
        ceiling = min(ceiling, settings.match.old_cap)
    if ceiling < SCORE_MAX and static + points > ceiling:
        points, reason = ceiling - static, f"{reason}; at most {ceiling:g}"
    points = round(points, 1)
    final = round(min(100.0, max(0.0, static + points)), 1)
    return final, {"category": "freshness", "reason": reason, "points": points}


def _points(rules: MatchSettings, posted_at: float | None, now: float) -> tuple[float, str]:
    if posted_at is None:
        return rules.freshness_unknown, "no date"
    days = max(0.0, now - posted_at) / DAY_SECONDS
    points = points_at(rules.freshness, rules.freshness_older, days)
    return points, _age(rules.freshness, days)


def _age(steps: list[Step], days: float) -> str:
    """Return the age in words that stay right while the points do."""
    bound = next((bound for bound, _ in sorted(steps) if days <= bound), None)
    if bound is None:
        return f"posted more than {max((bound for bound, _ in steps), default=0):g} days ago"
    return f"posted within {bound:g} {'day' if bound == 1 else 'days'}"


class Quality(StrEnum):
    """Levels of completeness, each with all that the one before has."""

    NONE = "none"
    MINIMAL = "minimal"
    """Address, title, company, and a description of some length."""
    GOOD = "good"
    """Also the place, the date and the requirements."""


def quality_of(
    *,
    url: str | None,
    title: str | None,
    company: str | None,
    description: str | None,
    location: str | None,
    posted_at: float | None,
    requirements: str | None,
    settings: ListingSettings,
) -> Quality:
    """Return the level of a record. Blank texts count as missing."""
    has_all = all((text or "").strip() for text in (url, title, company))
    if not has_all or len((description or "").strip()) <= settings.description_min:
        return Quality.NONE
    if posted_at is None or not (location or "").strip() or not (requirements or "").strip():
        return Quality.MINIMAL
    return Quality.GOOD


KEYWORDS_MAX = 25
"""Words that an application should use."""


@dataclass(frozen=True, slots=True)
class CompanySignals:
    """Known properties of the company that offers a listing."""

    size_category: str | None = None
    """``large``, ``medium`` or ``small``."""
    tier: str | None = None
    """``S`` to ``D``."""
    tech_stack: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """How well a listing fits, and why."""

    base: float
    static: float
    """Score without the age: ``base`` and all adjustments but the last, which is that of the age."""
    final: float
    """``static`` with the points for the age, from 0 to 100."""
    adjustments: tuple[dict[str, Any], ...]
    """Each ``{category, reason, points}``, in tenths of a point, the age last. ``limit`` takes back what is beyond 0 or
    100. A ``cap`` has also ``cap``, the most that the score can be at any age."""
    matched_skills: tuple[str, ...]
    missing_skills: tuple[str, ...]
    preferred_office: bool
    threshold: float
    """Least score with which this listing is a match."""
    is_match: bool
    priority: str
    """``High``, ``Medium`` or ``Low``."""
    intake: dict[str, Any]
    """Values for an application: ``prioritizedSkills``, ``atsKeywords``; parts that need a writer stay empty."""

    def as_json(self) -> dict[str, Any]:
        """Return a value for JSON, from which :meth:`from_json` makes the same score."""
        return shallow(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Score:
        """Return the score that :meth:`as_json` wrote.

        Raises:
            ValueError: it is not such a value.
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
        company: None: not known yet.
        now: Unix seconds.
    """
    rules, profile = settings.match, settings.profile
    ranks = ranks_of(profile)
    skills = skills_of(posting, reading, ranks, rules)
    at_office = profile.given and at_preferred_office(reading, profile) is True
    told: list[Adjusted] = []
    caps: list[Cap] = []
    if profile.given:
        known = company or CompanySignals()
        case = ScoreInput(
            posting, reading, profile, rules, at_office, eligibility_of(posting, reading, profile),
            title_match(posting.title, tuple(profile.titles)) if profile.titles and posting.title.strip() else None,
        )  # fmt: skip
        told += skill_points(skills, known.tech_stack, ranks, rules)
        told += wish_points(case)
        told += _company_points(known, rules)
        caps += caps_of(case, skills, ranks)
    static, listed = _added(rules, told, caps)
    final, age = fresh_score(static, posting.posted_at, settings, now, ceiling_of(listed))
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


def priority_word(points: float, rules: MatchSettings) -> str:
    """Return ``High``, ``Medium`` or ``Low``."""
    if points >= rules.high_priority:
        return "High"
    return "Medium" if points >= rules.medium_priority else "Low"


def _company_points(company: CompanySignals, rules: MatchSettings) -> Iterator[Adjusted]:
    if company.size_category in rules.size_points:
        yield "company", f"a {company.size_category} company", rules.size_points[company.size_category]
    if company.tier in rules.tier_points:
        yield "company", f"of tier {company.tier}", rules.tier_points[company.tier]


def _added(rules: MatchSettings, told: Iterable[Adjusted], caps: Iterable[Cap]) -> tuple[float, list[dict[str, Any]]]:
    """Return the sum, from 0 to 100 and below the caps, and its parts; those of 0 points only where they inform."""
    rounded = [(category, reason, round(points, 1)) for category, reason, points in told]
    rounded = [part for part in rounded if part[2] or part[0] == PLACE]
    total = round(rules.base + sum(points for _, _, points in rounded), 1)
    kept = min(100.0, max(0.0, total))
    if kept != total:
        reason = "no score is above 100" if total > kept else "no score is below 0"
        rounded.append(("limit", reason, round(kept - total, 1)))
    listed: list[dict[str, Any]] = [
        {"category": category, "reason": reason, "points": points} for category, reason, points in rounded
    ]
    youngest = max((points for _, points in rules.freshness), default=0.0)
    for cap in sorted(caps):
        if cap.most < kept + max(youngest, rules.freshness_unknown, 0.0):
            points = round(min(0.0, cap.most - kept), 1)
            listed.append(
                {
                    "category": CATEGORY,
                    "reason": f"at most {cap.most:g}: {cap.reason}",
                    "points": points,
                    "cap": cap.most,
                }
            )
            kept = round(kept + points, 1)
    return kept, listed


def _intake(skills: Skills, reading: Reading) -> dict[str, Any]:
    keywords = dict.fromkeys(
        [*reading.required_technologies, *skills.matched, *reading.technologies, *reading.fields_of_work]
    )
    return {"prioritizedSkills": list(skills.matched), "atsKeywords": list(keywords)[:KEYWORDS_MAX]}
