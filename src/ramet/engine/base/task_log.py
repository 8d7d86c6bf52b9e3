"""Ends of attempts and refused spawns, in the log.

Attempts (DESIGN §10) have one line for each end, and a traceback for each failure: ``ERROR`` for a task that failed,
``WARNING`` for an attempt that failed or was lost while others are left, ``INFO`` for any other end. Written once the
outcome is durable, under the logger ``ramet.tasks``. Refused spawns (DESIGN §5) go to ``ramet.guard``, few enough to
be read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ramet.engine.base.claims import WorkerClaims
from ramet.engine.base.clock import Clock
from ramet.engine.base.work import Work
from ramet.model.keys import display_key
from ramet.model.lineage.guard import ORDINARY
from ramet.model.task import events as ev
from ramet.model.task.binding import ItemResult
from ramet.model.task.task import TERMINAL, TaskState, first_line
from ramet.store.answers import SettleResult, SpawnResult
from ramet.store.loggers import own_logger
from ramet.store.requests import Settlement

log = own_logger("ramet.tasks")

KEY_CHARACTERS_MAX = 200
"""Most characters of a key in a message; the field ``key`` has all of it."""


def log_outcomes(
    batch: Sequence[Settlement],
    answers: Sequence[SettleResult],
    works: Mapping[int, Work],
    claims: WorkerClaims,
    now: float,
) -> None:
    """Log what became of settlements that were just accepted.

    Args:
        batch: what was asked for, with one of ``answers`` each.
        works: what the tasks are, by number; of those that are not here nothing is logged.
        claims: know since when each was held.
        now: monotonic seconds.
    """
    pairs: Iterable[tuple[Settlement, SettleResult]] = zip(batch, answers, strict=True)
    if not log.isEnabledFor(logging.INFO):
        plain = TaskState.SUCCESS.value
        pairs = ((item, answer) for item, answer in pairs if answer.state != plain or answer.error is not None)
    for item, answer in pairs:
        if answer.refused is not None:
            log.debug("task %s: settlement refused, %s", item.seq, answer.refused)
        else:
            work = works.get(item.seq)
            if work is not None and work.fence == item.fence:
                log_outcome(work, item, answer, now - claims.taken_at(item.seq))


def log_outcome(work: Work, item: Settlement, answer: SettleResult, seconds: float) -> None:
    """Log the outcome of one attempt, this number of seconds after its claim; nothing of one that goes on or comes
    back.
    """
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


def _fields(work: Work, answer: SettleResult, seconds: float) -> dict[str, Any]:
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


def _words(work: Work, answer: SettleResult, fields: Mapping[str, Any]) -> str:
    key = display_key(work.key)
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


guard_log = own_logger("ramet.guard")

WARN_SECONDS = 60.0
REMEMBERED_MAX = 10_000
NAMED_MAX = 5
"""Refused items that one line names."""


class BlockLog:
    """Warns once per (lineage, reason) a minute, with the count since; everyday duplicates go to debug."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[tuple[str, str], tuple[float, int]] = {}

    def note(
        self,
        tracking_id: str,
        task_id: str,
        spawn_depth: int,
        answers: Sequence[SpawnResult],
        items: Sequence[ItemResult] = (),
    ) -> None:
        """Log the blocked ones among the guard's answers to one task, and its items that were not its own."""
        refused = [item for item in items if item.refused is not None]
        if refused:
            named = ", ".join(f"{item.task_id} ({item.refused})" for item in refused[:NAMED_MAX])
            more = f" and {len(refused) - NAMED_MAX} more" if len(refused) > NAMED_MAX else ""
            guard_log.warning("task %s settled %d tasks that are not (or no longer) bound to it: %s%s",
                        task_id, len(refused), named, more)  # fmt: skip
        for answer in answers:
            if answer.reason is None:
                continue
            fields = {
                "task_id": task_id,
                "tracking_id": tracking_id,
                "spawn_depth": spawn_depth,
                "chain_length": spawn_depth + 1,
                "reason": answer.reason.value,
            }
            if answer.reason in ORDINARY:
                guard_log.debug(
                    "spawn of %s %r blocked: %s", answer.kind, display_key(answer.key), answer.detail, extra=fields
                )
            else:
                self._warn(tracking_id, answer, fields)

    def _warn(self, tracking_id: str, answer: SpawnResult, fields: dict[str, object]) -> None:
        assert answer.reason is not None
        name, now = (tracking_id, answer.reason.value), self._clock.monotonic()
        warned_at, count = self._since.get(name, (float("-inf"), 0))
        if now - warned_at < WARN_SECONDS:
            self._since[name] = (warned_at, count + 1)
            return
        if len(self._since) >= REMEMBERED_MAX:
            self._since.clear()
        self._since[name] = (now, 0)
        more = f" (and {count} more since the last warning)" if count else ""
        guard_log.warning(
            "spawn of %s %r blocked, %s: %s%s (task %s, lineage %s, depth %s)",
            answer.kind,
            display_key(answer.key),
            answer.reason.value,
            answer.detail,
            more,
            fields["task_id"],
            tracking_id,
            fields["spawn_depth"],
            extra={**fields, "count": count + 1},
        )
