"""Stale claims: taken back by maintenance, and by a claim that counts what is held against a limit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.task import Standing
from ramet.model.task.transitions import Change
from ramet.store.rows.lineages import name_deadlines
from ramet.store.rows.tasks import take_live
from ramet.store.session import Session
from ramet.store.state.apply import apply

DeadWorkers = Mapping[str, Collection[tuple[int, int]] | None]
"""Proof by the store: by name, the claims (seq, fence) that ran when the worker died; None where that is unknown."""

# Named in the text, so that a planner knows how few these are; and which of many come first must not hang on its plan.
_CLAIMED = "WHERE state = 'processing' AND"
_ORDER = " ORDER BY spawn_depth, seq"


def reclaim(session: Session, limit: int, dead_workers: DeadWorkers, *, pathless: bool = False) -> tuple[int, int]:
    """Stale tasks (with ``pathless`` those without paths) become pending again; returns how many, and how many ended as
    poison instead.

    Tasks that a dead worker had fetched and not begun go back with their attempt: nothing was lost (DESIGN §10).
    """
    only = " AND holds_path IS NULL" if pathless else ""
    stale = take_live(session, f"{_CLAIMED} lease_until <= ?{only}{_ORDER}", (session.now,), limit)
    events: list[tuple[Standing, ev.Event]] = [(standing, ev.LeaseExpired()) for standing in stale]
    if dead_workers:
        listed, values = session.members(dead_workers)
        where = f"{_CLAIMED} lease_until > ? AND worker {listed}{_ORDER}"
        found = take_live(session, where, (session.now, values), limit)
        events += [(standing, _of_the_dead(standing, dead_workers)) for standing in found]
    changes = apply_events(session, events)
    again = sum(1 for change in changes if change.after.state == "pending")
    return again, len(changes) - again


def _of_the_dead(standing: Standing, dead_workers: DeadWorkers) -> ev.Event:
    ran = dead_workers.get(standing.worker or "")
    if ran is None or (standing.seq, standing.fence) in ran:
        return ev.LeaseExpired(worker_dead=True)
    return ev.HandBack(standing.fence)


def apply_events(session: Session, events: Sequence[tuple[Standing, ev.Event]]) -> list[Change]:
    """Decide and write; a task that does not allow its event, or changed since it was read, is left out."""
    decided = [decide(standing, event, session.now) for standing, event in events]
    changes = list(name_deadlines(session, [change for change in decided if isinstance(change, Change)]))
    lost = apply(session, changes).lost
    return [change for change in changes if change.before.seq not in lost]
