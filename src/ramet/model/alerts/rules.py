"""Rules of the monitor: signs of trouble in a lineage in which nothing has failed (DESIGN §2, alert).

The guard refuses a loop; the monitor reports that a handler keeps asking for one. A *demand* for a key is one wish for
work on it: the task that was granted, each refusal of a parent that asks again, each revive. All requests of a handler
for one key in one settlement are one wish.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from ramet.model.keys import display_key
from ramet.model.lineage.guard import BlockReason
from ramet.model.lineage.lineage import OPEN, Lineage
from ramet.model.money import as_usd

WORST_MAX = 20
"""Keys (or tasks) that an alert names."""

LINKS = frozenset({BlockReason.IN_FLIGHT.value, BlockReason.DONE.value, "elsewhere"})
"""Reasons of refusals because another task had already been granted the wish."""


class Pattern(StrEnum):
    """Patterns that the monitor looks for."""

    POSSIBLE_LOOP = "possible_loop"
    """One kind and key of a lineage is wanted again and again."""
    POSSIBLE_CYCLE = "possible_cycle"
    """One key of a lineage is wanted again and again, whatever the kind."""
    DEEP_SPAWN = "deep_spawn"
    """Tasks are deeper than a lineage of this kind should grow."""
    RETRY_STORM = "retry_storm"
    """Retries of a lineage were put off, because a minute had its fill of them."""
    LOST_LEASE = "lost_lease"
    """Tasks have been processing for a while without a live lease, and were not reclaimed."""
    OVER_CEILING = "over_ceiling"
    """More was spent than a hard ceiling allows: of a lineage, of the day or of the database."""
    CHAIN_LIMIT = "chain_limit"
    """Runs of a schedule stop at ``max_chain_depth`` with work left, again and again."""
    FAILED_RUNS = "failed_runs"
    """The newest runs of a schedule failed, one after the other."""
    TASK_TIMEOUTS = "task_timeouts"
    """Many tasks of a kind end at their own deadline."""
    FAILED_LINEAGES = "failed_lineages"
    """Many of the lineages that ended have failed."""
    INVOCATION_ERRORS = "invocation_errors"
    """Many of a schedule's invocations end in an error."""
    EXPIRED_LEASES = "expired_leases"
    """Many attempts of a kind were lost: their leases expired."""
    WAITS_FOR_NOTHING = "waits_for_nothing"
    """Tasks wait for something that is gone, so that nothing will wake them."""
    BREAKER_OPEN = "breaker_open"
    """A resource is switched off."""
    BUDGET = "budget"
    """A budget of a running lineage, of the day or of the database is nearly used up."""
    DEADLINE_NEAR = "deadline_near"
    """Lineages have used up nearly all of their time."""
    UNSERVED = "unserved"
    """Live tasks are of kinds that no living worker serves."""
    SLOT_STARVATION = "slot_starvation"
    """All slots in which a pending task can run are held by handlers that wait inside for pending tasks."""


STANDING = frozenset(
    {
        Pattern.LOST_LEASE,
        Pattern.CHAIN_LIMIT,
        Pattern.FAILED_RUNS,
        Pattern.TASK_TIMEOUTS,
        Pattern.FAILED_LINEAGES,
        Pattern.INVOCATION_ERRORS,
        Pattern.EXPIRED_LEASES,
        Pattern.WAITS_FOR_NOTHING,
        Pattern.BREAKER_OPEN,
        Pattern.DEADLINE_NEAR,
        Pattern.UNSERVED,
        Pattern.SLOT_STARVATION,
    }
)
"""Patterns whose condition every look checks from the start; they are over with the first look that does not find
them.
"""

NAMED = frozenset(
    {
        Pattern.OVER_CEILING,
        Pattern.CHAIN_LIMIT,
        Pattern.FAILED_RUNS,
        Pattern.TASK_TIMEOUTS,
        Pattern.FAILED_LINEAGES,
        Pattern.INVOCATION_ERRORS,
        Pattern.EXPIRED_LEASES,
        Pattern.BREAKER_OPEN,
        Pattern.BUDGET,
        Pattern.UNSERVED,
        Pattern.SLOT_STARVATION,
    }
)
"""About schedules, kinds or ceilings, of which there are few: a further one is news, though the alert fires already."""


