"""Reads of queues, resources and current claims that stop at a bound."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import islice

from ramet.model.flow.resources import UnservedKind
from ramet.model.task.task import Wait
from ramet.model.views import COUNT_MAX, HELD_BACK_LOOKS_MAX, ActiveClaims, Backlog, BoundedCount, RunningTask
from ramet.store.reads.live import classes, counted, first_in_line, id_of
from ramet.store.reads.tasks import LIMIT_MAX
from ramet.store.rows.workers import workers
from ramet.store.session import Session

FEW = 10
"""Queues or resources at once; with more, each is counted up to a tenth of the bound."""
NAMES_MAX = 200
"""Most resources that are asked about at once."""

_LIVE = "SELECT queue, kind FROM ramet_live"
NOT_CLAIMABLE: dict[str, str] = {
    Wait.DUE: f"{_LIVE} WHERE wait = 'due' ORDER BY available_at",
    Wait.TICKET: f"{_LIVE} WHERE wait = 'ticket' ORDER BY available_at",
    Wait.LINEAGE: f"{_LIVE} WHERE wait = 'lineage'",
    Wait.BOUND: f"{_LIVE} WHERE bound_to IS NOT NULL AND wait = 'bound'",
    Wait.PAUSED: f"{_LIVE} WHERE wait = 'paused'",
    Wait.TASKS: "SELECT l.queue, l.kind FROM (SELECT seq FROM ramet_waits INDEXED BY ramet_waits_open "
    "WHERE waiting = 1 LIMIT ?) w JOIN ramet_live l ON l.seq = w.seq",
    Wait.RESOURCE: f"{_LIVE} INDEXED BY ramet_live_by_resource WHERE wait = 'resource' AND state = 'pending'",
    Wait.PATH: "SELECT l.queue, l.kind FROM (SELECT seq FROM ramet_paths INDEXED BY ramet_paths_waiting "
    "WHERE waits_on IS NOT NULL LIMIT ?) p JOIN ramet_live l ON l.seq = p.seq AND l.wait || '' = 'path'",
}
"""Pending tasks that cannot be claimed now by what they wait for, each with the index that has them."""


def now(session: Session) -> float:
    """Return the store's clock, which judges leases, rates and pauses: Unix seconds."""
    return session.now


def looked_at(session: Session, select: str) -> tuple[dict[tuple[str, str], int], bool]:
    """Return how many of the first rows of a SELECT are of each queue and kind, and whether there are more."""
    bounds = (HELD_BACK_LOOKS_MAX + 1,) * (1 + select.count("?"))
    rows = session.rows(f"SELECT queue, kind, COUNT(*) FROM ({select} LIMIT ?) c GROUP BY queue, kind", bounds)
    return {(queue, kind): count for queue, kind, count in rows}, sum(row[2] for row in rows) > HELD_BACK_LOOKS_MAX


def backlogs(session: Session) -> tuple[Backlog, ...]:
    """Return what waits in every queue in which something waits, by name."""
    kinds: dict[str, set[str]] = defaultdict(set)
    oldest: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for queue, kind, rank in classes(session):
        kinds[queue].add(kind)
        oldest[queue] += first_in_line(
            session, "state = 'pending' AND wait IS NULL AND queue = ? AND kind = ? AND rank = ?", (queue, kind, rank)
        )
    others: dict[str, dict[str, BoundedCount]] = defaultdict(dict)
    for wait, select in NOT_CLAIMABLE.items():
        found, more = looked_at(session, select)
        sums: dict[str, int] = defaultdict(int)
        for (queue, _), number in found.items():
            sums[queue] += number
        for queue, number in sums.items():
            others[queue][str(wait)] = BoundedCount(number, more)
    most = _most(len(kinds))
    made = []
    for queue in sorted({*kinds, *others}):
        first = min(oldest[queue], default=None)
        waiting = counted(
            session,
            "SELECT 1 FROM ramet_live INDEXED BY ramet_live_claimable WHERE state = 'pending' AND wait IS NULL "
            "AND queue = ?",
            (queue,),
            most,
        )
        made.append(_backlog(session, queue, waiting, first)._replace(
            kinds=tuple(sorted(kinds[queue])), held_back=others[queue]))  # fmt: skip
    return tuple(made)


