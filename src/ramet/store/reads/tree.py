"""A lineage as a tree of very many tasks: branches by kind and state, pages of each, and counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from ramet.model.reasons import restored
from ramet.model.task.task import UNSUCCESSFUL, TaskState
from ramet.model.values import read_json
from ramet.model.views import (
    BELOW_LOOKS_MAX,
    BELOW_ONE_MAX,
    BRANCH_LOOKS_MAX,
    CHILDREN_MAX,
    DELAYS_MAX,
    FAILED_LOOKS_MAX,
    LINEAGE_LOOKS_MAX,
    BoundedCount,
    KindStateCount,
    TaskCheckpoint,
    TreeGroup,
    TreePage,
    TreeTask,
    WaitReason,
)
from ramet.store.reads.tasks import FROM_TASKS, LIMIT_MAX, TASK_LIST, TreeCondition, grown_from_lineage, task_of
from ramet.store.rows.money import SPENT
from ramet.store.schema.columns import live_of_lineage
from ramet.store.session import Row, Session

UNSUCCESSFUL_LOOKS_MAX = 5_000
"""Most tasks of each unsuccessful state that are read for the counts of a lineage."""


def _parent_condition(session: Session, tracking_id: str | None, parent_id: str | None) -> TreeCondition:
    if parent_id is not None:
        return TreeCondition("t.parent_id = ?", (parent_id,))
    assert tracking_id is not None, "neither a lineage nor a parent"
    return grown_from_lineage(session, tracking_id)


def branches(
    session: Session, *, tracking_id: str | None = None, parent_id: str | None = None
) -> tuple[TreeGroup, ...]:
    """Return the first roots of a lineage, or children of a task, by kind and state; the largest branches first."""
    of = _parent_condition(session, tracking_id, parent_id)
    # Not EXISTS: for that a planner may read all tasks once, to have the parents of all in a hash table.
    rows = session.rows(
        "SELECT kind, state, spawn_depth, COUNT(*), MAX(grown) FROM (SELECT t.kind, t.spawn_depth, "
        "COALESCE(t.state, l.state) AS state, "
        "COALESCE((SELECT 1 FROM ramet_tasks c WHERE c.parent_id = t.id LIMIT 1), 0) "
        f"AS grown FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq WHERE {of.where} "
        "ORDER BY t.seq LIMIT ?) c GROUP BY kind, state, spawn_depth",
        (*of.values, BRANCH_LOOKS_MAX + 1),
    )
    more = sum(row[3] for row in rows) > BRANCH_LOOKS_MAX
    found = [
        TreeGroup(kind, state, BoundedCount(number, more), depth, grown == 1)
        for kind, state, depth, number, grown in rows
    ]
    return tuple(sorted(found, key=lambda branch: (-branch.tasks.number, branch.kind, branch.state)))


def twigs(
    session: Session,
    *,
    tracking_id: str | None = None,
    parent_id: str | None = None,
    kind: str,
    state: str,
    limit: int = 50,
    after: int = 0,
) -> TreePage:
    """Return the tasks of one branch in the order of their numbers, at most ``limit`` (1,000).

    One page looks at a bounded number of tasks, those of other branches included.
    """
    of, most = _parent_condition(session, tracking_id, parent_id), max(1, min(limit, LIMIT_MAX))
    end = session.rows(
        f"SELECT t.seq FROM ramet_tasks t WHERE {of.where} AND t.seq > ? ORDER BY t.seq LIMIT 1 OFFSET ?",
        (*of.values, after, BRANCH_LOOKS_MAX - 1),
    )
    until, values = ("", ()) if not end else (" AND t.seq <= ?", end[0])
    seqs = [
        seq
        for (seq,) in session.rows(
            f"SELECT t.seq FROM ramet_tasks t LEFT JOIN ramet_live l ON l.seq = t.seq WHERE {of.where} AND t.seq > ?"
            f"{until} AND t.kind || '' = ? AND COALESCE(t.state, l.state) = ? ORDER BY t.seq LIMIT ?",
            (*of.values, after, *values, kind, state, most + 1),
        )
    ]
    looked_at = end[0][0] if end else None
    next_after = seqs[most - 1] if len(seqs) > most else looked_at
    return TreePage(_tree_tasks(session, seqs[:most]), next_after)


def _tree_tasks(session: Session, seqs: list[int]) -> tuple[TreeTask, ...]:
    listed, values = session.members(seqs)
    rows = session.rows(
        "SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM ramet_tasks c WHERE c.parent_id = t.id LIMIT ?) c), "
        "(SELECT w.remaining FROM ramet_waits w WHERE w.seq = t.seq AND w.waiting = 1), "
        f"{TASK_LIST} {FROM_TASKS} WHERE t.seq {listed} ORDER BY t.seq",
        (CHILDREN_MAX + 1, values),
    )
    if not rows:
        return ()
    tasks = [task_of(tuple(task)) for _, _, *task in rows]
    [(spent,)] = session.rows("SELECT spent FROM ramet_lineages WHERE tracking_id = ?", (tasks[0].tracking_id,))
    most = max(1, min(BELOW_ONE_MAX, BELOW_LOOKS_MAX // len(rows)))
    below = session.look_up(_below(most, with_money=spent > 0), [(row[2],) for row in rows])
    failed = failed_chains(session, tasks[0].tracking_id)
    failures, cut = counts_above(failed[:FAILED_LOOKS_MAX]), len(failed) > FAILED_LOOKS_MAX
    found: list[TreeTask] = []
    for task, (children, waits_for, *_), [(number, until, money)] in zip(tasks, rows, below, strict=True):
        found.append(
            TreeTask(
                task, _bounded_count(children, CHILDREN_MAX), _grown(number - 1, most, children), waits_for,
                BoundedCount(failures.get(task.id, 0), cut), until, int(money or 0),
            )
        )  # fmt: skip
    return tuple(found)


def _grown(number: int, most: int, children: int) -> BoundedCount:
    """Return the count; if counting stopped, at least the number of children."""
    return BoundedCount(number) if number <= most else BoundedCount(max(most, min(children, CHILDREN_MAX)), True)


def _below(most: int, *, with_money: bool) -> str:
    """Return a SELECT for the number of a task: how many it and those below it are, their last end, what they spent."""
    of_it = "SELECT SUM({SPENT}) FROM ramet_reservations r WHERE r.tracking_id = b.tracking_id AND r.seq = b.seq"
    columns = "c.id, c.seq, c.tracking_id, c.finished_at"
    return (
        "SELECT COUNT(*), CASE WHEN COUNT(b.finished_at) = COUNT(*) THEN MAX(b.finished_at) END, "
        f"{f'SUM(({of_it}))'.format(SPENT=SPENT) if with_money else '0'} "
        f"FROM (WITH RECURSIVE below (id, seq, tracking_id, finished_at) AS (SELECT {columns} FROM ramet_tasks c "
        f"WHERE c.seq = ? UNION ALL SELECT {columns} FROM below b JOIN ramet_tasks c ON c.parent_id = b.id) "
        f"SELECT * FROM below LIMIT {most + 2}) b"
    )


def _bounded_count(number: int, most: int) -> BoundedCount:
    return BoundedCount(min(number, most), number > most)


Chain = tuple[str, ...]
"""Ids from a root to a task, itself included."""


def chains(rows: Sequence[Row]) -> list[Chain]:
    """Return the chains of tasks from rows of their id and ``ancestry_chain``."""
    return [(*json.loads(ancestors), task_id) for task_id, ancestors in rows]


def failed_chains(session: Session, tracking_id: str) -> list[Chain]:
    """Return the chains of the first failed tasks of a lineage, one more than :data:`FAILED_LOOKS_MAX` at most."""
    return chains(
        session.rows(
            "SELECT t.id, t.ancestry_chain FROM ramet_unsuccessful u JOIN ramet_tasks t ON t.seq = u.seq "
            "WHERE u.tracking_id = ? AND u.state = ? ORDER BY u.seq LIMIT ?",
            (tracking_id, TaskState.FAILED.value, FAILED_LOOKS_MAX + 1),
        )
    )


def counts_above(some: Iterable[Chain]) -> Counter[str]:
    """Count by task how many of these chains end below it."""
    return Counter(one for chain in some for one in chain[:-1])


# --- one task, one number


def checkpoint(session: Session, task_id: str) -> TaskCheckpoint | None:
    """Return what a task stored of its work so far; None when it stored nothing, or does not exist."""
    found = session.rows(
        "SELECT c.pipeline_state, c.progress, c.updated_at FROM ramet_tasks t "
        "JOIN ramet_checkpoints c ON c.seq = t.seq WHERE t.id = ?",
        (task_id,),
    )
    if not found:
        return None
    state, progress = (None if text is None else read_json(text) for text in found[0][:2])
    return TaskCheckpoint(state, progress, found[0][2])


def deepest(session: Session, tracking_ids: Iterable[str]) -> dict[str, int]:
    """Return the largest spawn depth in each of these lineages (at most 1,000); those without a task are absent."""
    listed, values = session.members(list(islice(tracking_ids, LIMIT_MAX)))
    rows = session.rows(
        "SELECT g.tracking_id, (SELECT MAX(t.spawn_depth) FROM ramet_tasks t WHERE t.tracking_id = g.tracking_id) "
        f"FROM ramet_lineages g WHERE g.tracking_id {listed}",
        (values,),
    )
    return {name: depth for name, depth in rows if depth is not None}


# --- counts of a lineage


def lineage_counts(session: Session, tracking_id: str) -> tuple[KindStateCount, ...]:
    """Return the tasks of a lineage by kind and state.

    Live ones, the first of each unsuccessful state, the successful among the first.
    """
    found = _counted(
        session.rows(
            "SELECT kind, state, why, COUNT(*), AVG(spawn_depth) FROM (SELECT kind, state, spawn_depth, "
            "CASE WHEN state = 'pending' THEN wait WHEN lease_until <= ? THEN 'stale' END AS why "
            f"FROM ramet_live WHERE {live_of_lineage()} LIMIT ?) c GROUP BY kind, state, why",
            (session.now, tracking_id, LINEAGE_LOOKS_MAX + 1),
        ),
        LINEAGE_LOOKS_MAX,
    )
    for state in sorted(UNSUCCESSFUL):
        rows = session.rows(
            "SELECT kind, state, NULL, COUNT(*), AVG(spawn_depth) FROM (SELECT t.kind, u.state, u.spawn_depth "
            "FROM ramet_unsuccessful u JOIN ramet_tasks t ON t.seq = u.seq WHERE u.tracking_id = ? AND u.state = ? "
            "ORDER BY u.seq LIMIT ?) c GROUP BY kind, state",
            (tracking_id, state.value, UNSUCCESSFUL_LOOKS_MAX + 1),
        )
        found += _counted(rows, UNSUCCESSFUL_LOOKS_MAX)
    looked_at = session.rows(
        "SELECT kind, state, NULL, COUNT(*), AVG(spawn_depth) FROM (SELECT t.kind, t.state, t.spawn_depth "
        "FROM ramet_tasks t WHERE t.tracking_id = ? ORDER BY t.spawn_depth, t.seq LIMIT ?) c GROUP BY kind, state",
        (tracking_id, LINEAGE_LOOKS_MAX + 1),
    )
    found += [row for row in _counted(looked_at, LINEAGE_LOOKS_MAX) if row.state == TaskState.SUCCESS]
    return tuple(sorted(found, key=lambda row: (row.kind, row.state, row.wait or "")))


def delays(session: Session, tracking_id: str) -> tuple[WaitReason, ...]:
    """Return tasks of a lineage that wait for their time, by kind and reason; looks at the first of its live tasks."""
    [(looked_at,)] = session.rows(
        f"SELECT COUNT(*) FROM (SELECT 1 FROM ramet_live WHERE {live_of_lineage()} LIMIT ?) c",
        (tracking_id, LINEAGE_LOOKS_MAX + 1),
    )
    # Every retry has a reason of its own, the time until it; what repeats is the class of its error.
    rows = session.rows(
        "SELECT l.kind, a.outcome, CASE WHEN a.outcome = 'error' THEN a.error_class ELSE a.reason END AS why, "
        "CASE WHEN a.outcome <> 'error' THEN a.reason_facts END AS facts, COUNT(*) "
        f"FROM (SELECT seq, fence, kind, wait FROM ramet_live WHERE {live_of_lineage()} LIMIT ?) l "
        "LEFT JOIN ramet_attempts a ON a.seq = l.seq AND a.fence = l.fence WHERE l.wait || '' = 'due' "
        "GROUP BY l.kind, a.outcome, why, facts ORDER BY 5 DESC, 1, 2, 3, 4 LIMIT ?",
        (tracking_id, LINEAGE_LOOKS_MAX, DELAYS_MAX),
    )
    more = looked_at > LINEAGE_LOOKS_MAX
    return tuple(
        WaitReason(kind, outcome, restored(why, facts), BoundedCount(number, more))
        for kind, outcome, why, facts, number in rows
    )


def _counted(rows: list[Row], most: int) -> list[KindStateCount]:
    more = sum(row[3] for row in rows) > most
    return [
        KindStateCount(kind, state, wait, BoundedCount(number, more), float(depth))
        for kind, state, wait, number, depth in rows
    ]
