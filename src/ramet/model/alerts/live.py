"""Rules of the monitor about what is live: budgets and time that are nearly used up, and what alerts of it say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.model.alerts.rules import WORST_MAX, Finding, MonitorLimits, Pattern, kind_in_words
from ramet.model.cost import dollars

LIVE = frozenset(
    {
        Pattern.EXPIRED_LEASES,
        Pattern.WAITS_FOR_NOTHING,
        Pattern.BREAKER_OPEN,
        Pattern.BUDGET,
        Pattern.DEADLINE_NEAR,
        Pattern.UNSERVED,
    }
)
"""Patterns that this module has words for."""


def budget_finding(tracking_id: str, name: str, used: int, most: int, limits: MonitorLimits) -> Finding | None:
    """A budget of which ``budget_share`` or more is used up; None where it is less."""
    if most <= 0 or used < limits.budget_share * most:
        return None
    entry = {"name": name, "weight": used, "limit": most, "share": round(used / most, 4)}
    return Finding(Pattern.BUDGET, tracking_id, entry)


def deadline_findings(ends: Mapping[str, tuple[float, float]], now: float, share: float) -> list[Finding]:
    """Lineages that have used up so much of their time: from their creation to their deadline, both Unix seconds."""
    found = []
    for tracking_id, (created_at, deadline_at) in ends.items():
        whole = deadline_at - created_at
        used = (now - created_at) / whole if whole > 0 else 1.0
        if used >= share:
            entry = {"name": tracking_id, "weight": round(used, 4), "limit": share, "deadline_at": deadline_at,
                     "left_seconds": round(max(0.0, deadline_at - now))}  # fmt: skip
            found.append(Finding(Pattern.DEADLINE_NEAR, "", entry))
    return found


def subject_of_live(pattern: Pattern, entry: Mapping[str, Any], count: int) -> str:
    """The worst entry in words, and how many there are beside it."""
    return _words(pattern, entry) + (f"; {count - 1}{' or more' if count == WORST_MAX else ''} others" if count > 1
                                     else "")  # fmt: skip


def _words(pattern: Pattern, entry: Mapping[str, Any]) -> str:
    name, weight = entry["name"], entry["weight"]
    match pattern:
        case Pattern.BREAKER_OPEN:
            many = f"{weight}{' or more' if entry['more'] else ''} tasks wait"
            by = f" by {entry['by']}" if entry["by"] else ""
            return f"the breaker of resource {name} was opened{by} ({entry['reason'] or 'no reason'}): {many}"
        case Pattern.UNSERVED:
            return f"{weight} or more live tasks of kind {name}, which no worker serves: start one that does"
        case Pattern.EXPIRED_LEASES:
            return (
                f"{weight} attempts of {kind_in_words(name)} were lost within {entry['window_seconds']:.0f} s "
                f"(tolerated: {entry['limit']}): see why workers die, or do not get to their heartbeats"
            )
        case Pattern.DEADLINE_NEAR:
            return f"lineage {name} has used {weight:.0%} of its time: {entry['left_seconds']} s are left"
        case Pattern.WAITS_FOR_NOTHING:
            return f"{entry['why']} ({name}): nobody will wake them; report it with what `ramet doctor` says"
        case _:
            money = name in ("cost", "day", "database")
            used, most = (dollars(weight), dollars(entry["limit"])) if money else (weight, entry["limit"])
            return f"{entry['share']:.0%} of the budget is used ({name}): {used} of {most}"
