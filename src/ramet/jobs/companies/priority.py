"""How much a company is worth a look to the person of the profile: points, a tier, and where the points are from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ramet.jobs.companies.facts import CompanyFacts
from ramet.jobs.companies_settings import CompanySettings
from ramet.jobs.errors import InputError
from ramet.jobs.profile import Profile
from ramet.jobs.text.places import is_at
from ramet.jobs.text.technologies import canonical_technology

RANKS = ("required", "ok", "strike", "fail")
"""What a technology can be to a person."""


@dataclass(frozen=True, slots=True)
class Priority:
    """A company's place among others."""

    score: float
    tier: str
    """``S``, ``A``, ``B``, ``C`` or ``D``."""
    reasons: list[dict[str, Any]]
    """``{"reason": text, "points": number}`` of every part of the score."""


def has_profile(profile: Profile) -> bool:
    """Whether the profile says anything that a company can be compared with."""
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
    """The tier that a score reaches."""
    bounds = (("S", settings.tier_s), ("A", settings.tier_a), ("B", settings.tier_b), ("C", settings.tier_c))
    return next((tier for tier, bound in bounds if score >= bound), "D")


def _ranks(profile: Profile) -> dict[str, str]:
    """Rank by canonical technology; of two spellings of one, the first counts."""
    ranks: dict[str, str] = {}
    for name, rank in profile.technologies.items():
        # A nested or misspelt profile would be worth nothing to every company, and nobody would be told.
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
