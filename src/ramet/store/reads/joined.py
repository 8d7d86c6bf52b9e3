"""Rounds of joins: the tasks that a task has waited for, and what became of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ramet.model.reasons import block_words, restored
from ramet.model.task.joined import AwaitedTask, JoinedTask, JoinPage, JoinPlace, JoinRound, JoinTotals, JoinWait
from ramet.model.task.task import TaskState
from ramet.model.views import BoundedCount
from ramet.store.reads.live import counted
from ramet.store.session import Row, Session

PAGE = 1_000
PAGE_CHARACTERS = 4_000_000
"""Characters of results after which a page ends."""

_ROWS = (
    "SELECT a.place, a.behind, COALESCE(t.kind, a.kind), COALESCE(t.key, a.key), t.id, COALESCE(t.state, l.state), "
    "t.result, t.error, t.reason, t.reason_facts, a.reason, a.facts, a.kind, a.key FROM ramet_awaited a "
    "LEFT JOIN ramet_tasks t ON t.seq = a.awaited LEFT JOIN ramet_live l ON l.seq = a.awaited "
    "WHERE a.seq = ? AND a.round = ? AND (a.place > ? OR (a.place = ? AND a.behind > ?)) "
    "ORDER BY a.place, a.behind LIMIT ?"
)
_STATES = (
    "SELECT COALESCE(t.state, l.state), COUNT(*) FROM ramet_awaited a JOIN ramet_tasks t ON t.seq = a.awaited "
    "LEFT JOIN ramet_live l ON l.seq = a.awaited WHERE a.seq = ? AND a.round = ? AND a.behind = 0 GROUP BY 1"
)


def join_page(
    session: Session, seq: int, round_: int, after: JoinPlace | None = None, *, limit: int = PAGE
) -> JoinPage:
    """Return tasks that a task waited for in one of its rounds, in the order of their spawns.

    Args:
        seq: number of the task that joined.
        round_: which of its joins, from 1.
        after: read on behind this place.
        limit: how many at most, up to 1,000; a page of large results is shorter.
    """
    place, behind = (-1, -1) if after is None else after
    limit = min(limit, PAGE)
    found = session.rows(_ROWS, (seq, round_, place, place, behind, limit + 1))
    rows: list[JoinedTask] = []
    characters = 0
    for row in found[:limit]:
        characters += len(row[6] or "")
        if rows and characters > PAGE_CHARACTERS:
            break
        rows.append(_joined(row))
    more = len(found) > len(rows)
    return JoinPage(tuple(rows), JoinPlace(*found[len(rows) - 1][:2]) if more and rows else None)


def _joined(row: Row) -> JoinedTask:
    _, behind, kind, key, task_id, state, result, error, reason, facts, code, why, wanted, wanted_key = row
    refused: dict[str, Any] = {}
    if behind:
        kind, key = wanted, wanted_key
        refused = {"refused": block_words(code, json.loads(why)), "refused_code": code}
    return JoinedTask(
        kind, key, task_id, None if state is None else TaskState(state), None if result is None else json.loads(result),
        error, restored(reason, facts), **refused,
    )  # fmt: skip


OLDEST = 3
_WAITS_FOR = (
    "SELECT t.id, t.kind, t.key, l.state, CASE WHEN l.state = 'processing' THEN l.claimed_at ELSE l.available_at END, "
    "CASE WHEN l.state = 'pending' THEN l.wait END "
    "FROM ramet_awaited a JOIN ramet_live l ON l.seq = a.awaited JOIN ramet_tasks t ON t.seq = a.awaited "
    "WHERE a.seq = ? AND a.round = ? AND a.behind = 0 ORDER BY a.place LIMIT ?"
)


def join_wait(session: Session, task_id: str) -> JoinWait | None:
    """Return what a task waits for; None for one that waits for no other task."""
    found = session.rows(f"{_ROUND} WHERE t.id = ? AND w.waiting = 1", (task_id,))
    if not found:
        return None
    [(seq, round_, since, remaining, _, branch)] = found
    oldest = [
        AwaitedTask(task_id, kind, key, TaskState(state), at, wait)
        for task_id, kind, key, state, at, wait in session.rows(_WAITS_FOR, (seq, round_, OLDEST))
    ]
    return JoinWait(since, remaining, _total(session, seq, round_), tuple(oldest), bool(branch))


_ROUND = (
    "SELECT w.seq, w.round, w.since, w.remaining, w.waiting, w.branch FROM ramet_tasks t "
    "JOIN ramet_waits w ON w.seq = t.seq"
)


def _total(session: Session, seq: int, round_: int) -> BoundedCount:
    rows = "SELECT 1 FROM ramet_awaited WHERE seq = ? AND round = ? AND behind = 0"
    return counted(session, rows, (seq, round_))


def join_round(
    session: Session, task_id: str, *, round_: int | None = None, after: JoinPlace | None = None, limit: int = 50
) -> JoinRound | None:
    """Return a page of a round of a task, by default its last; None of one that never joined, or has no such round."""
    found = session.rows(f"{_ROUND} WHERE t.id = ?", (task_id,))
    if not found:
        return None
    [(seq, rounds, since, remaining, waiting, branch)] = found
    wanted = rounds if round_ is None else round_
    if not 1 <= wanted <= rounds:
        return None
    page, last = join_page(session, seq, wanted, after, limit=limit), wanted == rounds
    return JoinRound(
        wanted, rounds, last and waiting == 1, last and branch == 1, since if last else None, remaining if last else 0,
        _total(session, seq, wanted), *page,
    )  # fmt: skip


def waiting_for(session: Session, task_ids: Sequence[str]) -> dict[str, int]:
    """Return how many tasks each of these waits for; those that wait for no other task are absent."""
    listed, values = session.members(task_ids)
    return dict(
        session.rows(
            "SELECT t.id, w.remaining FROM ramet_tasks t JOIN ramet_waits w ON w.seq = t.seq "
            f"WHERE t.id {listed} AND w.waiting = 1",
            (values,),
        )
    )


def join_totals(session: Session, seq: int, round_: int) -> JoinTotals:
    """Return how many tasks one of a task's rounds has, by state, and how many spawns of it were refused."""
    states: dict[str, int] = dict(session.rows(_STATES, (seq, round_)))
    [(refused,)] = session.rows(
        "SELECT COUNT(*) FROM ramet_awaited WHERE seq = ? AND round = ? AND behind > 0", (seq, round_)
    )
    return JoinTotals(states, int(refused))
