"""What becomes of attempts, in the log (DESIGN §10): one line for each end, and a traceback for each failure.

``ERROR`` for a task that failed, ``WARNING`` for an attempt that failed or was lost while others are left, ``INFO`` for
any other end. Written once the outcome is durable, by whoever settled it, under the logger ``ramet.tasks``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ramet.engine.base.claims import ClaimsInHand
from ramet.engine.base.work import Work
from ramet.model.keys import shown_key
from ramet.model.task import events as ev
from ramet.model.task.task import TERMINAL, TaskState, first_line
from ramet.store.answers import Settled
from ramet.store.loggers import own_logger
from ramet.store.requests import Settlement

log = own_logger("ramet.tasks")

KEY_CHARACTERS_MAX = 200
"""Of a key in a message; the field ``key`` has all of it."""


def log_outcomes(
    batch: Sequence[Settlement],
    answers: Sequence[Settled],
    works: Mapping[int, Work],
    claims: ClaimsInHand,
    now: float,
) -> None:
    """Log what became of settlements that were just accepted.

    Args:
        batch: what was asked for, with one of ``answers`` each.
        works: what the tasks are, by number; of those that are not here nothing is logged.
        claims: know since when each was held.
        now: monotonic seconds.
    """
    everything = log.isEnabledFor(logging.INFO)
    for item, answer in zip(batch, answers, strict=True):
        if answer.refused is not None:
            log.debug("task %s: settlement refused, %s", item.seq, answer.refused)
        elif everything or answer.error is not None or answer.state == TaskState.FAILED:
            work = works.get(item.seq)
            if work is not None and work.fence == item.fence:
                log_outcome(work, item, answer, now - claims.taken_at(item.seq))


def log_outcome(work: Work, item: Settlement, answer: Settled, seconds: float) -> None:
    """Log what became of one attempt, so many seconds after its claim; nothing of one that goes on or comes back."""
    is_lost = type(item.event) is ev.LeaseExpired
    if answer.refused is not None or (answer.error is None and not is_lost and answer.state not in TERMINAL):
        return
    level = logging.INFO
    if answer.state == TaskState.FAILED:
        level = logging.ERROR
    elif answer.error is not None or is_lost:
        level = logging.WARNING
    if not log.isEnabledFor(level):
        return
    fields = _fields(work, answer, seconds)
    record = log.makeRecord(
        log.name, level, __file__, 0, "%s", (_words(work, answer, fields),), None, "log_outcome", fields
    )
    # Formatters print it as they do the traceback of an exception that this process raised itself.
    record.exc_text = getattr(item.event, "traceback", None)
    log.handle(record)


def _fields(work: Work, answer: Settled, seconds: float) -> dict[str, Any]:
    fields = {
        "task_id": work.id,
        "tracking_id": work.tracking_id,
        "kind": work.kind,
        "key": work.key,
        "attempt": work.attempts,
        "max_attempts": work.max_attempts,
        "fence": work.fence,
        "spawn_depth": work.spawn_depth,
        "state": str(answer.state),
        "reason": answer.reason,
        "error": answer.error,
        "seconds": round(seconds, 6),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _words(work: Work, answer: Settled, fields: Mapping[str, Any]) -> str:
    key = shown_key(work.key)
    key = key if len(key) <= KEY_CHARACTERS_MAX else f"{key[:KEY_CHARACTERS_MAX]}..."
    what = f"{work.kind} {key}"
    where = f"(task {work.id}, lineage {work.tracking_id})"
    took = f"after {fields['seconds']:.3f} s"
    because = f", {answer.reason}" if answer.reason else ""
    if answer.state in TERMINAL and answer.state != TaskState.FAILED:
        return f"{what} ended as {answer.state} {took}{because} {where}"
    most = "" if work.max_attempts is None else f" of {work.max_attempts}"
    said = first_line(answer.error)
    error = f": {said}" if said and said != answer.reason else ""
    return f"{what} failed {took}, attempt {work.attempts}{most}{because}{error} {where}"
