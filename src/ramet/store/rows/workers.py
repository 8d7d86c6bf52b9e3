"""Workers as they describe themselves (DESIGN §10), and how long their commits take.

Differences, not a worker's own totals: the sums then only grow, whichever worker ends or is forgotten, and the totals
of a worker that is gone need no memory (docs/decisions/0051).
"""

from __future__ import annotations

import json
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping

from ramet.model.flow.resources import COMMIT_BUCKETS_SECONDS, COMMIT_VERBS, CommitTimes, WorkerStatus
from ramet.store.session import Session

_ADDED = (
    "commits = ramet_commit_times.commits + excluded.commits",
    "seconds = ramet_commit_times.seconds + excluded.seconds",
)

Measured = Mapping[tuple[str, int], tuple[int, float]]
"""(verb, bucket) -> commits and their seconds, since the last hand-over."""


class CommitTimer:
    """Measurements of this process that are not handed over yet. Safe to use from any thread."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.monotonic = monotonic
        self._lock = threading.Lock()
        self._measured: dict[tuple[str, int], tuple[int, float]] = {}

    def note(self, verb: str, began: float) -> None:
        """Count a commit, one of :data:`COMMIT_VERBS`, that was asked for at ``began``, in monotonic seconds."""
        seconds = self.monotonic() - began
        self._add((verb, bisect_left(COMMIT_BUCKETS_SECONDS, seconds)), 1, seconds)

    def take(self) -> Measured:
        """Return the measurements, which the caller now has to store or to give back."""
        with self._lock:
            measured, self._measured = self._measured, {}
            return measured

    def give_back(self, measured: Measured) -> None:
        """Give back what could not be stored: the next hand-over has it."""
        for at, (commits, seconds) in measured.items():
            self._add(at, commits, seconds)

    def _add(self, at: tuple[str, int], commits: int, seconds: float) -> None:
        with self._lock:
            before = self._measured.get(at, (0, 0.0))
            self._measured[at] = (before[0] + commits, before[1] + seconds)


def add(session: Session, measured: Measured) -> None:
    """Add what a process measured to the sums of all."""
    # In one order, so that two workers that hand over at once never wait for each other in a ring.
    rows, key = [(*at, *measured[at]) for at in sorted(measured)], ("verb", "bucket")
    session.insert("ramet_commit_times", (*key, "commits", "seconds"), rows, key=key, changes=_ADDED)


def commit_times(session: Session) -> list[CommitTimes]:
    """Return how long commits took, for every verb, as all workers measured them; the sums never fall."""
    rows = session.rows("SELECT verb, bucket, commits, seconds FROM ramet_commit_times")
    counts = {verb: [0] * (len(COMMIT_BUCKETS_SECONDS) + 1) for verb in COMMIT_VERBS}
    total = dict.fromkeys(COMMIT_VERBS, 0.0)
    for verb, bucket, commits, seconds in rows:
        counts[verb][bucket] = commits
        total[verb] += seconds
    return [CommitTimes(verb, tuple(counts[verb]), total[verb]) for verb in COMMIT_VERBS]


SEEN_SECONDS_MAX = 60.0
"""A worker that said nothing for so long serves nothing as far as anybody can tell."""
_FORGET_SECONDS = 86_400.0
_LIST = "name, host, pid, kinds, queues, concurrency, started_at, seen_at"


def see_worker(session: Session, measured: Measured, worker: WorkerStatus) -> None:
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


def workers(session: Session) -> list[WorkerStatus]:
    """Return the workers that were seen within a day, the newest last."""
    return [
        WorkerStatus(name, host, pid, tuple(json.loads(kinds)), tuple(json.loads(queues)), concurrency, started_at,
                   seen_at, session.now - seen_at < SEEN_SECONDS_MAX)
        for name, host, pid, kinds, queues, concurrency, started_at, seen_at in session.rows(
            f"SELECT {_LIST} FROM ramet_workers ORDER BY started_at, name"
        )
    ]  # fmt: skip
