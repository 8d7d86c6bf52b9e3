"""Who looks for work: what a listing is compared with."""

from __future__ import annotations

from ramet.pipelines.jobs.section import Section, setting


class Profile(Section):
    """What a person has, wants and refuses. Everything may be left open; what is open neither adds nor takes points."""

    name: str = setting("", "of the profile, for people; empty: there is none, and nothing is scored as if there were")
    technologies: dict[str, str] = setting({}, "rank by technology: required, ok, strike or fail")
    technology_points: dict[str, float] = setting(
        {}, "points of a technology, where its rank's are not meant", "points"
    )
    titles: list[str] = setting([], "words of titles that are wanted")
    seniority: list[str] = setting([], "wanted: junior, mid, senior, staff, principal, lead")
    experience_years: float | None = setting(None, "years of experience", "years", ge=0)
    preferred_city: str = setting("", "where an office is preferred")
    preferred_region: str = setting("", "its state or country, so that no other city of that name is taken for it")
    utc_offset: float | None = setting(None, "of the person's time zone", "hours", ge=-14, le=14)
    salary_wanted: int | None = setting(None, "a year", "dollars a year", ge=0)
