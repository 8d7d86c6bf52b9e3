"""Who looks for work: what a listing is compared with."""

from __future__ import annotations

from typing import Literal

from ramet.jobs.section import Section, setting

Rank = Literal["required", "ok", "strike", "fail"]
"""What a technology means to a person: looked for, fine, unwelcome, out of the question."""
Level = Literal["junior", "mid", "senior", "staff", "principal", "lead"]
Way = Literal["remote", "hybrid", "onsite"]


class Profile(Section):
    """What a person has, wants and refuses. Everything may be left open; what is open neither adds nor takes points."""

    name: str = setting("", "of the profile, for people; empty: there is none, and nothing is scored as if there were")
    technologies: dict[str, Rank] = setting({}, "rank by technology: required, ok, strike or fail")
    technology_points: dict[str, float] = setting(
        {}, "strikes for a technology, where those of its rank are not meant", "strikes"
    )
    titles: list[str] = setting([], "words of titles that are wanted")
    seniority: list[Level] = setting([], "wanted: junior, mid, senior, staff, principal, lead")
    arrangements: list[Way] = setting([], "wanted: remote, hybrid, onsite")
    experience_years: float | None = setting(None, "years of experience", "years", ge=0)
    preferred_city: str = setting("", "where an office is preferred")
    preferred_region: str = setting("", "its state or country, so that no other city of that name is taken for it")
    utc_offset: float | None = setting(None, "of the person's time zone", "hours", ge=-14, le=14)
    salary_wanted: int | None = setting(None, "that a salary should reach", "a year, in the profile's currency", ge=0)
    currency: str = setting(
        "USD", "of all salaries here; one in another currency is not compared", pattern="^[A-Z]{3}$"
    )

    @property
    def given(self) -> bool:
        """Whether anybody has said anything."""
        return bool(self.name.strip())
