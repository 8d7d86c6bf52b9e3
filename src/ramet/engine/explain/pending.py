"""Causes that hold a pending task back: pauses, limits, breakers, its own time, no worker for its kind (promise I8).

Paths are explained in :mod:`ramet.engine.explain.paths`. Everything here reads rows whose number does not grow with
work: one lineage, queues, limits, resources by name, current claims, workers.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from shlex import quote

from ramet.model.alerts.rules import STARVATION_REMEDY, starvation_words
from ramet.model.causes import Cause, CauseSubject, Sentence
from ramet.model.flow.resources import Queue, Resource, ResourcePolicy, policy_of, rate_of, room
from ramet.model.lineage.guard import tombstone_over
from ramet.model.lineage.lineage import Lineage, LineageState
from ramet.model.money import as_usd
from ramet.model.paths import path_key
from ramet.model.reasons import Fact
from ramet.model.task.task import Task, TaskState, Wait
from ramet.store.store import Store

NAMED_MAX = 20
"""Most living workers that are named."""
LATER = frozenset({Wait.DUE, Wait.TICKET, Wait.PATH, Wait.TASKS})
"""Waits of tasks that could not be claimed whatever else is free."""


async def first_obstacle(store: Store, task: Task, lineage: Lineage) -> Cause | None:
    """Return the first of :func:`obstacles`."""
    async for cause in obstacles(store, task, lineage):
        return cause
    return None


async def obstacles(store: Store, task: Task, lineage: Lineage) -> AsyncIterator[Cause]:
    """All that keeps a pending task from being taken, besides its own wait; nothing where only a worker is missing.

    The first is what holds it now; the others would hold it when that is over.
    """
    if task.state is not TaskState.PENDING:
        return
    for cause in (_lineage_state(lineage), _tombstone(task, lineage)):
        if cause is not None:
            yield cause
    if task.bound_to is not None:
        return
    async for cause in _times(store, task, lineage):
        yield cause
    if task.wait == Wait.RESOURCE and task.resource is not None:
        held = await _resource(store, task.resource)
        if held is not None:
            yield held
    queues = {queue.name: queue for queue in await store.queues()}
    paused = _queue_paused(queues.get(task.queue))
    if paused is not None:
        yield paused
    if task.path and (held := await _path_paused(store, task)) is not None:
        yield held
    if task.wait not in LATER:
        async for cause in _full(store, task, queues.get(task.queue)):
            yield cause
    if not task.pulled:
        for missing in (await _unserved(store, task), await _starved(store, task)):
            if missing is not None:
                yield missing


# --- its lineage and its time


def _lineage_state(lineage: Lineage) -> Cause | None:
    about = CauseSubject("lineage", lineage.tracking_id)
    if lineage.state == LineageState.RUNNING:
        return None
    if lineage.state == LineageState.PAUSED and lineage.paused_at is not None:
        by = _by(lineage.paused_by, lineage.paused_reason)
        facts: dict[str, Fact] = {
            "paused_at": lineage.paused_at, "by": lineage.paused_by, "reason": lineage.paused_reason,
        }  # fmt: skip
        remedy = f"ramet resume --lineage {quote(lineage.tracking_id)}"
        return Cause("lineage_paused", ("its lineage is paused since ", lineage.paused_at, by), facts, about, remedy)
    words = f"its lineage is {lineage.state}" + (f": {lineage.reason}" if lineage.reason else "")
    return Cause("lineage_over", (words,), {"state": lineage.state, "reason": lineage.reason}, about)


def _tombstone(task: Task, lineage: Lineage) -> Cause | None:
    marks: dict[str, int] = json.loads(lineage.tombstones) if lineage.tombstones else {}
    grave = tombstone_over(marks, task.id, task.ancestry_chain)
    if grave is None:
        return None
    whose = "it was cancelled with all below it" if grave == task.id else f"task {grave} above it was cancelled with it"
    return Cause("tombstone", (f"{whose}: the next sweep ends it",), {"task": grave}, CauseSubject("task", grave))


async def _times(store: Store, task: Task, lineage: Lineage) -> AsyncIterator[Cause]:
    """Deadlines that have passed and that no sweep has looked at yet."""
    now = await store.now()
    if lineage.state == LineageState.RUNNING and now >= lineage.deadline_at:
        yield Cause(
            "lineage_deadline_passed",
            ("the time of its lineage was over ", lineage.deadline_at, ": the next look ends it"),
            {"deadline_at": lineage.deadline_at},
            CauseSubject("lineage", lineage.tracking_id),
            f"ramet lineage raise {quote(lineage.tracking_id)} --extend SECONDS",
        )
    if task.deadline_at is not None and now >= task.deadline_at and lineage.state == LineageState.RUNNING:
        polls = task.max_attempts is None
        then = "it is looked at once more, and then ends" if polls else "the next sweep ends it"
        yield Cause(
            "task_deadline_passed",
            ("its time was over ", task.deadline_at, f": {then}"),
            {"deadline_at": task.deadline_at},
        )


def spent(lineage: Lineage) -> Cause | None:
    """Explain what a task of this lineage meets that asks for money."""
    ceiling = lineage.cost_ceiling
    most = ceiling.reservable
    if most is None or lineage.spent + lineage.reserved < most:
        return None
    words = f"its lineage has spent {as_usd(lineage.spent)} and reserved {as_usd(lineage.reserved)}"
    return Cause(
        "lineage_spent",
        (f"{words} of {as_usd(most)}: calls that cost money are refused",),
        {"spent": lineage.spent, "reserved": lineage.reserved, "limit": most, "limit_name": "max_cost"},
        CauseSubject("lineage", lineage.tracking_id),
        f"ramet lineage raise {quote(lineage.tracking_id)} --max-cost DOLLARS",
    )


# --- what it shares with others


async def _resource(store: Store, name: str) -> Cause | None:
    """Why nothing of a resource is claimed now."""
    found = await store.resources(name)
    if not found:
        return None
    [resource], policies, usage = found, await store.policies(), await store.usage()
    policy, in_use = policy_of(name, policies), usage.resources.get(name, 0)
    now = max(resource.refilled_at, await store.now())
    space = room(resource, policy, now, in_use)
    if space.claims != 0:
        return None
    about = CauseSubject("resource", name)
    if space.reason in ("breaker", "disabled"):
        return _breaker(resource, policy, about)
    if space.reason == "paused":
        facts: dict[str, Fact] = {"paused_until_at": resource.paused_until, "reason": resource.paused_reason}
        words: Sentence = (f"{name} is paused until ", resource.paused_until, f": {resource.paused_reason}")
        return Cause("resource_paused", words, facts, about, f"ramet resource close {quote(name)}")
    remedy = f"ramet limit resource {quote(name)}"
    if space.reason == "rate":
        rate = rate_of(resource, policy)
        rate_now, until = 0.0 if rate is None else rate.at(now), space.until or now
        words = (f"the rate of {name}, {rate_now:.3g} a second, is used up until ", until)
        facts = {"rate_per_second": rate_now, "until_at": until, "limit_name": "rate_per_second"}
        return Cause("rate", words, facts, about, f"{remedy} --per-minute N")
    words = (f"{name} has {policy.concurrency} of {policy.concurrency} claims at once",)
    facts = {"value": in_use, "limit": policy.concurrency, "limit_name": "concurrency"}
    return Cause("resource_full", words, facts, about, f"{remedy} --concurrency N")


def _breaker(resource: Resource, policy: ResourcePolicy, about: CauseSubject) -> Cause:
    opened_at = resource.opened_at or 0.0
    opening: Sentence = (f"breaker of {resource.name} open since ", opened_at)
    why = _by(resource.opened_by, resource.opened_reason)
    facts: dict[str, Fact] = {
        "opened_at": resource.opened_at, "by": resource.opened_by, "reason": resource.opened_reason,
        "failures": resource.failures, "failures_max": policy.breaker_failures,
    }  # fmt: skip
    remedy = f"ramet resource close {quote(resource.name)}"
    if policy.cooldown_seconds is None:
        return Cause("source_off", (*opening, f"{why}; a person closes it"), facts, about, remedy)
    next_try_at = opened_at + policy.cooldown_seconds
    facts |= {"next_try_at": next_try_at, "cooldown_seconds": policy.cooldown_seconds}
    return Cause("breaker", (*opening, f"{why}, next try ", next_try_at), facts, about, remedy)


def _queue_paused(queue: Queue | None) -> Cause | None:
    if queue is None or queue.paused_at is None:
        return None
    words = (f"its queue {queue.name} is paused since ", queue.paused_at, _by(queue.paused_by, queue.paused_reason))
    facts: dict[str, Fact] = {"paused_at": queue.paused_at, "by": queue.paused_by, "reason": queue.paused_reason}
    remedy = f"ramet resume --queue {quote(queue.name)}"
    return Cause("queue_paused", words, facts, CauseSubject("queue", queue.name), remedy)


async def _path_paused(store: Store, task: Task) -> Cause | None:
    for one in await store.path_pauses():
        # A task does not say of which scope its path is: of a pause in its own lineage it is that one.
        if one.tracking_id in (None, task.tracking_id) and one.covers(task.path, task.queue, one.tracking_id):
            path, by = path_key(one.path), _by(one.paused_by, one.paused_reason)
            facts: dict[str, Fact] = {
                "path": path, "paused_at": one.paused_at, "by": one.paused_by, "reason": one.paused_reason,
            }  # fmt: skip
            return Cause("path_paused", (f"path {path} is paused since ", one.paused_at, by), facts,
                         remedy=f"ramet paths {' '.join(map(quote, one.path))} --resume")  # fmt: skip
    return None


async def _full(store: Store, task: Task, queue: Queue | None) -> AsyncIterator[Cause]:
    """Yield causes of the queue or kind that has as many claims as it may."""
    limits = [("kind", kind.name, kind.concurrency) for kind in await store.kind_limits() if kind.name == task.kind]
    if queue is not None and queue.concurrency is not None:
        limits.insert(0, ("queue", queue.name, queue.concurrency))
    if not limits:
        return
    usage = await store.usage()
    for what, name, most in limits:
        held = (usage.queues if what == "queue" else usage.kinds).get(name, 0)
        if held >= most:
            facts: dict[str, Fact] = {"value": held, "limit": most, "limit_name": "concurrency"}
            words = (f"{what} {name} has {held} of {most} claims at once",)
            yield Cause(
                f"{what}_full",
                words,
                facts,
                CauseSubject(what, name),
                f"ramet limit {what} {quote(name)} --concurrency N",
            )


# --- who would take it


async def _unserved(store: Store, task: Task) -> Cause | None:
    alive = [worker for worker in await store.workers() if worker.alive]
    if not alive or any(task.queue in worker.queues and task.kind in worker.kinds for worker in alive):
        return None
    return Cause(
        "unserved",
        (f"it waits for a worker that serves kind {task.kind!r} on queue {task.queue!r}: no living one does",),
        {
            "kind": task.kind,
            "queue": task.queue,
            "workers": tuple(worker.name for worker in alive[:NAMED_MAX]),
            "workers_alive": len(alive),
            "kind_served": any(task.kind in worker.kinds for worker in alive),
            "queue_served": any(task.queue in worker.queues for worker in alive),
        },
        CauseSubject("kind", task.kind),
        f"start a worker that registers {task.kind!r} and takes from queue {task.queue!r}",
    )


async def _starved(store: Store, task: Task) -> Cause | None:
    """Every slot in which it can run is held by a handler that waits inside."""
    for one in await store.starved():
        if (one.queue, one.kind) == (task.queue, task.kind):
            words = starvation_words(one.kind, one.queue, one.slots, one.waiter_id, one.awaited_id)
            facts: dict[str, Fact] = {
                "kind": one.kind, "queue": one.queue, "slots": one.slots, "task": one.waiter_id,
                "awaited": one.awaited_id, "since": one.since,
            }  # fmt: skip
            return Cause("starved", (words,), facts, CauseSubject("task", one.waiter_id), STARVATION_REMEDY)
    return None


async def waits_for_worker(store: Store, task: Task) -> Cause:
    """Explain what a task waits for that nothing holds back."""
    if task.pulled:
        words = f"it is due, and waits for an invocation that takes tasks of kind {task.kind!r} on queue {task.queue!r}"
        return Cause("pulled", (words,), {"kind": task.kind, "queue": task.queue}, CauseSubject("kind", task.kind))
    serving = [worker for worker in await store.workers() if worker.alive]
    names = tuple(w.name for w in serving if task.queue in w.queues and task.kind in w.kinds)
    return Cause(
        "free" if serving else "no_worker",
        (f"it waits for a worker that serves kind {task.kind!r} on queue {task.queue!r}",),
        {"kind": task.kind, "queue": task.queue, "workers": names[:NAMED_MAX], "workers_alive": len(serving)},
        CauseSubject("kind", task.kind),
        None if serving else "start a worker: none lives",
    )


def _by(person: str | None, reason: str | None) -> str:
    return f" by {person}" + (f": {reason}" if reason else "")
