"""How complete the record of a listing is."""

from __future__ import annotations

from enum import StrEnum

from ramet.jobs.scoring_settings import ListingSettings


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
