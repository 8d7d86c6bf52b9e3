"""Queues that refuse submits, and the task that comes once such a queue has drained (docs/decisions/0063).

Blocked queues count among the entries of the deny list (``session.denied``), which each submit has read anyway: where
there are neither, a submit asks for nothing more.
"""

from __future__ import annotations

import json

from ramet.model.flow.resources import Queue
from ramet.model.task.task import NewTask
from ramet.store.requests import NewLineage
from ramet.store.rows.keys import count_refusals
from ramet.store.rows.settings import record_audit_entry
from ramet.store.session import Session
from ramet.store.verbs.submit import start


def block_queue(
    session: Session,
    name: str,
    *,
    on_drained: NewLineage | None = None,
    by: str = "client",
    reason: str | None = None,
) -> bool:
    """Refuse submits into a queue from this commit on; return False when it is blocked already, and change nothing.

    Args:
        name: of the queue.
        on_drained: the lineage to create once when no task of the queue lives any more.
        by: who does it, for the record.
        reason: why, for the record.
    """
    session.run("INSERT INTO ramet_queues (name) VALUES (?) ON CONFLICT (name) DO NOTHING", (name,))
    blocked = session.run(
        "UPDATE ramet_queues SET blocked_at = ?, blocked_by = ?, blocked_reason = ?, on_drained = ?, drained_at = NULL "
        "WHERE name = ? AND blocked_at IS NULL",
        (session.now, by, reason, None if on_drained is None else json.dumps(on_drained), name),
    )
    if not blocked:
        return False
    count_refusals(session, 1)
    detail = None if on_drained is None else {"on_drained": on_drained.roots[0].kind}
    record_audit_entry(session, by=by, act="block_queue", subject=name, reason=reason, detail=detail)
    return True


def unblock_queue(session: Session, name: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Accept submits into a queue again; return False when it is not blocked.

    A task that was to come when it has drained, and has not, does not come any more.
    """
    unblocked = session.run(
        "UPDATE ramet_queues SET blocked_at = NULL, blocked_by = NULL, blocked_reason = NULL, on_drained = NULL, "
        "drained_at = NULL WHERE name = ? AND blocked_at IS NOT NULL",
        (name,),
    )
    if not unblocked:
        return False
    count_refusals(session, -1)
    record_audit_entry(session, by=by, act="unblock_queue", subject=name, reason=reason)
    return True


def queues(session: Session) -> list[Queue]:
    """Return every queue that was ever limited, paused or blocked, by name."""
    found = map(Queue._make, session.rows(f"SELECT {', '.join(Queue._fields)} FROM ramet_queues ORDER BY name"))
    return [
        queue._replace(explicit=bool(queue.explicit), on_drained=text and _stored(text).roots[0].kind)
        for queue in found
        for text in (queue.on_drained,)
    ]


def _stored(text: str) -> NewLineage:
    lineage = NewLineage(*json.loads(text))
    return lineage._replace(roots=[NewTask.listed(root) for root in lineage.roots])


# One statement: a task that ends and the one that it spawned are not both missed.
_DRAINED = (
    "SELECT q.name, q.on_drained FROM ramet_queues q WHERE q.on_drained IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM ramet_live l WHERE l.queue = q.name)"
)
_END_TO_COME = "SELECT 1 FROM ramet_lineages WHERE end_wanted = 1 AND ended_at IS NOT NULL AND live = 0 LIMIT 1"


def drained(session: Session) -> list[tuple[str, str]]:
    """Return the queues that have drained, each with what is to be started for it."""
    waiting = session.rows("SELECT 1 FROM ramet_queues WHERE on_drained IS NOT NULL LIMIT 1")
    if not waiting or session.rows(_END_TO_COME):
        return []  # The task of a lineage's end may be of the queue.
    return [(name, text) for name, text in session.rows(_DRAINED)]


def start_drained(session: Session) -> int:
    """Start what was asked for of the queues that have drained, each once; return how many there were."""
    count = 0
    for name, text in drained(session):
        # Only one of two that found it takes it off the row, in the transaction that creates the task.
        taken = session.run(
            "UPDATE ramet_queues SET on_drained = NULL, drained_at = ? WHERE name = ? AND on_drained = ?",
            (session.now, name, text),
        )
        if taken:
            start(session, _stored(text), in_line=False)
            count += 1
    return count
