"""A model reads of a posting what the rules left unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ramet import Context
from ramet.jobs.ai.model import Unanswered, ask
from ramet.jobs.ai.prompts import POSTING, PostingReply
from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.posting import Posting
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.experience import Seniority
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.salaries import Salary
from ramet.jobs.text.technologies import canonical_technology

FIELDS = ("seniority", "arrangement", "salary", "years_min", "technologies")
TECHNOLOGIES_MIN = 2
"""Fewer than these say too little to compare by."""


async def extracted(
    ctx: Context, posting: Posting, reading: Reading, settings: JobsSettings
) -> tuple[Reading, dict[str, str]]:
    """The reading, with what the cheap model adds to it, and what made each field: ``rules`` or ``model:NAME``."""
    methods = dict.fromkeys(FIELDS, "rules")
    unknown = _unknown(reading)
    if not settings.model.reads or not unknown or not posting.description:
        return reading, methods
    data = f"{posting.title}\n{posting.location or ''}\n{posting.description}"
    try:
        told = await ask(ctx, POSTING, PostingReply, model=settings.model.cheap, data=data, settings=settings.model)
    except Unanswered as why:
        return reading, {**methods, "note": f"model: {why}"[:300]}
    found = {
        name: value
        for name, value in _told(told, reading, data.casefold()).items()
        if name in unknown and value is not None
    }
    return replace(reading, **found), methods | dict.fromkeys(found, f"model:{settings.model.cheap}")


def _unknown(reading: Reading) -> set[str]:
    """What the rules did not find."""
    unknown = set()
    if reading.seniority is Seniority.UNKNOWN:
        unknown.add("seniority")
    if reading.arrangement is Arrangement.UNKNOWN:
        unknown.add("arrangement")
    if reading.salary is None:
        unknown.add("salary")
    if reading.years_min is None:
        unknown.add("years_min")
    if len(reading.technologies) < TECHNOLOGIES_MIN:
        unknown.add("technologies")
    return unknown


def _told(told: PostingReply, reading: Reading, text: str) -> dict[str, Any]:
    salary = None
    low, high = told.salary_min, told.salary_max
    if low is not None or high is not None:
        if low is not None and high is not None and low > high:
            low, high = high, low
        salary = Salary(low, high, (told.currency or "")[:3].upper())
    named = [canonical_technology(name) for name in told.technologies if name.casefold() in text]
    return {
        "seniority": _word(Seniority, told.seniority),
        "arrangement": _word(Arrangement, told.arrangement),
        "salary": salary,
        "years_min": told.years_min,
        "technologies": tuple(dict.fromkeys((*reading.technologies, *named))) if named else None,
    }


def _word(words: Any, told: str | None) -> Any:
    """A word that the reading knows, or None."""
    return next((word for word in words if told and word.value == told.lower() and word.value != "unknown"), None)
