"""The epoch: which copy of a database this is, in every fence (DESIGN §9).

A copy that is restored while the original, or another copy, is still in somebody's hands would hand out the same
fences again: a worker of the one could settle in the other. So every copy gets an epoch of its own when it is first
opened, and a fence is epoch times :data:`FENCES_PER_EPOCH` plus the claims of its task. A database that was never
restored has epoch 0 and fences from 1.
"""

from __future__ import annotations

from ramet.store.session import Session

FENCES_PER_EPOCH = 2**21
"""Claims of one task in one epoch. With an epoch of Unix seconds a fence stays below 2**53, exact in any JSON."""
COPIED = "copied"
"""Counter that a backup carries: whoever opens it first begins an epoch."""


def fence_base(session: Session) -> int:
    """Where fences of new tasks begin; a copy that is opened for the first time begins its epoch here."""
    counters: dict[str, int] = dict(
        session.rows("SELECT name, value FROM ramet_counters WHERE name IN ('epoch', ?)", (COPIED,))
    )
    return -1 if COPIED in counters else counters["epoch"] * FENCES_PER_EPOCH


def begin_epoch(session: Session) -> int:
    """Lift every fence above all that any other copy hands out; returns where fences of new tasks begin.

    The epoch is the present second: two copies of one backup get two epochs, too.
    """
    [(old,)] = session.rows("SELECT value FROM ramet_counters WHERE name = 'epoch'")
    epoch = max(int(old) + 1, int(session.now))
    base = epoch * FENCES_PER_EPOCH
    session.run("UPDATE ramet_counters SET value = ? WHERE name = 'epoch'", (epoch,))
    session.run("UPDATE ramet_live SET fence = fence % ? + ?", (FENCES_PER_EPOCH, base))
    session.run("UPDATE ramet_tasks SET fence = fence % ? + ? WHERE fence IS NOT NULL", (FENCES_PER_EPOCH, base))
    session.run("DELETE FROM ramet_counters WHERE name = ?", (COPIED,))
    return base
