"""The state machine of a task: :func:`decide`, the only place where a state follows another.

``decide(task, event, now)`` reads a :class:`~ramet.model.task.task.Standing` and an event and returns a
:class:`Change`, or :class:`TransitionRefused` when the table of DESIGN §4 has no such cell. It changes nothing itself:
the store applies changes in batches, ``WHERE`` id, state and fence still are what the decision saw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ramet.model.lineage.limits import ENDING_SECONDS, LOSSES_ALONE_MAX, LOSSES_MAX, SNOOZE_SECONDS_MIN
from ramet.model.reasons import Reason, code_of, facts_of, inner, restored, stored, with_on_end
from ramet.model.task import events as ev
from ramet.model.task import transitions as rows
from ramet.model.task.binding import bind
from ramet.model.task.ordering import due_rank, is_pulled
from ramet.model.task.retry import ErrorClass, backoff_seconds
from ramet.model.task.task import Standing, Wait, changed, free_wait
from ramet.model.task.transitions import (
    CANCELLED,
    FAILED,
    FILTERED,
    LINEAGE_ENDED,
    PENDING,
    PROCESSING,
    SKIPPED,
    SUCCESS,
    TASK_DEADLINE,
    Change,
    Transition,
    TransitionRefused,
)

_DUE = Wait.DUE.value
_RESOURCE = Wait.RESOURCE.value
_TASKS = Wait.TASKS.value
_IN_LINE = (Wait.PATH.value, Wait.TICKET.value)


def decide(task: Standing, event: ev.Event, now: float) -> Change | TransitionRefused:
    """Decide the change of ``task`` when ``event`` happens at ``now``.

    Args:
        task: the standing of the task, read in the transaction that will apply the answer.
        event: one of :mod:`ramet.model.task.events`.
        now: Unix seconds by the store's clock.

    Returns:
        A :class:`Change` to apply, or :class:`TransitionRefused` with its reason. Never raises for a known event.
    """
    transition, rule = _RULES[type(event)]
    if task.state not in transition.sources:
        return TransitionRefused(f"is_{task.state}")
    fence = getattr(event, "fence", None)
    if fence is not None and fence != task.fence:
        return TransitionRefused("stale")
    return rule(transition, task, event, now)


# --- how a claim begins and is kept -----------------------------------------------------------------------------


def _claim(row: Transition, task: Standing, event: ev.Claim, now: float) -> Change | TransitionRefused:
    if (task.wait is not None and task.wait != _RESOURCE) or task.holds_path == 0:
        return TransitionRefused("waits")
    if task.available_at > now:
        return TransitionRefused("not_due")
    before, task = task, _after_resource(task, event, now)
    started_at = now if task.started_at is None else task.started_at
    deadline_at = task.deadline_at
    if deadline_at is None or task.started_at is None:
        until = event.lineage_deadline_at if deadline_at is None else min(deadline_at, event.lineage_deadline_at)
        deadline_at = until if task.task_seconds is None else min(started_at + task.task_seconds, until)
    after = changed(
        task,
        state=PROCESSING,
        fence=task.fence + 1,
        lease_until=now + event.lease_seconds,
        worker=event.worker,
        claimed_at=now,
        started_at=started_at,
        deadline_at=deadline_at,
        attempts=task.attempts if task.ending is not None else task.attempts + 1,
        progressed=0,
    )
    return Change(before, after, row)


def _after_resource(task: Standing, event: ev.Claim, now: float) -> Standing:
    """Return the task with its time put off by as long as it waited for its turn at its resource."""
    if task.wait != _RESOURCE or task.started_at is None or task.ending is not None:
        return task
    return put_off(task, now - task.available_at, event.lineage_deadline_at)


def _extend(row: Transition, task: Standing, event: ev.Heartbeat, now: float) -> Change:
    return Change(task, task._replace(lease_until=now + event.lease_seconds), row)


def _checkpoint(row: Transition, task: Standing, event: ev.Checkpoint, now: float) -> Change:
    after = task._replace(
        lease_until=now + event.lease_seconds, stage=task.stage if event.stage is None else event.stage, progressed=1
    )
    return Change(task, after, row)


# --- how a claim ends -------------------------------------------------------------------------------------------


_NOTHING: dict[str, Any] = {}
_NOT_ENDING: dict[str, Any] = {"ending": None, "ending_reason": None, "ending_facts": None}
_OVER = dict.fromkeys("wait worker ending ending_reason ending_facts bound_to".split()) | {"lease_until": 0.0}


def _ended(row: Transition, task: Standing, state: str, fields: dict[str, Any] = _NOTHING, **details: Any) -> Change:
    """Return the change to a terminal state. A task that was *ending* gets the state it was ending as, whatever its
    last handler said.
    """
    if task.ending is not None:
        state, details["reason"] = task.ending, _both_reasons(task, details)
    return Change(task, changed(task, state=state, **_OVER, **fields), row, **details)


def _both_reasons(task: Standing, details: dict[str, Any]) -> str | None:
    """Why it was to end, and what went wrong with its ``on_end`` handler, where anything did."""
    wrong = details.get("error") or (
        details.get("reason") if details.get("outcome") in ("lost", "ended", None) else None
    )
    reason = restored(task.ending_reason, task.ending_facts)
    return reason if wrong is None else with_on_end(reason or str(task.ending), wrong)


def _again(
    row: Transition,
    task: Standing,
    now: float,
    available_at: float,
    fields: dict[str, Any] = _NOTHING,
    *,
    known: bool = True,
    **details: Any,
) -> Change:
    """Return the task to pending, unless it is ending or its deadline passed: then this outcome was its last.

    A deadline is a limit, so a kind with ``on_end`` gets its last claim here as well. ``known`` is False where the
    outcome of the work is unknown.
    """
    if task.ending is not None:
        return _ended(row, task, FAILED, fields, **details)
    if is_judged(task, now, known=known):
        # A handler's reason stays beside the limit; any other outcome's own reason is about a next try.
        own = details.get("reason") if details["outcome"] in ("snooze", "returned") else None
        details["reason"] = Reason(OF_TASK, own=inner(own)) if own else Reason(OF_TASK)
        if task.on_end:
            return _ending(row, task, FAILED, now, fields, **details)
        return _ended(row, task, FAILED, fields, **details)
    after = task._replace(
        state=PENDING,
        wait=_DUE if available_at > now else free_wait(task.resource),
        rank=due_rank(task.rank, available_at),
        available_at=available_at,
        lease_until=0.0,
        worker=None,
        **fields,
    )
    return Change(task, after, row, **details)


def _complete(row: Transition, task: Standing, event: ev.Complete, now: float) -> Change:
    return _ended(row, task, SUCCESS, outcome="success", reason=event.reason)


def _filter(row: Transition, task: Standing, event: ev.Filter, now: float) -> Change:
    return _ended(row, task, FILTERED, outcome="filtered", reason=event.reason)


def _skip(row: Transition, task: Standing, event: ev.Skip, now: float) -> Change:
    return _ended(row, task, SKIPPED, outcome="skipped", reason=event.reason)


def _fail(row: Transition, task: Standing, event: ev.Fail, now: float) -> Change:
    return _ended(row, task, FAILED, outcome="error", reason=event.reason, error=str(event.reason))


def _error(row: Transition, task: Standing, event: ev.Error, now: float) -> Change:
    details: dict[str, Any] = {
        "outcome": "error",
        "error": event.message,
        "error_class": event.error_class,
        "fingerprint": event.fingerprint,
        "traceback": event.traceback,
    }
    if event.error_class == ErrorClass.PERMANENT:
        return _ended(row, task, FAILED, reason=event.reason or Reason("permanent_error"), **details)
    if event.error_class == ErrorClass.UNCLASSIFIED and event.repeats is not None:
        return _ended(row, task, FAILED, reason=Reason("repeated_error", task=event.repeats), **details)
    if task.max_attempts is not None and task.attempts >= task.max_attempts:
        return _ended(row, task, FAILED, reason=Reason("attempts_exhausted", attempts=task.attempts), **details)
    delay_seconds = backoff_seconds(task.attempts - 1, event.jitter, event.waits)
    if event.not_before_at is not None and event.not_before_at > now + delay_seconds:
        return _again(row, task, now, event.not_before_at, reason=Reason("retry_storm"), **details)
    available_at = not_after_deadline(task, now + delay_seconds, now)
    seconds = round(available_at - now, 3)
    return _again(row, task, now, available_at, reason=Reason("retry_in", seconds=seconds), **details)


def _given_back(task: Standing) -> int:
    """Return the number of attempts without the current one. The claim for an ``on_end`` handler never counted as
    one.
    """
    return task.attempts if task.ending is not None else max(0, task.attempts - 1)


def _snooze(row: Transition, task: Standing, event: ev.Snooze, now: float) -> Change:
    fields = {"attempts": _given_back(task), "snoozes": task.snoozes + 1}
    seconds = max(SNOOZE_SECONDS_MIN, event.seconds)
    timed = _timed(task, event, seconds)
    available_at = not_after_deadline(timed, now + seconds, now)
    change = _again(row, task, now, available_at, fields, outcome="snooze", reason=event.reason)
    return _with_time(change, timed)


def _timed(task: Standing, event: ev.Snooze | ev.SettledBy, seconds: float) -> Standing:
    """Return the task with the time that it has when it comes back in this number of seconds."""
    return task if event.uses_time or task.ending is not None else put_off(task, seconds, event.bound_at)


def _with_time(change: Change, timed: Standing) -> Change:
    after = change.after
    if after.state != PENDING or after.ending is not None:
        return change
    return change._replace(after=after._replace(started_at=timed.started_at, deadline_at=timed.deadline_at))


def put_off(task: Standing, seconds: float, bound_at: float | None) -> Standing:
    """Return the task with its own time put off by this number of seconds, and its deadline no later than its
    lineage's.

    Its time counts from ``started_at``, so that moves as well. A deadline that passed stays where it is.
    """
    if task.deadline_at is None or task.task_seconds is None:
        return task
    deadline_at = task.deadline_at + seconds
    if bound_at is not None:
        deadline_at = max(task.deadline_at, min(deadline_at, bound_at))
    started_at = None if task.started_at is None else task.started_at + seconds
    return task._replace(started_at=started_at, deadline_at=deadline_at)


IDLE_ROUNDS_MAX = 2
"""Joins in a row with nothing live to wait for: a handler that goes on so would never end."""


def _join(row: Transition, task: Standing, event: ev.Join, now: float) -> Change:
    if task.ending is None and event.idle_rounds >= IDLE_ROUNDS_MAX:
        reason = Reason("no_progress", rounds=event.idle_rounds)
        return _ended(row, task, FAILED, outcome="error", reason=reason, error="a join with nothing to wait for, again")
    if task.ending is None and event.circle is not None:
        reason = Reason("wait_cycle", task=event.circle)
        return _ended(
            row, task, FAILED, outcome="error", reason=reason, error=f"a join that would wait for itself: {reason}"
        )
    reason = Reason("joined", tasks=event.live)
    change = _again(row, task, now, now, {"attempts": _given_back(task)}, outcome="snooze", reason=reason)
    after = change.after
    if after.state != PENDING or after.ending is not None:
        return change
    if event.live:  # Its own time does not run meanwhile; that of its lineage bounds the wait.
        after = after._replace(wait=_TASKS, deadline_at=None, holds_path=None if after.holds_path is None else 0)
    return change._replace(after=after)


def _wake(row: Transition, task: Standing, event: ev.Wake, now: float) -> Change | TransitionRefused:
    if task.wait != _TASKS:
        return TransitionRefused("not_waiting")
    available_at, deadline_at = max(now, task.available_at), task.deadline_at
    if task.started_at is not None:  # A task that never ran has no time of its own yet.
        deadline_at = event.lineage_deadline_at
        if event.seconds_left is not None:
            deadline_at = min(now + event.seconds_left, deadline_at)
    if task.holds_path is not None:
        wait: str | None = Wait.TICKET.value
    else:
        wait = _DUE if available_at > now else free_wait(task.resource)
    return Change(task, changed(task, wait=wait, available_at=available_at, deadline_at=deadline_at), row)


def _continue(row: Transition, task: Standing, event: ev.Continue, now: float) -> Change:
    if not (task.progressed or event.progressed):
        return _ended(row, task, SUCCESS, outcome="success", reason=Reason("no_progress"))
    if task.chain_depth >= task.max_chain_depth:
        return _ended(row, task, SUCCESS, outcome="success", reason=Reason("chain_depth", value=task.chain_depth))
    change = _again(row, task, now, now, outcome="continue")
    if change.after.state != PENDING or change.after.ending is not None:
        return change
    return change._replace(after=change.after._replace(attempts=0, chain_depth=task.chain_depth + 1))


def _lease_expired(row: Transition, task: Standing, event: ev.LeaseExpired, now: float) -> Change | TransitionRefused:
    if task.lease_until > now and not event.worker_dead:
        return TransitionRefused("lease_current")
    losses, alone = task.losses + 1, task.losses_alone + int(event.alone)
    fields = {"attempts": _given_back(task), "losses": losses, "losses_alone": alone}
    if alone >= LOSSES_ALONE_MAX or losses >= LOSSES_MAX:
        reason = Reason("poison", losses=losses, alone=alone)
        return _ended(row, task, FAILED, fields, outcome="lost", reason=reason, error=event.error)
    details: dict[str, Any] = {"outcome": "lost", "reason": Reason("lease_expired"), "error": event.error}
    return _again(row, task, now, now, fields, known=False, **details)


def _hand_back(row: Transition, task: Standing, event: ev.HandBack, now: float) -> Change:
    available_at = task.available_at
    if event.delay_seconds > 0:
        available_at = not_after_deadline(task, now + event.delay_seconds, now)
    free = None if task.ending is not None else free_wait(task.resource)
    after = task._replace(
        state=PENDING,
        wait=_DUE if available_at > now else free,
        available_at=available_at,
        lease_until=0.0,
        worker=None,
        attempts=_given_back(task),
    )
    return Change(task, after, row, outcome="returned", reason=Reason("handed_back"))


# --- ends from outside ------------------------------------------------------------------------------------------


def _ended_from_outside(
    row: Transition, task: Standing, state: str, now: float, **details: Any
) -> Change | TransitionRefused:
    """Terminal at once; a kind with ``on_end`` whose handler ever ran is first claimed once more."""
    if task.ending is not None:
        return TransitionRefused("ending")
    details["outcome"] = _awaits_outcome(task)
    if task.on_end and task.started_at is not None:
        return _ending(row, task, state, now, **details)
    return _ended(row, task, state, **details)


def _ending(
    row: Transition, task: Standing, state: str, now: float, fields: dict[str, Any] = _NOTHING, **details: Any
) -> Change:
    """Mark the task as *ending*: claimable once more, for its ``on_end`` handler only, and bounded itself.

    That claim, too, has its path for itself: a task that waits in line goes on waiting. It is any worker's, of a pulled
    kind as well: what is to be stopped outside need not wait for an invocation.
    """
    reason, facts = stored(details.get("reason"))
    after = task._replace(
        state=PENDING,
        rank=0 if is_pulled(task.rank) else task.rank,
        wait=task.wait if task.wait in _IN_LINE else None,
        available_at=now,
        fence=task.fence + 1,
        lease_until=0.0,
        worker=None,
        deadline_at=now + ENDING_SECONDS,
        ending=state,
        ending_reason=reason,
        ending_facts=facts,
        bound_to=None,
        **fields,
    )
    return Change(task, after, row, **details)


def _awaits_outcome(task: Standing) -> str | None:
    return "ended" if task.state == PROCESSING or task.bound_to is not None else None


def _task_deadline(row: Transition, task: Standing, event: ev.DeadlinePassed, now: float) -> Change | TransitionRefused:
    if task.deadline_at is None or now < task.deadline_at:
        return TransitionRefused("not_overdue")
    if (task.state == PROCESSING and task.lease_until > now) or (task.bound_to is not None and not event.polled):
        return TransitionRefused("in_hand")
    if fails_by_time(task) and not event.polled:
        return TransitionRefused("not_polled")
    if task.wait == _RESOURCE and task.ending is None:
        return TransitionRefused("at_resource")
    if task.ending is not None:
        reason = Reason("on_end_overdue", seconds=ENDING_SECONDS)
        return _ended(row, task, FAILED, outcome=_awaits_outcome(task), reason=reason, by="engine")
    return _ended_from_outside(row, task, FAILED, now, reason=Reason(OF_TASK), by="engine")


def _lineage_ended(row: Transition, task: Standing, event: ev.LineageEnded, now: float) -> Change | TransitionRefused:
    return _ended_from_outside(row, task, event.state, now, reason=event.reason, by=event.by)


def _over_ceiling(row: Transition, task: Standing, event: ev.OverCeiling, now: float) -> Change | TransitionRefused:
    return _ended_from_outside(row, task, FAILED, now, reason=event.reason, by="engine")


def _cancel(row: Transition, task: Standing, event: ev.Cancel, now: float) -> Change | TransitionRefused:
    return _ended_from_outside(row, task, CANCELLED, now, reason=event.reason, by=event.by)


def _source_disabled(
    row: Transition, task: Standing, event: ev.SourceDisabled, now: float
) -> Change | TransitionRefused:
    details: dict[str, Any] = {"reason": event.reason, "by": "engine"}
    return TransitionRefused("ending") if task.ending is not None else _ended(row, task, SKIPPED, **details)


def _dependency_failed(
    row: Transition, task: Standing, event: ev.DependencyFailed, now: float
) -> Change | TransitionRefused:
    if task.ending is not None:
        return TransitionRefused("ending")
    if task.holds_path != 0 and task.wait != _TASKS:
        return TransitionRefused("not_waiting")
    return _ended(row, task, SKIPPED, reason=event.reason, by="engine")


def _exclude(row: Transition, task: Standing, event: ev.Exclude, now: float) -> Change:
    reason = Reason("excluded", text=event.reason) if event.reason else Reason("excluded")
    after = changed(task, state=SKIPPED, wait=None, **_NOT_ENDING, bound_to=None)
    return Change(task, after, row, reason=reason, by=event.by, outcome=_awaits_outcome(task))


def _reprioritise(row: Transition, task: Standing, event: ev.Reprioritise, now: float) -> Change | TransitionRefused:
    if task.ending is not None:
        return TransitionRefused("ending")
    if is_pulled(task.rank):
        return TransitionRefused("pulled")
    return Change(task, task._replace(rank=event.rank), row, reason=event.reason, by=event.by)


def _reschedule(row: Transition, task: Standing, event: ev.Reschedule, now: float) -> Change | TransitionRefused:
    if task.ending is not None:
        return TransitionRefused("ending")
    if task.bound_to is not None or task.wait in (_TASKS, Wait.PATH.value):
        return TransitionRefused("held")
    available_at = max(now, event.available_at)
    wait = task.wait
    if wait in (None, _DUE, _RESOURCE):  # A task that is not in line yet, or not free to run, checks the moment itself.
        wait = _DUE if available_at > now else free_wait(task.resource)
    after = changed(task, wait=wait, rank=due_rank(task.rank, available_at), available_at=available_at)
    return Change(task, after, row, reason=event.reason, by=event.by)


def _revive(row: Transition, task: Standing, event: ev.Revive, now: float) -> Change:
    in_line = task.holds_path is not None
    after = task._replace(
        state=PENDING,
        wait=_TASKS if event.waits else Wait.TICKET.value if in_line else free_wait(task.resource),
        holds_path=0 if in_line else None,
        rank=due_rank(task.rank, now),
        available_at=now,
        lease_until=0.0,
        worker=None,
        started_at=None,
        deadline_at=None,
        attempts=0,
        losses=0,
        losses_alone=0,
        chain_depth=0,
        **_NOT_ENDING,
    )
    return Change(task, after, row, reason=event.reason, by=event.by)


def _settled_by(row: Transition, task: Standing, event: ev.SettledBy, now: float) -> Change | TransitionRefused:
    if task.bound_to is None or task.bound_to != event.settler:
        return TransitionRefused("not_bound")
    if event.binding != task.fence:
        return TransitionRefused("stale")
    if event.state == PENDING:
        seconds = max(0.0, event.delay_seconds)
        timed = _timed(task, event, seconds)
        available_at = not_after_deadline(timed, now + seconds, now)
        change = _again(row, task, now, available_at, known=event.known, outcome="returned", reason=event.reason)
        change = _with_time(change, timed)
        return change._replace(after=change.after._replace(bound_to=None), by=event.settler)
    outcome = {SUCCESS: "success", FAILED: "error"}.get(event.state, "ended")
    error = event.reason if event.state == FAILED else None
    return _ended(row, task, event.state, outcome=outcome, reason=event.reason, error=error, by=event.settler)


_Rule = Callable[[Transition, Standing, Any, float], "Change | TransitionRefused"]
_RULES: dict[type[Any], tuple[Transition, _Rule]] = {
    ev.Claim: (rows.CLAIM, _claim),
    ev.Heartbeat: (rows.HEARTBEAT, _extend),
    ev.Progress: (rows.PROGRESS, _extend),
    ev.Checkpoint: (rows.CHECKPOINT, _checkpoint),
    ev.Complete: (rows.COMPLETE, _complete),
    ev.Filter: (rows.FILTER, _filter),
    ev.Skip: (rows.SKIP, _skip),
    ev.Fail: (rows.FAIL, _fail),
    ev.Error: (rows.ERROR, _error),
    ev.Snooze: (rows.SNOOZE, _snooze),
    ev.Join: (rows.JOIN, _join),
    ev.Wake: (rows.WAKE, _wake),
    ev.Continue: (rows.CONTINUE, _continue),
    ev.LeaseExpired: (rows.LEASE_EXPIRED, _lease_expired),
    ev.HandBack: (rows.HAND_BACK, _hand_back),
    ev.DeadlinePassed: (rows.TASK_DEADLINE, _task_deadline),
    ev.Bind: (rows.BIND, bind),
    ev.SettledBy: (rows.SETTLED_BY, _settled_by),
    ev.LineageEnded: (rows.LINEAGE_ENDED, _lineage_ended),
    ev.OverCeiling: (rows.OVER_CEILING, _over_ceiling),
    ev.Cancel: (rows.CANCEL, _cancel),
    ev.SourceDisabled: (rows.SOURCE_DISABLED, _source_disabled),
    ev.DependencyFailed: (rows.DEPENDENCY_FAILED, _dependency_failed),
    ev.Exclude: (rows.EXCLUDE, _exclude),
    ev.Reprioritise: (rows.REPRIORITISE, _reprioritise),
    ev.Reschedule: (rows.RESCHEDULE, _reschedule),
    ev.Revive: (rows.REVIVE, _revive),
}


OF_TASK = "task_deadline"
OF_LINEAGE = "lineage_deadline"
TOLERANCE_SECONDS = 0.001
"""Deadlines are moved by sums of floats when a queue was paused."""


def fails_by_time(task: Standing) -> bool:
    """Whether no deadline ends this task before it was claimed once more; its last handler has an hour like any."""
    return task.max_attempts is None and task.ending is None


def is_judged(task: Standing, now: float, *, known: bool = True) -> bool:
    """Return whether a claim that asks for another was the last, because the task's deadline passed.

    Args:
        task: as it was claimed.
        now: Unix seconds, when the claim ended.
        known: False for a claim of unknown outcome: it was lost, or its settler ended.
    """
    if task.deadline_at is None or now < task.deadline_at:
        return False
    if not fails_by_time(task):
        return True
    # A settler says what came of a bound task, which was bound before.
    return known and (task.bound_to is not None or task.claimed_at >= task.deadline_at)


def not_after_deadline(task: Standing, available_at: float, now: float) -> float:
    """When a task may be claimed again that asked for this moment: one that time ends at its deadline at the latest."""
    if task.deadline_at is None or not fails_by_time(task) or task.claimed_at >= task.deadline_at:
        return available_at
    return min(available_at, max(now, task.deadline_at))


def of_task_time(change: Change) -> bool:
    """Return whether the task's deadline alone is the reason of a change."""
    return code_of(change.reason) == OF_TASK and not facts_of(change.reason)


def cut_by_lineage(change: Change, lineage_deadline_at: float) -> bool:
    """Return True for an end by deadline of a task whose time was cut by its lineage's."""
    if not of_task_time(change) or change.before.ending is not None:
        return (
            False  # One that is ending has the deadline of its last handler; the reason of its end was decided before.
        )
    deadline_at = change.before.deadline_at
    return deadline_at is not None and deadline_at >= lineage_deadline_at - TOLERANCE_SECONDS


def as_lineage_end(change: Change) -> Change:
    """Return the same end with its true reason: the deadline of the lineage (promise I8)."""
    after = change.after
    if after.ending is not None and after.ending_facts is not None and after.ending_reason == OF_TASK:
        after = after._replace(ending_reason=OF_LINEAGE)
    transition = LINEAGE_ENDED if change.transition is TASK_DEADLINE else change.transition
    return change._replace(after=after, transition=transition, reason=Reason(OF_LINEAGE))
