"""Facts that the monitor reads: the present (breakers, budgets, deadlines, waits) and shares over many lineages.

Every part walks an index of what is live and suspicious, up to a bound; none depends on how much ended before.
"""

from __future__ import annotations

from itertools import takewhile
from operator import itemgetter
from typing import Any

from ramet.model.alerts.rules import (
    WORST_MAX,
    AlertFinding,
    AlertShare,
    FailedRuns,
    MonitorLimits,
    Pattern,
    budget_finding,
    deadline_findings,
    judge_chains,
    judge_failed_runs,
    judge_invocations,
    judge_lineages,
    judge_lost,
    judge_timeouts,
)
from ramet.model.money import ALL_DAYS, DAY_SETTING, GLOBAL_SETTING, day_of
from ramet.store.reads.flow import unserved
from ramet.store.reads.handler_waits import starved
from ramet.store.reads.live import counted
from ramet.store.rows.lineages import queue_offsets
from ramet.store.rows.paths import REPAIRS_COUNTER
from ramet.store.rows.workers import workers
from ramet.store.session import Session
from ramet.store.verbs.bound import ended_settlers

COUNTED_MAX = 10_000
LINEAGES_MAX = 2_000
"""Open lineages with the soonest deadlines that one look reads."""
NAMES_MAX = 500
ALERTED = "NOT EXISTS (SELECT 1 FROM ramet_alert_thresholds h WHERE h.kind = t.kind AND h.demands IS NULL)"
"""Condition on a task `t` that its kind does not declare that it is never alerted about."""


def current_findings(session: Session, limits: MonitorLimits) -> list[AlertFinding]:
    """Return everything that is over a limit now, found again at every look."""
    return [
        *_breakers(session),
        *_unserved(session),
        *_starved(session),
        *_expired(session, limits),
        *_deadlines(session, limits),
        *_waits(session, limits),
    ]


def _breakers(session: Session) -> list[AlertFinding]:
    """Resources that are switched off: by whom, why, and how much waits for them."""
    rows: list[tuple[Any, ...]] = session.rows(
        "SELECT name, opened_at, opened_by, opened_reason FROM ramet_resources WHERE opened_at IS NOT NULL "
        "ORDER BY opened_at LIMIT ?",
        (NAMES_MAX,),
    )
    found = []
    for name, at, by, reason in rows:
        waits = counted(
            session,
            "SELECT 1 FROM ramet_live INDEXED BY ramet_live_by_resource "
            "WHERE wait = 'resource' AND state = 'pending' AND resource = ?",
            (name,),
        )
        entry = {"name": name, "weight": waits.number, "limit": 0, "more": waits.more, "opened_at": at, "by": by,
                 "reason": reason}  # fmt: skip
        found.append(AlertFinding(Pattern.BREAKER_OPEN, "", entry))
    return found


def _unserved(session: Session) -> list[AlertFinding]:
    """Kinds with live tasks that no living worker serves.

    Where no worker lives at all, this look is not a worker's: programs that pull, or a test, do the work.
    """
    if not any(worker.alive for worker in workers(session)):
        return []
    return [
        AlertFinding(Pattern.UNSERVED, "", {"name": f"{one.kind} in queue {one.queue}", "weight": one.tasks, "limit": 0,
                                       "kind": one.kind, "queue": one.queue, "waiter": one.waiter})
        for one in unserved(session)
    ]  # fmt: skip


def _starved(session: Session) -> list[AlertFinding]:
    """Kinds whose every slot is held by a handler that waits inside for a pending task."""
    return [
        AlertFinding(Pattern.SLOT_STARVATION, "", {
            "name": f"{one.kind} in queue {one.queue}", "weight": one.slots, "limit": 0, "kind": one.kind,
            "queue": one.queue, "waiter": one.waiter_id, "awaited": one.awaited_id, "since": one.since,
        })
        for one in starved(session)
    ]  # fmt: skip


def _expired(session: Session, limits: MonitorLimits) -> list[AlertFinding]:
    """Kinds of which many attempts were lost within the window: their leases expired."""
    rows: list[tuple[str, int]] = session.rows(
        "SELECT t.kind, COUNT(*) FROM (SELECT seq FROM ramet_attempts WHERE outcome = 'lost' AND ended_at > ? "
        "ORDER BY ended_at DESC LIMIT ?) a JOIN ramet_tasks t ON t.seq = a.seq GROUP BY t.kind",
        (session.now - limits.window_seconds, COUNTED_MAX),
    )
    return judge_lost(dict(rows), limits)


