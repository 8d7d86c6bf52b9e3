"""Points for what a person wishes beside technologies. What the profile leaves open, or the listing, gives none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ramet.jobs.matching.freshness import points_at
from ramet.jobs.matching.skills import Adjusted
from ramet.jobs.matching.words import first_word, fold
from ramet.jobs.posting import Posting
from ramet.jobs.profile import Profile
from ramet.jobs.scoring_settings import MatchSettings
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority
from ramet.jobs.text.posting_text import Reading

_LEVELS = {
    Seniority.JUNIOR: 0, Seniority.MID: 1, Seniority.SENIOR: 2, Seniority.LEAD: 3, Seniority.STAFF: 3,
    Seniority.PRINCIPAL: 4,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wished:
    """A listing beside a profile."""

    posting: Posting
    reading: Reading
    profile: Profile
    rules: MatchSettings
    at_office: bool
    """Whether it is at the preferred office."""


def wish_points(case: Wished) -> Iterator[Adjusted]:
    """All adjustments for wishes."""
    for points in (_title, _seniority, _experience, _arrangement, _office, _salary, _time_zone):
        yield from points(case)


def _title(case: Wished) -> Iterator[Adjusted]:
    wanted, title = case.profile.titles, fold(case.posting.title)
    if not wanted or not title:
        return
    word = first_word(title, wanted)
    if word is None:
        yield "title", "none of the wanted words", -case.rules.title_penalty
    else:
        yield "title", f"the title says {word}", case.rules.title_bonus


def _seniority(case: Wished) -> Iterator[Adjusted]:
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


def _experience(case: Wished) -> Iterator[Adjusted]:
    asked, own = case.reading.years_min, case.profile.experience_years
    if asked is None or own is None or asked <= own:
        return
    points = min(case.rules.experience_penalty_max, case.rules.experience_penalty * (asked - own))
    yield "experience", f"asks for {asked} years, the profile has {own:g}", -points


def _arrangement(case: Wished) -> Iterator[Adjusted]:
    way, wanted = case.reading.arrangement, case.profile.arrangements
    if not wanted or way is Arrangement.UNKNOWN:
        return
    if way.value in wanted:
        yield "arrangement", f"{way.value} is wanted", case.rules.arrangement_bonus
    elif not case.at_office:
        by = case.reading.arrangement_rule
        yield "arrangement", f"{way.value} by its {by}, wanted: {', '.join(wanted)}", -case.rules.arrangement_penalty


def _office(case: Wished) -> Iterator[Adjusted]:
    if case.at_office:
        yield "preferred_office", f"in {case.profile.preferred_city}", case.rules.preferred_office_bonus


def _salary(case: Wished) -> Iterator[Adjusted]:
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


def _time_zone(case: Wished) -> Iterator[Adjusted]:
    theirs, own = case.reading.utc_offset, case.profile.utc_offset
    if theirs is None or own is None:
        return
    hours = abs(theirs - own)
    hours = min(hours, 24 - hours)
    points = points_at(case.rules.time_zone, case.rules.time_zone_far, hours)
    yield "time_zone", f"{hours:g} hours away" if hours else "the same time zone", points
