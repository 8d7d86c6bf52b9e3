"""Points for age, apart from the rest of a score, so that they can be given again as a listing grows older."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from ramet.jobs.matching.preferences import Ranks, at_preferred_office, ranks_of
from ramet.jobs.matching.words import first_word, fold
from ramet.jobs.posting import Posting, shallow
from ramet.jobs.settings import JobsSettings, ListingSettings, MatchSettings, Profile, Step
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority
from ramet.jobs.text.places import is_at, places_of
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.technologies import canonical_technology, find_technologies

DAY_SECONDS = 86_400


def fresh_score(
    static: float, posted_at: float | None, settings: JobsSettings, now: float
) -> tuple[float, dict[str, Any]]:
    """A score with the points for its age today.

    Args:
        static: the score without them.
        now: Unix seconds, as ``posted_at``.

    Returns:
        The score, from 0 to 100, and the adjustment ``{category, reason, points}``.
    """
    points, reason = _points(settings.match, posted_at, now)
    points = round(points, 1)
    final = round(min(100.0, max(0.0, static + points)), 1)
    return final, {"category": "freshness", "reason": reason, "points": points}


def points_at(steps: list[Step], beyond: float, value: float) -> float:
    """The points of the lowest step that a value does not pass; ``beyond`` when it passes all."""
    for bound, points in sorted(steps):
        if value <= bound:
            return points
    return beyond


def _points(rules: MatchSettings, posted_at: float | None, now: float) -> tuple[float, str]:
    if posted_at is None:
        return rules.freshness_unknown, "no date"
    days = max(0.0, now - posted_at) / DAY_SECONDS
    points = points_at(rules.freshness, rules.freshness_older, days)
    return points, _age(rules.freshness, days)


def _age(steps: list[Step], days: float) -> str:
    """In words that stay right while the points do."""
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
    """The level of a record. Blank texts are none."""
    has_all = all((text or "").strip() for text in (url, title, company))
    if not has_all or len((description or "").strip()) <= settings.description_min:
        return Quality.NONE
    if posted_at is None or not (location or "").strip() or not (requirements or "").strip():
        return Quality.MINIMAL
    return Quality.GOOD


TITLE_MAX = 300
"""Characters of a title that count."""
NAMED_MAX = 4
"""Technologies that a reason names."""

Adjusted = tuple[str, str, float]
"""Category, reason, points."""


@dataclass(frozen=True, slots=True)
class Skills:
    """Technologies of a listing, each list with the weightiest first."""

    matched: tuple[str, ...]
    """The profile's."""
    missing: tuple[str, ...]
    """Not the profile's, or unwelcome there."""
    unwelcome: tuple[str, ...]
    """Of rank strike."""
    weight: float
    """Of all of them together."""
    credit: float
    """Of the profile's."""


def skills_of(posting: Posting, reading: Reading, ranks: Ranks, rules: MatchSettings) -> Skills:
    """Compare what the listing names with what the profile has.

    Fields of work count where the profile ranks them, and are never missed.
    """
    in_title = find_technologies(posting.title[:TITLE_MAX])
    required = frozenset(reading.required_technologies)
    weights: dict[str, float] = {}
    fields = (name for name in reading.fields_of_work if name in ranks.known or name in ranks.strike)
    for name in (*in_title, *reading.technologies, *fields):
        weights[name] = max(
            rules.title_weight if name in in_title else 1.0, rules.requirement_weight if name in required else 1.0
        )
    ordered = sorted(weights, key=lambda name: -weights[name])
    matched = tuple(name for name in ordered if name in ranks.required or name in ranks.ok)
    credit = sum(weights[name] * (1.0 if name in ranks.required else rules.ok_credit) for name in matched)
    return Skills(
        matched=matched,
        missing=tuple(name for name in ordered if name not in ranks.required and name not in ranks.ok),
        unwelcome=tuple(name for name in ordered if name in ranks.strike),
        weight=sum(weights.values()),
        credit=credit,
    )


def skill_points(
    skills: Skills, company_stack: tuple[str, ...], ranks: Ranks, rules: MatchSettings
) -> Iterator[Adjusted]:
    """Points for the overlap, and for what is unwelcome. A profile or a listing without technologies has none."""
    if not ranks.known:
        pass
    elif skills.weight > 0:
        yield "skills", _overlap_text(skills), _overlap_points(skills, rules)
    elif company_stack:
        stack = {canonical_technology(name) for name in company_stack}
        shared = sorted(stack & ranks.known)
        points = rules.company_skill_bonus * len(shared) / len(stack)
        yield "skills", f"none named; of the company's technologies: {_named(shared)}", points
    if skills.unwelcome:
        points = min(rules.strike_skill_penalty_max, rules.strike_skill_penalty * len(skills.unwelcome))
        yield "skills", f"unwelcome: {_named(skills.unwelcome)}", -points


