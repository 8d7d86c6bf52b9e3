"""Listings and settings made for one test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ramet.jobs.matching.filter import judge
from ramet.jobs.matching.results import FilterResult
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings
from ramet.jobs.text.posting_text import Reading, read_posting

NOW = 1_800_000_000.0
DAY = 86_400.0
LONG = "We build tools that people like to use, in a small team with time to do things well. " * 3
"""A text of no meaning that is long enough for no strike."""


def posting(title: str = "Engineer", description: str = LONG, **fields: Any) -> Posting:
    return Posting.model_validate({"url": "https://example.org/1", "title": title, "description": description} | fields)


def reading_of(case: Posting, **known: Any) -> Reading:
    """What rules read in it, but for what the test knows better."""
    return replace(read_posting(case), **known)


def settings_with(**sections: Any) -> JobsSettings:
    """The defaults but for some fields: ``filter={"salary_floor": 1}``."""
    return JobsSettings.model_validate(sections)


def judged(case: Posting, settings: JobsSettings, **known: Any) -> FilterResult:
    return judge(case, reading_of(case, **known), settings, NOW)


def hard_name(result: FilterResult) -> str | None:
    """The rule that refused, None where none did."""
    assert result.passed or result.rejection_summary
    return result.hard_rejections[0].filter_name if result.hard_rejections else None


def points(result: FilterResult) -> dict[str, float]:
    """Strikes by rule."""
    found: dict[str, float] = {}
    for finding in result.strikes:
        found[finding.filter_name] = found.get(finding.filter_name, 0) + finding.points
    return found
