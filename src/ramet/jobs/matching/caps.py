"""Ceilings of a score: a property that a person does not want keeps a listing below one, whatever else fits.

Points alone do not separate: with those of technologies and title an internship would be a match of high priority.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ramet.jobs.matching.eligibility import Fit
from ramet.jobs.matching.preferences import Ranks
from ramet.jobs.matching.titles import Likeness
from ramet.jobs.matching.wishes import LEVELS, ScoreInput, Skills, level_steps, points_at, salary_shortfall
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority

CATEGORY = "cap"
SCORE_MAX = 100.0
_INTERNSHIP = "internship"
_FAR = 2
"""Levels from a wanted one that are too far for points alone."""
GUESSES = frozenset({"city", "country"})
"""Rules by which an arrangement is inferred: nothing says it."""
_FEW = 3.0
"""Weight of technologies below which a text does not show the tools of the work."""


class Cap(NamedTuple):
    """The most that a score can be."""

    most: float
    reason: str


def caps_of(case: ScoreInput, skills: Skills, ranks: Ranks) -> Iterator[Cap]:
    """Yield all ceilings of a listing for a profile; a missing statement has none."""
    for find in (_level, _arrangement, _place, _salary):
        yield from find(case)
    if case.title is not None and case.title.likeness is Likeness.OTHER:
        yield Cap(case.rules.other_title_cap, "the title is of another profession than the wanted ones")
        if ranks.known and not skills.matched:
            yield Cap(case.rules.other_work_cap, "neither its title nor a technology is one of the profile's")
    if ranks.known and skills.weight >= _FEW and not skills.matched:
        yield Cap(case.rules.no_skill_cap, "none of its technologies is the profile's")


def _level(case: ScoreInput) -> Iterator[Cap]:
    wanted = case.profile.seniority
    if not wanted:
        return
    if case.reading.employment_type == _INTERNSHIP and Seniority.JUNIOR.value not in wanted:
        yield Cap(case.rules.internship_cap, f"an internship, wanted: {', '.join(wanted)}")
    level = case.reading.seniority
    if level in LEVELS and case.reading.seniority_word is not None and level_steps(level, wanted) >= _FAR:
        yield Cap(case.rules.level_cap, f"{level.value} level, wanted: {', '.join(wanted)}")


def _arrangement(case: ScoreInput) -> Iterator[Cap]:
    way, wanted = case.reading.arrangement, case.profile.arrangements
    if not wanted or way is Arrangement.UNKNOWN or way.value in wanted or case.at_office:
        return
    if case.reading.arrangement_rule in GUESSES:
        # An office that is only guessed from a city takes points, and no more.
        return
    yield Cap(case.rules.arrangement_cap, f"{way.value} work, wanted: {', '.join(wanted)}")


def _place(case: ScoreInput) -> Iterator[Cap]:
    if case.eligibility.fit is Fit.MOVE:
        most = case.rules.move_cap if case.profile.relocate else case.rules.elsewhere_cap
        yield Cap(most, case.eligibility.reason)
    elif case.eligibility.fit is Fit.OUT:
        # Only where the settings of the filter do not refuse it.
        yield Cap(case.rules.elsewhere_cap, case.eligibility.reason)
    elif case.eligibility.fit is Fit.DOUBTED:
        yield Cap(case.rules.doubted_cap, case.eligibility.reason)


def _salary(case: ScoreInput) -> Iterator[Cap]:
    short = salary_shortfall(case)
    if short > 0:
        most = points_at(case.rules.salary_caps, case.rules.salary_cap_far, short)
        yield Cap(most, f"pay ends {short:.0%} below what is wanted")


def ceiling_of(adjustments: Iterable[object]) -> float:
    """Return the most that a score with these adjustments can be at any age; rows of older versions have no cap."""
    caps = [part.get("cap") for part in adjustments if isinstance(part, Mapping)]
    return float(min((cap for cap in caps if isinstance(cap, int | float)), default=SCORE_MAX))
