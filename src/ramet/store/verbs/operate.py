"""Acts of people on tasks: cancel one, a tree or a lineage, revive what ended. Recorded with who and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ramet.model.lineage.guard import tombstone_over
from ramet.model.lineage.lineage import Lineage, LineageState
from ramet.model.operations import BulkAction
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.ordering import class_of_standing, rank_of
from ramet.model.task.task import Standing, Wait
from ramet.model.task.transitions import PROCESSING, Change
from ramet.store.errors import StoreError
from ramet.store.rows import keys
from ramet.store.rows.lineages import PRUNING, count_end, end_lineage, extended_deadline, lock_lineages, tombstones_of
from ramet.store.rows.retained_slots import wake_resources
from ramet.store.rows.settings import record_audit_entry
from ramet.store.rows.tasks import ended_standing
from ramet.store.rows.turns import Turns
from ramet.store.rows.waits import ended_waiting
from ramet.store.schema.columns import LIVE_LIST
from ramet.store.session import Session
from ramet.store.state.apply import apply, release
from ramet.store.verbs.lineage_followup import finish_ends
from ramet.store.verbs.raise_limits import refuse_odd_extension
from ramet.store.verbs.spawn import load_parents


def find(session: Session, task_id: str) -> int | None:
    """Return the number of a task."""
    found = session.rows("SELECT seq FROM ramet_tasks WHERE id = ?", (task_id,))
    return int(found[0][0]) if found else None


def cancel(
    session: Session, task_id: str, *, tree: bool = False, by: str = "client", reason: str | None = None
) -> bool:
    """Cancel a task; return False when there was nothing to cancel.

    With ``tree``, a tombstone on the lineage row covers the task and everything below it, from this commit on.
    """
    seq = find(session, task_id)
    if seq is None:
        return False
    [(_, tracking_id, _, _)] = load_parents(session, [seq]).values()
    if tree:
        if _only_root(session, tracking_id, task_id):
            return cancel_lineage(session, tracking_id, by=by, reason=reason)
        return _add_tombstone(session, tracking_id, task_id, by, reason)
    return _cancel_one(session, seq, by, reason)


def cancel_lineage(session: Session, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Cancel a whole lineage in one transaction, by its row; the sweep ends its tasks in batches."""
    why = Reason("cancelled", by=by, **({"text": reason} if reason else {}))
    if not end_lineage(session, tracking_id, LineageState.CANCELLED, why):
        return False
    record_audit_entry(
        session, by=by, act="cancel_lineage", subject=tracking_id, tracking_id=tracking_id, reason=reason
    )
    return True


def _cancel_one(session: Session, seq: int, by: str, reason: str | None) -> bool:
    rows = session.rows(f"SELECT {LIVE_LIST} FROM ramet_live WHERE seq = ?", (seq,))
    if not rows:
        return False
    why = Reason("cancelled", by=by, **({"text": reason} if reason else {}))
    standing = Standing._make(rows[0])
    if standing.state == PROCESSING:
        count_end(session)
    change = decide(standing, ev.Cancel(by, why), session.now)
    return isinstance(change, Change) and not apply(session, [change]).lost


def _only_root(session: Session, tracking_id: str, task_id: str) -> bool:
    roots = session.rows(
        "SELECT id FROM ramet_tasks WHERE tracking_id = ? AND parent_id IS NULL LIMIT 2", (tracking_id,)
    )
    return roots == [(task_id,)]


def _add_tombstone(session: Session, tracking_id: str, task_id: str, by: str, reason: str | None) -> bool:
    lineage = lock_lineages(session, [tracking_id])[tracking_id]
    marks = tombstones_of(lineage)
    lifted = _lifted_below(session, marks, task_id)
    if not lineage.live or (marks.get(task_id) == 1 and not lifted):
        return False
    _mark(session, lineage, {**{marked: mark for marked, mark in marks.items() if marked not in lifted}, task_id: 1})
    count_end(session)
    seq = find(session, task_id)
    assert seq is not None
    _cancel_one(session, seq, by, reason)
    record_audit_entry(session, by=by, act="cancel_tree", subject=task_id, tracking_id=tracking_id, reason=reason)
    return True


def _lifted_below(session: Session, marks: dict[str, int], task_id: str) -> set[str]:
    """Subtrees of a task that were revived: cancelling it again covers them too."""
    seqs = [find(session, marked) for marked, mark in marks.items() if not mark]
    parents = load_parents(session, [seq for seq in seqs if seq is not None])
    return {below for below, _, chain, _ in parents.values() if task_id in chain}


