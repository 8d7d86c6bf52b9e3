"""Handlers that wait inside for other tasks: whether a slot is left for those (DESIGN §4, "Waiting for other tasks").

Each holds its slot meanwhile. Where all slots that could run the awaited tasks are held so, none of them ends before
its handler's time is over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ramet.model.flow.resources import HandlerWait, StarvedKind, WorkerStatus
from ramet.model.task.ordering import is_pulled
from ramet.store.rows.workers import workers
from ramet.store.session import Session

LOOKS_MAX = 10_000
"""Most waits that are read; the workers' slots bound them."""

_WAITS = (
    "SELECT t.id, t.kind, h.since, l.worker, l.queue, a.id, a.kind, a.queue, b.state FROM ramet_handler_waits h "
    "JOIN ramet_live l ON l.seq = h.seq AND l.fence = h.fence AND l.state = 'processing' "
    "JOIN ramet_live b ON b.seq = h.awaited JOIN ramet_tasks t ON t.seq = h.seq "
    "JOIN ramet_tasks a ON a.seq = h.awaited"
)


class _Limits(NamedTuple):
    """Largest numbers of claims, by name."""

    queues: Mapping[str, int]
    kinds: Mapping[str, int]

    def least(self, queue: str, kind: str) -> int | None:
        """Claims that a kind in a queue may have; None without a limit."""
        return min((most for most in (self.queues.get(queue), self.kinds.get(kind)) if most is not None), default=None)


def _limits(session: Session) -> _Limits:
    found: list[dict[str, int]] = [
        dict(session.rows(f"SELECT name, concurrency FROM {table} WHERE concurrency IS NOT NULL"))
        for table in ("ramet_queues", "ramet_kinds")
    ]
    return _Limits(*found)


def _serving(session: Session, queue: str, kind: str) -> list[WorkerStatus]:
    return [one for one in workers(session) if one.alive and queue in one.queues and kind in one.kinds]


def handler_waits(session: Session, task_id: str) -> list[HandlerWait]:
    """Return the tasks for which the handler of a task waits now, the first of them first."""
    rows = session.rows(f"{_WAITS} WHERE t.id = ? ORDER BY h.since, h.awaited LIMIT 100", (task_id,))
    return [HandlerWait(row[0], row[1], row[2], row[5], row[6], row[8]) for row in rows]


def starved(session: Session) -> list[StarvedKind]:
    """Return kinds with pending tasks whose every slot is held by a handler that waits inside for a pending task."""
    rows = session.rows(f"{_WAITS} WHERE b.state = 'pending' ORDER BY h.since LIMIT ?", (LOOKS_MAX,))
    if not rows:
        return []
    limits = _limits(session)
    held: dict[str, set[str]] = defaultdict(set)
    """Claims that wait inside: by worker, and of those kinds and queues that are limited."""
    for waiter, kind, _, worker, queue, *_ in rows:
        for name in (f"worker {worker}", f"kind {kind}", f"queue {queue}"):
            held[name].add(waiter)
    found: dict[tuple[str, str], StarvedKind] = {}
    for waiter, kind, since, _, _, awaited, awaited_kind, queue, _ in rows:
        if (queue, awaited_kind) in found:
            continue
        serving = _serving(session, queue, awaited_kind)
        slots = sum(one.concurrency for one in serving)
        taken = sum(len(held[f"worker {one.name}"]) for one in serving)
        for name, most in ((f"kind {awaited_kind}", limits.kinds), (f"queue {queue}", limits.queues)):
            limit = most.get(name.partition(" ")[2])
            if limit is not None and len(held[name]) >= limit:
                slots, taken = limit, len(held[name])
        if slots and taken >= slots:
            found[queue, awaited_kind] = StarvedKind(queue, awaited_kind, slots, waiter, kind, awaited, since)
    return [found[name] for name in sorted(found)]


def may_starve(session: Session, claimed: Sequence[int], task_id: str) -> bool:
    """Return whether handlers of these claimed tasks' kinds could hold every slot in which a pending task can run."""
    wanted = session.rows(
        "SELECT l.queue, l.kind, l.rank, l.bound_to FROM ramet_tasks t JOIN ramet_live l ON l.seq = t.seq "
        "WHERE t.id = ? AND l.state = 'pending'",
        (task_id,),
    )
    if not wanted:
        return False
    [(queue, kind, rank, bound_to)] = wanted
    listed, values = session.members(claimed)
    waiters = session.rows(f"SELECT DISTINCT queue, kind FROM ramet_live WHERE seq {listed}", (values,))
    if bound_to is not None or is_pulled(rank):
        return False  # No worker's slot is for it.
    return (queue, kind) in waiters or _could_hold_all(session, waiters, queue, kind)


def _could_hold_all(session: Session, waiters: Collection[Sequence[str]], queue: str, kind: str) -> bool:
    serving, limits = _serving(session, queue, kind), _limits(session)
    slots = sum(one.concurrency for one in serving)
    for waiter_queue, waiter_kind in waiters:
        everywhere = all(waiter_queue in one.queues and waiter_kind in one.kinds for one in serving)
        most = limits.least(waiter_queue, waiter_kind)
        if serving and everywhere and (most is None or most >= slots):
            return True
    return False
