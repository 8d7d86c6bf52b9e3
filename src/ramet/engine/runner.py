"""Runs handlers: a fixed number of slots that take claimed tasks and turn each into one settlement.

Used inside a handler process, or in the worker's own loop with ``in_process``. It knows nothing of the database.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Protocol

from ramet.engine.clock import Clock, SystemClock
from ramet.engine.context import BaseContext, ClaimLost, Context, Desk, SyncContext, settlement_of
from ramet.engine.outcome import error_event, told_error
from ramet.engine.registry import Kind, Registry, UnknownKind
from ramet.engine.threads import Threads
from ramet.engine.work import Work
from ramet.model import events as ev
from ramet.model.limits import ENDING_RETRY_SECONDS
from ramet.model.retry import ErrorClass
from ramet.store.base import Settlement

YIELD_EVERY = 64
"""Handlers that never wait would keep the loop to themselves: a slot steps aside after so many of them."""
OVERDUE_CHECK_SECONDS = 0.25


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


class Port(Desk, Protocol):
    """Where a runner's results go."""

    def deliver(self, settlement: Settlement) -> None:
        """A task's outcome."""
        ...

    def stopped(self, claim: tuple[int, int]) -> None:
        """A cancelled claim has no handler that runs, any more or at all."""
        ...


class _Thread:
    """A plain handler that runs; its slot may go on without it."""

    __slots__ = ("abandoned", "ended")

    def __init__(self) -> None:
        self.ended = False
        self.abandoned = False
        """Its claim is lost and its slot does not wait for it."""


class _Slot:
    """What one slot is doing."""

    __slots__ = ("cancelled", "context", "overdue_at", "task", "thread", "timed_out", "work")

    def __init__(self) -> None:
        self.work: Work | None = None
        self.task: asyncio.Task[None] | None = None
        self.overdue_at = 0.0
        self.timed_out = False
        self.cancelled = False
        self.thread: _Thread | None = None
        self.context: BaseContext | None = None

    def begin(self, work: Work) -> None:
        """Nothing of the last task is left."""
        self.work, self.timed_out, self.cancelled, self.thread = work, False, False, None


