"""Points for technologies and wishes: each adds or subtracts some, with its reason; a missing value does neither."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ramet.jobs.matching.eligibility import Eligibility, Fit
from ramet.jobs.matching.preferences import Ranks, units_of
from ramet.jobs.matching.titles import Likeness, TitleMatch
from ramet.jobs.posting import Posting
from ramet.jobs.settings import MatchSettings, Profile, Step
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority
from ramet.jobs.text.places import country_code
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.technologies import canonical_technology, find_technologies

TITLE_MAX = 300
"""Characters of a title that count."""
NAMED_MAX = 4
"""Technologies that a reason names."""

PLACE = "place"
"""Category of an adjustment that may have no points: it says that something is not known."""

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
    """Technologies of rank strike."""
    weight: float
    """Weight of all of them together."""
    credit: float
    """Weight of the profile's, in full or in part by their rank."""


def skills_of(posting: Posting, reading: Reading, ranks: Ranks, rules: MatchSettings) -> Skills:
    """Compare what the listing names with what the profile has.

    Fields of work count where the profile ranks them, and are never missed.
    """
    in_title = find_technologies(posting.title[:TITLE_MAX])
    required = frozenset(reading.required_technologies)
    fields = (name for name in reading.fields_of_work if name in ranks.known or name in ranks.strike)
    names = tuple(dict.fromkeys([*in_title, *reading.technologies, *fields]))
    weights = {
        name: max(
            rules.title_weight if name in in_title else 1.0, rules.requirement_weight if name in required else 1.0
        )
        for name in names
    }

    def credit_of(name: str) -> float:
        return 1.0 if name in ranks.required else rules.ok_credit if name in ranks.ok else 0.0

    matched, missing, unwelcome = set[str](), set[str](), set[str]()
    weight = credit = 0.0
    for unit in units_of(names, reading.alternatives):
        of_unit = max(weights[name] for name in unit)
        weight += of_unit
        credit += of_unit * max(map(credit_of, unit))
        known = {name for name in unit if name in ranks.known}
        matched |= known
        # With one of several known, no other is asked for.
        missing |= set() if known else set(unit)
        unwelcome |= set() if known else {next((name for name in unit if name in ranks.strike), "")} - {""}
    ordered = sorted(names, key=lambda name: -weights[name])
    return Skills(
        matched=tuple(name for name in ordered if name in matched),
        missing=tuple(name for name in ordered if name in missing),
        unwelcome=tuple(name for name in ordered if name in unwelcome),
        weight=weight,
        credit=credit,
    )


def skill_points(
    skills: Skills, company_stack: tuple[str, ...], ranks: Ranks, rules: MatchSettings
) -> Iterator[Adjusted]:
    """Yield points for the overlap, and for unwelcome technologies. A profile or a listing without any has none."""
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
    """Return points from the whole penalty, at no overlap, to the whole bonus, at a full one.

    Few technologies say little: as much weight as ``skill_doubt`` is added at the share that gives no points.
    """
    span = rules.skill_bonus_max + rules.skill_penalty_max
    if span == 0:
        return 0.0
    even = rules.skill_full_share * rules.skill_penalty_max / span
    # A text that lists everything asks for no more than another: no candidate has all of a long list.
    weight = min(skills.weight, max(rules.skill_weight_max, skills.credit))
    share = (skills.credit + rules.skill_doubt * even) / (weight + rules.skill_doubt)
    return span * min(1.0, share / rules.skill_full_share) - rules.skill_penalty_max


def _overlap_text(skills: Skills) -> str:
    share = skills.credit / skills.weight
    return f"{share:.0%} of the technologies by weight: {_named(skills.matched)}"


