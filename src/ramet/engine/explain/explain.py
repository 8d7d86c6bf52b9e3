"""Why is this task where it is? Answered from stored rows only (promise I8)."""

from __future__ import annotations

from typing import NamedTuple

from ramet.engine.explain.blocks import EXPLAINED_MAX, refusals
from ramet.engine.explain.ends import ended, why_ended
from ramet.engine.explain.paths import PathExplanation, explain_path, place_cause
from ramet.engine.explain.pending import first_obstacle, obstacles, spent, waits_for_worker
from ramet.model.causes import Cause, CauseSubject, Sentence
from ramet.model.flow.resources import HandlerWait
from ramet.model.keys import display_key
from ramet.model.lineage.lineage import Lineage
from ramet.model.reasons import Fact, code_of
from ramet.model.task.joined import AwaitedTask
from ramet.model.task.task import Task, TaskHistory, TaskState, Wait
from ramet.store.store import Store

WANTED_MAX = 20
"""Most of the existing tasks that one asked for which are looked up."""


class ExistingTask(NamedTuple):
    """A task that another one asked for, and that existed already."""

    id: str
    tracking_id: str
    kind: str
    key: str
    state: TaskState
    reasons: tuple[str, ...]
    """Reasons of refused spawns of it in the asking task's lineage."""


class Explanation(NamedTuple):
    """One sentence that answers, and the rows behind it."""

    headline: str
    history: TaskHistory
    lineage: Lineage
    path: PathExplanation = PathExplanation()
    """Its place in line, what is before it, and what that does."""
    wanted: tuple[ExistingTask, ...] = ()
    """The first of the tasks that it asked for with ``keep_edge`` and that existed already."""
    why: tuple[Cause, ...] = ()
    """All that keeps it where it is, what holds it now first: that one is the headline. Of an ended task how it ended,
    then why; of a failed one that is why no retry was made."""
    refused: tuple[Cause, ...] = ()
    """Explanations of the first of its refused spawns (``history.blocks``), with limit, value, winner and what would
    help.
    """


async def explain(store: Store, task_id: str) -> Explanation | None:
    """Return the explanation of a task; None when there is no such task."""
    history = await store.history(task_id)
    if history is None:
        return None
    lineage = await store.lineage(history.task.tracking_id)
    if lineage is None:
        return None  # Pruned since it was looked at.
    path = await explain_path(store, history)
    why = tuple(await _why(store, history, lineage, path))
    wanted = await _existing_tasks(store, history)
    refused = await refusals(store, history.blocks[:EXPLAINED_MAX], {lineage.tracking_id: lineage})
    return Explanation(why[0].said(), history, lineage, path, wanted, why, refused)


async def _existing_tasks(store: Store, history: TaskHistory) -> tuple[ExistingTask, ...]:
    found = []
    for link in history.links[:WANTED_MAX]:
        task = await store.get(link)
        if task is not None:  # A task of another lineage may be pruned.
            blocks = await store.blocks(history.task.tracking_id, kind=task.kind, key=task.key)
            reasons = tuple(block.reason for block in blocks if block.winner == link)
            found.append(ExistingTask(link, task.tracking_id, task.kind, task.key, task.state, reasons))
    return tuple(found)


async def _why(store: Store, history: TaskHistory, lineage: Lineage, path: PathExplanation) -> list[Cause]:
    task = history.task
    if task.state.terminal:
        return [ended(task), *await why_ended(store, history)]
    if task.state is TaskState.PROCESSING:
        return await _running(store, task)
    if task.reason is not None:  # Of a live task only an end that has begun has a reason.
        return [_ending(task)]
    held = [cause async for cause in obstacles(store, task, lineage)]
    own = place_cause(task, path) or _own_wait(history) or await _others(store, task)
    # A cause that ends or stops its whole lineage comes before its own wait, and that before what it shares with
    # others.
    first = [cause for cause in held if cause.about is not None and cause.code in _OF_LINEAGE]
    later = [cause for cause in held if cause not in first]
    found = [*first, *([own] if own is not None else []), *later]
    if not found and task.wait == Wait.LINEAGE:
        found.append(Cause("looked_at_soon", ("its lineage goes on: it is looked at again in a moment",), {}))
    if not found:
        found.append(await waits_for_worker(store, task))
    money = spent(lineage)
    return found if money is None else [*found, money]


_OF_LINEAGE = frozenset({"lineage_paused", "lineage_over", "tombstone", "lineage_deadline_passed"})


async def _running(store: Store, task: Task) -> list[Cause]:
    until = task.lease_until or 0.0
    facts: dict[str, Fact] = {"worker": task.worker, "fence": task.fence, "lease_until": until}
    about = None if task.worker is None else CauseSubject("worker", task.worker)
    words: Sentence = (f"worker {task.worker} holds it (claim {task.fence}) under a lease until ", until)
    running = Cause("running", words, facts, about)
    if until > await store.now():
        return [running, *[_waits_inside(one) for one in await store.handler_waits(task.id)]]
    words = ("the claim is stale: its lease expired ", until, ", and the next sweep of a worker reclaims the task")
    return [running, Cause("stale", words, facts, about, f"ramet reclaim {task.id}")]


