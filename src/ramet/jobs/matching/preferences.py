"""A profile's technologies by the names that readings use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ramet.jobs.matching.results import Finding, hard, strike
from ramet.jobs.matching.words import fold, has_word
from ramet.jobs.posting import Posting
from ramet.jobs.settings import FilterSettings, JobsSettings, Profile
from ramet.jobs.text.arrangement import Arrangement
from ramet.jobs.text.places import Place, is_at, places_of
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.technologies import canonical_technology

_STRICTEST = ("ok", "required", "strike", "fail")
"""Ranks by strictness: where two names are one technology (GCP, Google Cloud), the later rank holds."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Canonical names by rank."""

    required: frozenset[str]
    ok: frozenset[str]
    strike: frozenset[str]
    fail: frozenset[str]

    @property
    def known(self) -> frozenset[str]:
        """Technologies that the person works with."""
        return self.required | self.ok


def ranks_of(profile: Profile) -> Ranks:
    """Return the technologies of a profile. Remembered: a run asks for the same profile for every listing."""
    return _ranks(tuple(profile.technologies.items()))


def named_by(reading: Reading) -> tuple[str, ...]:
    """Return technologies and fields of work that a listing names; a profile may rank both."""
    return (*reading.technologies, *reading.fields_of_work)


def units_of(names: Iterable[str], alternatives: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Divide technologies into separate demands: each by itself, and of alternatives the group, once.

    A group with a technology that is asked for anyway asks for nothing more.
    """
    known = tuple(names)
    alone = {group[0] for group in alternatives if len(group) == 1}
    groups = [group for group in alternatives if len(group) > 1]
    grouped = {name for group in groups for name in group} - alone
    units = [(name,) for name in known if name not in grouped]
    held = set(known)
    return [*units, *(group for group in groups if alone.isdisjoint(group) and held.issuperset(group))]


def strike_points(profile: Profile, technology: str, usual: float) -> float:
    """Return the strikes for a technology of rank strike."""
    if not profile.technology_points:
        return usual
    own = {canonical_technology(name): points for name, points in profile.technology_points.items()}
    return own.get(technology, usual)


@lru_cache(maxsize=64)
def _ranks(technologies: tuple[tuple[str, str], ...]) -> Ranks:
    by_name: dict[str, str] = {}
    for name, rank in technologies:
        canonical = canonical_technology(name)
        held = by_name.get(canonical, rank)
        by_name[canonical] = max(held, rank, key=_STRICTEST.index)
    return Ranks(
        *(frozenset(n for n, r in by_name.items() if r == rank) for rank in ("required", "ok", "strike", "fail"))
    )


_BETWEEN = re.compile(r"[;|\n•]|\s/\s")


def at_preferred_office(reading: Reading, profile: Profile) -> bool | None:
    """Return whether one of the places is the preferred office; None where the listing names no city at all."""
    if not profile.preferred_city.strip():
        return False
    if any(is_at(place, profile.preferred_city, profile.preferred_region) for place in reading.places):
        return True
    return False if any(place.city for place in reading.places) else None


def refused_arrangement(reading: Reading, settings: JobsSettings) -> Finding | None:
    """Return a finding where the listing is for a way of working that is not taken.

    Only what the listing says outright (a field, its place, its title, a tag) refuses. A text that merely speaks of
    it, often of the company as a whole, is a strike, and what is only guessed is nothing. An office at a place that
    is not named may be the preferred one.
    """
    rules = settings.filter
    if reading.arrangement_rule in rules.guess_rules or _is_taken(reading, settings):
        return None
    way = reading.arrangement.value
    office = settings.profile.preferred_city.strip()
    where = f" outside {office}" if office and reading.arrangement is not Arrangement.REMOTE else ""
    detail = f"{way} by its {reading.arrangement_rule}; {_taken_ways(rules, office)}"
    if reading.arrangement_rule in rules.unsure_rules:
        reason = f"the text speaks of {way} work{where}"
        return strike("location", "remote_policy", reason, detail, rules.arrangement_points)
    return hard("location", "remote_policy", f"{way} work{where} is not taken", detail)


def refused_place(posting: Posting, reading: Reading, settings: JobsSettings) -> Finding | None:
    """Return a rejection where every place of the listing is excluded, remote or not."""
    excluded = settings.filter.excluded_places
    if not excluded or not (posting.location or "").strip():
        return None
    assert posting.location is not None
    named = _named(tuple(excluded))
    if reading.places:
        hits = [_covering(place, named) for place in reading.places]
    else:
        # Parts of the world are no places to a reading, but a person may exclude them.
        parts = [fold(part) for part in _BETWEEN.split(posting.location) if part.strip()]
        hits = [next((word for word, _ in named if has_word(part, fold(word))), None) for part in parts]
    if not hits or None in hits:
        return None
    return hard("location", "excluded_place", f"place: {hits[0]}", f"all places are excluded: {posting.location}")


def _is_taken(reading: Reading, settings: JobsSettings) -> bool:
    rules, way = settings.filter, reading.arrangement
    if way is Arrangement.REMOTE:
        return rules.allow_remote
    if way is Arrangement.UNKNOWN:
        return True
    anywhere = rules.allow_hybrid if way is Arrangement.HYBRID else rules.allow_onsite
    at_office = rules.allow_hybrid_at_office if way is Arrangement.HYBRID else rules.allow_onsite_at_office
    return anywhere or (at_office and at_preferred_office(reading, settings.profile) is not False)


def _taken_ways(rules: FilterSettings, office: str) -> str:
    ways = [
        (rules.allow_remote, "remote"),
        (rules.allow_hybrid, "hybrid"),
        (rules.allow_onsite, "on site"),
        (bool(office) and rules.allow_hybrid_at_office and not rules.allow_hybrid, f"hybrid in {office}"),
        (bool(office) and rules.allow_onsite_at_office and not rules.allow_onsite, f"on site in {office}"),
    ]
    return f"taken: {', '.join(way for taken, way in ways if taken) or 'none'}"


@lru_cache(maxsize=64)
def _named(excluded: tuple[str, ...]) -> tuple[tuple[str, Place | None], ...]:
    return tuple((word, next(iter(places_of(word)), None)) for word in excluded)


def _covering(place: Place, named: Iterable[tuple[str, Place | None]]) -> str | None:
    """Return the excluded place that a place is, or lies in; None for none."""
    for word, other in named:
        if other is not None and _is_within(place, other):
            return word
    return None


def _is_within(place: Place, other: Place) -> bool:
    if other.city is not None and fold(place.city or "") != fold(other.city):
        return False
    if other.region is not None and place.region != other.region:
        return False
    # A city that is given without its country is the one of that name; a region without one is not taken for another's.
    return other.country is None or place.country in (other.country, None if other.city else other.country)
