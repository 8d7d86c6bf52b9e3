"""Numbers of the score."""

from __future__ import annotations

from ramet.pipelines.jobs.section import Section, setting


class MatchSettings(Section):
    """Which scores are matches, and what adds and takes points."""

    min_score: float = setting(80, "a listing below this score is skipped", "points", ge=0, le=100)
    preferred_office_min_score: float = setting(
        65, "the same where the preferred office is found", "points", ge=0, le=100
    )
    high_priority: float = setting(85, "from this score on a match has priority High", "points", ge=0, le=100)
    medium_priority: float = setting(70, "from this score on a match has priority Medium", "points", ge=0, le=100)
    preferred_office_bonus: float = setting(15, "for a listing at the preferred office", "points")


class ListingSettings(Section):
    """When a listing's record is good enough."""

    description_min: int = setting(100, "a description longer than this is one", "characters", ge=0)
