"""Who serves what: workers as they said themselves, and the live kinds that nobody serves (DESIGN §10)."""

from __future__ import annotations

import json

from ramet.model.flow import Unserved, WorkerSeen
from ramet.store.session import Session

SEEN_SECONDS_MAX = 60.0
"""A worker that said nothing for so long serves nothing as far as anybody can tell."""
_FORGET_SECONDS = 86_400.0
_LIST = "name, host, pid, kinds, queues, concurrency, started_at, seen_at"


def see_worker(session: Session, worker: WorkerSeen) -> None:
    """Note that a worker lives and what it serves; forget those that fell silent a day ago."""
    session.run(
        f"INSERT INTO ramet_workers ({_LIST}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
        "kinds = excluded.kinds, queues = excluded.queues, seen_at = excluded.seen_at",
        (worker.name, worker.host, worker.pid, json.dumps(worker.kinds), json.dumps(worker.queues),
         worker.concurrency, session.now, session.now),
    )  # fmt: skip
    session.run("DELETE FROM ramet_workers WHERE seen_at < ?", (session.now - _FORGET_SECONDS,))


def forget_worker(session: Session, name: str) -> None:
    """The worker ended in good order."""
    session.run("DELETE FROM ramet_workers WHERE name = ?", (name,))


def workers(session: Session) -> list[WorkerSeen]:
    """Workers that were seen within a day, the newest last."""
    return [
        WorkerSeen(name, host, pid, tuple(json.loads(kinds)), tuple(json.loads(queues)), concurrency, started_at,
                   seen_at, session.now - seen_at < SEEN_SECONDS_MAX)
        for name, host, pid, kinds, queues, concurrency, started_at, seen_at in session.rows(
            f"SELECT {_LIST} FROM ramet_workers ORDER BY started_at, name"
        )
    ]  # fmt: skip


def unserved(session: Session) -> list[Unserved]:
    """Kinds and queues with live tasks that no living worker serves."""
    served = {
        (queue, kind) for worker in workers(session) if worker.alive for queue in worker.queues for kind in worker.kinds
    }
    rows = session.rows("SELECT queue, kind, COUNT(*) FROM ramet_live GROUP BY queue, kind ORDER BY queue, kind")
    return [Unserved(queue, kind, tasks) for queue, kind, tasks in rows if (queue, kind) not in served]
