"""The monitor's verbs: read what changed since the last look, judge it, keep alerts.

A look is a chain of bounded steps. Each first gathers without the write lock: a window of the newest tasks. Then, in
one short transaction, it judges those together with refusals whose demands nobody has seen yet; the last step also
takes revives, retries that were put off, lost leases and what is counted over many lineages, and resolves what is
over. Where a step stopped reading is written with what it found, and a step whose beginning somebody else has moved is
left to him.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ramet.model.alerts.notifications import NoticeRules
from ramet.model.alerts.rules import WORST_MAX, Alert, Finding, MonitorLimits, Pattern, judge_key
from ramet.model.money import ALL_DAYS, day_of
from ramet.store.answers import Looked
from ramet.store.maintenance.alerts import Telling, thresholds
from ramet.store.maintenance.monitor_facts import budgets, grown, shares, standing
from ramet.store.rows.blocks import BLOCK_KEY, demands_of
from ramet.store.session import Session
from ramet.store.verbs.over_ceiling import days_passed

WINDOW = 20_000
"""Tasks that one step reads."""
SUSPECTS_MAX = 500
"""Keys that one step judges, of each source."""
STORM_MAX = 10_000
"""Retries put off that one look counts; more are told as so many."""

Marks = dict[str, tuple[float, int]]
"""Where the last look stopped, by source: a moment and a task number."""


class Seen(NamedTuple):
    """What a step gathered."""

    marks: Marks
    """As they were when it began; the step is valid only while they still are."""
    newest: int
    """The task number up to which it read."""
    whole: bool
    """True when it read up to the newest task there is."""
    keys: tuple[tuple[str, str], ...]
    """(tracking_id, key) of several kinds."""
    deep: tuple[tuple[str, str, str, int], ...]
    """(tracking_id, id, kind, spawn_depth) of tasks that are too deep."""
    grown: tuple[Finding, ...] = ()
    """Lineages that these tasks brought near to a limit."""


def _marks(session: Session) -> Marks:
    return {name: (at, number) for name, at, number in session.rows("SELECT name, at, number FROM ramet_monitor")}


def _set_mark(session: Session, name: str, at: float, number: int) -> None:
    session.run(
        "INSERT INTO ramet_monitor (name, at, number) VALUES (?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET at = excluded.at, number = excluded.number",
        (name, at, number),
    )


def gather(session: Session, limits: MonitorLimits, *, force: bool = False) -> Seen | None:
    """Read the next window of new tasks; return None when no look is due."""
    marks = _marks(session)
    looked_at, _ = marks.get("look", (-1e18, 0))
    # A clock that was set back must not silence the monitor until it has caught up.
    if not force and looked_at <= session.now < looked_at + limits.seconds:
        return None
    _, last = marks.get("tasks", (0.0, 0))
    [(newest,)] = session.rows("SELECT COALESCE(MAX(seq), 0) FROM ramet_tasks")
    end = min(newest, last + WINDOW)
    rows = session.rows(
        "SELECT t.seq, t.tracking_id, t.key, t.id, t.kind, t.spawn_depth FROM ramet_tasks t "
        "WHERE t.seq > ? AND t.seq <= ? AND (t.spawn_depth > ? OR ((SELECT COUNT(*) FROM ramet_identities i "
        # What was handed on is no further demand: a pipeline of many stages is not judged task by task.
        "WHERE i.key = t.key AND i.tracking_id = t.tracking_id) > ? AND (SELECT COUNT(*) FROM ramet_identities i "
        "JOIN ramet_tasks c ON c.seq = i.seq LEFT JOIN ramet_tasks p ON p.id = c.parent_id WHERE i.key = t.key "
        "AND i.tracking_id = t.tracking_id AND (p.key IS NULL OR p.key <> t.key)) > ?)) ORDER BY t.seq LIMIT ?",
        (last, end, limits.depth_max, limits.key_demands_max, limits.key_demands_max, SUSPECTS_MAX),
    )
    if len(rows) == SUSPECTS_MAX:
        end = rows[-1][0]
    return Seen(
        marks,
        end,
        end >= newest,
        tuple(sorted({(tracking_id, key) for _, tracking_id, key, _, _, _ in rows})),
        tuple((tracking_id, task_id, kind, depth) for _, tracking_id, _, task_id, kind, depth in rows
              if depth > limits.depth_max),
        tuple(grown(session, last, end, limits)),
    )  # fmt: skip


def judge(session: Session, seen: Seen, limits: MonitorLimits, rules: NoticeRules) -> Looked:
    """Judge what was gathered and what only the write lock shows exactly; store the alerts."""
    if _marks(session) != seen.marks:
        return Looked(ran=False)
    _set_mark(session, "tasks", session.now, seen.newest)
    unseen = session.rows(
        "SELECT tracking_id, kind, key, reason FROM ramet_blocks WHERE demands > demands_seen LIMIT ?", (SUSPECTS_MAX,)
    )
    revived, all_revived = _revived(session, seen.marks)
    keys = {*seen.keys, *((tracking_id, key) for tracking_id, _, key, _ in unseen), *revived}
    found = [
        Finding(Pattern.DEEP_SPAWN, tracking_id,
                {"name": task_id, "weight": depth, "limit": limits.depth_max, "kind": kind})
        for tracking_id, task_id, kind, depth in seen.deep
    ]  # fmt: skip
    found += seen.grown
    own = thresholds(session) if keys else {}
    for (tracking_id, _), demands in demands_of(session, keys).items():
        found += judge_key(tracking_id, demands, limits, own)
    session.update("ramet_blocks", ("demands_seen = demands",), BLOCK_KEY, unseen)
    more = not seen.whole or len(unseen) == SUSPECTS_MAX or not all_revived
    telling = Telling(session, rules)
    over: tuple[Alert, ...] = ()
    if more:
        fired = telling.tell(found)
    else:
        found += [*_storms(session, seen.marks, limits), *_over_ceilings(session), *budgets(session, limits)]
        now = [*_lost_leases(session, limits), *shares(session, limits), *standing(session, limits)]
        fired = telling.tell([*found, *now])
        _set_mark(session, "look", session.now, 0)
        over = telling.resolve(limits, {finding.pattern for finding in now})
    telling.outbox.write()
    return Looked(True, more, fired, over)


def _revived(session: Session, marks: Marks) -> tuple[set[tuple[str, str]], bool]:
    """Identities of tasks revived since the last look, and whether these are all."""
    at, number = marks.get("revives", (-1e18, 0))
    if at > session.now:
        at, number = -1e18, 0
    rows = session.rows(
        "SELECT r.at, r.seq, t.tracking_id, t.key FROM ramet_transitions r JOIN ramet_tasks t ON t.seq = r.seq "
        "WHERE r.name = 'revive' AND (r.at, r.seq) > (?, ?) ORDER BY r.at, r.seq LIMIT ?",
        (at, number, SUSPECTS_MAX),
    )
    if rows:
        _set_mark(session, "revives", rows[-1][0], rows[-1][1])
    return {(tracking_id, key) for _, _, tracking_id, key in rows}, len(rows) < SUSPECTS_MAX


def _storms(session: Session, marks: Marks, limits: MonitorLimits) -> list[Finding]:
    """Lineages of which retries were put off since the last look."""
    since, _ = marks.get("look", (-1e18, 0))
    if since > session.now:
        since = session.now - limits.seconds
    rows = session.rows(
        "SELECT a.tracking_id, COUNT(*), MAX(a.ended_at) FROM (SELECT tracking_id, ended_at FROM ramet_attempts "
        "WHERE reason = 'retry_storm' AND ended_at >= ? ORDER BY ended_at LIMIT ?) a GROUP BY a.tracking_id",
        (since, STORM_MAX),
    )
    listed, values = session.members(sorted(tracking_id for tracking_id, _, _ in rows))
    bounds: dict[str, int] = {}
    if rows:
        bounds = dict(
            session.rows(
                f"SELECT tracking_id, retries_per_minute FROM ramet_lineages WHERE tracking_id {listed}", (values,)
            )
        )
    return [
        Finding(Pattern.RETRY_STORM, tracking_id,
                {"name": f"until {last:.0f}", "weight": count, "limit": bounds.get(tracking_id, 0), "until": last})
        for tracking_id, count, last in rows
        if count > limits.storm_max
    ]  # fmt: skip


def _lost_leases(session: Session, limits: MonitorLimits) -> list[Finding]:
    rows: list[tuple[Any, ...]] = session.rows(
        "SELECT t.id, l.kind, l.lease_until, l.worker, l.tracking_id FROM ramet_live l "
        "JOIN ramet_tasks t ON t.seq = l.seq WHERE l.state = 'processing' AND l.lease_until <= ? "
        "ORDER BY l.lease_until LIMIT ?",
        (session.now - limits.grace_seconds, WORST_MAX),
    )
    return [
        Finding(Pattern.LOST_LEASE, "", {
            "name": task_id, "weight": round(session.now - until), "limit": limits.grace_seconds, "kind": kind,
            "worker": worker, "tracking_id": tracking_id,
        })
        for task_id, kind, until, worker, tracking_id in rows
    ]  # fmt: skip


def _over_ceilings(session: Session) -> list[Finding]:
    """Lineages that run although they have spent more than they may; the day and the database, while they have."""
    rows: list[tuple[Any, ...]] = session.rows(
        "SELECT tracking_id, spent, max_cost FROM ramet_lineages INDEXED BY ramet_lineages_over "
        "WHERE spent > max_cost AND live > 0 LIMIT ?",
        (SUSPECTS_MAX,),
    )
    found = [
        Finding(Pattern.OVER_CEILING, tracking_id, {"name": "lineage", "weight": spent, "limit": most})
        for tracking_id, spent, most in rows
    ]
    for day, ceiling in days_passed(session).items():
        if day in (ALL_DAYS, day_of(session.now)):
            name = "database" if day == ALL_DAYS else "day"
            found.append(
                Finding(Pattern.OVER_CEILING, "", {"name": name, "weight": ceiling.spent, "limit": ceiling.most})
            )
    return found


def prune_alerts(session: Session, before: float, limit: int) -> int:
    """Delete resolved alerts in which nothing happened since a moment; those of pruned lineages go with them."""
    listed, values = session.members(
        alert_id
        for (alert_id,) in session.rows(
            "SELECT id FROM ramet_alerts WHERE state = 'resolved' AND last_at < ? ORDER BY last_at LIMIT ?",
            (before, limit),
        )
    )
    return session.run(f"DELETE FROM ramet_alerts WHERE id {listed}", (values,))