class Runner:
    """A set of slots over one registry.

    A coroutine can be ended by its cancellation; a thread cannot. Where somebody can end this whole process
    (``patient``), the slot of a thread that was told to stop stays taken until the thread has ended. Where nobody can,
    the slot goes on without it.
    """

    def __init__(
        self,
        registry: Registry,
        port: Port,
        *,
        concurrency: int,
        lease_seconds: float,
        rng: random.Random,
        clock: Clock | None = None,
        started: Started | None = None,
        patient: bool = False,
    ) -> None:
        self._registry = registry
        self._port = port
        self._lease_seconds = lease_seconds
        self._rng = rng
        self._clock = clock or SystemClock()
        self._queue: deque[Work] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._slots = [_Slot() for _ in range(concurrency)]
        self._threads = Threads()
        self._patient = patient
        self._watch: asyncio.Task[None] | None = None
        self._started: Started = started or Unnoted()

    def start(self) -> None:
        """Start the slots in the running loop."""
        for number, slot in enumerate(self._slots):
            slot.task = asyncio.create_task(self._serve(number, slot))
        self._watch = asyncio.create_task(self._watch_overdue())

    def add(self, works: Sequence[Work]) -> None:
        """Queue claimed tasks."""
        self._queue.extend(works)
        for _ in range(min(len(works), len(self._idle))):
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def take_unstarted(self) -> list[Work]:
        """Remove and return what no handler has begun."""
        works = list(self._queue)
        self._queue.clear()
        return works

    def cancel(self, claims: Collection[tuple[int, int]]) -> None:
        """Stop the handlers of lost claims; what they would deliver is dropped. Each is reported as stopped, once."""
        wanted = set(claims)
        self._queue = deque(work for work in self._queue if (work.seq, work.fence) not in wanted)
        for slot in self._slots:
            if slot.work is not None and (slot.work.seq, slot.work.fence) in wanted and slot.task is not None:
                wanted.remove((slot.work.seq, slot.work.fence))
                slot.cancelled = True
                self._tell(slot)
        for claim in sorted(wanted):
            self._port.stopped(claim)

    def _tell(self, slot: _Slot) -> None:
        """Tell a handler to stop, in the way that it can hear."""
        if slot.context is not None:
            slot.context.cancel()
        if slot.thread is not None and self._patient:
            return
        if slot.thread is not None and slot.cancelled:
            slot.thread.abandoned = not slot.thread.ended
        if slot.task is not None:
            slot.task.cancel()

    @property
    def busy(self) -> bool:
        """True while a handler runs or waits for its slot."""
        return bool(self._queue) or any(slot.work is not None for slot in self._slots)

    async def stop(self) -> None:
        """End all slots. Running handlers are cancelled and deliver nothing."""
        tasks = [slot.task for slot in self._slots if slot.task is not None]
        tasks += [self._watch] if self._watch is not None else []
        for slot in self._slots:
            slot.task, slot.cancelled = None, True
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._threads.stop()

    async def _serve(self, number: int, slot: _Slot) -> None:
        in_a_row = 0
        while slot.task is not None:
            while not self._queue:
                in_a_row = 0
                waiter = asyncio.get_running_loop().create_future()
                self._idle.append(waiter)
                await waiter
            work = self._queue.popleft()
            slot.begin(work)
            self._started.note(number, work.seq, work.fence)
            try:
                settlement = await self._run(work, slot)
                if not slot.cancelled:
                    self._port.deliver(self._timeout(work) if slot.timed_out and slot.thread else settlement)
            except asyncio.CancelledError:
                if slot.task is None:
                    raise
                slot.task.uncancel()
                if slot.timed_out and not slot.cancelled:
                    self._port.deliver(self._timeout(work))
                elif not slot.cancelled:
                    text = "the handler let a cancellation through that was not its own"
                    self._port.deliver(self._error(work, "CancelledError", text, ErrorClass.UNCLASSIFIED))
            finally:
                slot.work, slot.context = None, None
                self._started.free(number)
            if slot.cancelled and not (slot.thread and slot.thread.abandoned):
                self._port.stopped((work.seq, work.fence))
            in_a_row += 1
            if in_a_row >= YIELD_EVERY:
                in_a_row = 0
                await asyncio.sleep(0)

    async def _run(self, work: Work, slot: _Slot) -> Settlement:
        try:
            kind = self._registry.get(work.kind)
        except UnknownKind as error:
            # The app that this process loaded is not the one that its supervisor has.
            return self._error(work, type(error).__name__, str(error), ErrorClass.UNCLASSIFIED)
        if work.ending is not None:
            last = kind.at_end()
            if last is None:
                return Settlement(work.seq, work.fence, ev.HandBack(work.fence, ENDING_RETRY_SECONDS))
            kind = last
        slot.overdue_at = self._clock.monotonic() + kind.limits.invocation_seconds
        context: BaseContext
        try:
            arguments: tuple[Any, ...] = ()
            if kind.payload is not None:
                arguments = (kind.payload.validate_json(work.payload),)
            if kind.is_async:
                slot.context = context = Context(work, kind, self._registry, self._port, self._lease_seconds)
                assert kind.handler is not None
                result = await kind.handler(context, *arguments)
            else:
                slot.context = context = self._sync_context(work, kind)
                slot.thread = thread = _Thread()
                ended = partial(self._thread_ended, work, thread)
                result = await self._threads.run(partial(_call, kind, context, arguments), ended)
            return settlement_of(context, result)
        except asyncio.CancelledError:
            raise
        except ClaimLost:
            slot.cancelled = True
            return Settlement(work.seq, work.fence, ev.HandBack(work.fence))
        except (Exception, SystemExit) as error:
            # sys.exit() in a handler ends that handler; ending the process would lose its neighbours' work.
            return self._failed(work, kind, error)

    def _sync_context(self, work: Work, kind: Kind) -> SyncContext:
        loop = asyncio.get_running_loop()
        return SyncContext(work, kind, self._registry, self._port, self._lease_seconds, loop=loop)

    def _thread_ended(self, work: Work, thread: _Thread) -> None:
        thread.ended = True
        if thread.abandoned:
            self._port.stopped((work.seq, work.fence))

    def _failed(self, work: Work, kind: Kind, error: BaseException) -> Settlement:
        """An exception drops what the handler buffered since its last checkpoint."""
        event = error_event(error, work.fence, self._rng.random(), kind.error_table())
        return Settlement(work.seq, work.fence, event)

    def _timeout(self, work: Work) -> Settlement:
        return timed_out(work, limit_seconds(self._registry.get(work.kind), work), self._rng.random())

    def _error(self, work: Work, name: str, text: str, error_class: ErrorClass) -> Settlement:
        event = told_error(name, text, error_class, work.fence, self._rng.random())
        return Settlement(work.seq, work.fence, event)

    async def _watch_overdue(self) -> None:
        """End handlers past their invocation limit. One timer for all slots costs nothing per task."""
        while True:
            await self._clock.sleep(OVERDUE_CHECK_SECONDS)
            now = self._clock.monotonic()
            for slot in self._slots:
                if slot.work is not None and slot.task is not None and now > slot.overdue_at and not slot.timed_out:
                    slot.timed_out = True
                    self._tell(slot)


def limit_seconds(kind: Kind, work: Work) -> float:
    """How long one call of a handler may take; the last one, of an ``on_end`` handler, no longer than one call."""
    return kind.limits.invocation_seconds if work.ending is None else kind.limits.call_seconds


def timed_out(work: Work, seconds: float, jitter: float) -> Settlement:
    """The settlement of a task whose handler ran past its invocation limit."""
    text = f"the handler ran longer than {seconds:g} s"
    return Settlement(work.seq, work.fence, told_error("Timeout", text, ErrorClass.TRANSIENT, work.fence, jitter))


def _call(kind: Kind, context: BaseContext, arguments: tuple[Any, ...]) -> Any:
    assert kind.handler is not None
    try:
        return kind.handler(context, *arguments)
    except StopIteration as error:
        # A future cannot carry this one: whoever awaits it would wait for ever.
        raise RuntimeError("the handler raised StopIteration") from error
