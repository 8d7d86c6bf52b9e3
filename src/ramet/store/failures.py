"""Errors that were seen before (DESIGN §6)."""

from __future__ import annotations

from ramet.model.task import Standing
from ramet.store.session import Session
from ramet.store.spawning import load_parents


def repeated_failure(session: Session, standing: Standing, print_: str) -> str | None:
    """Id of the task whose final failure makes this error a repetition (DESIGN §6), or None.

    That is this very task, before a person revived it, or an ancestor; never a task of another lineage. A lineage has
    no second task of the same kind and key (promise I4).
    """
    [(task_id, _, chain, _)] = load_parents(session, [standing.seq]).values()
    before_revive = session.rows(
        "SELECT 1 FROM ramet_transitions WHERE seq = ? AND name = 'revive' AND fingerprint = ? LIMIT 1",
        (standing.seq, print_),
    )
    if before_revive:
        return task_id
    if chain:
        listed, values = session.members(chain)
        found = session.rows(
            f"SELECT id FROM ramet_tasks WHERE id IN {listed} AND state || '' = 'failed' AND fingerprint = ? LIMIT 1",
            (values, print_),
        )
        if found:
            return str(found[0][0])
    return None
