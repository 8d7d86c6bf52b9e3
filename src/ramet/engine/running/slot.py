"""A slot of a runner: one call of a handler at a time, for one task or a batch of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from ramet.engine.base.observe import Running
from ramet.engine.base.work import Work
from ramet.engine.context.context import BaseContext

Claim = tuple[int, int]
NONE: frozenset[Claim] = frozenset()


class Started(Protocol):
    """Where it is noted which claim is in which slot: memory that a supervisor can read when this process died."""

    def note(self, slot: int, seq: int, fence: int) -> None:
        """A handler begins."""
        ...

    def free(self, slot: int) -> None:
        """It has ended."""
        ...


class Unnoted:
    """Nobody would read it."""

    def note(self, slot: int, seq: int, fence: int) -> None: ...

    def free(self, slot: int) -> None: ...


class HandlerThread:
    """A plain handler that runs; its slot may go on without it."""

    __slots__ = ("abandoned", "ended", "ident")

    def __init__(self) -> None:
        self.ident: int | None = None
        """Of the thread that it runs in, once it does."""
        self.ended = False
        self.abandoned: frozenset[Claim] = NONE
        """Its claims, which are lost, and its slot does not wait for it."""


class Slot:
    """What one slot is doing."""

    __slots__ = ("contexts", "lost", "observed", "overdue_at", "task", "thread", "timed_out", "where", "works")

    def __init__(self) -> None:
        self.works: Sequence[Work] = ()
        self.task: asyncio.Task[None] | None = None
        self.overdue_at = 0.0
        self.timed_out = False
        self.lost: frozenset[Claim] = NONE
        """Claims that are not this worker's any more."""
        self.thread: HandlerThread | None = None
        self.contexts: dict[Claim, BaseContext] = {}
        self.where: str | None = None
        """Where a plain handler was when its time was over."""
        self.observed: Running | None = None
        """The call, where somebody is told of it."""

    def begin(self, works: Sequence[Work]) -> None:
        """Nothing of the last call is left."""
        self.works, self.timed_out, self.lost, self.thread, self.observed = works, False, NONE, None, None
        self.where = None

    @property
    def abandoned(self) -> bool:
        """True when the interpreter closes its coroutine, because the loop that ran it is gone."""
        try:
            return self.task is None or asyncio.current_task() is not self.task
        except RuntimeError:
            return True

    async def forget_cancellations(self) -> None:
        """What a handler, or its limit, left behind in the task that ran it must not reach the next call."""
        task = self.task
        if task is None or not task.cancelling():
            return
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        for _ in range(task.cancelling()):
            task.uncancel()

    @property
    def all_lost(self) -> bool:
        """True when nobody wants what its call would deliver."""
        return len(self.lost) == len(self.works)
