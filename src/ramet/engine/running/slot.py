"""A slot of a runner: one call of a handler at a time, what is around it, and how a cut-off call ends."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, nullcontext, suppress
from typing import Any, Protocol

from ramet.engine.base.current_tasks import enter_call
from ramet.engine.base.error_text import traceback_of
from ramet.engine.base.observe import ObservedCall
from ramet.engine.base.work import Work
from ramet.engine.context.context import BaseContext
from ramet.engine.context.outcome import named_error_event
from ramet.engine.kinds.options import memory_limit
from ramet.engine.kinds.registry import Kind, Middleware, Registry
from ramet.model.task.retry import ErrorClass
from ramet.store.requests import Settlement


async def limited(called: Awaitable[Any], more_bytes: int) -> Any:
    """Return the call, limited to this much more memory than there is now."""
    with memory_limit(more_bytes):
        return await called


async def observed(called: Awaitable[Any], running: ObservedCall) -> Any:
    """Return the call; what it starts belongs below it."""
    with running.inside():
        return await called


async def surrounded(call: Callable[[], Awaitable[Any]], context: Any, middleware: Sequence[Middleware]) -> Any:
    """Return the call within an app's middleware, the first one outermost.

    An error inside or of one of them is the call's error, even where another one suppresses it: a failure must not pass
    for a success.
    """
    failure: BaseException | None = None
    async with AsyncExitStack() as stack:
        try:
            for around in middleware:
                await stack.enter_async_context(around(context))
            context.returned = await call()
        except BaseException as error:
            failure = error
            raise
    if failure is not None:
        raise failure
    return context.returned


def call_in_thread(
    kind: Kind,
    context: Any,
    arguments: tuple[Any, ...],
    works: Sequence[Work],
    thread: HandlerThread,
    *,
    more_bytes: int | None,
    running: ObservedCall | None,
) -> Any:
    """Call a plain handler, in the thread that is to run it."""
    assert kind.handler is not None
    thread.ident = threading.get_ident()
    enter_call(works)
    try:
        with memory_limit(more_bytes), nullcontext() if running is None else running.inside():
            return kind.handler(context, *arguments)
    except StopIteration as error:
        # A future cannot carry this one: code that awaits it would wait for ever.
        raise RuntimeError("the handler raised StopIteration") from error


def limit_seconds(kind: Kind, work: Work) -> float:
    """Return the seconds that one call of a handler may take; the last one, of an ``on_end`` handler, no longer than
    one call.
    """
    return kind.limits.invocation_seconds if work.ending is None else kind.limits.call_seconds


def timed_out(kind: Kind, work: Work, jitter: float, where: str | None = None) -> Settlement:
    """Return the settlement of a task whose handler ran past its invocation limit; ``where`` it was then, if known."""
    text, waits = f"the handler ran longer than {limit_seconds(kind, work):g} s", kind.waits_of(work)
    event = named_error_event("Timeout", text, ErrorClass.TRANSIENT, work.fence, jitter, traceback=where, waits=waits)
    return Settlement(work.seq, work.fence, event)


class SettlementFactory:
    """Makes them, with its owner's source of chance."""

    def __init__(self, registry: Registry, rng: random.Random) -> None:
        self._registry = registry
        self._rng = rng

    def timeout(self, work: Work, where: str | None) -> Settlement:
        """Return the settlement of a call that ran past its limit."""
        return timed_out(self._registry.get(work.kind), work, self._rng.random(), where)

    def cut_short(self, work: Work, where: str | None, error: BaseException, *, timed_out: bool) -> Settlement:
        """Return the settlement of a call that was cancelled: by the engine where its time was over, else it let a
        cancellation of its own through.

        Args:
            where: the place of a plain handler; of its thread the error says only that a slot waited.
        """
        where = where or traceback_of(error, self._registry.known(work.kind).handler)
        if timed_out:
            return self.timeout(work, where)
        text = "the handler let a cancellation through that was not its own"
        return self.error(work, "CancelledError", text, where)

    def error(self, work: Work, name: str, text: str, where: str | None = None) -> Settlement:
        """Return the settlement of a call that ended with this error, which says nothing about another try."""
        waits = self._registry.known(work.kind).waits_of(work)
        draw = self._rng.random()
        event = named_error_event(name, text, ErrorClass.UNCLASSIFIED, work.fence, draw, traceback=where, waits=waits)
        return Settlement(work.seq, work.fence, event)


ClaimId = tuple[int, int]
NONE: frozenset[ClaimId] = frozenset()


class SlotNotes(Protocol):
    """Notes of the claim in each slot: memory that a supervisor can read when this process died."""

    def note(self, slot: int, seq: int, fence: int) -> None:
        """Note that a handler begins."""
        ...

    def free(self, slot: int) -> None:
        """Note that it has ended."""
        ...


class NoSlotNotes:
    """Notes that are not kept: they would have no reader."""

    def note(self, slot: int, seq: int, fence: int) -> None: ...

    def free(self, slot: int) -> None: ...


class HandlerThread:
    """A plain handler that runs; its slot may go on without it."""

    __slots__ = ("abandoned", "ended", "ident")

    def __init__(self) -> None:
        self.ident: int | None = None
        """Identifier of the thread that it runs in, once it does."""
        self.ended = False
        self.abandoned: frozenset[ClaimId] = NONE
        """Its claims, which are lost, and its slot does not wait for it."""


class HandlerSlot:
    """State of one slot."""

    __slots__ = ("contexts", "lost", "observed", "overdue_at", "task", "thread", "timed_out", "where", "works")

    def __init__(self) -> None:
        self.works: Sequence[Work] = ()
        self.task: asyncio.Task[None] | None = None
        self.overdue_at = 0.0
        self.timed_out = False
        self.lost: frozenset[ClaimId] = NONE
        """Claims that are not this worker's any more."""
        self.thread: HandlerThread | None = None
        self.contexts: dict[ClaimId, BaseContext] = {}
        self.where: str | None = None
        """Place of a plain handler when its time was over."""
        self.observed: ObservedCall | None = None
        """Observed call, where there is an observer."""

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
        """Forget cancellations that a handler, or its limit, left behind in the task that ran it: they must not reach
        the next call.
        """
        task = self.task
        if task is None or not task.cancelling():
            return
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        for _ in range(task.cancelling()):
            task.uncancel()

    @property
    def all_lost(self) -> bool:
        """True when the outcome of its call is no longer wanted."""
        return len(self.lost) == len(self.works)