def _deadlines(session: Session, limits: MonitorLimits) -> list[AlertFinding]:
    """Lineages that have used up most of their time, among those whose deadline is next."""
    offsets = queue_offsets(session)
    rows: list[tuple[Any, ...]] = session.rows(
        "SELECT g.tracking_id, g.queue, g.created_at, g.deadline_at, g.live FROM ramet_lineages g "
        "INDEXED BY ramet_lineages_open WHERE g.state IN ('running', 'paused') ORDER BY g.deadline_at LIMIT ?",
        (LINEAGES_MAX,),
    )
    ends = {
        tracking_id: (created_at, deadline_at + offsets.get(queue, 0.0))
        for tracking_id, queue, created_at, deadline_at, live in rows
        if live > 0
    }
    return deadline_findings(ends, session.now, limits.budget_share)


def _waits(session: Session, limits: MonitorLimits) -> list[AlertFinding]:
    """Find tasks that wait for what is gone, so that nothing wakes them."""
    found: list[tuple[str, str]] = []
    for settler in ended_settlers(session, WORST_MAX):
        rows = session.rows(
            "SELECT 1 FROM ramet_tasks WHERE id = ? AND finished_at > ?", (settler, session.now - limits.grace_seconds)
        )
        if not rows:
            found.append((settler, "tasks are bound to it, and it ended"))
    for (name,) in _resources_asleep(session):
        found.append((name, "tasks wait for this resource, and no claim looks at it"))
    for (tracking_id,) in _lineages_awake(session):
        found.append((tracking_id, "tasks wait until this lineage runs, and it does"))
    waits = [AlertFinding(Pattern.WAITS_FOR_NOTHING, "", {"name": name, "weight": 1, "limit": 0, "why": why})
             for name, why in found]  # fmt: skip
    for (count,) in session.rows("SELECT value FROM ramet_counters WHERE name = ? AND value > 0", (REPAIRS_COUNTER,)):
        seen = session.rows("SELECT number FROM ramet_monitor WHERE name = ?", (REPAIRS_COUNTER,))
        if count > (seen[0][0] if seen else 0):
            entry = {"name": "paths", "weight": count, "limit": 0, "why": "tasks waited for one that was gone"}
            waits.append(AlertFinding(Pattern.WAITS_FOR_NOTHING, "", entry))
        session.run(
            "INSERT INTO ramet_monitor (name, at, number) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "at = excluded.at, number = excluded.number",
            (REPAIRS_COUNTER, session.now, count),
        )
    return waits


def _resources_asleep(session: Session) -> list[tuple[str]]:
    """Resources for which tasks wait although no claim looks at them; one probe of the index for each resource."""
    first = (
        "SELECT MIN(resource) FROM ramet_live INDEXED BY ramet_live_by_resource WHERE wait = 'resource' "
        "AND state = 'pending'"
    )
    return session.rows(
        f"WITH RECURSIVE named (name) AS ({first} UNION ALL SELECT ({first} AND resource > named.name) FROM named "
        "WHERE named.name IS NOT NULL) SELECT n.name FROM named n LEFT JOIN ramet_resources r ON r.name = n.name "
        "WHERE n.name IS NOT NULL AND r.ready_at IS NULL LIMIT ?",
        (WORST_MAX,),
    )


def _lineages_awake(session: Session) -> list[tuple[str]]:
    """Find running lineages whose tasks wait until they run, and which are not being freed."""
    return session.rows(
        "WITH RECURSIVE aside (id) AS (SELECT MIN(tracking_id) FROM ramet_live WHERE wait = 'lineage' UNION ALL "
        "SELECT (SELECT MIN(tracking_id) FROM ramet_live WHERE wait = 'lineage' AND tracking_id > aside.id) FROM aside "
        "WHERE aside.id IS NOT NULL) SELECT g.tracking_id FROM aside a JOIN ramet_lineages g ON g.tracking_id = a.id "
        "LEFT JOIN ramet_queues q ON q.name = g.queue AND q.paused_at IS NOT NULL "
        "WHERE g.state = 'running' AND g.sweep = 0 AND q.name IS NULL LIMIT ?",
        (WORST_MAX,),
    )


# --- budgets --------------------------------------------------------------------------------------------------------