def _overlap_points(skills: Skills, rules: MatchSettings) -> float:
    """From all of the penalty, at no overlap, to all of the bonus, at a full one.

    Few technologies say little: as much weight as ``skill_doubt`` is added at the share that gives no points.
    """
    span = rules.skill_bonus_max + rules.skill_penalty_max
    if span == 0:
        return 0.0
    even = rules.skill_full_share * rules.skill_penalty_max / span
    share = (skills.credit + rules.skill_doubt * even) / (skills.weight + rules.skill_doubt)
    return span * min(1.0, share / rules.skill_full_share) - rules.skill_penalty_max


def _overlap_text(skills: Skills) -> str:
    share = skills.credit / skills.weight
    return f"{share:.0%} of the technologies by weight: {_named(skills.matched)}"


def _named(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"{', '.join(names[:NAMED_MAX])}{more}" if names else "none"


_LEVELS = {
    Seniority.JUNIOR: 0, Seniority.MID: 1, Seniority.SENIOR: 2, Seniority.LEAD: 3, Seniority.STAFF: 3,
    Seniority.PRINCIPAL: 4,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScoreInput:
    """A listing beside a profile."""

    posting: Posting
    reading: Reading
    profile: Profile
    rules: MatchSettings
    at_office: bool
    """Whether it is at the preferred office."""


def wish_points(case: ScoreInput) -> Iterator[Adjusted]:
    """All adjustments for wishes."""
    for points in (_title, _seniority, _experience, _arrangement, _office, _salary, _time_zone):
        yield from points(case)


def _title(case: ScoreInput) -> Iterator[Adjusted]:
    wanted, title = case.profile.titles, fold(case.posting.title)
    if not wanted or not title:
        return
    word = first_word(title, wanted)
    if word is None:
        yield "title", "none of the wanted words", -case.rules.title_penalty
    else:
        yield "title", f"the title says {word}", case.rules.title_bonus


def _seniority(case: ScoreInput) -> Iterator[Adjusted]:
    level, wanted = case.reading.seniority, case.profile.seniority
    if not wanted or level not in _LEVELS:
        return
    if level.value in wanted:
        yield "seniority", f"{level.value} is wanted", case.rules.seniority_bonus
    elif case.reading.seniority_word is not None:
        # Without a word for it the level is a guess, and no guess costs points.
        steps = max(1, min(abs(_LEVELS[level] - _LEVELS[Seniority(other)]) for other in wanted))
        reason = f"{level.value} is not wanted ({', '.join(wanted)})"
        yield "seniority", reason, -case.rules.seniority_step_penalty * steps


def _experience(case: ScoreInput) -> Iterator[Adjusted]:
    asked, own = case.reading.years_min, case.profile.experience_years
    if asked is None or own is None or asked <= own:
        return
    points = min(case.rules.experience_penalty_max, case.rules.experience_penalty * (asked - own))
    yield "experience", f"asks for {asked} years, the profile has {own:g}", -points


def _arrangement(case: ScoreInput) -> Iterator[Adjusted]:
    way, wanted = case.reading.arrangement, case.profile.arrangements
    if not wanted or way is Arrangement.UNKNOWN:
        return
    if way.value in wanted:
        yield "arrangement", f"{way.value} is wanted", case.rules.arrangement_bonus
    elif not case.at_office:
        by = case.reading.arrangement_rule
        yield "arrangement", f"{way.value} by its {by}, wanted: {', '.join(wanted)}", -case.rules.arrangement_penalty


def _office(case: ScoreInput) -> Iterator[Adjusted]:
    if case.at_office:
        yield "preferred_office", f"in {case.profile.preferred_city}", case.rules.preferred_office_bonus


def _salary(case: ScoreInput) -> Iterator[Adjusted]:
    salary, wanted = case.reading.salary, case.profile.salary_wanted
    if not wanted or salary is None or salary.currency not in ("", case.profile.currency):
        return
    if salary.maximum is None:
        # Only its lower end is told: it may go as high as anybody wishes.
        if salary.minimum is not None and salary.minimum >= wanted:
            yield "salary", f"from {salary.minimum:,} a year", case.rules.salary_bonus
        return
    if salary.maximum >= wanted:
        yield "salary", f"up to {salary.maximum:,} a year", case.rules.salary_bonus
        return
    short = 1 - salary.maximum / wanted
    points = min(1.0, 2 * short) * case.rules.salary_penalty_max
    yield "salary", f"up to {salary.maximum:,} a year, {wanted:,} is wanted", -points


def _time_zone(case: ScoreInput) -> Iterator[Adjusted]:
    theirs, own = case.reading.utc_offset, case.profile.utc_offset
    if theirs is None or own is None:
        return
    hours = abs(theirs - own)
    hours = min(hours, 24 - hours)
    points = points_at(case.rules.time_zone, case.rules.time_zone_far, hours)
    yield "time_zone", f"{hours:g} hours away" if hours else "the same time zone", points


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
        told += wish_points(ScoreInput(posting, reading, profile, rules, at_office))
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
    return {"prioritizedSkills": list(skills.matched), "atsKeywords": list(keywords)[:KEYWORDS_MAX]}
