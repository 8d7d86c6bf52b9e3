"""Who serves what: workers, as they said themselves (DESIGN §10)."""

from __future__ import annotations

import json

from ramet.model.flow.resources import WorkerSeen
from ramet.store.rows.commit_times import Measured, add
from ramet.store.session import Session

SEEN_SECONDS_MAX = 60.0
"""A worker that said nothing for so long serves nothing as far as anybody can tell."""
_FORGET_SECONDS = 86_400.0
_LIST = "name, host, pid, kinds, queues, concurrency, started_at, seen_at"


def see_worker(session: Session, measured: Measured, worker: WorkerSeen) -> None:
    """Store that a worker lives and what it serves, as it says every few seconds; forget those silent for a day.

    How long commits of this process took since the last call is stored with it.
    """
    session.run(
        f"INSERT INTO ramet_workers ({_LIST}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
        "kinds = excluded.kinds, queues = excluded.queues, seen_at = excluded.seen_at",
        (worker.name, worker.host, worker.pid, json.dumps(worker.kinds), json.dumps(worker.queues),
         worker.concurrency, session.now, session.now),
    )  # fmt: skip
    session.run("DELETE FROM ramet_workers WHERE seen_at < ?", (session.now - _FORGET_SECONDS,))
    add(session, measured)


def forget_worker(session: Session, measured: Measured, name: str) -> None:
    """Remove a worker that ended in good order; what its process measured since the last call is stored."""
    session.run("DELETE FROM ramet_workers WHERE name = ?", (name,))
    add(session, measured)


def workers(session: Session) -> list[WorkerSeen]:
    """Return the workers that were seen within a day, the newest last."""
    return [
        WorkerSeen(name, host, pid, tuple(json.loads(kinds)), tuple(json.loads(queues)), concurrency, started_at,
                   seen_at, session.now - seen_at < SEEN_SECONDS_MAX)
        for name, host, pid, kinds, queues, concurrency, started_at, seen_at in session.rows(
            f"SELECT {_LIST} FROM ramet_workers ORDER BY started_at, name"
        )
    ]  # fmt: skip