ALL_KINDS = "all kinds"
"""The name of the sum in an alert's evidence."""
CRITICAL_FACTOR = 10


class MonitorLimits(NamedTuple):
    """When the monitor looks and what it tolerates. Each is a setting ``monitor.<name>``."""

    seconds: float = 300.0
    """Between two looks, over all workers."""
    demands_max: int = 3
    """Demands for one kind and key of a lineage that are not worth an alert. A kind may set its own."""
    key_demands_max: int = 2
    """Demands for one key of a lineage, whatever the kind, that are not worth an alert."""
    depth_max: int = 8
    """Largest spawn_depth that is not worth an alert."""
    quiet_seconds: float = 3_600.0
    """An alert is resolved when nothing new was found for so long."""
    window_seconds: float = 3_600.0
    """Seconds before now in which ends are counted."""
    chain_runs: int = 12
    """Newest runs of a schedule that count."""
    chain_ends_max: int = 2
    """Runs among these that stopped at ``max_chain_depth`` and are not worth an alert."""
    failed_runs: int = 3
    """Newest ended runs of a schedule, one after the other, that must have failed for an alert."""
    timeouts_max: int = 100
    """Tasks of a kind, or of all kinds, that end at their own deadline within the window and are not worth an alert."""
    failed_share_max: float = 0.10
    """Share of the lineages that ended within the window whose failure is not worth an alert."""
    failed_of_min: int = 10
    """Ended lineages from which on the share counts."""
    failed_max: int = 100
    """Failed lineages in the window that are not worth an alert, whatever their share."""
    errors_share_max: float = 0.05
    """Share of a schedule's newest invocations whose error is not worth an alert."""
    errors_of_min: int = 20
    """Invocations from which on the share counts."""
    errors_max: int = 20
    """Errors among them that are not worth an alert, whatever their share."""
    lost_max: int = 20
    """Lost attempts of a kind, or of all kinds, within the window that are not worth an alert."""
    budget_share: float = 0.8
    """Share of a budget (tasks, depth, cost, time) from which on it is worth an alert."""
    budget_of_min: int = 10
    """Limits of tasks and depth from which on a share of them counts."""
    grace_seconds: float = 60.0
    """Seconds for which a claim may have no live lease, or a task wait for what is gone: maintenance takes seconds."""
    storm_max: int = 0
    """Retries of a lineage put off between two looks that are not worth an alert."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One finding: at most one is firing per (lineage, pattern). It resolves by itself."""

    id: int
    pattern: str
    """A :class:`Pattern`."""
    tracking_id: str | None
    """None where it is about no lineage."""
    subject: str
    """The worst of it, in words."""
    evidence: Any
    """A JSON object: ``limit``, and ``worst``, at most 20 entries, the worst first."""
    severity: str
    """``warning`` or ``critical``."""
    first_at: float
    last_at: float
    """Moment at which the monitor last found something new."""
    resolved_at: float | None
    state: str
    """``firing`` or ``resolved``."""
    count: int
    """Looks that found something new."""
    link: str | None = None
    """Address of the alert on the dashboard; None while the setting ``dashboard.url`` is not set."""
    notified_at: float | None = None
    """Moment at which the last notices of it were written."""
    notified_state: str | None = None
    """State that the last notice reported: ``firing`` or ``resolved``."""
    acknowledged_at: float | None = None
    """Moment at which a person acknowledged it; it is not repeated from then on."""
    acknowledged_by: str | None = None


class KindDemand(NamedTuple):
    """Demands for one kind and key of a lineage: the parents that asked, and how often."""

    kind: str
    key: str
    spawned: int
    """1 when there is such a task, else 0."""
    handed_on: bool
    """Its parent works on the same key: a stage of the same work, or a kind that declares it."""
    blocked: Mapping[str, int]
    """Refusals that count, by reason."""
    revived: int

    @property
    def total(self) -> int:
        """Demands for this kind and key."""
        return self.spawned + sum(self.blocked.values()) + self.revived


