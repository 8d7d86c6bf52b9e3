"""Work that a running text offers, and demands that it makes: words that count only where the text means them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from ramet.jobs.matching.eligibility import refused_work_area
from ramet.jobs.matching.preferences import (
    named_by,
    ranks_of,
    refused_arrangement,
    refused_place,
    strike_points,
    units_of,
)
from ramet.jobs.matching.results import HARD, STRIKE, FilterResult, Finding, counted, hard, rejected, strike
from ramet.jobs.matching.stop_list import TITLE_CHECKS, stopped
from ramet.jobs.matching.words import after, before, first_word, fold, places_of_word
from ramet.jobs.posting import Posting
from ramet.jobs.settings import FilterSettings, JobsSettings, Profile
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.technologies import find_technologies

_ARTICLES = frozenset("a an the our another our next new".split())
_POINTING = frozenset("this our the".split())
_ELSEWHERE = frozenset("in from of with like unlike".split())
"""Words that, before "the sales role", refer to another one."""
_BREAKERS = frozenset("to for who that which with and or as in of from by into".split())
"""Words after which a text no longer speaks of the person to hire."""
_PLACES_MAX = 200
"""Most places of one word that are looked at; a text that has it more often is not prose."""
_NOTED = 40
"""Characters around a hit that are reported, on each side."""

_Counts = Callable[[str, int, int, FilterSettings], bool]
"""Whether a word of a text counts, by its place and length."""


def offered(text: str, kinds: Sequence[str], rules: FilterSettings) -> tuple[str, str] | None:
    """Return the first kind of work that a folded text offers: "we are hiring a sales manager", "this sales role".

    Returns:
        The kind as it was given, and the words around it.
    """
    return _first(text, kinds, rules, _is_offered)


def demanded(text: str, phrases: Sequence[str], rules: FilterSettings) -> tuple[str, str] | None:
    """Return the first phrase that a folded text has and does not take back: not "no security clearance needed".

    Returns:
        The phrase as it was given, and the words around it.
    """
    return _first(text, phrases, rules, lambda *_: True)


def _first(text: str, wanted: Sequence[str], rules: FilterSettings, counts: _Counts) -> tuple[str, str] | None:
    """Return the first of some words that counts at its place and is not taken back, with the words around it."""
    for given in wanted:
        word = fold(given)
        if len(word) <= rules.short_word_max or word not in text:
            continue
        for at in _places(text, word):
            if counts(text, at, len(word), rules) and not _is_denied(text, at, len(word), rules):
                return given, around(text, at, len(word))
    return None


def around(text: str, at: int, length: int) -> str:
    """Return a few words around a place of a folded text, of its own line."""
    head = text[max(0, at - _NOTED) : at].rpartition("¶")[2]
    tail = text[at + length : at + length + _NOTED].partition("¶")[0]
    return f"{head}{text[at : at + length]}{tail}".strip()


def _places(text: str, word: str) -> Iterator[int]:
    return islice(places_of_word(text, word), _PLACES_MAX)


@lru_cache(maxsize=256)
def _folded(word: str) -> str:
    """Return a word of a setting, folded as the text is."""
    return fold(word)


def _is_offered(text: str, at: int, length: int, rules: FilterSettings) -> bool:
    window = before(text, at, rules.job_type_reach + 4)
    following = after(text, at + length, 1)
    if following and any(following[0] == _folded(word) for word in rules.role_words):
        return _is_this_one(window, rules)
    for phrase in rules.hiring_words:
        parts = _folded(phrase).split()
        for start in range(len(window) - len(parts), -1, -1):
            if parts and window[start : start + len(parts)] == parts:
                between = [word for word in window[start + len(parts) :] if word not in _ARTICLES]
                if len(between) <= rules.job_type_reach and _BREAKERS.isdisjoint(between):
                    return True
                break
    return False


def _is_this_one(window: list[str], rules: FilterSettings) -> bool:
    """Return whether a role that is named is the one on offer: "this sales role", not "years in a sales role"."""
    for back, word in enumerate(reversed(window)):
        if word in _POINTING:
            earlier = window[-back - 2] if back + 2 <= len(window) else ""
            return back <= rules.job_type_reach and (word != "the" or earlier not in _ELSEWHERE)
    return not window


def _is_denied(text: str, at: int, length: int, rules: FilterSettings) -> bool:
    """Return whether a negation is just before or after: "clearance is not required", "clearance level: none"."""
    near = [*before(text, at, rules.negation_reach + 1), *after(text, at + length, 2)]
    label, colon, value = text[at + length : at + length + _NOTED].partition(":")
    if colon and len(label.split()) <= 2 and not any(end in label for end in ".;!?¶"):
        near += value.replace("¶", " ").split()[:1]
    return any(_folded(word) in near for word in rules.negations)


DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class FilterInput:
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
        """Days since it was posted; 0 for a date to come, None without one."""
        posted = self.posting.posted_at
        return None if posted is None else max(0.0, self.now - posted) / DAY_SECONDS


def strikes_of(case: FilterInput) -> Iterator[Finding]:
    """Yield all strikes; rules whose points are 0 are off."""
    for find in (
        _arrangement,
        _salary_strikes,
        _experience,
        _level,
        _technologies,
        _missing,
        _short,
        _buzzword,
        _age_strikes,
    ):
        for finding in find(case):
            if finding.points > 0:
                yield finding


def upper_salary(reading: Reading, profile: Profile) -> int | None:
    """Return the upper end of the salary a year, where it is given in the profile's currency."""
    salary = reading.salary
    if salary is None or salary.maximum is None or salary.currency not in ("", profile.currency):
        return None
    return salary.maximum