def _waits_inside(wait: HandlerWait) -> Cause:
    words: Sentence = (f"its handler waits for task {wait.awaited_id} ({wait.awaited_kind}) since ", wait.since)
    words = (*words, f", which is {wait.awaited_state}; it holds its slot meanwhile")
    facts: dict[str, Fact] = {"task": wait.awaited_id, "kind": wait.awaited_kind, "since": wait.since}
    remedy = "`return ctx.join()` waits for children without a slot"
    return Cause("waits_inside", words, facts, CauseSubject("task", wait.awaited_id), remedy)


def _ending(task: Task) -> Cause:
    words = f"it is ending ({task.reason}): a worker with the on_end handler of {task.kind!r} takes it once more"
    facts: dict[str, Fact] = {"reason": task.reason, "kind": task.kind, "deadline_at": task.deadline_at}
    return Cause("ending", (words,), facts, CauseSubject("kind", task.kind))


def _own_wait(history: TaskHistory) -> Cause | None:
    """Explain what the task itself waits for: its time, or its settler."""
    task = history.task
    if task.bound_to is not None:
        words = (f"it is bound to task {task.bound_to}, which settles it",)
        return Cause(
            "bound", words, {"task": task.bound_to, "binding": task.fence}, CauseSubject("task", task.bound_to)
        )
    if task.wait in (Wait.DUE, Wait.TICKET):
        return _scheduled(history)
    return None


async def _others(store: Store, task: Task) -> Cause | None:
    """Return the tasks that it waits for."""
    waits = await store.join_wait(task.id) if task.wait == Wait.TASKS else None
    if waits is None:
        return None
    facts: dict[str, Fact] = {
        "remaining": waits.remaining, "total": waits.total.number, "since": waits.since, "branch": waits.branch,
    }  # fmt: skip
    below = " of its branch" if waits.branch else ""
    total = f"{waits.total.number:,}{'+' if waits.total.more else ''}"
    words: Sentence = (f"it waits for {waits.remaining:,} of {total} tasks{below} since ", waits.since)
    if not waits.oldest:
        return Cause("tasks", words, facts)
    first, more = waits.oldest[0], waits.remaining - len(waits.oldest)
    named = ", ".join(f"{each.kind} {display_key(each.key)!r}" for each in waits.oldest)
    facts |= {"oldest": first.id, "oldest_state": first.state, "oldest_since": first.since}
    words = (*words, f": {named}{f' and {more:,} more' if more else ''}; the first ")
    last = await _chain_end(store, first)
    if last.id != first.id:
        facts |= {"end": last.id, "end_state": last.state, "end_since": last.since}
        words = (*words, f"waits in turn for {last.kind} {display_key(last.key)!r} (task {last.id}), which ")
    words = (*words, *await _does(store, last))
    return Cause("tasks", words, facts, CauseSubject("task", last.id), f"ramet explain {last.id}")


CHAIN_MAX = 100
"""Most joins below each other that are followed."""


async def _chain_end(store: Store, first: AwaitedTask) -> AwaitedTask:
    """From a task that is waited for, the first of those that it waits for itself, and so on to the end."""
    for _ in range(CHAIN_MAX):
        waits = await store.join_wait(first.id) if first.wait == Wait.TASKS else None
        if waits is None or not waits.oldest:
            return first
        first = waits.oldest[0]
    return first


async def _does(store: Store, awaited: AwaitedTask) -> Sentence:
    """Return what a task that others wait for does, as the end of a sentence that names it."""
    if awaited.state is TaskState.PROCESSING:
        return ("is processing since ", awaited.since)
    task = await store.get(awaited.id)
    lineage = None if task is None else await store.lineage(task.tracking_id)
    held = None if task is None or lineage is None else await first_obstacle(store, task, lineage)
    if held is not None:
        return ("is pending: ", *held.words)
    return ("is scheduled for " if awaited.wait in (Wait.DUE, Wait.TICKET) else "may be claimed since ", awaited.since)


def _scheduled(history: TaskHistory) -> Cause:
    task, last = history.task, history.attempts[-1] if history.attempts else None
    at = task.available_at or 0.0
    facts: dict[str, Fact] = {"available_at": at}
    if last is None:
        return Cause("scheduled", ("it is scheduled for ", at), facts)
    reason = last.reason or ""
    facts |= {"outcome": last.outcome, "reason": last.reason, "error": last.error, "attempts": task.attempts}
    facts |= {"max_attempts": task.max_attempts, "snoozes": task.snoozes, "losses": task.losses}
    code = _AFTER.get(last.outcome, "scheduled")
    words: Sentence = ("it is scheduled for ", at, f" after {last.outcome} ({reason})")
    if code_of(last.reason) != "retry_storm":
        return Cause(code, words, facts)
    words = (*words, ": its lineage's retries of the minute were used up")
    remedy = f"ramet lineage raise {task.tracking_id} --retries-per-minute N"
    facts["limit_name"] = "retries_per_minute"
    return Cause("put_off", words, facts, CauseSubject("lineage", task.tracking_id), remedy)


_AFTER = {"error": "retry", "snooze": "snoozed", "returned": "returned"}