class AlertFinding(NamedTuple):
    """Something over its limit."""

    pattern: Pattern
    tracking_id: str
    entry: dict[str, Any]
    """``name`` tells entries of one alert apart, ``weight`` orders them; the rest is for people."""


Thresholds = Mapping[str, int | None]
"""A kind's own largest number of demands; None: it is never alerted about."""


def judge_key(
    tracking_id: str, demands: Sequence[KindDemand], limits: MonitorLimits, thresholds: Thresholds
) -> list[AlertFinding]:
    """Return the finding for one key of a lineage whose demands are over a limit; None when they are not.

    A kind that sets its own threshold is judged by it, and so is a key that this kind takes part in; a kind that is
    never alerted about counts nowhere. Tasks that were handed on by a task of the same key count once with it.
    """
    counted = [one for one in demands if thresholds.get(one.kind, 0) is not None]
    found = []
    for one in counted:
        limit = thresholds.get(one.kind, limits.demands_max)
        if limit is not None and one.total > limit:
            found.append(AlertFinding(Pattern.POSSIBLE_LOOP, tracking_id, _entry(one.kind, one.key, [one], limit)))
    total = sum(one.total - (one.spawned if one.handed_on else 0) for one in counted)
    own = [limit for one in counted if (limit := thresholds.get(one.kind)) is not None]
    limit = max([limits.key_demands_max, *own])
    if counted and total > limit:
        entry = _entry(", ".join(sorted(one.kind for one in counted)), counted[0].key, counted, limit)
        found.append(AlertFinding(Pattern.POSSIBLE_CYCLE, tracking_id, entry))
    return found


def _entry(kind: str, key: str, demands: Iterable[KindDemand], limit: int) -> dict[str, Any]:
    blocked: dict[str, int] = {}
    spawned = revived = 0
    for one in demands:
        spawned, revived = spawned + one.spawned, revived + one.revived
        for reason, count in one.blocked.items():
            blocked[reason] = blocked.get(reason, 0) + count
    total = spawned + revived + sum(blocked.values())
    return {
        "name": f"{kind} {key}",
        "weight": total,
        "limit": limit,
        "kind": kind,
        "key": key,
        "spawned": spawned,
        "blocked": blocked,
        "revived": revived,
    }