def budgets(session: Session, limits: MonitorLimits) -> list[AlertFinding]:
    """Money of running lineages, of the day and of the database that is nearly used up."""
    rows: list[tuple[str, int, int]] = session.rows(
        "SELECT tracking_id, spent + reserved, COALESCE(soft_cost, max_cost) FROM ramet_lineages "
        "INDEXED BY ramet_lineages_spending WHERE state IN ('running', 'paused') "
        # Spending beyond the ceiling is reported as such.
        "AND 2 * (spent + reserved) >= COALESCE(soft_cost, max_cost) AND (max_cost IS NULL OR spent <= max_cost) "
        "LIMIT ?",
        (NAMES_MAX,),
    )
    found = [budget_finding(tracking_id, "cost", used, most, limits) for tracking_id, used, most in rows]
    most = {
        key: int(value)
        for key, value in session.rows(
            "SELECT key, value FROM ramet_settings WHERE key IN (?, ?) AND value <> 'null'",
            (DAY_SETTING, GLOBAL_SETTING),
        )
    }
    for day, name, setting in ((ALL_DAYS, "database", GLOBAL_SETTING), (day_of(session.now), "day", DAY_SETTING)):
        if setting in most:
            for (used,) in session.rows(
                "SELECT spent + reserved FROM ramet_spend WHERE day = ? AND spent <= ?", (day, most[setting])
            ):
                found.append(budget_finding("", name, used, most[setting], limits))
    return [finding for finding in found if finding is not None]


def grown(session: Session, first: int, last: int, limits: MonitorLimits) -> list[AlertFinding]:
    """Return lineages that spawned tasks of this window brought near to their limit of tasks or depth.

    A caller that submits roots knows how many there are, and may have set the limit to just that: it is not a sign of
    growth. Nor is it one for kinds that are never alerted about.
    """
    rows: list[tuple[Any, ...]] = session.rows(
        "SELECT t.tracking_id, MAX(t.spawn_depth), MAX(g.tasks), MAX(g.max_tasks), MAX(g.max_spawn_depth) "
        "FROM ramet_tasks t JOIN ramet_lineages g ON g.tracking_id = t.tracking_id WHERE t.seq > ? AND t.seq <= ? "
        f"AND t.spawn_depth > 0 AND {ALERTED} AND g.live > 0 AND ((g.max_tasks >= ? AND g.tasks >= ? * g.max_tasks) "
        "OR (g.max_spawn_depth >= ? AND t.spawn_depth >= ? * g.max_spawn_depth)) GROUP BY t.tracking_id LIMIT ?",
        (first, last, limits.budget_of_min, limits.budget_share, limits.budget_of_min, limits.budget_share, NAMES_MAX),
    )
    found = []
    for tracking_id, depth, tasks, max_tasks, max_depth in rows:
        for name, used, most in (("tasks", tasks, max_tasks), ("depth", depth, max_depth)):
            if most >= limits.budget_of_min:
                found.append(budget_finding(tracking_id, name, used, most, limits))
    return [finding for finding in found if finding is not None]


RUNS_MAX = 100
"""Newest runs of a schedule whose invocations count."""
SLOTS_MAX = 1_000
"""Newest slots among which a schedule's runs are looked for: the others were skipped or missed."""


def shares(session: Session, limits: MonitorLimits) -> list[AlertFinding]:
    """Everything that is over a limit now."""
    chains, invocations, failed = _schedules(session, limits)
    return [
        *judge_chains(chains, limits),
        *judge_failed_runs(failed, limits),
        *judge_timeouts(_timeouts(session, limits), limits),
        *judge_lineages(_lineages(session, limits), limits),
        *judge_invocations(invocations, limits),
    ]


