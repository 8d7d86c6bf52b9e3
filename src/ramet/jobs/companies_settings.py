"""Numbers of the company analysis."""

from __future__ import annotations

from ramet.jobs.section import Section, setting


class CompanySettings(Section):
    """Completeness, priority and tiers of companies."""

    about_min: int = setting(50, "an about text longer than this makes a record minimal", "characters", ge=0)
    about_good: int = setting(100, "an about text longer than this is good", "characters", ge=0)
    culture_min: int = setting(25, "a culture text longer than this makes a record minimal", "characters", ge=0)
    culture_good: int = setting(50, "a culture text longer than this is good", "characters", ge=0)
    fresh_days: float = setting(30, "a good record younger than this is not made again", "days", ge=0)
    text_max: int = setting(2_000, "of an about, culture or mission text, as much is kept", "characters", ge=100)
    size_large: int = setting(10_000, "from this number on a company is large", "employees", ge=1)
    size_small: int = setting(100, "below this number a company is small", "employees", ge=1)
    remote_evidence_min: int = setting(3, "of evidence on its pages make a company remote-first", "points", ge=1)
    ai_ml_evidence_min: int = setting(4, "of evidence on its pages make machine learning its focus", "points", ge=1)
    preferred_office_bonus: float = setting(50, "for an office at the preferred place", "points")
    tech_stack_max: float = setting(100, "for technologies, at most", "points", ge=0)
    technology_points: dict[str, float] = setting(
        {"required": 20, "ok": 5, "strike": -10, "fail": -40},
        "by rank in the profile: required, ok, strike, fail",
        "points",
    )
    remote_first_bonus: float = setting(15, "for a remote-first culture", "points")
    ai_ml_bonus: float = setting(10, "for a focus on machine learning", "points")
    tier_s: float = setting(150, "from this score on a company is of tier S", "points")
    tier_a: float = setting(100, "from this score on a company is of tier A", "points")
    tier_b: float = setting(70, "from this score on a company is of tier B", "points")
    tier_c: float = setting(50, "from this score on a company is of tier C, below it of D", "points")
