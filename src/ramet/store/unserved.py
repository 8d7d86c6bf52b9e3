"""Live tasks that no living worker serves (DESIGN §10), counted up to a bound: a million may wait."""

from __future__ import annotations

from collections import Counter

from ramet.model.flow import Unserved
from ramet.store.serving import workers
from ramet.store.session import Session
from ramet.store.viewing import classes, counted

LOOKS_MAX = 2_000
"""So many tasks of each sort that cannot be claimed now are looked at."""

_LIVE = "SELECT queue, kind FROM ramet_live"
_NOT_CLAIMABLE = (
    f"{_LIVE} INDEXED BY ramet_live_by_depth WHERE state = 'processing'",
    f"{_LIVE} WHERE wait = 'due' ORDER BY available_at",
    f"{_LIVE} WHERE wait = 'ticket' ORDER BY available_at",
    f"{_LIVE} WHERE wait = 'lineage'",
    f"{_LIVE} WHERE bound_to IS NOT NULL AND wait = 'bound'",
    f"{_LIVE} INDEXED BY ramet_live_by_resource WHERE wait = 'resource' AND state = 'pending'",
    "SELECT l.queue, l.kind FROM (SELECT seq FROM ramet_paths INDEXED BY ramet_paths_waiting "
    "WHERE waits_on IS NOT NULL LIMIT ?) p JOIN ramet_live l ON l.seq = p.seq AND l.wait || '' = 'path'",
)
"""What is live and cannot be claimed now, each by the index that has it."""


def unserved(session: Session) -> list[Unserved]:
    """Kinds and queues with live tasks that no living worker serves, with how many tasks there are at least."""
    served = {
        (queue, kind) for worker in workers(session) if worker.alive for queue in worker.queues for kind in worker.kinds
    }
    tasks: Counter[tuple[str, str]] = Counter()
    more: set[tuple[str, str]] = set()
    for queue, kind in {(queue, kind) for queue, kind, _ in classes(session)} - served:
        found = counted(
            session,
            "SELECT 1 FROM ramet_live INDEXED BY ramet_live_claimable WHERE state = 'pending' AND wait IS NULL "
            "AND queue = ? AND kind = ?",
            (queue, kind),
        )
        tasks[queue, kind] = found.number
        more |= {(queue, kind)} if found.more else set()
    for select in _NOT_CLAIMABLE:
        bounds = (LOOKS_MAX + 1,) * (1 + select.count("?"))
        rows = session.rows(f"SELECT queue, kind, COUNT(*) FROM ({select} LIMIT ?) c GROUP BY queue, kind", bounds)
        cut = sum(count for *_, count in rows) > LOOKS_MAX
        for queue, kind, count in rows:
            tasks[queue, kind] += count
            more |= {(queue, kind)} if cut else set()
    missing = sorted(tasks.keys() - served)
    return [Unserved(queue, kind, tasks[queue, kind], (queue, kind) in more) for queue, kind in missing]
