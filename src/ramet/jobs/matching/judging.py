"""The filter: hard rejections, of which the first decides, then all strikes against a threshold.

What a listing does not say never counts against it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.matching.filter import Judged, strikes_of, upper_salary
from ramet.jobs.matching.offers import demanded, offered
from ramet.jobs.matching.preferences import refused_arrangement, refused_place
from ramet.jobs.matching.ranks import named_by, ranks_of
from ramet.jobs.matching.results import HARD, FilterResult, Finding, counted, hard, rejected
from ramet.jobs.matching.stop_list import stopped
from ramet.jobs.matching.titles import TITLE_CHECKS
from ramet.jobs.matching.words import fold
from ramet.jobs.posting import Posting
from ramet.jobs.text.posting_text import Reading

__all__ = ["FilterResult", "Finding", "judge"]


def judge(posting: Posting, reading: Reading, settings: JobsSettings, now: float) -> FilterResult:
    """Say whether a listing goes on, with every reason.

    Args:
        now: Unix seconds.
    """
    rules = settings.filter
    stop = stopped(posting.title, posting.url, posting.company, settings.stop)
    if stop is not None:
        return rejected(hard("stop_list", "stop_list", stop, stop), rules.strike_threshold)
    if not rules.enabled:
        return counted((), rules.strike_threshold)
    case = Judged(posting, reading, settings, now, fold(posting.title), fold(posting.description))
    first = next(_hard(case), None)
    if first is not None:
        return rejected(first, rules.strike_threshold)
    return counted(tuple(strikes_of(case)), rules.strike_threshold)


def _hard(case: Judged) -> Iterator[Finding]:
    """Hard rejections in their order, found one by one."""
    for check in TITLE_CHECKS:
        yield from _some(check(case.title, case.settings))
    yield from _some(_kind_in_text(case))
    yield from _some(_keyword(case))
    yield from _some(_salary(case))
    yield from _some(_commission(case))
    arrangement = refused_arrangement(case.reading, case.settings)
    if arrangement is not None and arrangement.severity == HARD:
        yield arrangement
    yield from _some(refused_place(case.posting, case.reading, case.settings))
    yield from _some(_age(case))
    yield from _some(_technology(case))


def _some(finding: Finding | None) -> Iterator[Finding]:
    if finding is not None:
        yield finding


def _kind_in_text(case: Judged) -> Finding | None:
    rules = case.settings.filter
    if not rules.job_types_in_text:
        return None
    found = offered(case.text, rules.excluded_job_types, rules)
    return found and hard("job_type", "excluded_job_type", f"job type: {found[0]}", f"the text says: {found[1]}")


def _keyword(case: Judged) -> Finding | None:
    rules = case.settings.filter
    if not rules.excluded_keywords:
        return None
    found = demanded(case.title, rules.excluded_keywords, rules) or demanded(case.text, rules.excluded_keywords, rules)
    return found and hard("keyword", "excluded_keyword", f"says {found[0]}", f"the text says: {found[1]}")


def _salary(case: Judged) -> Finding | None:
    floor, upper = case.settings.filter.salary_floor, upper_salary(case.reading, case.settings.profile)
    if floor is None or upper is None or upper >= floor:
        return None
    return hard("salary", "salary_floor", f"salary below {floor:,}", f"its upper end is {upper:,} a year")


def _commission(case: Judged) -> Finding | None:
    if not case.settings.filter.reject_commission_only or not case.reading.commission_only:
        return None
    return hard("salary", "commission_only", "paid by commission only", "the text says so")


def _age(case: Judged) -> Finding | None:
    most, age = case.settings.filter.reject_days, case.age_days
    if most is None or age is None or age <= most:
        return None
    return hard("age", "job_age", f"older than {most:g} days", f"posted {age:.1f} days ago")


def _technology(case: Judged) -> Finding | None:
    refused = ranks_of(case.settings.profile).fail
    found = [name for name in named_by(case.reading) if name in refused]
    if not found:
        return None
    return hard(
        "technology", "failed_technology", f"technology: {found[0]}", f"out of the question: {', '.join(found)}"
    )
