"""Slots: those held on after an end from outside, and those given back that are waited for (DESIGN §4, §10).

A task that was ended from outside keeps its slot until its worker releases it, or its lease lapsed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ramet.model.task.transitions import CANCEL, CLAIM, LINEAGE_ENDED, OVER_CEILING, TASK_DEADLINE, Change
from ramet.store.session import Session

FLOW = "flow"
"""Name of the lock under which claims are counted against limits, and resources are read and then written."""

_FROM_OUTSIDE = (CANCEL, LINEAGE_ENDED, OVER_CEILING, TASK_DEADLINE)


def may_still_run(change: Change, now: float) -> bool:
    """Return True when a worker may still be running the claim that this change ended from outside."""
    return change.transition.recorded and change.before.lease_until > now and change.transition in _FROM_OUTSIDE


def hold(session: Session, changes: Sequence[Change]) -> None:
    """Note which of the ended claims a worker may still be running."""
    rows = [
        (c.before.seq, c.before.fence, c.before.tracking_id, c.before.queue, c.before.kind, c.before.resource,
         c.before.lease_until)
        for c in changes
        if may_still_run(c, session.now)
    ]  # fmt: skip
    columns = ("seq", "fence", "tracking_id", "queue", "kind", "resource", "lease_until")
    session.insert("ramet_holds", columns, rows, key=("seq", "fence"))


def acknowledge(session: Session, pairs: Sequence[tuple[int, int]]) -> int:
    """Free the slots of claims that their worker no longer runs; return how many were held on."""
    freed = session.delete("ramet_holds", ("seq", "fence"), sorted(pairs))
    if freed:
        session.wake()
    return freed


def lapsed(session: Session, limit: int) -> list[tuple[int, int]]:
    """Claims that are held on and whose lease lapsed: whatever became of the worker, it runs them no longer."""
    found = session.rows("SELECT seq, fence FROM ramet_holds WHERE lease_until <= ? LIMIT ?", (session.now, limit))
    return [(seq, fence) for seq, fence in found]


def wake_resources(session: Session, names: Collection[str]) -> None:
    """Something waits for these resources, or a slot of theirs was given back: the next claim looks at them."""
    if not names:
        return
    session.lock(FLOW)
    session.insert(
        "ramet_resources",
        ("name", "ready_at"),
        [(name, session.now) for name in sorted(set(names))],
        key=("name",),
        changes=("ready_at",),
        where="ramet_resources.ready_at IS NULL OR ramet_resources.ready_at > excluded.ready_at",
    )


def resources_to_wake(changes: Sequence[Change]) -> set[str]:
    """Resources of which these changes gave a slot back, or which they made a task wait for."""
    return {c.before.resource for c in changes if c.before.resource is not None and c.transition is not CLAIM}