def _mark(session: Session, lineage: Lineage, marks: dict[str, int]) -> None:
    session.run(
        "UPDATE ramet_lineages SET tombstones = ?, sweep = 1 WHERE tracking_id = ?",
        (json.dumps(marks), lineage.tracking_id),
    )


def revive(
    session: Session,
    task_ids: Sequence[str],
    *,
    by: str,
    reason: str | None = None,
    extend_seconds: float | None = None,
) -> list[str]:
    """Give ended tasks that were not successful new attempts under the same identity; return those revived.

    Raises:
        StoreError: a lineage's deadline has passed and ``extend_seconds`` was not given, or a task id is unknown.
        UniqueHeld: another task holds the unique key of one of them.
    """
    refuse_odd_extension(extend_seconds)
    revived = []
    for task_id in task_ids:
        seq = find(session, task_id)
        if seq is None:
            raise StoreError(f"no task {task_id}: look it up with `ramet status` or `ramet tree`")
        [(_, tracking_id, _, _)] = load_parents(session, [seq]).values()
        # Tasks that a cancel has not reached yet would otherwise run on in the reopened lineage.
        finish_ends(session, lock_lineages(session, [tracking_id])[tracking_id])
        standing, print_ = ended_standing(session, seq)
        if standing is None:
            continue
        change = decide(standing, ev.Revive(by, reason, ended_waiting(session, seq)), session.now)
        if not isinstance(change, Change):
            continue
        if standing.unique_seconds is not None:
            keys.take_again(session, seq)
        _reopen_lineage(session, standing.tracking_id, task_id, extend_seconds)
        if not apply(session, [change._replace(fingerprint=print_)]).lost:
            revived.append(task_id)
    if revived:
        session.wake()
    return revived


def exclude(session: Session, task_ids: Sequence[str], *, by: str, reason: str | None = None) -> list[str]:
    """Take pending, failed or cancelled tasks out for good, all in one transaction; a revive undoes it.

    They are skipped (``excluded``). Their identity stays taken: it is not spawned again in their lineage, nor elsewhere
    where it is unique over all lineages.

    Returns:
        Ids of those excluded; a task in another state is left as it is.

    Raises:
        StoreError: a task id is unknown; nothing was done.
    """
    excluded = []
    for task_id in task_ids:
        seq = find(session, task_id)
        if seq is None:
            raise StoreError(f"no task {task_id}: look it up with `ramet status` or `ramet tree`")
        live = session.rows(f"SELECT {LIVE_LIST} FROM ramet_live WHERE seq = ?", (seq,))
        standing = Standing._make(live[0]) if live else ended_standing(session, seq)[0]
        change = None if standing is None else decide(standing, ev.Exclude(by, reason), session.now)
        if isinstance(change, Change) and not apply(session, [change]).lost:
            excluded.append(task_id)
    return excluded


def reprioritise(
    session: Session, task_id: str, *, priority: int, by: str = "client", reason: str | None = None
) -> int:
    """Give a pending task another priority; return the one that it had.

    In its new class it takes the turn that claims have reached there, as a task of a lineage that was away does.

    Raises:
        StoreError: there is no such task, it is not pending, or its order is not one of priorities.
    """
    standing, tracking_id = _pending(session, task_id, "reprioritised")
    [(was, breadth)] = session.rows("SELECT priority, breadth FROM ramet_tasks WHERE seq = ?", (standing.seq,))
    rank = rank_of(priority, breadth, standing.spawn_depth)
    change = _changed(session, standing, task_id, ev.Reprioritise(by, rank, reason), "reprioritised")
    session.run("UPDATE ramet_tasks SET priority = ? WHERE seq = ?", (priority, standing.seq))
    turn = Turns(session).level(class_of_standing(change.after))
    session.run("UPDATE ramet_live SET turn = ? WHERE seq = ?", (turn, standing.seq))
    record_audit_entry(
        session, by=by, act="reprioritise", subject=task_id, tracking_id=tracking_id, reason=reason,
        detail={"was": was, "priority": priority},
    )  # fmt: skip
    return int(was)