def _arrangement(case: FilterInput) -> Iterator[Finding]:
    finding = refused_arrangement(case.reading, case.settings)
    if finding is not None and finding.severity == STRIKE:
        yield finding


def _salary_strikes(case: FilterInput) -> Iterator[Finding]:
    rules = case.settings.filter
    upper = upper_salary(case.reading, case.settings.profile)
    if rules.salary_below is not None and upper is not None and upper < rules.salary_below:
        detail = f"its upper end is {upper:,} a year"
        yield strike("salary", "low_salary", f"salary below {rules.salary_below:,}", detail, rules.salary_points)


def _experience(case: FilterInput) -> Iterator[Finding]:
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


def _level(case: FilterInput) -> Iterator[Finding]:
    rules = case.settings.filter
    word = first_word(case.title, rules.seniority_points)
    if word is not None:
        yield strike("seniority", "level", f"level: {word}", f"the title says {word}", rules.seniority_points[word])


def _technologies(case: FilterInput) -> Iterator[Finding]:
    rules, profile, reading = case.settings.filter, case.settings.profile, case.reading
    ranks = ranks_of(profile)
    named = named_by(reading)
    asked = _asked(case) if not ranks.strike.isdisjoint(named) else set()
    for unit in units_of(named, reading.alternatives):
        refused = [name for name in unit if name in ranks.strike]
        if not refused or not ranks.known.isdisjoint(unit):
            # A person who may choose chooses a welcome one.
            continue
        name = min(refused, key=lambda name: strike_points(profile, name, rules.technology_points))
        points = strike_points(profile, name, rules.technology_points)
        others = f", one of {', '.join(unit)}" if len(unit) > 1 else ""
        detail = f"named in {'title or requirements' if name in asked else 'the text'}{others}"
        yield strike("technology", "bad_technology", f"technology: {name}", detail, points)
    if ranks.required and case.text and ranks.required.isdisjoint(named):
        wanted = ", ".join(sorted(ranks.required))
        yield strike(
            "technology", "no_required_technology", "no wanted technology", f"none of {wanted}",
            rules.no_required_technology_points,
        )  # fmt: skip


def _asked(case: FilterInput) -> set[str]:
    """Return the technologies of title and requirements."""
    return {*find_technologies(case.posting.title), *case.reading.required_technologies}


def _missing(case: FilterInput) -> Iterator[Finding]:
    rules, reading = case.settings.filter, case.reading
    ranks = ranks_of(case.settings.profile)
    if not ranks.known or (rules.missing_primary_points == 0 and rules.missing_other_points == 0):
        return
    primary = _asked(case)
    for unit in units_of(reading.technologies, reading.alternatives):
        name = unit[0]
        if ranks.known.isdisjoint(unit) and ranks.strike.isdisjoint(unit):
            first = name in primary
            points = rules.missing_primary_points if first else rules.missing_other_points
            detail = "asked for in title or requirements" if first else "named in its text"
            yield strike("technology", "missing_skill", f"not in the profile: {name}", detail, points)


def _short(case: FilterInput) -> Iterator[Finding]:
    rules, length = case.settings.filter, len(case.posting.description.strip())
    if 0 < length < rules.description_min:
        detail = f"{length} characters, {rules.description_min} are expected"
        yield strike("text", "short_description", "short text", detail, rules.short_description_points)


