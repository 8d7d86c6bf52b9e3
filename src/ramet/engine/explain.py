"""Why is this task where it is? Answered from stored rows only (promise I8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ramet.engine.explain_paths import PathExplanation, explain_path, place_sentence
from ramet.engine.hindrance import Sentence, hindrance, said
from ramet.model.lineage import Lineage, LineageState
from ramet.model.task import Task, TaskHistory, TaskState, Wait
from ramet.store.base import Store

WANTED_MAX = 20
"""Of the existing tasks that one asked for, so many are looked up."""


class Wanted(NamedTuple):
    """A task that another one asked for, and that existed already."""

    id: str
    tracking_id: str
    kind: str
    key: str
    state: TaskState
    reasons: tuple[str, ...]
    """Why spawns of it were refused in the asking task's lineage."""


class Explanation(NamedTuple):
    """One sentence that answers, and the rows behind it."""

    headline: str
    history: TaskHistory
    lineage: Lineage
    hindrance: Sentence | None = None
    """What else holds a pending task back: its path, a pause, a limit, a resource, nobody who serves its kind."""
    path: PathExplanation = PathExplanation()
    """Its place in line, what is before it, and what that does."""
    wanted: tuple[Wanted, ...] = ()
    """The first of the tasks that it asked for with ``keep_edge`` and that existed already."""


async def explain(store: Store, task_id: str) -> Explanation | None:
    """The explanation of a task; None when there is no such task."""
    history = await store.history(task_id)
    if history is None:
        return None
    lineage = await store.lineage(history.task.tracking_id)
    assert lineage is not None, "every task has its lineage's row"
    path = await explain_path(store, history)
    held = await hindrance(store, history.task, lineage) or place_sentence(history.task, path)
    wanted = await _wanted(store, history)
    return Explanation(headline(history, lineage, held), history, lineage, held, path, wanted)


async def _wanted(store: Store, history: TaskHistory) -> tuple[Wanted, ...]:
    found = []
    for link in history.links[:WANTED_MAX]:
        task = await store.get(link)
        if task is not None:  # A task of another lineage may be pruned.
            blocks = await store.blocks(history.task.tracking_id, kind=task.kind, key=task.key)
            reasons = tuple(block.reason for block in blocks if block.winner == link)
            found.append(Wanted(link, task.tracking_id, task.kind, task.key, task.state, reasons))
    return tuple(found)


def headline(
    history: TaskHistory,
    lineage: Lineage,
    held: Sentence | None = None,
    when: Callable[[float], str] = "{:.0f}".format,
) -> str:
    """One sentence that says why a task is where it is; ``when`` writes moments (Unix seconds) for the reader."""
    task = history.task
    # Of a live task only an end that has begun has a reason.
    if task.reason is not None and task.state is TaskState.PENDING:
        return f"it is ending ({task.reason}): a worker with the on_end handler of {task.kind!r} takes it once more"
    if task.state is TaskState.PROCESSING:
        until = when(task.lease_until or 0.0)
        return f"worker {task.worker} holds it (claim {task.fence}) under a lease until {until}"
    if task.state is TaskState.PENDING:
        return said(held, when) if held is not None else _waiting(task, history, lineage, when)
    reason = f": {task.reason}" if task.reason else ""
    error = f" ({task.error})" if task.error and task.error != task.reason else ""
    return f"it ended as {task.state}{reason}{error}"


def _waiting(task: Task, history: TaskHistory, lineage: Lineage, when: Callable[[float], str]) -> str:
    if lineage.state != LineageState.RUNNING:
        return f"its lineage is {lineage.state}" + (f": {lineage.reason}" if lineage.reason else "")
    if task.wait == Wait.DUE:
        last = history.attempts[-1] if history.attempts else None
        why = f" after {last.outcome} ({last.reason})" if last else ""
        return f"it is scheduled for {when(task.available_at or 0.0)}{why}"
    if task.bound_to is not None:
        return f"it is bound to task {task.bound_to}, which settles it"
    if task.wait is not None:
        return f"it waits: {task.wait}"
    if task.pulled:
        return f"it is due, and waits for an invocation that takes tasks of kind {task.kind!r} on queue {task.queue!r}"
    return f"it waits for a worker that serves kind {task.kind!r} on queue {task.queue!r}"
