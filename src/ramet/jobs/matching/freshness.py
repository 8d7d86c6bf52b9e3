"""Points for age, apart from the rest of a score, so that they can be given again as a listing grows older."""

from __future__ import annotations

from typing import Any

from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.scoring_settings import MatchSettings, Step

DAY_SECONDS = 86_400


def fresh_score(
    static: float, posted_at: float | None, settings: JobsSettings, now: float
) -> tuple[float, dict[str, Any]]:
    """A score with the points for its age today.

    Args:
        static: the score without them.
        now: Unix seconds, as ``posted_at``.

    Returns:
        The score, from 0 to 100, and the adjustment ``{category, reason, points}``.
    """
    points, reason = _points(settings.match, posted_at, now)
    points = round(points, 1)
    final = round(min(100.0, max(0.0, static + points)), 1)
    return final, {"category": "freshness", "reason": reason, "points": points}


def points_at(steps: list[Step], beyond: float, value: float) -> float:
    """The points of the lowest step that a value does not pass; ``beyond`` when it passes all."""
    for bound, points in sorted(steps):
        if value <= bound:
            return points
    return beyond


def _points(rules: MatchSettings, posted_at: float | None, now: float) -> tuple[float, str]:
    if posted_at is None:
        return rules.freshness_unknown, "no date"
    days = max(0.0, now - posted_at) / DAY_SECONDS
    points = points_at(rules.freshness, rules.freshness_older, days)
    return points, _age(rules.freshness, days)


def _age(steps: list[Step], days: float) -> str:
    """In words that stay right while the points do."""
    bound = next((bound for bound, _ in sorted(steps) if days <= bound), None)
    if bound is None:
        return f"posted more than {max((bound for bound, _ in steps), default=0):g} days ago"
    return f"posted within {bound:g} {'day' if bound == 1 else 'days'}"