def merge_worst(before: Sequence[Mapping[str, Any]], found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the worst entries of both, the newer of two with one name, heaviest first."""
    by_name = {str(entry["name"]): dict(entry) for entry in before}
    by_name.update((str(entry["name"]), dict(entry)) for entry in found)
    return sorted(by_name.values(), key=lambda entry: (-entry["weight"], entry["name"]))[:WORST_MAX]


def severity_of(pattern: Pattern, worst: Sequence[Mapping[str, Any]]) -> str:
    """Return the severity: critical for a wish repeated at ten times the threshold, work without an owner, money beyond
    a ceiling.
    """
    if pattern in (Pattern.LOST_LEASE, Pattern.OVER_CEILING, Pattern.WAITS_FOR_NOTHING, Pattern.SLOT_STARVATION):
        return "critical"
    if pattern in (Pattern.POSSIBLE_LOOP, Pattern.POSSIBLE_CYCLE) and any(
        entry["weight"] > CRITICAL_FACTOR * max(1, entry["limit"]) for entry in worst
    ):
        return "critical"
    return "warning"


def kind_in_words(name: str) -> str:
    """One kind, or all of them."""
    return name if name == ALL_KINDS else f"kind {name}"


def subject_of(pattern: Pattern, worst: Sequence[Mapping[str, Any]]) -> str:
    """Return the worst entry in words."""
    entry = worst[0]
    match pattern:
        case Pattern.POSSIBLE_LOOP | Pattern.POSSIBLE_CYCLE:
            name = f"{entry['kind']} {display_key(entry['key'])}"
            return f"{name} was wanted {entry['weight']} times (tolerated: {entry['limit']})"
        case Pattern.DEEP_SPAWN:
            return f"task {entry['name']} ({entry['kind']}) is at spawn_depth {entry['weight']}, over {entry['limit']}"
        case Pattern.RETRY_STORM:
            return f"{entry['weight']} retries were put off: a minute may have {entry['limit']}"
        case Pattern.LOST_LEASE:
            return f"task {entry['name']} ({entry['kind']}) is processing without a lease for {entry['weight']} s"
        case Pattern.OVER_CEILING:
            spent, most = as_usd(entry["weight"]), as_usd(entry["limit"])
            return f"the {entry['name']} has spent {spent}, over its ceiling of {most}: its calls in flight end"
        case Pattern.CHAIN_LIMIT:
            return (
                f"{entry['weight']} of the last {entry['runs']} runs of schedule {entry['name']} stopped at their "
                "chain's limit with work left: let it run more often, or raise max_chain_depth"
            )
        case Pattern.FAILED_RUNS:
            return (
                f"the last {entry['weight']} runs of schedule {entry['name']} failed, the newest is lineage "
                f"{entry['newest']}"
            )
        case Pattern.TASK_TIMEOUTS:
            return (
                f"{entry['weight']} tasks of {kind_in_words(entry['name'])} ended at their own deadline within "
                f"{entry['window_seconds']:.0f} s (tolerated: {entry['limit']}): see why they take so long"
            )
        case Pattern.FAILED_LINEAGES:
            return (
                f"{entry['weight']} of {entry['of']} lineages ({entry['name']}) that ended within "
                f"{entry['window_seconds']:.0f} s failed (tolerated: {entry['tolerated']})"
            )
        case Pattern.INVOCATION_ERRORS:
            return (
                f"{entry['weight']} of {entry['of']} invocations by schedule {entry['name']} ended in an error "
                f"(tolerated: {entry['tolerated']})"
            )
        case _:
            raise AssertionError(f"{pattern} has its words in ramet.model.alerts.rules")


def resolved(
    alert: Alert, lineage: Lineage | None, now: float, limits: MonitorLimits, standing: Collection[Pattern]
) -> bool:
    """Whether the condition of a firing alert is gone.

    A lineage's alert goes when nothing new was found for ``quiet_seconds``, a look after its lineage ended, and when
    the lineage was pruned. A look finds at once whether leases are lost, and whether a ceiling of all is passed. A
    budget that is nearly used up stays so, however quiet it is, until it is raised.
    """
    if alert.pattern in STANDING:  # A look finds all that there are.
        return alert.pattern not in standing
    if alert.pattern in (Pattern.OVER_CEILING, Pattern.BUDGET) and alert.tracking_id is None:
        return now - alert.last_at >= limits.seconds
    if lineage is None:
        return True
    quiet = now - alert.last_at
    if lineage.state not in OPEN:
        return quiet >= limits.seconds
    if alert.pattern == Pattern.BUDGET:
        return not any(_nearly_used(entry, lineage, limits.budget_share) for entry in alert.evidence["worst"])
    return quiet >= limits.quiet_seconds


def _nearly_used(entry: Mapping[str, Any], lineage: Lineage, share: float) -> bool:
    """Whether the budget that an alert names is still as far used."""
    match entry["name"]:
        case "tasks":
            used, most = lineage.tasks, lineage.max_tasks
        case "depth":
            used, most = entry["weight"], lineage.max_spawn_depth
        case _:
            ceiling = lineage.max_cost if lineage.soft_cost is None else lineage.soft_cost
            if ceiling is None:
                return False
            used, most = lineage.spent + lineage.reserved, ceiling
    return bool(used >= share * most)


LIVE = frozenset(
    {
        Pattern.EXPIRED_LEASES,
        Pattern.WAITS_FOR_NOTHING,
        Pattern.BREAKER_OPEN,
        Pattern.BUDGET,
        Pattern.DEADLINE_NEAR,
        Pattern.UNSERVED,
        Pattern.SLOT_STARVATION,
    }
)
"""Patterns that this module has words for."""


def budget_finding(tracking_id: str, name: str, used: int, most: int, limits: MonitorLimits) -> AlertFinding | None:
    """Return the finding for a budget of which ``budget_share`` or more is used up; None where it is less."""
    if most <= 0 or used < limits.budget_share * most:
        return None
    entry = {"name": name, "weight": used, "limit": most, "share": round(used / most, 4)}
    return AlertFinding(Pattern.BUDGET, tracking_id, entry)


def deadline_findings(ends: Mapping[str, tuple[float, float]], now: float, share: float) -> list[AlertFinding]:
    """Lineages that have used up so much of their time: from their creation to their deadline, both Unix seconds."""
    found = []
    for tracking_id, (created_at, deadline_at) in ends.items():
        whole = deadline_at - created_at
        used = (now - created_at) / whole if whole > 0 else 1.0
        if used >= share:
            entry = {"name": tracking_id, "weight": round(used, 4), "limit": share, "deadline_at": deadline_at,
                     "left_seconds": round(max(0.0, deadline_at - now))}  # fmt: skip
            found.append(AlertFinding(Pattern.DEADLINE_NEAR, "", entry))
    return found


def subject_of_live(pattern: Pattern, entry: Mapping[str, Any], count: int) -> str:
    """Return the worst entry in words, and how many there are beside it."""
    words = _words(pattern, entry)
    if count <= 1:
        return words
    return f"{words}; {count - 1}{' or more' if count == WORST_MAX else ''} other{'' if count == 2 else 's'}"


def _words(pattern: Pattern, entry: Mapping[str, Any]) -> str:
    name, weight = entry["name"], entry["weight"]
    match pattern:
        case Pattern.BREAKER_OPEN:
            many = f"{weight}{' or more' if entry['more'] else ''} tasks wait"
            by = f" by {entry['by']}" if entry["by"] else ""
            return f"the breaker of resource {name} was opened{by} ({entry['reason'] or 'no reason'}): {many}"
        case Pattern.UNSERVED:
            waiter = f"; task {entry['waiter']} waits for one of them" if entry.get("waiter") else ""
            return f"{weight} or more live tasks of kind {name}, which no worker serves: start one that does{waiter}"
        case Pattern.SLOT_STARVATION:
            words = starvation_words(entry["kind"], entry["queue"], weight, entry["waiter"], entry["awaited"])
            return f"{words}: {STARVATION_REMEDY}"
        case Pattern.EXPIRED_LEASES:
            return (
                f"{weight} attempts of {kind_in_words(name)} were lost within {entry['window_seconds']:.0f} s "
                f"(tolerated: {entry['limit']}): see why workers die, or do not get to their heartbeats"
            )
        case Pattern.DEADLINE_NEAR:
            return f"lineage {name} has used {weight:.0%} of its time: {entry['left_seconds']} s are left"
        case Pattern.WAITS_FOR_NOTHING:
            return f"{entry['why']} ({name}): nothing will wake them; report it with what `ramet doctor` says"
        case _:
            money = name in ("cost", "day", "database")
            used, most = (as_usd(weight), as_usd(entry["limit"])) if money else (weight, entry["limit"])
            return f"{entry['share']:.0%} of the budget is used ({name}): {used} of {most}"


STARVATION_REMEDY = "let their handlers `return ctx.join()` instead of waiting, or start another worker"


def starvation_words(kind: str, queue: str, slots: int, waiter_id: str, awaited_id: str) -> str:
    """Return the one sentence about slots that all wait: in the alert, the doctor and explanations."""
    return (
        f"every slot ({slots}) in which tasks of kind {kind} in queue {queue} can run is held by a handler that waits "
        f"inside (task {waiter_id} for task {awaited_id})"
    )


class AlertShare(NamedTuple):
    """Part of a total: ``count`` of ``total``."""

    bad: int
    total: int


def judge_chains(at_limit: Mapping[str, AlertShare], limits: MonitorLimits) -> list[AlertFinding]:
    """Schedules whose runs stop at ``max_chain_depth`` with work left, by name: of how many of the newest runs."""
    return [
        AlertFinding(Pattern.CHAIN_LIMIT, "", {"name": name, "weight": share.bad, "limit": limits.chain_ends_max,
                                          "runs": share.total})
        for name, share in at_limit.items()
        if share.bad > limits.chain_ends_max
    ]  # fmt: skip


class FailedRuns(NamedTuple):
    """The newest ended runs of a schedule that failed, one after the other."""

    runs: int
    newest: str
    """The tracking id of the last of them; empty where there is none."""


def judge_failed_runs(by_schedule: Mapping[str, FailedRuns], limits: MonitorLimits) -> list[AlertFinding]:
    """Return schedules that have failed several times in a row, by name: a person may not look at them for weeks."""
    return [
        AlertFinding(
            Pattern.FAILED_RUNS,
            "",
            {"name": name, "weight": failed.runs, "limit": max(1, limits.failed_runs) - 1, "newest": failed.newest},
        )
        for name, failed in by_schedule.items()
        if failed.runs >= max(1, limits.failed_runs)
    ]


def judge_timeouts(by_kind: Mapping[str, int], limits: MonitorLimits) -> list[AlertFinding]:
    """Kinds of which too many tasks ended at their own deadline within the window, or all of them together."""
    return _counted(Pattern.TASK_TIMEOUTS, by_kind, limits.timeouts_max, limits)


def judge_lost(by_kind: Mapping[str, int], limits: MonitorLimits) -> list[AlertFinding]:
    """Kinds of which too many attempts were lost within the window, or all of them together."""
    return _counted(Pattern.EXPIRED_LEASES, by_kind, limits.lost_max, limits)


def _counted(pattern: Pattern, by_kind: Mapping[str, int], most: int, limits: MonitorLimits) -> list[AlertFinding]:
    over = {kind: count for kind, count in by_kind.items() if count > most}
    if not over and sum(by_kind.values()) > most:
        over = {ALL_KINDS: sum(by_kind.values())}
    return [
        AlertFinding(
            pattern, "", {"name": name, "weight": count, "limit": most, "window_seconds": limits.window_seconds}
        )
        for name, count in over.items()
    ]


def judge_lineages(by_kind: Mapping[str, AlertShare], limits: MonitorLimits) -> list[AlertFinding]:
    """Kinds of first roots of whose lineages too many of those that ended within the window failed; and all of them."""
    found = dict(by_kind)
    if len(found) > 1:
        found[ALL_KINDS] = _sum(by_kind.values())
    over = {name: _limit(share, limits.failed_share_max, limits.failed_of_min, limits.failed_max)
            for name, share in found.items()}  # fmt: skip
    return [_shared(Pattern.FAILED_LINEAGES, name, found[name], limit, limits) for name, limit in over.items() if limit]


def judge_invocations(by_schedule: Mapping[str, AlertShare], limits: MonitorLimits) -> list[AlertFinding]:
    """Schedules of whose invocations (claims of its runs' tasks) too many of the newest ended in an error."""
    over = {name: _limit(share, limits.errors_share_max, limits.errors_of_min, limits.errors_max)
            for name, share in by_schedule.items()}  # fmt: skip
    return [
        _shared(Pattern.INVOCATION_ERRORS, name, by_schedule[name], limit, limits)
        for name, limit in over.items()
        if limit
    ]


def _sum(shares: Iterable[AlertShare]) -> AlertShare:
    several = [*shares]
    return AlertShare(sum(share.bad for share in several), sum(share.total for share in several))


def _limit(share: AlertShare, share_max: float, of_min: int, count_max: int) -> tuple[float, str] | None:
    """Return the limit that a share is over, as a number and in words; None where it is over none."""
    limit = round(share_max * share.total, 6)
    if share.total >= of_min and share.bad > limit:
        return limit, f"{share_max:.0%} of {of_min} or more"
    return (count_max, f"{count_max}, however many there were") if share.bad > count_max else None


def _shared(
    pattern: Pattern, name: str, share: AlertShare, limit: tuple[float, str], limits: MonitorLimits
) -> AlertFinding:
    entry = {"name": name, "weight": share.bad, "of": share.total, "limit": limit[0], "tolerated": limit[1]}
    return AlertFinding(pattern, "", {**entry, "window_seconds": limits.window_seconds})