def _schedules(
    session: Session, limits: MonitorLimits
) -> tuple[dict[str, AlertShare], dict[str, AlertShare], dict[str, FailedRuns]]:
    """By schedule: runs that stopped at the limit of their chain, invocations that ended in an error, failed runs."""
    chains: dict[str, AlertShare] = {}
    invocations: dict[str, AlertShare] = {}
    failed: dict[str, FailedRuns] = {}
    for (name,) in session.rows("SELECT name FROM ramet_schedules WHERE state = 'active' ORDER BY name"):
        runs = session.rows(
            "SELECT t.seq, t.state, t.reason FROM (SELECT tracking_id, outcome, slot_at FROM ramet_slots "
            "WHERE schedule = ? ORDER BY slot_at DESC LIMIT ?) s JOIN ramet_tasks t ON t.tracking_id = s.tracking_id "
            "AND t.spawn_depth = 0 WHERE s.outcome IN ('run', 'manual') ORDER BY s.slot_at DESC LIMIT ?",
            (name, SLOTS_MAX, max(RUNS_MAX, limits.chain_runs)),
        )
        ended = [reason or "" for _, state, reason in runs if state is not None][: limits.chain_runs]
        chains[name] = AlertShare(sum(reason == "chain_depth" for reason in ended), len(ended))
        invocations[name] = _invocations(session, [seq for seq, _, _ in runs[:RUNS_MAX]])
        failed[name] = _failed_runs(session, name, max(RUNS_MAX, limits.failed_runs))
    return chains, invocations, failed


def _failed_runs(session: Session, schedule: str, most: int) -> FailedRuns:
    """Find failed runs: those whose deadline ended them, or that have failed tasks. A run that a person cancelled does
    not count.
    """
    runs = session.rows(
        "SELECT l.tracking_id, CASE WHEN l.state = 'failed' OR l.failed > 0 THEN 1 ELSE 0 END FROM (SELECT "
        "tracking_id, outcome, slot_at FROM ramet_slots WHERE schedule = ? ORDER BY slot_at DESC LIMIT ?) s "
        "JOIN ramet_lineages l ON l.tracking_id = s.tracking_id WHERE s.outcome IN ('run', 'manual') "
        "AND l.state IN ('finished', 'failed') ORDER BY s.slot_at DESC LIMIT ?",
        (schedule, SLOTS_MAX, most),
    )
    in_a_row = [tracking_id for tracking_id, _ in takewhile(itemgetter(1), runs)]
    return FailedRuns(len(in_a_row), in_a_row[0] if in_a_row else "")


def _invocations(session: Session, seqs: list[int]) -> AlertShare:
    if not seqs:
        return AlertShare(0, 0)
    listed, values = session.members(seqs)
    counts: dict[str, int] = dict(
        session.rows(
            f"SELECT outcome, COUNT(*) FROM ramet_attempts WHERE seq {listed} AND seq BETWEEN ? AND ? "
            "AND outcome <> 'returned' GROUP BY outcome",
            (values, min(seqs), max(seqs)),
        )
    )
    return AlertShare(counts.get("error", 0) + counts.get("lost", 0), sum(counts.values()))


def _timeouts(session: Session, limits: MonitorLimits) -> dict[str, int]:
    """Tasks that a deadline of their own ended, by kind: by an attempt's outcome, or while they waited."""
    since = session.now - limits.window_seconds
    return dict(
        session.rows(
            "SELECT t.kind, COUNT(*) FROM (SELECT a.seq FROM (SELECT seq FROM ramet_attempts "
            "WHERE reason = 'task_deadline' AND ended_at > ? ORDER BY ended_at DESC LIMIT ?) a "
            "UNION SELECT r.seq FROM (SELECT seq FROM ramet_transitions WHERE name = 'task_deadline' AND at > ? "
            "ORDER BY at DESC LIMIT ?) r) e JOIN ramet_tasks t ON t.seq = e.seq GROUP BY t.kind",
            (since, COUNTED_MAX, since, COUNTED_MAX),
        )
    )


def _lineages(session: Session, limits: MonitorLimits) -> dict[str, AlertShare]:
    """Lineages that ended, by the kind of their first root. Those that a person cancelled count nowhere."""
    rows = session.rows(
        "SELECT e.kind, COUNT(*), SUM(e.failed) FROM (SELECT (SELECT t.kind FROM ramet_tasks t "
        "WHERE t.tracking_id = l.tracking_id ORDER BY t.spawn_depth, t.seq LIMIT 1) AS kind, "
        "CASE WHEN l.state = 'failed' OR (l.success = 0 AND l.failed > 0) THEN 1 ELSE 0 END AS failed FROM (SELECT "
        "tracking_id, state, success, failed FROM ramet_lineages WHERE ended_at IS NOT NULL AND ended_at > ? "
        "ORDER BY ended_at DESC LIMIT ?) l WHERE l.state IN ('finished', 'failed')) e GROUP BY e.kind",
        (session.now - limits.window_seconds, COUNTED_MAX),
    )
    return {kind or "": AlertShare(int(failed), total) for kind, total, failed in rows}
