"""Numbers of the company analysis."""

from __future__ import annotations

from ramet.pipelines.jobs.section import Section, setting


class CompanySettings(Section):
    """Completeness, priority and tiers of companies."""

    about_min: int = setting(50, "an about text longer than this makes a record minimal", "characters", ge=0)
    about_good: int = setting(100, "an about text longer than this is good", "characters", ge=0)
    culture_min: int = setting(25, "a culture text longer than this makes a record minimal", "characters", ge=0)
    culture_good: int = setting(50, "a culture text longer than this is good", "characters", ge=0)
    fresh_days: float = setting(30, "a good record younger than this is not made again", "days", ge=0)
    preferred_office_bonus: float = setting(50, "for an office at the preferred place", "points")
    tech_stack_max: float = setting(100, "for technologies, at most", "points", ge=0)
    remote_first_bonus: float = setting(15, "for a remote-first culture", "points")
    ai_ml_bonus: float = setting(10, "for a focus on machine learning", "points")
    tier_s: float = setting(150, "from this score on a company is of tier S", "points")
    tier_a: float = setting(100, "from this score on a company is of tier A", "points")
    tier_b: float = setting(70, "from this score on a company is of tier B", "points")
    tier_c: float = setting(50, "from this score on a company is of tier C, below it of D", "points")