def reschedule(
    session: Session,
    task_id: str,
    *,
    at: float | None = None,
    delay_seconds: float = 0.0,
    by: str = "client",
    reason: str | None = None,
) -> float:
    """Move the moment from which a pending task may be claimed; return it, Unix seconds: now, where it is past.

    On a path a task keeps its ticket for as long as one that was snoozed does.

    Args:
        at: Unix seconds; None for ``delay_seconds`` from now.

    Raises:
        StoreError: there is no such task, it is not pending, or it waits for others.
    """
    standing, tracking_id = _pending(session, task_id, "rescheduled")
    wanted = session.now + delay_seconds if at is None else at
    change = _changed(session, standing, task_id, ev.Reschedule(by, wanted, reason), "rescheduled")
    moment = change.after.available_at
    if change.after.wait == Wait.RESOURCE and standing.resource is not None:
        wake_resources(session, {standing.resource})
    record_audit_entry(
        session, by=by, act="reschedule", subject=task_id, tracking_id=tracking_id, reason=reason,
        detail={"was_at": standing.available_at, "at": moment},
    )  # fmt: skip
    return moment


_REFUSED = {
    "ending": "a limit or a person has ended it, and its on_end handler is to run",
    "pulled": "its kind is pulled: the task that has been due the longest comes first, so reschedule it instead",
    "held": "it waits for other tasks, for the task that settles it, or in line on its path",
}


def _pending(session: Session, task_id: str, done: str) -> tuple[Standing, str]:
    """Return the standing of a pending task, and its lineage, whose row is locked."""
    seq = find(session, task_id)
    if seq is None:
        raise StoreError(f"no task {task_id}: look it up with `ramet status` or `ramet tree`")
    [(_, tracking_id, _, _)] = load_parents(session, [seq]).values()
    lock_lineages(session, [tracking_id])
    rows = session.rows(f"SELECT {LIVE_LIST} FROM ramet_live WHERE seq = ?", (seq,))
    if not rows:
        raise StoreError(f"task {task_id} has ended: only a pending task can be {done}")
    return Standing._make(rows[0]), tracking_id


def _changed(session: Session, standing: Standing, task_id: str, event: ev.Event, done: str) -> Change:
    change = decide(standing, event, session.now)
    if not isinstance(change, Change):
        why = _REFUSED.get(change.reason)
        said = f"is {standing.state}: only a pending task can be {done}" if why is None else f"cannot be {done}: {why}"
        raise StoreError(f"task {task_id} {said}")
    assert not apply(session, [change]).lost, "the row of the task is held"
    session.wake()
    return change


def _reopen_lineage(session: Session, tracking_id: str, task_id: str, extend_seconds: float | None) -> None:
    lineage = lock_lineages(session, [tracking_id])[tracking_id]
    if lineage.sweep == PRUNING:
        raise StoreError(f"lineage {tracking_id} is being pruned: nothing of it can be revived")
    if extend_seconds is not None:
        session.run(
            "UPDATE ramet_lineages SET deadline_at = ? WHERE tracking_id = ?",
            (extended_deadline(session, lineage, extend_seconds), tracking_id),
        )
    elif session.now >= lineage.deadline_at:
        raise StoreError(f"the deadline of lineage {tracking_id} has passed: give --extend SECONDS to revive its tasks")
    marks = tombstones_of(lineage)
    if marks:
        seq = find(session, task_id)
        assert seq is not None
        [(_, _, chain, _)] = load_parents(session, [seq]).values()
        if tombstone_over(marks, task_id, chain) is not None:
            _mark(session, lineage, {**marks, task_id: 0})
    # A claim may have set tasks aside that are free again now; one that is not steps aside at the next claim.
    release(session, tracking_id)


def act_on_tasks(
    session: Session,
    act: BulkAction,
    task_ids: Sequence[str],
    *,
    by: str,
    reason: str | None = None,
    detail: Mapping[str, Any],
    extend_seconds: float | None = None,
) -> list[str]:
    """Retry, cancel or exclude tasks, all in one transaction with its record, an act ``bulk_...``.

    Args:
        detail: how they were chosen; part of the record.

    Returns:
        Ids of those on which it took effect.

    Raises:
        StoreError: one of them cannot be acted on; nothing was done.
    """
    match act:
        case BulkAction.RETRY:
            done = revive(session, task_ids, by=by, reason=reason, extend_seconds=extend_seconds)
        case BulkAction.EXCLUDE:
            done = exclude(session, task_ids, by=by, reason=reason)
        case _:
            done = [task_id for task_id in task_ids if cancel(session, task_id, tree=False, by=by, reason=reason)]
    if done:
        facts = {"tasks": len(done), **detail}
        record_audit_entry(session, by=by, act=f"bulk_{act}", subject=f"{len(done)} tasks", reason=reason, detail=facts)
    return done
