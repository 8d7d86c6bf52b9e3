"""Bind: a running task makes pending tasks its own to settle (DESIGN §4)."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.lineage.lineage import LineageState
from ramet.model.task import events as ev
from ramet.model.task.binding import Binding, BoundTask
from ramet.model.task.lifecycle import decide
from ramet.model.task.transitions import Change, Refused
from ramet.store.rows.lineages import lock_lineages
from ramet.store.session import Session
from ramet.store.state.apply import apply
from ramet.store.verbs.bound import LIMIT_MAX, Items, numbers_of
from ramet.store.verbs.settle import claim_refusal, load_standings
from ramet.store.verbs.spawn import load_parents


def bind(session: Session, seq: int, fence: int, task_ids: Sequence[str]) -> list[Binding]:
    """Bind tasks to the task that holds a claim; each is refused by itself."""
    seqs = numbers_of(session, task_ids)
    standings = load_standings(session, {seq, *seqs.values()})
    lineages = lock_lineages(session, {row.tracking_id for row in standings.values()})
    settler = standings.get(seq)
    lineage = None if settler is None else lineages[settler.tracking_id]
    why = claim_refusal(session, settler, fence, lineage)
    if why is not None:
        return [Binding(task_id, None, why) for task_id in task_ids]
    [(settler_id, _, _, _)] = load_parents(session, [seq]).values()
    items = Items(session, seqs, standings, lineages)
    answers: list[Binding] = []
    changes: list[Change] = []
    taken: set[str] = set()
    for task_id in task_ids:
        told = "waits" if task_id in taken else _bind(session, items, settler_id, task_id)
        if isinstance(told, str):
            answers.append(Binding(task_id, None, told))
            continue
        taken.add(task_id)
        changes.append(told)
        answers.append(Binding(task_id, told.after.fence))
    applied = apply(session, changes)
    assert not applied.lost, f"tasks {sorted(applied.lost)} changed inside the transaction that read them"
    return answers


def _bind(session: Session, items: Items, settler_id: str, task_id: str) -> Change | str:
    standing = items.standing(task_id)
    if isinstance(standing, str):
        return standing
    lineage = items.lineages[standing.tracking_id]
    over = items.over(standing, lineage)
    if over is not None:
        return over
    if lineage.state != LineageState.RUNNING:
        return lineage.state
    change = decide(standing, ev.Bind(settler_id, lineage.deadline_at), session.now)
    return change.reason if isinstance(change, Refused) else change


def bound(session: Session, settler_id: str, limit: int, after: str | None) -> list[BoundTask]:
    """Tasks that are bound to a settler, in their order, behind one of them."""
    # Not OFFSET: the last page would read all of those before it.
    behind, values = "", tuple[str, ...]()
    if after is not None:
        behind, values = " AND l.seq > (SELECT seq FROM ramet_tasks WHERE id = ?)", (after,)
    rows = session.rows(
        "SELECT t.id, l.fence, t.tracking_id, t.kind, t.key, t.payload FROM ramet_live l "
        f"JOIN ramet_tasks t ON t.seq = l.seq WHERE l.bound_to = ?{behind} ORDER BY l.seq LIMIT ?",
        (settler_id, *values, max(1, min(limit, LIMIT_MAX))),
    )
    return [BoundTask._make(row) for row in rows]


def claimable(session: Session, kind: str, queue: str, limit: int) -> list[str]:
    """Ids of tasks of a kind in a queue that could be bound now, in the order of a claim."""
    rows = session.rows(
        "SELECT t.id FROM ramet_live l JOIN ramet_tasks t ON t.seq = l.seq WHERE l.queue = ? AND l.kind = ? "
        "AND l.state = 'pending' AND l.wait IS NULL AND (l.deadline_at IS NULL OR l.deadline_at > ?) "
        "ORDER BY l.rank, l.turn, l.seq LIMIT ?",
        (queue, kind, session.now, max(1, min(limit, LIMIT_MAX))),
    )
    return [task_id for (task_id,) in rows]


def bound_counts(session: Session, tracking_id: str) -> dict[str, int]:
    """How many tasks of a lineage are bound, by settler."""
    rows = session.rows(
        "SELECT bound_to, COUNT(*) FROM ramet_live WHERE tracking_id = ? AND bound_to IS NOT NULL GROUP BY bound_to",
        (tracking_id,),
    )
    return dict(rows)