def _buzzword(case: FilterInput) -> Iterator[Finding]:
    rules = case.settings.filter
    texts = [word for word in rules.buzzwords if len(fold(word)) > rules.short_word_max]
    word = first_word(case.title, rules.buzzwords) or first_word(case.text, texts)
    if word is not None:
        at = case.text.find(fold(word))
        detail = f"the text says: {around(case.text, at, len(fold(word)))}" if at >= 0 else "the title says it"
        yield strike("text", "buzzword", f"buzzword: {word}", detail, rules.buzzword_points)


def _age_strikes(case: FilterInput) -> Iterator[Finding]:
    rules, age = case.settings.filter, case.age_days
    if rules.strike_days is not None and age is not None and age > rules.strike_days:
        yield strike("age", "job_age", f"older than {rules.strike_days:g} days", f"{age:.1f} days", rules.age_points)


def judge(posting: Posting, reading: Reading, settings: JobsSettings, now: float) -> FilterResult:
    """Decide whether a listing passes, with every reason.

    Args:
        now: Unix seconds.
    """
    rules = settings.filter
    stop = stopped(posting.title, posting.url, posting.company, settings.stop)
    if stop is not None:
        return rejected(hard("stop_list", "stop_list", stop, stop), rules.strike_threshold)
    if not rules.enabled:
        return counted((), rules.strike_threshold)
    case = FilterInput(posting, reading, settings, now, fold(posting.title), fold(posting.description))
    first = next(_hard(case), None)
    if first is not None:
        return rejected(first, rules.strike_threshold)
    return counted(tuple(strikes_of(case)), rules.strike_threshold)


def _hard(case: FilterInput) -> Iterator[Finding]:
    """Yield hard rejections in their order, found one by one."""
    for check in TITLE_CHECKS:
        yield from _some(check(case.title, case.settings))
    yield from _some(_kind_in_text(case))
    yield from _some(_keyword(case))
    yield from _some(_salary_rejection(case))
    yield from _some(_commission(case))
    yield from _some(refused_work_area(case.posting, case.reading, case.settings))
    arrangement = refused_arrangement(case.reading, case.settings)
    if arrangement is not None and arrangement.severity == HARD:
        yield arrangement
    yield from _some(refused_place(case.posting, case.reading, case.settings))
    yield from _some(_age_rejection(case))
    yield from _some(_technology(case))


def _some(finding: Finding | None) -> Iterator[Finding]:
    if finding is not None:
        yield finding


def _kind_in_text(case: FilterInput) -> Finding | None:
    rules = case.settings.filter
    if not rules.job_types_in_text:
        return None
    found = offered(case.text, rules.excluded_job_types, rules)
    return found and hard("job_type", "excluded_job_type", f"job type: {found[0]}", f"the text says: {found[1]}")


def _keyword(case: FilterInput) -> Finding | None:
    rules = case.settings.filter
    if not rules.excluded_keywords:
        return None
    found = demanded(case.title, rules.excluded_keywords, rules) or demanded(case.text, rules.excluded_keywords, rules)
    return found and hard("keyword", "excluded_keyword", f"says {found[0]}", f"the text says: {found[1]}")


def _salary_rejection(case: FilterInput) -> Finding | None:
    floor, upper = case.settings.filter.salary_floor, upper_salary(case.reading, case.settings.profile)
    if floor is None or upper is None or upper >= floor:
        return None
    return hard("salary", "salary_floor", f"salary below {floor:,}", f"its upper end is {upper:,} a year")


def _commission(case: FilterInput) -> Finding | None:
    if not case.settings.filter.reject_commission_only or not case.reading.commission_only:
        return None
    return hard("salary", "commission_only", "paid by commission only", "the text says so")


def _age_rejection(case: FilterInput) -> Finding | None:
    most, age = case.settings.filter.reject_days, case.age_days
    if most is None or age is None or age <= most:
        return None
    return hard("age", "job_age", f"older than {most:g} days", f"posted {age:.1f} days ago")


def _technology(case: FilterInput) -> Finding | None:
    refused = ranks_of(case.settings.profile).fail
    units = units_of(named_by(case.reading), case.reading.alternatives)
    found = [unit[0] for unit in units if refused.issuperset(unit)]
    if not found:
        return None
    return hard(
        "technology", "failed_technology", f"technology: {found[0]}", f"out of the question: {', '.join(found)}"
    )
