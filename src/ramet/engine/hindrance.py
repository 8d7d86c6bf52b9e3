"""What holds a pending task back besides its own wait: pauses, limits, breakers, nobody who serves it (promise I8)."""

from __future__ import annotations

from collections.abc import Callable

from ramet.model.lineage import Lineage, LineageState
from ramet.model.resources import policy_of, rate_of, room
from ramet.model.task import Task, TaskState, Wait
from ramet.store.base import Store

Sentence = tuple[str | float, ...]
"""Words, and between them moments (Unix seconds) for whoever writes it down."""


async def hindrance(store: Store, task: Task, lineage: Lineage) -> Sentence | None:
    """Why a pending task is not taken although it is due; None when nothing but a free worker is missing."""
    if task.state is not TaskState.PENDING or task.wait in (Wait.DUE, Wait.BOUND, Wait.TICKET):
        return None
    if lineage.state == LineageState.PAUSED and lineage.paused_at is not None:
        return ("its lineage is paused since ", lineage.paused_at, _by(lineage.paused_by, lineage.paused_reason))
    if task.wait == Wait.PATH:
        return None  # Whoever is before it has to end first.
    if task.wait == Wait.RESOURCE and task.resource is not None:
        held = await _resource(store, task.resource)
        if held is not None:
            return held
    for queue in await store.queues():
        if queue.name == task.queue and queue.paused_at is not None:
            return (
                f"its queue {queue.name} is paused since ",
                queue.paused_at,
                _by(queue.paused_by, queue.paused_reason),
            )
    full = await _full(store, task)
    if full is not None:
        return full
    workers = [worker for worker in await store.workers() if worker.alive]
    if workers and not any(task.queue in worker.queues and task.kind in worker.kinds for worker in workers):
        return (f"it waits for a worker that serves kind {task.kind!r} on queue {task.queue!r}: no living one does",)
    return None


async def _resource(store: Store, name: str) -> Sentence | None:
    """Why nothing of a resource is claimed now."""
    found = await store.resources(name)
    if not found:
        return None
    [resource], policies, usage = found, await store.policies(), await store.usage()
    policy = policy_of(name, policies)
    now = max(resource.refilled_at, await store.now())
    space = room(resource, policy, now, usage.resources.get(name, 0))
    if space.claims != 0:
        return None
    if space.reason in ("breaker", "disabled"):
        told: Sentence = (f"breaker of {name} open since ", resource.opened_at or 0.0)
        why = _by(resource.opened_by, resource.opened_reason)
        if policy.cooldown_seconds is None:
            return (*told, f"{why}; a person closes it")
        return (*told, f"{why}, next try ", (resource.opened_at or 0.0) + policy.cooldown_seconds)
    if space.reason == "paused":
        return (f"{name} is paused until ", resource.paused_until, f": {resource.paused_reason}")
    if space.reason == "rate":
        rate = rate_of(resource, policy)
        bears = 0.0 if rate is None else rate.at(now)
        return (f"the rate of {name}, {bears:.3g} a second, is used up until ", space.until or now)
    return (f"{name} has {policy.concurrency} of {policy.concurrency} claims at once",)


async def _full(store: Store, task: Task) -> Sentence | None:
    """The queue or kind that has as many claims as it may."""
    limits = [("queue", queue.name, queue.concurrency) for queue in await store.queues() if queue.name == task.queue]
    limits += [("kind", kind.name, kind.concurrency) for kind in await store.kind_limits() if kind.name == task.kind]
    if not any(most is not None for _, _, most in limits):
        return None
    usage = await store.usage()
    for what, name, most in limits:
        held = (usage.queues if what == "queue" else usage.kinds).get(name, 0)
        if most is not None and held >= most:
            return (f"{what} {name} has {held} of {most} claims at once",)
    return None


def said(sentence: Sentence, when: Callable[[float], str]) -> str:
    """The sentence as text."""
    return "".join(part if isinstance(part, str) else when(part) for part in sentence)


def _by(person: str | None, reason: str | None) -> str:
    return f" by {person}" + (f": {reason}" if reason else "")
