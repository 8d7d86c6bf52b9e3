"""Places from where a job may be done, compared with where a person lives and may work.

Fields, the title and sentences of the text state them. A missing statement never speaks against a listing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from ramet.jobs.matching.results import Finding, hard
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings, Profile
from ramet.jobs.text.areas import WORLD, areas, countries_of, country_of_benefits, is_everywhere, listed_marks, marks_of
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.places import country_code, country_name, region_code
from ramet.jobs.text.posting_text import Reading

Part = tuple[str, str | None]
"""A country, and a state of it where only that is meant."""
_NAMED_MAX = 4
_WRITTEN_MAX = 80


class Fit(StrEnum):
    """Consequences for a person."""

    HERE = "here"
    """It may be done from where the person lives."""
    MOVE = "move"
    """It may be done where the person may work, but does not live."""
    OUT = "out"
    """It may be done only where the person may not work."""
    DOUBTED = "doubted"
    """No place is said, but the text has benefits of a country in which the person may not work."""
    UNKNOWN = "unknown"
    """The listing does not say, or the profile has no country."""


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Answer to whether a person may do the work, with its reason."""

    fit: Fit
    reason: str
    """Empty: the profile does not ask."""


def eligibility_of(posting: Posting, reading: Reading, profile: Profile) -> Eligibility:
    """Compare from where the work may be done with the profile's country, region and permits."""
    own = country_code(profile.country)
    if own is None:
        return Eligibility(Fit.UNKNOWN, "")
    told, rule = _told(posting, reading)
    if told is None:
        hint = country_of_benefits(posting.description)
        if hint is None or hint in _permitted(own, tuple(profile.permits)):
            return Eligibility(Fit.UNKNOWN, "it is not said from where one may work")
        return Eligibility(Fit.DOUBTED, f"no place is named, and its benefits are those of {country_name(hint)}")
    if not told:
        return Eligibility(Fit.HERE, f"from anywhere, by its {rule}")
    named, where = _named(told, rule, posting), region_code(profile.region, own)
    here = [part for part in told if part[0] == own]
    if any(region is None or where is None or region == where for _, region in here):
        return Eligibility(Fit.HERE, f"may be done from {country_name(own)}, by its {rule}")
    if here:
        return Eligibility(Fit.MOVE, f"only from {named}, the profile lives in {profile.region}")
    if any(country in _permitted(own, tuple(profile.permits)) for country, _ in told):
        return Eligibility(Fit.MOVE, f"only from {named}, the profile lives in {country_name(own)}")
    return Eligibility(Fit.OUT, f"only from {named}")


def refused_work_area(posting: Posting, reading: Reading, settings: JobsSettings) -> Finding | None:
    """Return a rejection where the work may be done only where the person may not work."""
    if not settings.filter.reject_without_permit:
        return None
    found = eligibility_of(posting, reading, settings.profile)
    if found.fit is not Fit.OUT:
        return None
    permits = ", ".join((settings.profile.country, *settings.profile.permits))
    return hard("location", "work_permit", found.reason, f"the profile may work in: {permits}")


@lru_cache(maxsize=64)
def _permitted(own: str, permits: tuple[str, ...]) -> frozenset[str]:
    """Return the countries in which a person may work; a permit may name a part of the world."""
    found = {own}
    for written in permits:
        code = country_code(written)
        found |= {code} if code is not None else areas().get(written.strip().lower(), frozenset())
    return frozenset(found)


def _told(posting: Posting, reading: Reading) -> tuple[tuple[Part, ...] | None, str]:
    """Return the parts of the world from which the work may be done, with the source: none is everywhere, None unknown.

    A sentence of the text narrows what the places say. Where both have nothing in common either may hold.
    """
    by_place, rule = _by_place(posting, reading)
    if not reading.work_from or (WORLD in reading.work_from and by_place):
        return by_place, rule
    by_text = () if WORLD in reading.work_from else tuple(countries_of(reading.work_from))
    if not by_place or not by_text:
        return by_text, "text"
    places = {country for country, _ in by_place}
    both = tuple(part for part in by_text if part[0] in places)
    return (both, "text") if both else (by_place + by_text, f"{rule} and text")


def _by_place(posting: Posting, reading: Reading) -> tuple[tuple[Part, ...] | None, str]:
    """Return the same by the field of places, or else by the title."""
    is_remote, location = reading.arrangement is Arrangement.REMOTE, posting.location or ""
    if is_everywhere(location) and not reading.places:
        return (), "place"
    parts = [
        # A city behind "Remote" is where the company is; a state without a city is where the person has to be.
        (place.country, place.region if is_remote and place.city is None else None)
        for place in reading.places
        if place.country is not None
    ]
    parts += countries_of(listed_marks(location) or (mark for mark in marks_of(location) if mark in areas()))
    if parts:
        return _unique(parts), "place"
    parts = list(countries_of(marks_of(posting.title[:300])))
    return (_unique(parts), "title") if parts else (None, "")


def _unique(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(dict.fromkeys(parts))


def _named(parts: Iterable[Part], rule: str, posting: Posting) -> str:
    """Return the places from which it may be done: the field of places as it is written, else names."""
    if rule == "place":
        return " ".join((posting.location or "").split())[:_WRITTEN_MAX]
    names = list(
        dict.fromkeys(f"{region}, {country}" if region else country_name(country) for country, region in parts)
    )
    more = f" and {len(names) - _NAMED_MAX} more countries" if len(names) > _NAMED_MAX else ""
    return f"{', '.join(names[:_NAMED_MAX])}{more} by its {rule}"
