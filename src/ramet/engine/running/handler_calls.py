"""One call of a handler, for one task or a batch, in the loop or in a thread, and what its result or error becomes."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol

from ramet.engine.base.clock import Clock
from ramet.engine.base.error_text import describe_error
from ramet.engine.base.work import Work
from ramet.engine.context.batch import batch_of, results_of
from ramet.engine.context.context import (
    BaseContext,
    Context,
    HandlerPort,
    SyncContext,
    settlement_of,
)
from ramet.engine.context.joined import load_joined
from ramet.engine.context.outcome import error_event
from ramet.engine.context.ports import ClaimLost
from ramet.engine.kinds.registry import Kind, Registry, UnknownKind
from ramet.engine.running.slot import (
    HandlerSlot,
    HandlerThread,
    SettlementFactory,
    call_in_thread,
    limited,
    observed,
    surrounded,
)
from ramet.model.lineage.limits import ENDING_RETRY_SECONDS
from ramet.model.task import events as ev
from ramet.store.requests import Settlement


class Threads:
    """Runs calls in threads that are used again. The end of the process waits for no thread.

    Used from one event loop only. A call whose future was cancelled runs on in its thread; it occupies that thread and
    no other, however many there are.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._free = 0
        self._started = 0
        self._process = os.getpid()

    def run(self, call: Callable[[], Any], then: Callable[[], None] | None = None) -> asyncio.Future[Any]:
        """Start a call; ``then`` is called in the loop when it has really ended, whatever became of its future."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if self._free:
            self._free -= 1
        else:
            self._started += 1
            name = f"ramet handler {self._started}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

        def ended(result: Any, error: BaseException | None) -> None:
            self._free += 1
            if not future.done():
                if error is None:
                    future.set_result(result)
                else:
                    future.set_exception(error)
            if then is not None:
                then()

        def job() -> None:
            result, error = None, None
            try:
                result = call()
            except BaseException as raised:
                error = raised
            if os.getpid() != self._process:
                os._exit(0)  # A copy that the handler forked: what comes of the call is the original's to tell.
            # Without a loop there is no listener left.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(ended, result, error)

        self._jobs.put(job)
        return future

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # The values of a handler must not live until the next one comes.

    def stop(self) -> None:
        """Let the threads that have nothing to do end."""
        for _ in range(self._free):
            self._jobs.put(None)
        self._free = 0


class RunnerPort(HandlerPort, Protocol):
    """Destination of a runner's results."""

    def deliver(self, settlement: Settlement) -> None:
        """Deliver a task's outcome."""
        ...

    def stopped(self, claim: tuple[int, int]) -> None:
        """Report that a claim has no handler that runs, any more or at all: it was cancelled, or waited for a slot for
        too long.
        """
        ...


async def _known(outcomes: list[Settlement]) -> list[Settlement]:
    return outcomes


