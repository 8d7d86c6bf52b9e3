"""A profile's technologies by the names that readings use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ramet.jobs.profile import Profile
from ramet.jobs.text.posting_text import Reading
from ramet.jobs.text.technologies import canonical_technology

_STRICTEST = ("ok", "required", "strike", "fail")
"""Where two names are one technology (GCP, Google Cloud), the later of these holds."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Canonical names by rank."""

    required: frozenset[str]
    ok: frozenset[str]
    strike: frozenset[str]
    fail: frozenset[str]

    @property
    def known(self) -> frozenset[str]:
        """What the person works with."""
        return self.required | self.ok


def ranks_of(profile: Profile) -> Ranks:
    """The technologies of a profile. Remembered: a run asks for the same profile for every listing."""
    return _ranks(tuple(profile.technologies.items()))


def named_by(reading: Reading) -> tuple[str, ...]:
    """Technologies and fields of work that a listing names; a profile may rank both."""
    return (*reading.technologies, *reading.fields_of_work)


def strike_points(profile: Profile, technology: str, usual: float) -> float:
    """Strikes for a technology of rank strike."""
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
