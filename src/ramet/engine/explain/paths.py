"""Why a task waits for its path, and what the one that it waits for does (promise I8, DESIGN §7)."""

from __future__ import annotations

from typing import NamedTuple

from ramet.engine.explain.pending import first_obstacle
from ramet.model.causes import Cause, CauseSubject, Sentence
from ramet.model.keys import display_key
from ramet.model.lineage.lineage import LineageState
from ramet.model.paths import PathChain, PathImpact, PathTask, path_key
from ramet.model.reasons import Fact, facts_of
from ramet.model.task.task import Task, TaskHistory, TaskState, Wait
from ramet.store.store import Store

STEPS = 20
"""Most tasks that a task waits for that are named; and the end of the chain, however long it is."""
DEPENDENCY_FAILED = "dependency_failed"


class PathExplanation(NamedTuple):
    """A task's place in line, and what is before it."""

    chain: PathChain | None = None
    """Place of the task in line and what it waits for; None without a path, and after its end."""
    first: Sentence | None = None
    """Work of the task that it waits for."""
    last: Sentence | None = None
    """Work of the end of the chain, where that is another one."""
    cause: Task | None = None
    """Task whose end began it, for a task that was skipped with one that it waited for."""
    held_back: PathImpact | None = None
    """Tasks that wait for its lineage, while that is paused."""


async def explain_path(store: Store, history: TaskHistory) -> PathExplanation:
    """Everything about paths that belongs to the explanation of a task."""
    task = history.task
    if not task.path:
        return PathExplanation()
    if task.state.terminal:
        return PathExplanation(cause=await _cause(store, task))
    chain = await store.blocked_by(task.id, limit=STEPS)
    lineage = await store.lineage(task.tracking_id)
    paused = lineage is not None and lineage.state == LineageState.PAUSED
    held_back = await store.held_back(task.tracking_id) if paused else None
    if chain is None or not chain.steps:
        return PathExplanation(chain, held_back=held_back)
    first, end = chain.steps[0], chain.end
    other = end is not None and end.task_id != first.task_id
    return PathExplanation(
        chain,
        first=await _does(store, first),
        last=await _does(store, end) if end is not None and other else None,
        held_back=held_back,
    )


async def _cause(store: Store, task: Task) -> Task | None:
    if task.state is not TaskState.SKIPPED or task.reason_code != DEPENDENCY_FAILED:
        return None
    return await store.get(facts_of(task.reason)["task"])


async def _does(store: Store, one: PathTask) -> Sentence:
    """Return what a task that others wait for does, as the rest of a sentence that names it."""
    task = await store.get(one.task_id)
    lineage = await store.lineage(one.tracking_id)
    if task is None or lineage is None:
        return ("is gone",)
    if task.state.terminal:
        return (f"ended as {task.state}, and its worker has not let go of it yet: at the latest when its lease lapses",)
    if task.state is TaskState.PROCESSING:
        until = task.lease_until or 0.0
        if until <= await store.now():
            return (f"is in the hands of worker {task.worker}, whose lease lapsed ", until, ": the next sweep takes it")
        return ("runs since ", one.since, f" (worker {task.worker}, lease until ", until, ")")
    if one.waits_for is not None:
        return (f"waits for task {one.waits_for}",)
    held = None if task.wait in _BY_ITSELF else await first_obstacle(store, task, lineage)
    if held is not None:
        return ("is pending: ", *held.words)
    due = task.available_at or 0.0
    if one.gave_up:
        return ("gave its ticket up, and takes a new one ", due)
    if task.wait == Wait.DUE:
        return ("runs again " if task.fence else "is scheduled for ", due)
    if task.bound_to is not None:
        return (f"is bound to task {task.bound_to}, which settles it",)
    return ("is pending: it waits for a worker" if one.holds else "is looked at again in a moment",)


_BY_ITSELF = frozenset({Wait.DUE, Wait.BOUND, Wait.TICKET})


def place_cause(task: Task, found: PathExplanation) -> Cause | None:
    """Why a pending task waits for its path; None when it does not."""
    chain = found.chain
    if task.state is not TaskState.PENDING or chain is None or task.wait not in (Wait.PATH, Wait.TICKET):
        return None
    path, due = path_key(task.path), task.available_at or 0.0
    facts: dict[str, Fact] = {
        "path": path, "ticket": chain.task.ticket, "before": chain.before, "gave_up": chain.task.gave_up,
        "available_at": due,
    }  # fmt: skip
    if chain.steps and found.first is not None:
        first = chain.steps[0]
        how = "comes after" if chain.task.ticket is None else "waits for"
        words: Sentence = (
            f"it {how} task {first.task_id} ({first.kind} {display_key(first.key)}) on path {path_key(first.path)}, "
            "which ",
            *found.first,
        )
        facts |= {"task": first.task_id, "kind": first.kind, "key": first.key, "state": first.state}
        facts |= {"first_path": path_key(first.path), "end": None if chain.end is None else chain.end.task_id}
        return Cause("path", words, facts, CauseSubject("task", first.task_id))
    if task.wait == Wait.PATH:
        words = (f"the task that it waited for on path {path} has ended: it is looked at again in a moment",)
        return Cause("looked_at_soon", words, facts)
    if chain.task.gave_up:
        words = (
            f"it gave its ticket on path {path} up and takes a new one ",
            due,
            ", behind those that came meanwhile",
        )
    else:
        words = (f"it takes its place on path {path} when it is due, ", due)
    return Cause("ticket", words, facts)