class HandlerCalls:
    """Makes the calls of one runner.

    Args:
        alone: limits of memory hold.
        until: monotonic seconds: handlers learn that their time is over then, whatever their own limit.
        lifespan: the value for contexts.
    """

    def __init__(
        self,
        registry: Registry,
        port: RunnerPort,
        clock: Clock,
        rng: random.Random,
        *,
        lease_seconds: float,
        alone: bool,
        until: float = math.inf,
        lifespan: Any = None,
    ) -> None:
        self._registry, self._port, self._clock, self._rng = registry, port, clock, rng
        self._lifespan, self._middleware = lifespan, registry.middleware
        self._lease_seconds, self._alone, self._until = lease_seconds, alone, until
        self._threads = Threads()
        self.ends = SettlementFactory(registry, rng)
        """Outcomes of calls that do not end by themselves."""

    def stop(self) -> None:
        """Let the threads that have nothing to do end."""
        self._threads.stop()

    def run(self, works: Sequence[Work], slot: HandlerSlot) -> Coroutine[Any, Any, list[Settlement]]:
        """Return the outcomes of one call, one for each task, to be awaited; whatever the handler raises is one.

        Raises:
            CancelledError: the call was cut short.
        """
        work = works[0]
        try:
            kind = self._registry.get(work.kind)
        except UnknownKind as error:
            # The app that this process loaded is not the one that its supervisor has.
            return _known([self.ends.error(work, *describe_error(error)) for work in works])
        if work.ending is not None:
            last = kind.at_end()
            if last is None:
                return _known([Settlement(work.seq, work.fence, ev.HandBack(work.fence, ENDING_RETRY_SECONDS))])
            kind = last
        slot.overdue_at = self._clock.monotonic() + kind.limits.invocation_seconds
        if kind.how.batch > 1 and work.ending is None:
            return self._run_batch(works, kind, slot)
        return self._run_one(work, kind, slot)

    async def _run_one(self, work: Work, kind: Kind, slot: HandlerSlot) -> list[Settlement]:
        try:
            arguments: tuple[Any, ...] = ()
            if kind.payload is not None:
                arguments = (kind.read(work),)
            context = self._context(work, kind, slot)
            if work.round or work.after:
                await load_joined((context,))
            return [settlement_of(context, await self._call(kind, context, arguments, slot))]
        except asyncio.CancelledError:
            raise
        except ClaimLost:
            slot.lost |= {(work.seq, work.fence)}
            return [Settlement(work.seq, work.fence, ev.HandBack(work.fence))]
        except BaseException as error:
            # Also what is not an Exception: leaving it to the loop would lose the neighbours' work.
            if slot.abandoned:
                raise
            return [self._failed(work, kind, error)]

    async def _run_batch(self, works: Sequence[Work], kind: Kind, slot: HandlerSlot) -> list[Settlement]:
        """One call for several tasks. Each has its own outcome; what the call raises is the outcome of all."""
        settlements, payloads, called = list[Settlement](), list[Any](), list[Work]()
        for work in works:
            try:
                payloads.append(None if kind.payload is None else kind.read(work))
                called.append(work)
            except BaseException as error:  # A type of the app's has checks of its own.
                settlements.append(self._failed(work, kind, error))
        contexts = [self._context(work, kind, slot) for work in called]
        arguments = () if kind.payload is None else (payloads,)
        try:
            await load_joined(contexts)
            returned = await self._call(kind, batch_of(contexts), arguments, slot) if called else None
            results = results_of(returned, len(called))
        except asyncio.CancelledError:
            raise
        except ClaimLost:
            # The culprit is not known: the others run again, with their attempts.
            return settlements + [Settlement(work.seq, work.fence, ev.HandBack(work.fence)) for work in called]
        except BaseException as error:
            if slot.abandoned:
                raise
            return settlements + [self._failed(work, kind, error) for work in called]
        for work, context, result in zip(called, contexts, results, strict=True):
            settlements.append(self._member(work, kind, context, result))
        return settlements

    def _member(self, work: Work, kind: Kind, context: BaseContext, result: Any) -> Settlement:
        """Return the outcome of one task of a batch; an exception among the results is that task's error."""
        if issubclass(type(result), BaseException):
            return self._failed(work, kind, result)
        try:
            return settlement_of(context, result)
        except BaseException as error:  # A result that is not a JSON value, or whose own code raises.
            return self._failed(work, kind, error)

    def _context(self, work: Work, kind: Kind, slot: HandlerSlot) -> BaseContext:
        context: BaseContext
        if kind.is_async:
            context = Context(work, kind, self._registry, self._port, self._lease_seconds)
        else:
            loop = asyncio.get_running_loop()
            context = SyncContext(work, kind, self._registry, self._port, self._lease_seconds, loop=loop)
        if self._lifespan is not None:
            context.lifespan = self._lifespan
        context.begin(self._clock, min(slot.overdue_at, self._until))
        slot.contexts[work.seq, work.fence] = context
        return context

    def _call(
        self, kind: Kind, context: Any, arguments: tuple[Any, ...], slot: HandlerSlot, *, bare: bool = False
    ) -> Awaitable[Any]:
        """Return the call, to be awaited: no coroutine more than the handler's own where nothing is around it.

        Args:
            bare: leave the middleware out.
        """
        if self._middleware and not bare:
            return surrounded(partial(self._call, kind, context, arguments, slot, bare=True), context, self._middleware)
        assert kind.handler is not None
        more_bytes = kind.how.memory_bytes_max if self._alone else None
        if kind.is_async:
            called: Awaitable[Any] = kind.handler(context, *arguments)
            if slot.observed is not None:
                called = observed(called, slot.observed)
            return called if more_bytes is None else limited(called, more_bytes)
        slot.thread = thread = HandlerThread()
        call: Callable[[], Any] = partial(
            call_in_thread, kind, context, arguments, slot.works, thread, more_bytes=more_bytes, running=slot.observed
        )
        if bare:  # A thread has no context variables of this task but those that it is given.
            call = partial(copy_context().run, call)
        return self._threads.run(call, partial(self._thread_ended, thread))

    def _thread_ended(self, thread: HandlerThread) -> None:
        thread.ended = True
        for claim in sorted(thread.abandoned):
            self._port.stopped(claim)

    def _failed(self, work: Work, kind: Kind, error: BaseException) -> Settlement:
        """Return the settlement of an exception, which drops what the handler buffered since its last checkpoint."""
        draw, table = self._rng.random(), kind.error_table()
        event = error_event(error, work.fence, draw, table, handler=kind.handler, waits=kind.waits_of(work))
        return Settlement(work.seq, work.fence, event)
