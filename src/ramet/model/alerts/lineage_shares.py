"""What looks wrong over many lineages at once: rules of the monitor about counts and shares in a window of time.

Shares hide what retries dilute, and counts hide what is large anyway; so each rule about a share has a count beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ramet.model.alerts.rules import ALL_KINDS, Finding, MonitorLimits, Pattern


class Share(NamedTuple):
    """So many of so many."""

    bad: int
    total: int


def judge_chains(at_limit: Mapping[str, Share], limits: MonitorLimits) -> list[Finding]:
    """Schedules whose runs stop at ``max_chain_depth`` with work left, by name: of how many of the newest runs."""
    return [
        Finding(Pattern.CHAIN_LIMIT, "", {"name": name, "weight": share.bad, "limit": limits.chain_ends_max,
                                          "runs": share.total})
        for name, share in at_limit.items()
        if share.bad > limits.chain_ends_max
    ]  # fmt: skip


class FailedRuns(NamedTuple):
    """The newest ended runs of a schedule that failed, one after the other."""

    runs: int
    newest: str
    """The tracking id of the last of them; empty where there is none."""


def judge_failed_runs(by_schedule: Mapping[str, FailedRuns], limits: MonitorLimits) -> list[Finding]:
    """Schedules that have failed several times in a row, by name: nobody may look at them for weeks."""
    return [
        Finding(Pattern.FAILED_RUNS, "", {"name": name, "weight": failed.runs, "limit": max(1, limits.failed_runs) - 1,
                                          "newest": failed.newest})
        for name, failed in by_schedule.items()
        if failed.runs >= max(1, limits.failed_runs)
    ]  # fmt: skip


def judge_timeouts(by_kind: Mapping[str, int], limits: MonitorLimits) -> list[Finding]:
    """Kinds of which too many tasks ended at their own deadline within the window, or all of them together."""
    return _counted(Pattern.TASK_TIMEOUTS, by_kind, limits.timeouts_max, limits)


def judge_lost(by_kind: Mapping[str, int], limits: MonitorLimits) -> list[Finding]:
    """Kinds of which too many attempts were lost within the window, or all of them together."""
    return _counted(Pattern.EXPIRED_LEASES, by_kind, limits.lost_max, limits)


def _counted(pattern: Pattern, by_kind: Mapping[str, int], most: int, limits: MonitorLimits) -> list[Finding]:
    over = {kind: count for kind, count in by_kind.items() if count > most}
    if not over and sum(by_kind.values()) > most:
        over = {ALL_KINDS: sum(by_kind.values())}
    return [
        Finding(pattern, "", {"name": name, "weight": count, "limit": most, "window_seconds": limits.window_seconds})
        for name, count in over.items()
    ]


def judge_lineages(by_kind: Mapping[str, Share], limits: MonitorLimits) -> list[Finding]:
    """Kinds of first roots of whose lineages too many of those that ended within the window failed; and all of them."""
    found = dict(by_kind)
    if len(found) > 1:
        found[ALL_KINDS] = _sum(by_kind.values())
    over = {name: _limit(share, limits.failed_share_max, limits.failed_of_min, limits.failed_max)
            for name, share in found.items()}  # fmt: skip
    return [_shared(Pattern.FAILED_LINEAGES, name, found[name], limit, limits) for name, limit in over.items() if limit]


def judge_invocations(by_schedule: Mapping[str, Share], limits: MonitorLimits) -> list[Finding]:
    """Schedules of whose invocations (claims of its runs' tasks) too many of the newest ended in an error."""
    over = {name: _limit(share, limits.errors_share_max, limits.errors_of_min, limits.errors_max)
            for name, share in by_schedule.items()}  # fmt: skip
    return [
        _shared(Pattern.INVOCATION_ERRORS, name, by_schedule[name], limit, limits)
        for name, limit in over.items()
        if limit
    ]


def _sum(shares: Iterable[Share]) -> Share:
    several = [*shares]
    return Share(sum(share.bad for share in several), sum(share.total for share in several))


def _limit(share: Share, share_max: float, of_min: int, count_max: int) -> tuple[float, str] | None:
    """The limit that a share is over, as a number and in words; None where it is over none."""
    limit = round(share_max * share.total, 6)
    if share.total >= of_min and share.bad > limit:
        return limit, f"{share_max:.0%} of {of_min} or more"
    return (count_max, f"{count_max}, however many there were") if share.bad > count_max else None


def _shared(pattern: Pattern, name: str, share: Share, limit: tuple[float, str], limits: MonitorLimits) -> Finding:
    entry = {"name": name, "weight": share.bad, "of": share.total, "limit": limit[0], "tolerated": limit[1]}
    return Finding(pattern, "", {**entry, "window_seconds": limits.window_seconds})
