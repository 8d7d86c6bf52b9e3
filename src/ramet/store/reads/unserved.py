"""Live tasks that no living worker serves (DESIGN §10), counted up to a bound: a million may wait."""

from __future__ import annotations

from collections import Counter

from ramet.model.flow.queues import Unserved
from ramet.store.reads.flow import NOT_CLAIMABLE, looked_at
from ramet.store.reads.live import classes, counted
from ramet.store.rows.workers import workers
from ramet.store.session import Session

_IN_HAND = "SELECT queue, kind FROM ramet_live INDEXED BY ramet_live_by_depth WHERE state = 'processing'"


def unserved(session: Session) -> list[Unserved]:
    """Kinds and queues with live tasks that no living worker serves, with how many tasks there are at least."""
    served = {
        (queue, kind) for worker in workers(session) if worker.alive for queue in worker.queues for kind in worker.kinds
    }
    tasks: Counter[tuple[str, str]] = Counter()
    more: set[tuple[str, str]] = set()
    for queue, kind in {(queue, kind) for queue, kind, _ in classes(session)} - served:
        free = counted(
            session,
            "SELECT 1 FROM ramet_live INDEXED BY ramet_live_claimable WHERE state = 'pending' AND wait IS NULL "
            "AND queue = ? AND kind = ?",
            (queue, kind),
        )
        tasks[queue, kind] = free.number
        more |= {(queue, kind)} if free.more else set()
    for select in (_IN_HAND, *NOT_CLAIMABLE.values()):
        found, cut = looked_at(session, select)
        for of, count in found.items():
            tasks[of] += count
            more |= {of} if cut else set()
    missing = sorted(tasks.keys() - served)
    return [Unserved(queue, kind, tasks[queue, kind], (queue, kind) in more) for queue, kind in missing]
