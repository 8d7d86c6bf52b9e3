"""Numbers of the score.

A listing starts at ``base``. Everything a profile speaks of adds or takes points; what it leaves open, or the listing
does not say, does neither. So a profile of technologies alone can just reach a match, and every further wish that a
listing meets makes it a safer one.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ramet.jobs.section import Section, setting

Step = Annotated[list[float], Field(min_length=2, max_length=2)]
"""A bound and the points up to it, the bound included."""


class MatchSettings(Section):
    """Which scores are matches, and what adds and takes points."""

    min_score: float = setting(80, "a listing below this score is skipped", "points", ge=0, le=100)
    preferred_office_min_score: float = setting(
        65, "the same where the preferred office is found", "points", ge=0, le=100
    )
    high_priority: float = setting(85, "from this score on a match has priority High", "points", ge=0, le=100)
    medium_priority: float = setting(70, "from this score on a match has priority Medium", "points", ge=0, le=100)
    preferred_office_bonus: float = setting(15, "for a listing at the preferred office", "points")
    base: float = setting(50, "where a score starts", "points", ge=0, le=100)

    # Technologies
    title_weight: float = setting(2, "of a technology that the title names", "times", ge=0)
    requirement_weight: float = setting(1.5, "of a technology that the requirements name", "times", ge=0)
    ok_credit: float = setting(0.7, "of a technology of rank ok; one of rank required has 1", "share", ge=0, le=1)
    skill_bonus_max: float = setting(30, "for technologies that all are the profile's", "points", ge=0)
    skill_penalty_max: float = setting(20, "taken for technologies of which none is the profile's", "points", ge=0)
    skill_full_share: float = setting(0.4, "share of the technologies that is as good as all", "share", gt=0, le=1)
    skill_doubt: float = setting(
        4, "weight that is added to that of all technologies, since few say little", "technologies", ge=0
    )
    strike_skill_penalty: float = setting(3, "taken for each technology of rank strike", "points", ge=0)
    strike_skill_penalty_max: float = setting(9, "taken for them at most", "points", ge=0)
    company_skill_bonus: float = setting(
        5, "where the text names no technology and the company's are the profile's", "points"
    )

    # Wishes
    title_bonus: float = setting(10, "for a title with a wanted word", "points", ge=0)
    title_penalty: float = setting(15, "taken for a title with none", "points", ge=0)
    seniority_bonus: float = setting(5, "for a wanted level", "points", ge=0)
    seniority_step_penalty: float = setting(6, "taken for each level away from a wanted one", "points", ge=0)
    experience_penalty: float = setting(2, "taken for each year asked for that the profile lacks", "points", ge=0)
    experience_penalty_max: float = setting(10, "taken for them at most", "points", ge=0)
    arrangement_bonus: float = setting(5, "for a wanted arrangement", "points", ge=0)
    arrangement_penalty: float = setting(10, "taken for another one, but at the preferred office", "points", ge=0)
    salary_bonus: float = setting(5, "for a salary that reaches what is wanted", "points", ge=0)
    salary_penalty_max: float = setting(15, "taken for a lower one, all of it at a half", "points", ge=0)
    time_zone: list[Step] = setting(
        [[0, 5], [2, -2], [4, -5], [8, -10]], "pairs: hours apart at most, points", "hours, points"
    )
    time_zone_far: float = setting(-15, "for more hours apart", "points")
    size_points: dict[str, float] = setting({}, "by company size: large, medium, small", "points")
    tier_points: dict[str, float] = setting({"S": 5, "A": 3}, "by tier of the company: S, A, B, C, D", "points")

    # Freshness
    freshness: list[Step] = setting(
        [[1, 5], [3, 3], [7, 0], [14, -3], [30, -6]], "pairs: days since it was posted at most, points", "days, points"
    )
    freshness_older: float = setting(-10, "for a listing posted longer ago", "points")
    freshness_unknown: float = setting(0, "for a listing without a date", "points")


class ListingSettings(Section):
    """When a listing's record is good enough, and when two texts are nearly one."""

    description_min: int = setting(100, "a description longer than this is one", "characters", ge=0)
    text_max: int = setting(100_000, "of a description, of which no more is kept", "characters", ge=1_000, le=150_000)
    near_text_min: int = setting(200, "a text that is no longer is not compared with others", "characters", ge=0)
    near_bits: int = setting(4, "bits of 64 in which nearly equal texts differ at most", "bits", ge=0, le=32)
