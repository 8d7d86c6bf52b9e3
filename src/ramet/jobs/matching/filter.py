"""Strikes: what speaks against a listing, but does not decide alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.matching.offers import around
from ramet.jobs.matching.preferences import refused_arrangement
from ramet.jobs.matching.ranks import named_by, ranks_of, strike_points
from ramet.jobs.matching.results import STRIKE, Finding, strike
from ramet.jobs.matching.words import first_word, fold
from ramet.jobs.posting import Posting
from ramet.jobs.profile import Profile
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.technologies import find_technologies

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Judged:
    """A listing before the filter."""

    posting: Posting
    reading: Reading
    settings: JobsSettings
    now: float
    title: str
    """Folded."""
    text: str
    """The description, folded."""

    @property
    def age_days(self) -> float | None:
        """Since it was posted; 0 for a date to come, None without one."""
        posted = self.posting.posted_at
        return None if posted is None else max(0.0, self.now - posted) / DAY_SECONDS


def strikes_of(case: Judged) -> Iterator[Finding]:
    """All strikes; rules whose points are 0 are off."""
    for find in (_arrangement, _salary, _experience, _level, _technologies, _missing, _short, _buzzword, _age):
        for finding in find(case):
            if finding.points > 0:
                yield finding


def upper_salary(reading: Reading, profile: Profile) -> int | None:
    """The upper end of the salary a year, where it is told in the profile's currency."""
    salary = reading.salary
    if salary is None or salary.maximum is None or salary.currency not in ("", profile.currency):
        return None
    return salary.maximum


def _arrangement(case: Judged) -> Iterator[Finding]:
    finding = refused_arrangement(case.reading, case.settings)
    if finding is not None and finding.severity == STRIKE:
        yield finding


def _salary(case: Judged) -> Iterator[Finding]:
    rules = case.settings.filter
    upper = upper_salary(case.reading, case.settings.profile)
    if rules.salary_below is not None and upper is not None and upper < rules.salary_below:
        detail = f"its upper end is {upper:,} a year"
        yield strike("salary", "low_salary", f"salary below {rules.salary_below:,}", detail, rules.salary_points)


def _experience(case: Judged) -> Iterator[Finding]:
    rules, reading = case.settings.filter, case.reading
    asked = [years for years in (reading.years_min, reading.years_max) if years is not None]
    if not asked:
        return
    if rules.experience_below is not None and max(asked) < rules.experience_below:
        reason = f"asks for fewer than {rules.experience_below:g} years"
        yield strike("experience", "low_experience", reason, f"asks for {max(asked)} years", rules.experience_points)
    own = case.settings.profile.experience_years
    if own is not None and min(asked) > own:
        detail = f"asks for {min(asked)} years, the profile has {own:g}"
        yield strike("experience", "high_experience", "asks for more years", detail, rules.experience_over_points)


def _level(case: Judged) -> Iterator[Finding]:
    rules = case.settings.filter
    word = first_word(case.title, rules.seniority_points)
    if word is not None:
        yield strike("seniority", "level", f"level: {word}", f"the title says {word}", rules.seniority_points[word])


def _technologies(case: Judged) -> Iterator[Finding]:
    rules, profile, reading = case.settings.filter, case.settings.profile, case.reading
    ranks = ranks_of(profile)
    named = named_by(reading)
    asked = _asked(case) if not ranks.strike.isdisjoint(named) else set()
    for name in named:
        if name in ranks.strike:
            points = strike_points(profile, name, rules.technology_points)
            detail = f"named in {'title or requirements' if name in asked else 'the text'}"
            yield strike("technology", "bad_technology", f"technology: {name}", detail, points)
    if ranks.required and case.text and ranks.required.isdisjoint(named):
        wanted = ", ".join(sorted(ranks.required))
        yield strike(
            "technology", "no_required_technology", "no wanted technology", f"none of {wanted}",
            rules.no_required_technology_points,
        )  # fmt: skip


def _asked(case: Judged) -> set[str]:
    """Technologies of title and requirements."""
    return {*find_technologies(case.posting.title), *case.reading.required_technologies}


def _missing(case: Judged) -> Iterator[Finding]:
    rules, reading = case.settings.filter, case.reading
    ranks = ranks_of(case.settings.profile)
    if not ranks.known or (rules.missing_primary_points == 0 and rules.missing_other_points == 0):
        return
    primary = _asked(case)
    for name in reading.technologies:
        if name not in ranks.known and name not in ranks.strike:
            first = name in primary
            points = rules.missing_primary_points if first else rules.missing_other_points
            detail = "asked for in title or requirements" if first else "named in its text"
            yield strike("technology", "missing_skill", f"not in the profile: {name}", detail, points)


def _short(case: Judged) -> Iterator[Finding]:
    rules, length = case.settings.filter, len(case.posting.description.strip())
    if 0 < length < rules.description_min:
        detail = f"{length} characters, {rules.description_min} are expected"
        yield strike("text", "short_description", "short text", detail, rules.short_description_points)


def _buzzword(case: Judged) -> Iterator[Finding]:
    rules = case.settings.filter
    texts = [word for word in rules.buzzwords if len(fold(word)) > rules.short_word_max]
    word = first_word(case.title, rules.buzzwords) or first_word(case.text, texts)
    if word is not None:
        at = case.text.find(fold(word))
        detail = f"the text says: {around(case.text, at, len(fold(word)))}" if at >= 0 else "the title says it"
        yield strike("text", "buzzword", f"buzzword: {word}", detail, rules.buzzword_points)


def _age(case: Judged) -> Iterator[Finding]:
    rules, age = case.settings.filter, case.age_days
    if rules.strike_days is not None and age is not None and age > rules.strike_days:
        yield strike("age", "job_age", f"older than {rules.strike_days:g} days", f"{age:.1f} days", rules.age_points)
