"""Clocks that stand still while a queue is paused (DESIGN §8).

A lineage's deadline is stored net of the time for which the queue of its first root was paused before; whoever reads
it adds what the queue's clock has stood still until now. Queues that were never paused have no such time, and cost
one look at an empty index.
"""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.lineage.limits import PAUSE_SECONDS_MAX
from ramet.model.lineage.lineage import Lineage
from ramet.store.session import Session


def queue_offsets(session: Session) -> dict[str, float]:
    """Seconds to add to stored deadlines, by queue; a pause that goes on counts whole. Empty when none was paused."""
    return dict(session.rows("SELECT name, paused_seconds FROM ramet_queues WHERE paused_seconds > 0"))


def stood_still(session: Session) -> dict[str, float]:
    """Seconds for which each queue's clock has stood still until now, by queue."""
    return {
        name: paused_seconds
        if paused_at is None
        else paused_seconds - PAUSE_SECONDS_MAX + stopped_since(paused_at, session.now)
        for name, paused_at, paused_seconds in session.rows(
            "SELECT name, paused_at, paused_seconds FROM ramet_queues WHERE paused_seconds > 0"
        )
    }


def stopped_since(paused_at: float, now: float) -> float:
    """How long a pause has stopped the clocks: at most 30 days, and never less than nothing (a clock set back)."""
    return min(max(0.0, now - paused_at), PAUSE_SECONDS_MAX)


def effective(session: Session, rows: Sequence[Lineage]) -> list[Lineage]:
    """Lineage rows as stored, with their deadlines by the clock on the wall."""
    offsets = queue_offsets(session)
    if not offsets:
        return list(rows)
    return [row._replace(deadline_at=row.deadline_at + offsets.get(row.queue, 0.0)) for row in rows]


def stored_deadlines(session: Session, rows: Sequence[Lineage]) -> list[Lineage]:
    """Lineages with deadlines by the clock on the wall, as their rows store them."""
    stopped = stood_still(session)
    if not stopped:
        return list(rows)
    return [row._replace(deadline_at=row.deadline_at - stopped.get(row.queue, 0.0)) for row in rows]