def resource_backlogs(session: Session, names: Iterable[str]) -> dict[str, Backlog]:
    """Return what waits for each of these resources (at most 200); those for which nothing waits are absent."""
    found: dict[str, Backlog] = {}
    wanted = list(islice(dict.fromkeys(names), NAMES_MAX))
    where = "wait = 'resource' AND state = 'pending' AND resource = ?"
    waits = f"SELECT 1 FROM ramet_live INDEXED BY ramet_live_by_resource WHERE {where}"
    for name in wanted:
        waiting = counted(session, waits, (name,), _most(len(wanted)))
        if waiting.number:
            first = min(first_in_line(session, where, (name,), "rank, "), default=None)
            found[name] = _backlog(session, name, waiting, first)
    return found


def _most(several: int) -> int:
    return COUNT_MAX if several <= FEW else COUNT_MAX // 10


def _backlog(session: Session, name: str, waiting: BoundedCount, first: tuple[float, int] | None) -> Backlog:
    if first is None:
        return Backlog(name, waiting, None, None)
    return Backlog(name, waiting, first[0], id_of(session, first[1]))


def in_hand(session: Session, *, limit: int = 1_000) -> ActiveClaims:
    """Return claims, those first whose lease ends first, at most ``limit`` (1,000); and how many each worker has."""
    claims = (
        "(SELECT seq, worker, claimed_at, lease_until, fence, attempts FROM ramet_live INDEXED BY ramet_live_by_depth "
        "WHERE state = 'processing' LIMIT ?) c"
    )
    rows = session.rows(
        "SELECT t.id, t.tracking_id, t.kind, t.key, t.queue, l.worker, l.fence, l.attempts, l.claimed_at, "
        "l.lease_until FROM (SELECT seq, worker, claimed_at, lease_until, fence, attempts "
        f"FROM {claims} ORDER BY lease_until, seq LIMIT ?) l JOIN ramet_tasks t ON t.seq = l.seq "
        "ORDER BY l.lease_until, l.seq",
        (COUNT_MAX, max(1, min(limit, LIMIT_MAX))),
    )
    of_workers = session.rows(f"SELECT COALESCE(worker, ''), COUNT(*) FROM {claims} GROUP BY 1", (COUNT_MAX,))
    return ActiveClaims(tuple(map(RunningTask._make, rows)), dict(of_workers))


_IN_HAND = "SELECT queue, kind FROM ramet_live INDEXED BY ramet_live_by_depth WHERE state = 'processing'"


def unserved(session: Session) -> list[UnservedKind]:
    """Return kinds and queues with live tasks that no living worker serves, with how many tasks there are at least."""
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
    return [
        UnservedKind(queue, kind, tasks[queue, kind], (queue, kind) in more, _waiter(session, queue, kind))
        for queue, kind in missing
    ]


def _waiter(session: Session, queue: str, kind: str) -> str | None:
    """Return a task that joined one of the first claimable tasks of a kind, and waits for it."""
    found = session.rows(
        "SELECT t.id FROM (SELECT seq FROM ramet_live INDEXED BY ramet_live_claimable WHERE state = 'pending' "
        "AND wait IS NULL AND queue = ? AND kind = ? LIMIT ?) l JOIN ramet_awaited a ON a.awaited = l.seq "
        "AND a.behind = 0 JOIN ramet_waits w ON w.seq = a.seq AND w.round = a.round AND w.waiting = 1 "
        "JOIN ramet_tasks t ON t.seq = a.seq LIMIT 1",
        (queue, kind, HELD_BACK_LOOKS_MAX),
    )
    return found[0][0] if found else None
