"""One act on many tasks, in one transaction with its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ramet.model.bulk import BulkAct
from ramet.store.rows.audit_log import record_act
from ramet.store.session import Session
from ramet.store.verbs import operate


def act_on_tasks(
    session: Session,
    act: BulkAct,
    task_ids: Sequence[str],
    *,
    by: str,
    reason: str | None,
    detail: Mapping[str, Any],
    extend_seconds: float | None,
) -> list[str]:
    """Retry, cancel or exclude these tasks; returns the ids of those on which it took effect.

    Raises:
        StoreError: one of them cannot be acted on; nothing was done.
    """
    match act:
        case BulkAct.RETRY:
            done = operate.revive(session, task_ids, by, reason, extend_seconds)
        case BulkAct.EXCLUDE:
            done = operate.exclude(session, task_ids, by, reason)
        case _:
            done = [task_id for task_id in task_ids if operate.cancel(session, task_id, False, by, reason)]
    if done:
        facts = {"tasks": len(done), **detail}
        record_act(session, by=by, act=f"bulk_{act}", subject=f"{len(done)} tasks", reason=reason, detail=facts)
    return done
