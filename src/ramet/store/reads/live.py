"""Reads of what is live at one moment, which stop at a bound, however large the database.

Counts look at one entry more than they count, so that they know whether there is more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ramet.model.lineage.lineage import LineageState
from ramet.model.task.task import LIVE, TaskState, Wait
from ramet.model.views import CLAIMABLE, COUNT_MAX, BoundedCount, LiveCounts, ProblemCounts
from ramet.store.reads.tasks import next_due_at
from ramet.store.rows.tallies import ended_since
from ramet.store.rows.workers import workers
from ramet.store.session import Row, Session

CLASSES_MAX = 100
"""Most classes (a queue, a kind, a rank) that are compared for the task that waits for longest."""
RESOURCES_MAX = 20
"""Most resources that are compared, those that are due for a look for longest."""
RECENT_SECONDS = 3_600.0
"""Age up to which a failure is recent."""
FIRST_IN_LINE = 100
"""First tasks of each class that are compared: turns are fair, so the oldest is not always the first."""

_WAITING: dict[str, str] = {
    CLAIMABLE: "SELECT 1 FROM ramet_live INDEXED BY ramet_live_claimable WHERE state = 'pending' AND wait IS NULL",
    Wait.DUE: "SELECT 1 FROM ramet_live WHERE wait = 'due'",
    Wait.TICKET: "SELECT 1 FROM ramet_live WHERE wait = 'ticket'",
    Wait.RESOURCE: "SELECT 1 FROM ramet_live INDEXED BY ramet_live_by_resource "
    "WHERE wait = 'resource' AND state = 'pending'",
    Wait.LINEAGE: "SELECT 1 FROM ramet_live WHERE wait = 'lineage'",
    Wait.BOUND: "SELECT 1 FROM ramet_live WHERE bound_to IS NOT NULL",
    Wait.PAUSED: "SELECT 1 FROM ramet_live WHERE wait = 'paused'",
    Wait.TASKS: "SELECT 1 FROM ramet_waits INDEXED BY ramet_waits_open WHERE waiting = 1",
}


def counted(session: Session, rows: str, parameters: Sequence[Any] = (), most: int = COUNT_MAX) -> BoundedCount:
    """Return the number of rows of a SELECT, up to a bound."""
    [(number,)] = session.rows(f"SELECT COUNT(*) FROM ({rows} LIMIT ?) c", (*parameters, most + 1))
    return BoundedCount(min(number, most), number > most)


class LeftWork(NamedTuple):
    """Pending tasks of some kinds, counted up to a bound."""

    due: int
    """They could be claimed now."""
    delayed: int
    next_due_at: float | None
    """Moment at which the first of the delayed ones is due, Unix seconds."""


def left_work(session: Session, kinds: Sequence[str]) -> LeftWork:
    """Return what is pending of these kinds, in any queue: what is due, and what will be."""
    listed, values = session.members(kinds)
    waiting = counted(session, f"{_WAITING[CLAIMABLE]} AND kind {listed}", (values,))
    rows = session.rows(
        f"SELECT available_at FROM ramet_live WHERE wait = 'due' AND kind {listed} ORDER BY available_at LIMIT ?",
        (values, COUNT_MAX),
    )
    later = [float(at) for (at,) in rows if at > session.now]
    return LeftWork(waiting.number + len(rows) - len(later), len(later), later[0] if later else None)


def present(session: Session) -> LiveCounts:
    """Return what is live and what it waits for, counted up to a bound."""
    processing, stale, lease_until, claimed_at = _claim_counts(session)
    waiting = _oldest(session)
    firing, opened = _alerts_and_breakers(session)
    return LiveCounts(
        at=session.now,
        processing=processing,
        stale=stale,
        oldest_lease_until=lease_until,
        oldest_claimed_at=claimed_at,
        waits={str(wait): counted(session, rows) for wait, rows in _WAITING.items()}
        | {str(Wait.PATH): _waiting_on_paths(session)},
        oldest_waiting_at=None if waiting is None else waiting[0],
        oldest_waiting=None if waiting is None else id_of(session, waiting[1]),
        lineages={
            state.value: counted(session, "SELECT 1 FROM ramet_lineages WHERE state = ?", (state.value,))
            for state in LineageState
        },
        workers_alive=sum(worker.alive for worker in workers(session)),
        alerts_firing=firing,
        breakers_open=opened,
        next_due_at=next_due_at(session),
        joined=_joined(session),
    )


def problem_counts(session: Session) -> ProblemCounts:
    """Return what is wrong now: four bounded counts, cheap enough for every page."""
    firing, opened = _alerts_and_breakers(session)
    return ProblemCounts(
        failed=ended_since(session, "failed", session.now - RECENT_SECONDS),
        alerts_firing=firing,
        stale=_claim_counts(session)[1],
        breakers_open=opened,
    )


def state_counts(session: Session) -> dict[str, BoundedCount]:
    """Return how many tasks are in each state but success, which no index counts; each up to a bound."""
    tables = {state: "ramet_live" if state in LIVE else "ramet_unsuccessful" for state in TaskState}
    return {
        state.value: counted(session, f"SELECT 1 FROM {table} WHERE state = ?", (state.value,))
        for state, table in tables.items()
        if state is not TaskState.SUCCESS
    }


def _alerts_and_breakers(session: Session) -> tuple[int, int]:
    """Return the numbers of firing alerts and of open breakers."""
    firing = counted(session, "SELECT 1 FROM ramet_alerts WHERE state = 'firing'")
    opened = counted(session, "SELECT 1 FROM ramet_resources WHERE opened_at IS NOT NULL")
    return firing.number, opened.number


def _claim_counts(session: Session) -> Row:
    """Return the number of claims, the number of stale ones, the first end of a lease and the first claim."""
    [found] = session.rows(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN lease_until <= ? THEN 1 ELSE 0 END), 0), MIN(lease_until), "
        "MIN(claimed_at) FROM (SELECT lease_until, claimed_at FROM ramet_live INDEXED BY ramet_live_by_depth "
        "WHERE state = 'processing' LIMIT ?) c",
        (session.now, COUNT_MAX),
    )
    return found


def _waiting_on_paths(session: Session) -> BoundedCount:
    """Tasks behind others on their paths. Some with a ticket are not due yet, and wait for that."""
    [(looked_at, number)] = session.rows(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN l.wait = 'path' THEN 1 ELSE 0 END), 0) FROM (SELECT seq FROM "
        "ramet_paths INDEXED BY ramet_paths_waiting WHERE waits_on IS NOT NULL LIMIT ?) p "
        "JOIN ramet_live l ON l.seq = p.seq",
        (COUNT_MAX + 1,),
    )
    return BoundedCount(min(number, COUNT_MAX), looked_at > COUNT_MAX)


def _joined(session: Session) -> dict[str, int]:
    """Tasks that wait for other tasks, by kind."""
    return dict(
        session.rows(
            "SELECT l.kind, COUNT(*) FROM (SELECT seq FROM ramet_waits INDEXED BY ramet_waits_open "
            "WHERE waiting = 1 LIMIT ?) w "
            "JOIN ramet_live l ON l.seq = w.seq GROUP BY l.kind",
            (COUNT_MAX,),
        )
    )


def id_of(session: Session, seq: int) -> str | None:
    """Return the id of the task of this number."""
    found = session.rows("SELECT id FROM ramet_tasks WHERE seq = ?", (seq,))
    return found[0][0] if found else None


def _oldest(session: Session) -> tuple[float, int] | None:
    """Since when the longest waiting task of those that are first in their lines waits, and its number."""
    found: list[tuple[float, int]] = []
    for queue, kind, rank in classes(session):
        found += first_in_line(
            session, "state = 'pending' AND wait IS NULL AND queue = ? AND kind = ? AND rank = ?", (queue, kind, rank)
        )
    for (name,) in session.rows(
        "SELECT name FROM ramet_resources WHERE ready_at <= ? ORDER BY ready_at LIMIT ?", (session.now, RESOURCES_MAX)
    ):
        found += first_in_line(session, "wait = 'resource' AND state = 'pending' AND resource = ?", (name,), "rank, ")
    return min(found, default=None)


def first_in_line(
    session: Session, where: str, parameters: Sequence[Any], before_turn: str = ""
) -> list[tuple[float, int]]:
    """Since when the longest waiting of the first live tasks that are so waits, and its number; none of none."""
    rows = session.rows(
        f"SELECT available_at, seq FROM (SELECT available_at, seq FROM ramet_live WHERE {where} "
        f"ORDER BY {before_turn}turn, seq LIMIT ?) c ORDER BY available_at, seq LIMIT 1",
        (*parameters, FIRST_IN_LINE),
    )
    return [(at, seq) for at, seq in rows]


def classes(session: Session) -> list[tuple[str, str, int]]:
    """Return the queue, kind and rank of tasks that could be claimed: one look into their index for each."""
    found: list[tuple[str, str, int]] = []
    at = ("", "", 0)  # Before every queue: none has an empty name.
    while len(found) < CLASSES_MAX:
        rows = session.rows(
            "SELECT queue, kind, rank FROM ramet_live INDEXED BY ramet_live_claimable "
            "WHERE state = 'pending' AND wait IS NULL "
            "AND (queue, kind, rank) > (?, ?, ?) ORDER BY queue, kind, rank LIMIT 1",
            at,
        )
        if not rows:
            break
        [at] = rows
        found.append(at)
    return found