def _named(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"{', '.join(names[:NAMED_MAX])}{more}" if names else "none"


LEVELS = {
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
    eligibility: Eligibility
    """Answer to whether the person may do it."""
    title: TitleMatch | None
    """Comparison of its title with the wanted ones; None: none is wanted, or it has no title."""


def wish_points(case: ScoreInput) -> Iterator[Adjusted]:
    """Yield all adjustments for wishes."""
    for points in (_title, _seniority, _experience, _arrangement, _office, _place, _salary, _time_zone):
        yield from points(case)


def _title(case: ScoreInput) -> Iterator[Adjusted]:
    if case.title is None:
        return
    rules, word = case.rules, case.title.word
    match case.title.likeness:
        case Likeness.WANTED:
            yield "title", f"the title says {word}", rules.title_bonus
        case Likeness.SAME_ROLE:
            yield "title", f"the title says {word}, as wanted ones do", rules.title_role_bonus
        case Likeness.RELATED:
            yield "title", f"the title says {word}, but is of another speciality", -rules.title_related_penalty
        case Likeness.OTHER:
            yield "title", "none of the wanted words", -rules.title_penalty


def _seniority(case: ScoreInput) -> Iterator[Adjusted]:
    level, wanted = case.reading.seniority, case.profile.seniority
    if not wanted or level not in LEVELS:
        return
    if level.value in wanted:
        yield "seniority", f"{level.value} is wanted", case.rules.seniority_bonus
    elif case.reading.seniority_word is not None:
        # Without a word for it the level is a guess, and no guess costs points.
        steps = max(1, level_steps(level, wanted))
        reason = f"{level.value} is not wanted ({', '.join(wanted)})"
        yield "seniority", reason, -case.rules.seniority_step_penalty * steps


def level_steps(level: Seniority, wanted: Sequence[str]) -> int:
    """Return how many levels lie between one and the nearest wanted one."""
    return min(abs(LEVELS[level] - LEVELS[Seniority(other)]) for other in wanted)


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


def _place(case: ScoreInput) -> Iterator[Adjusted]:
    fit, reason = case.eligibility.fit, case.eligibility.reason
    if fit is Fit.UNKNOWN and reason:
        # Reported without points: a missing statement never counts against a listing.
        yield PLACE, reason, 0.0
    elif fit is Fit.HERE:
        yield PLACE, reason, case.rules.here_bonus
    elif fit in (Fit.MOVE, Fit.OUT, Fit.DOUBTED):
        yield PLACE, reason, -case.rules.move_penalty


def _salary(case: ScoreInput) -> Iterator[Adjusted]:
    salary, wanted = case.reading.salary, case.profile.salary_wanted
    if not wanted or salary is None or salary.currency not in ("", case.profile.currency):
        return
    if salary.maximum is None:
        # Only its lower end is given: the upper one may be as high as is wished.
        if salary.minimum is not None and salary.minimum >= wanted:
            yield "salary", f"from {salary.minimum:,} a year", case.rules.salary_bonus
        return
    if salary.maximum >= wanted:
        yield "salary", f"up to {salary.maximum:,} a year", case.rules.salary_bonus
        return
    points = min(1.0, 2 * salary_shortfall(case)) * case.rules.salary_penalty_max
    yield "salary", f"up to {salary.maximum:,} a year, {wanted:,} is wanted", -points


def salary_shortfall(case: ScoreInput) -> float:
    """Return the share of the wish by which the upper end of the pay is lower; 0 where it is not, or is not given."""
    salary, wanted = case.reading.salary, case.profile.salary_wanted
    if not wanted or salary is None or salary.maximum is None or salary.currency not in ("", case.profile.currency):
        return 0.0
    return max(0.0, 1 - salary.maximum / wanted)


def _time_zone(case: ScoreInput) -> Iterator[Adjusted]:
    own = case.profile.utc_offset
    if own is None:
        return
    offsets = [place.utc_offset for place in case.reading.places if place.utc_offset is not None]
    if case.reading.utc_offset is not None and not offsets:
        offsets = [case.reading.utc_offset]
    if case.eligibility.fit is Fit.HERE and case.reading.arrangement is Arrangement.REMOTE:
        # The person's own country is one of its places: the offset of another one says nothing.
        home = country_code(case.profile.country)
        offsets = [
            place.utc_offset for place in case.reading.places if place.country == home and place.utc_offset is not None
        ]
    if not offsets:
        return
    hours = min(min(abs(theirs - own), 24 - abs(theirs - own)) for theirs in offsets)
    points = points_at(case.rules.time_zone, case.rules.time_zone_far, hours)
    yield "time_zone", f"{hours:g} hours away" if hours else "the same time zone", points


def points_at(steps: list[Step], beyond: float, value: float) -> float:
    """Return the points of the lowest step that a value does not pass; ``beyond`` when it passes all."""
    for bound, points in sorted(steps):
        if value <= bound:
            return points
    return beyond
