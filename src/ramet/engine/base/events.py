"""Events of an app's tasks: call the functions registered with ``@app.on(...)``, behind one more observer of the store.

They are called by the process that settles, once the outcome is durable, by the same way as traces and metrics are
(:mod:`ramet.engine.client.watched`). Where none is registered there is no observer, and nothing is counted or kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ramet.engine.base.work import Work
from ramet.model.task import events as ev
from ramet.model.task.task import Task, TaskState
from ramet.store.answers import ClaimedTask, SettleResult, SpawnResult, SubmitResult
from ramet.store.loggers import own_logger
from ramet.store.requests import NewLineage, Settlement

log = own_logger("ramet.events")

EventName = Literal["start", "success", "failure", "retry", "block"]
EVENT_NAMES: tuple[str, ...] = get_args(EventName)


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """Argument of a function registered with :meth:`ramet.App.on`."""

    name: EventName
    task_id: str
    tracking_id: str
    kind: str
    key: str
    attempt: int
    """1 on the first run; snoozed and lost attempts do not count."""
    state: TaskState
    """The task's state after it: ``pending`` for a retry."""
    reason: str | None = None
    """Reason of its state, where that is not plain success."""
    error: str | None = None
    """Type and message of the error, for a failure and a retry."""
    traceback: str | None = None
    """Traceback of the error, at most 16 KB."""
    seconds: float | None = None
    """Seconds from the claim to the settlement; None where there was no claim, or nothing is settled yet."""
    spawn: SpawnResult | None = None
    """Refused spawn of a block, with its kind, key, reason and detail. The task is the one that asked for it."""


Listener = Callable[[TaskEvent], object]


class Listeners:
    """The functions of one app, by event."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Listener]] = {}

    def add(self, name: EventName, listener: Listener) -> None:
        """Call this at each such event from now on; what was opened before the first one of all stays as it is."""
        self._by_name.setdefault(name, []).append(listener)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def tell(self, event: TaskEvent) -> None:
        """Call what is registered for it. An error of one is logged and changes nothing."""
        for listener in self._by_name.get(event.name, ()):
            try:
                listener(event)
            except Exception:
                log.exception("a function for the event %r failed at task %s", event.name, event.task_id)

    @property
    def on_start(self) -> Callable[[Sequence[Work]], None] | None:
        """The function that a runner in this process calls when handlers begin; None without listeners."""
        return self.started if "start" in self else None

    def started(self, works: Sequence[Work]) -> None:
        """Call the functions for the event "start", once for each of these claims."""
        for work in works:
            self.tell(
                TaskEvent("start", work.id, work.tracking_id, work.kind, work.key, work.attempts, TaskState.PROCESSING)
            )


class EventObserver:
    """Turns what became durable into events. See :class:`ramet.engine.base.observe.StoreObserver`.

    Args:
        now: Unix seconds, by the clock of the database.
    """

    def __init__(self, listeners: Listeners, now: Callable[[], float]) -> None:
        self._listeners = listeners
        self._now = now

    def settled(self, claimed: ClaimedTask, item: Settlement, answer: SettleResult) -> None:
        """Tell what the settlement of a claim says: refused spawns first, then the end or the next attempt."""
        if answer.spawns and "block" in self._listeners:
            for spawn in answer.spawns:
                if spawn.reason is not None:
                    self._tell("block", claimed, item, answer, spawn)
        name = _name_of(item, answer)
        if name is not None and name in self._listeners:
            self._tell(name, claimed, item, answer)

    def _tell(
        self,
        name: EventName,
        claimed: ClaimedTask,
        item: Settlement,
        answer: SettleResult,
        spawn: SpawnResult | None = None,
    ) -> None:
        standing = claimed.standing
        assert answer.state is not None
        self._listeners.tell(
            TaskEvent(
                name=name,
                task_id=claimed.id,
                tracking_id=standing.tracking_id,
                kind=standing.kind,
                key=claimed.key,
                attempt=standing.attempts,
                state=TaskState(answer.state),
                reason=answer.reason,
                error=answer.error,
                traceback=getattr(item.event, "traceback", None),
                seconds=max(0.0, self._now() - standing.claimed_at),
                spawn=spawn,
            )
        )

    def ended(self, task: Task) -> None:
        """Tell of a failure that no settlement brought about: a deadline, a lost lease too many."""
        if task.state is TaskState.FAILED:
            self._listeners.tell(
                TaskEvent("failure", task.id, task.tracking_id, task.kind, task.key, task.attempts, task.state,
                          task.reason, task.error)
            )  # fmt: skip

    def submitted(self, lineages: Sequence[NewLineage], answers: Sequence[SubmitResult]) -> None:
        """No event is about roots."""


def _name_of(item: Settlement, answer: SettleResult) -> EventName | None:
    if answer.state == TaskState.SUCCESS:
        return "success"
    if answer.state == TaskState.FAILED:
        return "failure"
    if answer.state == TaskState.PENDING and (answer.error is not None or type(item.event) is ev.LeaseExpired):
        return "retry"
    return None
