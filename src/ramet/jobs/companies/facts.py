"""The facts of a company, and their completeness."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from ramet.jobs.errors import InputError
from ramet.jobs.settings import CompanySettings, Profile
from ramet.jobs.text.places import Place, is_at, places_of
from ramet.jobs.text.technologies import canonical_technology

JSON_LD, META, HEADINGS, PARAGRAPHS, PATTERN, GIVEN = "json-ld", "meta", "headings", "paragraphs", "pattern", "given"
"""Methods that find a field, beside a model (``model:NAME``). `GIVEN`: it came with the request for the company."""

TEXTS = ("about", "culture", "mission", "size", "headquarters_location", "industry", "founded")
"""Fields of text that a model may fill."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page of a company's website."""

    url: str
    """Address after redirects."""
    html: str


@dataclass(frozen=True, slots=True)
class CompanyFacts:
    """Facts of a company from its own pages. None, False or empty: the pages do not say."""

    name: str | None = None
    about: str | None = None
    culture: str | None = None
    mission: str | None = None
    size: str | None = None
    """Size in the words of its pages: ``51-200 employees``."""
    company_size_category: str | None = None
    """``large``, ``medium`` or ``small``."""
    headquarters_location: str | None = None
    industry: str | None = None
    founded: str | None = None
    """A year."""
    tech_stack: tuple[str, ...] = ()
    """Canonical names, the most mentioned first."""
    remote_first: bool = False
    ai_ml: bool = False
    offices: tuple[Place, ...] = ()
    """The head office among them."""
    methods: dict[str, str] = field(default_factory=dict)
    """Field -> its method: ``json-ld``, ``meta``, ``headings``, ``paragraphs``, ``pattern``, ``given`` or
    ``model:NAME``. Fields that were not found are not in it."""
    evidence: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Evidence for ``remote_first`` and ``ai_ml``, as written on the pages."""

    def as_json(self) -> dict[str, Any]:
        """Return a value for JSON, from which :meth:`from_json` makes the same facts."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CompanyFacts:
        """Return the facts from the value of :meth:`as_json`.

        Raises:
            ValueError: it is not such a value.
        """
        try:
            told = {item.name: value[item.name] for item in fields(cls)}
            told["tech_stack"] = tuple(told["tech_stack"])
            told["offices"] = tuple(Place(**place) for place in told["offices"])
            told["methods"] = dict(told["methods"])
            told["evidence"] = {name: tuple(texts) for name, texts in told["evidence"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no facts of a company: {error!r}") from error
        return cls(**told)


class Completeness(StrEnum):
    """Completeness of a company's record."""

    NONE = "none"
    MINIMAL = "minimal"
    GOOD = "good"


def completeness(
    name: str | None, website: str | None, about: str | None, culture: str | None, settings: CompanySettings
) -> Completeness:
    """Good: name, website, a good about and a good culture text; minimal: name, website and some of one of the two."""
    if not (name or "").strip() or not (website or "").strip():
        return Completeness.NONE
    about_length, culture_length = _length(about), _length(culture)
    if about_length > settings.about_good and culture_length > settings.culture_good:
        return Completeness.GOOD
    if about_length > settings.about_min or culture_length > settings.culture_min:
        return Completeness.MINIMAL
    return Completeness.NONE


def missing_for_good(facts: CompanyFacts, settings: CompanySettings) -> list[str]:
    """Return the fields that a model may fill: about and culture where they are too short to be good.

    Nothing is missing when both are good. When one is not, a model has to read the pages anyway, and every other text
    that nothing was found for is on the list as well.
    """
    short = []
    if _length(facts.about) <= settings.about_good:
        short.append("about")
    if _length(facts.culture) <= settings.culture_good:
        short.append("culture")
    if not short:
        return []
    return short + [name for name in TEXTS if name not in {"about", "culture"} and not getattr(facts, name)]


def _length(text: str | None) -> int:
    return len((text or "").strip())


_TOGETHER = {"size": "company_size_category"}
"""Field -> another that is about the same number, and is kept or replaced with it."""


def merged(before: object, facts: CompanyFacts, settings: CompanySettings | None = None) -> CompanyFacts:
    """Return the facts, with the record's values where they have none, or none as good.

    An about or culture text that was good is replaced only by another good one. A value that is kept keeps its method.

    Args:
        before: the record: a mapping, or an object with attributes, by the names of the table's columns. Lists and
            objects may be JSON, as they are stored. Columns that are missing or broken are empty.
        settings: the lengths of good texts; None: the defaults.
    """
    good = _good_lengths(settings or CompanySettings())
    kept: dict[str, Any] = {}
    for name in ("name", *TEXTS):
        old = _text(before, name)
        new = getattr(facts, name) or ""
        if old and (not new.strip() or len(new.strip()) <= good.get(name, 0) < len(old.strip())):
            kept[name] = old
            if other := _TOGETHER.get(name):
                kept[other] = _text(before, other)
    technologies = _json(before, "tech_stack", list)
    if technologies and not facts.tech_stack:
        kept["tech_stack"] = tuple(str(technology) for technology in technologies)
    if "headquarters_location" in kept and not facts.offices:
        kept["offices"] = tuple(place for place in places_of(kept["headquarters_location"]) if place.country)
    if not kept:
        return facts
    return replace(facts, **kept, methods=_methods(before, facts, kept))


def _methods(before: object, facts: CompanyFacts, kept: Mapping[str, Any]) -> dict[str, str]:
    told = _json(before, "methods", dict)
    methods = {name: method for name, method in facts.methods.items() if name not in kept}
    for name, value in kept.items():
        source = "headquarters_location" if name == "offices" else name
        if value and isinstance(told.get(source), str):
            methods[name] = told[source]
    return methods


def _good_lengths(settings: CompanySettings) -> dict[str, int]:
    return {"about": settings.about_good, "culture": settings.culture_good}


def _value(before: object, field: str) -> Any:
    return before.get(field) if isinstance(before, Mapping) else getattr(before, field, None)


def _text(before: object, field: str) -> str | None:
    value = _value(before, field)
    return value if isinstance(value, str) and value.strip() else None


def _json(before: object, field: str, kind: type[list[Any]] | type[dict[str, Any]]) -> Any:
    """Return a column with a list or an object, read where it is still JSON; empty where it is none."""
    value = _value(before, field)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return kind()
    if kind is list and isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, kind) else kind()


RANKS = ("required", "ok", "strike", "fail")
"""Ranks that a technology can have for a person."""


@dataclass(frozen=True, slots=True)
class Priority:
    """A company's place among others."""

    score: float
    tier: str
    """``S``, ``A``, ``B``, ``C`` or ``D``."""
    reasons: list[dict[str, Any]]
    """``{"reason": text, "points": number}`` of every part of the score."""


def has_profile(profile: Profile) -> bool:
    """Return whether the profile says anything that a company can be compared with."""
    return bool(profile.name or profile.technologies or profile.preferred_city)


def priority_of(facts: CompanyFacts, settings: CompanySettings, profile: Profile) -> Priority | None:
    """Points for an office at the preferred place, technologies, remote work and machine learning.

    Returns:
        None without a profile: nothing is known of what anybody wants, so there is no tier, not even D.

    Raises:
        InputError: a technology has a rank that there is not.
    """
    ranks = _ranks(profile)
    if not has_profile(profile):
        return None
    reasons = [
        *_office(facts, settings, profile),
        *_technologies(facts, settings, ranks),
        *_flag(facts.remote_first, settings.remote_first_bonus, "remote-first", facts.evidence.get("remote_first")),
        *_flag(facts.ai_ml, settings.ai_ml_bonus, "focus on machine learning", facts.evidence.get("ai_ml")),
    ]
    score = float(sum(reason["points"] for reason in reasons))
    return Priority(score, tier_of(score, settings), reasons)


def tier_of(score: float, settings: CompanySettings) -> str:
    """Return the tier that a score reaches."""
    bounds = (("S", settings.tier_s), ("A", settings.tier_a), ("B", settings.tier_b), ("C", settings.tier_c))
    return next((tier for tier, bound in bounds if score >= bound), "D")


def _ranks(profile: Profile) -> dict[str, str]:
    """Rank by canonical technology; of two spellings of one, the first counts."""
    ranks: dict[str, str] = {}
    for name, rank in profile.technologies.items():
        # A nested or misspelt profile would give no company any points, without an error.
        if rank not in RANKS:
            raise InputError(
                f"jobs.profile.technologies: {name!r} has the rank {rank!r}: give one of {', '.join(RANKS)}"
            )
        ranks.setdefault(canonical_technology(name), rank)
    return ranks


def _office(facts: CompanyFacts, settings: CompanySettings, profile: Profile) -> list[dict[str, Any]]:
    city, region = profile.preferred_city, profile.preferred_region
    if not city or not any(is_at(place, city, region) for place in facts.offices):
        return []
    where = ", ".join(part for part in (city, region) if part)
    return [{"reason": f"office at the preferred place: {where}", "points": settings.preferred_office_bonus}]


def _technologies(facts: CompanyFacts, settings: CompanySettings, ranks: dict[str, str]) -> list[dict[str, Any]]:
    by_rank: dict[str, list[str]] = {}
    for technology in dict.fromkeys(map(canonical_technology, facts.tech_stack)):
        if rank := ranks.get(technology):
            by_rank.setdefault(rank, []).append(technology)
    if not by_rank:
        return []
    total = sum(settings.technology_points.get(rank, 0) * len(found) for rank, found in by_rank.items())
    points = min(max(total, 0.0), settings.tech_stack_max)
    what = "; ".join(f"{rank}: {', '.join(by_rank[rank])}" for rank in RANKS if rank in by_rank)
    return [{"reason": f"technologies ({what})", "points": points}]


def _flag(holds: bool, points: float, reason: str, evidence: tuple[str, ...] | None) -> list[dict[str, Any]]:
    if not holds:
        return []
    shown = f": {', '.join(repr(text) for text in evidence[:3])}" if evidence else ""
    return [{"reason": f"{reason}{shown}", "points": points}]
