"""What holds a pending task back besides its own wait: pauses, limits, breakers, nobody who serves it (promise I8)."""

from __future__ import annotations

from collections.abc import Callable

from ramet.model.lineage import Lineage, LineageState
from ramet.model.task import Task, TaskState, Wait
from ramet.store.base import Store

Sentence = tuple[str | float, ...]
"""Words, and between them moments (Unix seconds) for whoever writes it down."""


async def hindrance(store: Store, task: Task, lineage: Lineage) -> Sentence | None:
    """Why a pending task is not taken although it is due; None when nothing but a free worker is missing."""
    if task.state is not TaskState.PENDING or task.wait in (Wait.DUE, Wait.BOUND):
        return None
    if lineage.state == LineageState.PAUSED and lineage.paused_at is not None:
        return ("its lineage is paused since ", lineage.paused_at, _by(lineage.paused_by, lineage.paused_reason))
    for queue in await store.queues():
        if queue.name == task.queue and queue.paused_at is not None:
            return (
                f"its queue {queue.name} is paused since ",
                queue.paused_at,
                _by(queue.paused_by, queue.paused_reason),
            )
    return None


def said(sentence: Sentence, when: Callable[[float], str]) -> str:
    """The sentence as text."""
    return "".join(part if isinstance(part, str) else when(part) for part in sentence)


def _by(person: str | None, reason: str | None) -> str:
    return f" by {person}" + (f": {reason}" if reason else "")
