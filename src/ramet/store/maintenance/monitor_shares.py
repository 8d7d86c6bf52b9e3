"""What the monitor counts over many lineages: each look reads a bounded number of the newest rows, by an index."""

from __future__ import annotations

from itertools import takewhile
from operator import itemgetter

from ramet.model.alerts.lineage_shares import (
    FailedRuns,
    Share,
    judge_chains,
    judge_failed_runs,
    judge_invocations,
    judge_lineages,
    judge_timeouts,
)
from ramet.model.alerts.rules import Finding, MonitorLimits
from ramet.store.session import Session

COUNTED_MAX = 10_000
"""Ends that one look counts, of each sort; more are told as so many."""
RUNS_MAX = 100
"""Newest runs of a schedule whose invocations count."""
SLOTS_MAX = 1_000
"""Newest slots among which a schedule's runs are looked for: the others were skipped or missed."""


def shares(session: Session, limits: MonitorLimits) -> list[Finding]:
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
) -> tuple[dict[str, Share], dict[str, Share], dict[str, FailedRuns]]:
    """By schedule: runs that stopped at the limit of their chain, invocations that ended in an error, failed runs."""
    chains: dict[str, Share] = {}
    invocations: dict[str, Share] = {}
    failed: dict[str, FailedRuns] = {}
    for (name,) in session.rows("SELECT name FROM ramet_schedules WHERE state = 'active' ORDER BY name"):
        runs = session.rows(
            "SELECT t.seq, t.state, t.reason FROM (SELECT tracking_id, outcome, slot_at FROM ramet_slots "
            "WHERE schedule = ? ORDER BY slot_at DESC LIMIT ?) s JOIN ramet_tasks t ON t.tracking_id = s.tracking_id "
            "AND t.spawn_depth = 0 WHERE s.outcome IN ('run', 'manual') ORDER BY s.slot_at DESC LIMIT ?",
            (name, SLOTS_MAX, max(RUNS_MAX, limits.chain_runs)),
        )
        ended = [reason or "" for _, state, reason in runs if state is not None][: limits.chain_runs]
        chains[name] = Share(sum(reason.startswith("chain_depth:") for reason in ended), len(ended))
        invocations[name] = _invocations(session, [seq for seq, _, _ in runs[:RUNS_MAX]])
        failed[name] = _failed_runs(session, name, max(RUNS_MAX, limits.failed_runs))
    return chains, invocations, failed


def _failed_runs(session: Session, schedule: str, most: int) -> FailedRuns:
    """A run failed when its deadline ended it, or when tasks of it are failed. What a person cancelled is no run."""
    runs = session.rows(
        "SELECT l.tracking_id, CASE WHEN l.state = 'failed' OR l.failed > 0 THEN 1 ELSE 0 END FROM (SELECT "
        "tracking_id, outcome, slot_at FROM ramet_slots WHERE schedule = ? ORDER BY slot_at DESC LIMIT ?) s "
        "JOIN ramet_lineages l ON l.tracking_id = s.tracking_id WHERE s.outcome IN ('run', 'manual') "
        "AND l.state IN ('finished', 'failed') ORDER BY s.slot_at DESC LIMIT ?",
        (schedule, SLOTS_MAX, most),
    )
    in_a_row = [tracking_id for tracking_id, _ in takewhile(itemgetter(1), runs)]
    return FailedRuns(len(in_a_row), in_a_row[0] if in_a_row else "")


def _invocations(session: Session, seqs: list[int]) -> Share:
    if not seqs:
        return Share(0, 0)
    listed, values = session.members(seqs)
    counts: dict[str, int] = dict(
        session.rows(
            f"SELECT outcome, COUNT(*) FROM ramet_attempts WHERE seq IN {listed} AND seq BETWEEN ? AND ? "
            "AND outcome <> 'returned' GROUP BY outcome",
            (values, min(seqs), max(seqs)),
        )
    )
    return Share(counts.get("error", 0) + counts.get("lost", 0), sum(counts.values()))


def _timeouts(session: Session, limits: MonitorLimits) -> dict[str, int]:
    """Tasks that a deadline of their own ended, by kind: by an attempt's outcome, or while they waited."""
    since = session.now - limits.window_seconds
    return dict(
        session.rows(
            "SELECT t.kind, COUNT(*) FROM (SELECT a.seq FROM (SELECT seq FROM ramet_attempts "
            "WHERE substr(reason, 1, 13) = 'task_deadline' AND ended_at > ? ORDER BY ended_at DESC LIMIT ?) a "
            "UNION SELECT r.seq FROM (SELECT seq FROM ramet_transitions WHERE name = 'task_deadline' AND at > ? "
            "ORDER BY at DESC LIMIT ?) r) e JOIN ramet_tasks t ON t.seq = e.seq GROUP BY t.kind",
            (since, COUNTED_MAX, since, COUNTED_MAX),
        )
    )


def _lineages(session: Session, limits: MonitorLimits) -> dict[str, Share]:
    """Lineages that ended, by the kind of their first root. Those that a person cancelled count nowhere."""
    rows = session.rows(
        "SELECT e.kind, COUNT(*), SUM(e.failed) FROM (SELECT (SELECT t.kind FROM ramet_tasks t "
        "WHERE t.tracking_id = l.tracking_id ORDER BY t.spawn_depth, t.seq LIMIT 1) AS kind, "
        "CASE WHEN l.state = 'failed' OR (l.success = 0 AND l.failed > 0) THEN 1 ELSE 0 END AS failed FROM (SELECT "
        "tracking_id, state, success, failed FROM ramet_lineages WHERE ended_at IS NOT NULL AND ended_at > ? "
        "ORDER BY ended_at DESC LIMIT ?) l WHERE l.state IN ('finished', 'failed')) e GROUP BY e.kind",
        (session.now - limits.window_seconds, COUNTED_MAX),
    )
    return {kind or "": Share(int(failed), total) for kind, total, failed in rows}
