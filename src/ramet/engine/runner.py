"""Runs handlers: a fixed number of slots that take claimed tasks and turn each into one settlement.

Used inside a handler process, or in the worker's own loop with ``in_process``. It knows nothing of the database.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any, Protocol

from pydantic import ValidationError

from ramet.engine.batch import Gatherer, batch_of, results_of
from ramet.engine.calling import call_in_thread, limited, observed
from ramet.engine.clock import Clock, SystemClock
from ramet.engine.context import BaseContext, ClaimLost, Context, Desk, SyncContext, settlement_of
from ramet.engine.in_hand import take
from ramet.engine.observing import observer
from ramet.engine.outcome import error_event, told_error
from ramet.engine.registry import Handler, Kind, Registry, UnknownKind
from ramet.engine.slot import Claim, HandlerThread, Slot, Started, Unnoted
from ramet.engine.threads import Threads
from ramet.engine.timeouts import timed_out
from ramet.engine.tracebacks import stack_of, traceback_of
from ramet.engine.work import Work
from ramet.model import events as ev
from ramet.model.limits import ENDING_RETRY_SECONDS
from ramet.model.retry import ErrorClass
from ramet.store.base import Settlement

YIELD_EVERY = 64
"""Handlers that never wait would keep the loop to themselves: a slot steps aside after so many of them."""
OVERDUE_CHECK_SECONDS = 0.25


class Port(Desk, Protocol):
    """Where a runner's results go."""

    def deliver(self, settlement: Settlement) -> None:
        """A task's outcome."""
        ...

    def stopped(self, claim: tuple[int, int]) -> None:
        """A cancelled claim has no handler that runs, any more or at all."""
        ...


class Runner:
    """A set of slots over one registry.

    A coroutine can be ended by its cancellation; a thread cannot. Where somebody can end this whole process
    (``patient``), the slot of a thread that was told to stop stays taken until the thread has ended. Where nobody can,
    the slot goes on without it.

    Args:
        started: where it is noted what runs; each slot has ``width`` places in it.
        width: how many tasks one call of a batch handler may have, at most.
        alone: this process runs one call at a time and what it is given at once is one call; limits of memory hold.
        until: monotonic seconds: handlers are told that their time is over then, whatever their own limit.
        on_late: told of plain handlers past their limit, and where they are, before anybody ends this process.
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
        width: int = 1,
        patient: bool = False,
        alone: bool = False,
        until: float = math.inf,
        on_late: Callable[[Sequence[Claim], str | None], None] | None = None,
    ) -> None:
        self._registry = registry
        self._port = port
        self._lease_seconds = lease_seconds
        self._rng = rng
        self._clock = clock or SystemClock()
        self._queue: deque[Work | list[Work]] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._slots = [Slot() for _ in range(concurrency)]
        self._threads = Threads()
        self._patient, self._alone, self._width = patient, alone, width
        self._until, self._on_late = until, on_late
        batches = {kind.name: kind.how for kind in registry.kinds if kind.how.batch > 1}
        self._gatherer = Gatherer(batches, self._gathered) if batches and not alone else None
        self._watch: asyncio.Task[None] | None = None
        self._started: Started = started or Unnoted()
        self._stopped = False
        self._observer = observer()

    def start(self) -> None:
        """Start the slots in the running loop."""
        for number, slot in enumerate(self._slots):
            slot.task = asyncio.create_task(self._serve(number, slot))
        self._watch = asyncio.create_task(self._watch_overdue())

    def add(self, works: Sequence[Work]) -> None:
        """Queue claimed tasks."""
        if self._gatherer is not None:
            works = self._gatherer.take(works)
        if self._alone and works and self._registry.known(works[0].kind).how.batch > 1:
            self._gathered(list(works))
        else:
            self._queue.extend(works)
            self._wake(len(works))

    def gather_no_more(self) -> None:
        """Call batch handlers with what there is, without waiting for company."""
        if self._gatherer is not None:
            self._gatherer.flush()

    def _gathered(self, works: list[Work]) -> None:
        """The works of one call are together."""
        calls = [works[at : at + self._width] for at in range(0, len(works), self._width)]
        self._queue.extend(calls)
        self._wake(len(calls))

    def _wake(self, calls: int) -> None:
        for _ in range(min(calls, len(self._idle))):
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def take_unstarted(self) -> list[Work]:
        """Remove and return what no handler has begun. Those that run are told that no more will come."""
        for slot in self._slots:
            for context in slot.contexts.values():
                context.drain()
        works = [work for item in self._queue for work in _works(item)]
        self._queue.clear()
        if self._gatherer is not None:
            works += self._gatherer.works
            self._gatherer.clear()
        return works

    def cancel(self, claims: Collection[Claim]) -> None:
        """Stop the handlers of lost claims; what they would deliver is dropped. Each is reported as stopped, once.

        A call for several tasks is stopped when all of them are lost.
        """
        wanted = set(claims)
        unstarted = deque[Work | list[Work]]()
        for item in self._queue:
            kept = [work for work in _works(item) if (work.seq, work.fence) not in wanted]
            if kept:
                unstarted.append(kept)
        self._queue = unstarted
        if self._gatherer is not None:
            self._gatherer.drop(wanted)
        for slot in self._slots:
            here = wanted.intersection((work.seq, work.fence) for work in slot.works)
            if here and slot.task is not None:
                wanted -= here
                slot.lost |= here
                for claim in here.intersection(slot.contexts):
                    slot.contexts[claim].cancel()
                if slot.all_lost:
                    self._tell(slot)
        for claim in sorted(wanted):
            self._port.stopped(claim)

    def _tell(self, slot: Slot) -> None:
        """Tell a handler to stop, in the way that it can hear."""
        for context in slot.contexts.values():
            context.cancel()
        if slot.thread is not None and self._patient:
            return
        if slot.thread is not None and slot.all_lost and not slot.thread.ended:
            slot.thread.abandoned = slot.lost
        if slot.task is not None:
            slot.task.cancel()

    @property
    def busy(self) -> bool:
        """True while a handler runs or waits for its slot."""
        return bool(self._queue or self._gatherer) or any(slot.works for slot in self._slots)

    async def stop(self) -> None:
        """End all slots. Running handlers are cancelled and deliver nothing."""
        tasks = [slot.task for slot in self._slots if slot.task is not None]
        tasks += [self._watch] if self._watch is not None else []
        self._stopped = True
        for slot in self._slots:
            slot.task = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._threads.stop()

    async def _serve(self, number: int, slot: Slot) -> None:
        in_a_row = 0
        started, place = self._started, number * self._width
        while slot.task is not None:
            while not self._queue:
                in_a_row = 0
                waiter = asyncio.get_running_loop().create_future()
                self._idle.append(waiter)
                await waiter
            works = _works(self._queue.popleft())
            slot.begin(works)
            take(works)
            if self._observer is not None:
                slot.observed = self._observer.running(works)
            for at, work in enumerate(works, place):
                started.note(at, work.seq, work.fence)
            try:
                settlements = await self._run(works, slot)
                if slot.timed_out and slot.thread:
                    settlements = [self._timeout(work, slot.where) for work in works]
            except asyncio.CancelledError as error:
                if slot.task is None:
                    raise
                slot.task.uncancel()
                settlements = [self._cut_short(work, slot, error) for work in works]
            finally:
                slot.works, slot.contexts = (), {}
                take(())  # What becomes of the outcome is not the handler's doing any more.
                for at in range(place, place + len(works)):
                    started.free(at)
            if slot.observed is not None:
                slot.observed.ended(settlements, lost=bool(slot.lost))
            self._deliver(slot, settlements)
            in_a_row += 1
            if in_a_row >= YIELD_EVERY:
                in_a_row = 0
                await asyncio.sleep(0)

    def _deliver(self, slot: Slot, settlements: Sequence[Settlement]) -> None:
        if self._stopped:
            return
        if not slot.lost:
            for settlement in settlements:
                self._port.deliver(settlement)
            return
        for settlement in settlements:
            if (settlement.seq, settlement.fence) not in slot.lost:
                self._port.deliver(settlement)
        if not (slot.thread and slot.thread.abandoned):
            for claim in sorted(slot.lost):
                self._port.stopped(claim)

    async def _run(self, works: Sequence[Work], slot: Slot) -> list[Settlement]:
        work = works[0]
        try:
            kind = self._registry.get(work.kind)
        except UnknownKind as error:
            # The app that this process loaded is not the one that its supervisor has.
            return [self._error(work, type(error).__name__, str(error), ErrorClass.UNCLASSIFIED) for work in works]
        if work.ending is not None:
            last = kind.at_end()
            if last is None:
                return [Settlement(work.seq, work.fence, ev.HandBack(work.fence, ENDING_RETRY_SECONDS))]
            kind = last
        slot.overdue_at = self._clock.monotonic() + kind.limits.invocation_seconds
        if kind.how.batch > 1 and work.ending is None:
            return await self._run_batch(works, kind, slot)
        return [await self._run_one(work, kind, slot)]

    async def _run_one(self, work: Work, kind: Kind, slot: Slot) -> Settlement:
        try:
            arguments: tuple[Any, ...] = ()
            if kind.payload is not None:
                arguments = (kind.payload.validator.validate_json(work.payload),)
            context = self._context(work, kind, slot)
            return settlement_of(context, await self._call(kind, context, arguments, slot))
        except asyncio.CancelledError:
            raise
        except ClaimLost:
            slot.lost |= {(work.seq, work.fence)}
            return Settlement(work.seq, work.fence, ev.HandBack(work.fence))
        except (Exception, SystemExit) as error:
            # sys.exit() in a handler ends that handler; ending the process would lose its neighbours' work.
            return self._failed(work, kind, error)

    async def _run_batch(self, works: Sequence[Work], kind: Kind, slot: Slot) -> list[Settlement]:
        """One call for several tasks. Each has its own outcome; what the call raises is the outcome of all."""
        settlements, payloads, called = list[Settlement](), list[Any](), list[Work]()
        for work in works:
            try:
                payloads.append(None if kind.payload is None else kind.payload.validate_json(work.payload))
                called.append(work)
            except ValidationError as error:
                settlements.append(self._failed(work, kind, error))
        contexts = [self._context(work, kind, slot) for work in called]
        arguments = () if kind.payload is None else (payloads,)
        try:
            returned = await self._call(kind, batch_of(contexts), arguments, slot) if called else None
            for work, context, result in zip(called, contexts, results_of(returned, len(called)), strict=True):
                settlements.append(self._member(work, kind, context, result))
        except asyncio.CancelledError:
            raise
        except ClaimLost:
            # Whose it was is not known: the others run again, with their attempts.
            settlements += [Settlement(work.seq, work.fence, ev.HandBack(work.fence)) for work in called]
        except (Exception, SystemExit) as error:
            settlements += [self._failed(work, kind, error) for work in called]
        return settlements

    def _member(self, work: Work, kind: Kind, context: BaseContext, result: Any) -> Settlement:
        """The outcome of one task of a batch; an exception among the results is that task's error."""
        if isinstance(result, Exception):
            return self._failed(work, kind, result)
        try:
            return settlement_of(context, result)
        except ValueError as error:  # A result that is no JSON value.
            return self._failed(work, kind, error)

    def _context(self, work: Work, kind: Kind, slot: Slot) -> BaseContext:
        context: BaseContext
        if kind.is_async:
            context = Context(work, kind, self._registry, self._port, self._lease_seconds)
        else:
            loop = asyncio.get_running_loop()
            context = SyncContext(work, kind, self._registry, self._port, self._lease_seconds, loop=loop)
        context.begin(self._clock, min(slot.overdue_at, self._until))
        slot.contexts[work.seq, work.fence] = context
        return context

    def _call(self, kind: Kind, context: Any, arguments: tuple[Any, ...], slot: Slot) -> Awaitable[Any]:
        """The call, to be awaited: no coroutine more than the handler's own."""
        assert kind.handler is not None
        more_bytes = kind.how.memory_bytes_max if self._alone else None
        if kind.is_async:
            called: Awaitable[Any] = kind.handler(context, *arguments)
            if slot.observed is not None:
                called = observed(called, slot.observed)
            return called if more_bytes is None else limited(called, more_bytes)
        slot.thread = thread = HandlerThread()
        call = partial(
            call_in_thread, kind, context, arguments, slot.works, thread, more_bytes=more_bytes, running=slot.observed
        )
        return self._threads.run(call, partial(self._thread_ended, thread))

    def _thread_ended(self, thread: HandlerThread) -> None:
        thread.ended = True
        for claim in sorted(thread.abandoned):
            self._port.stopped(claim)

    def _cut_short(self, work: Work, slot: Slot, error: BaseException) -> Settlement:
        """The outcome of a handler that was cancelled; it is not delivered where the claim is lost."""
        # Of a thread the exception says only that its slot waited.
        where = slot.where or traceback_of(error, self._handler(work))
        if slot.timed_out:
            return self._timeout(work, where)
        text = "the handler let a cancellation through that was not its own"
        return self._error(work, "CancelledError", text, ErrorClass.UNCLASSIFIED, where)

    def _failed(self, work: Work, kind: Kind, error: BaseException) -> Settlement:
        """An exception drops what the handler buffered since its last checkpoint."""
        draw, table = self._rng.random(), kind.error_table()
        event = error_event(error, work.fence, draw, table, handler=kind.handler, waits=kind.retry.waits)
        return Settlement(work.seq, work.fence, event)

    def _handler(self, work: Work) -> Handler | None:
        return self._registry.known(work.kind).handler

    def _timeout(self, work: Work, where: str | None) -> Settlement:
        return timed_out(self._registry.get(work.kind), work, self._rng.random(), where)

    def _error(self, work: Work, name: str, text: str, error_class: ErrorClass, where: str | None = None) -> Settlement:
        waits = self._registry.known(work.kind).retry.waits
        event = told_error(name, text, error_class, work.fence, self._rng.random(), traceback=where, waits=waits)
        return Settlement(work.seq, work.fence, event)

    async def _watch_overdue(self) -> None:
        """End handlers past their invocation limit. One timer for all slots costs nothing per task."""
        while True:
            await self._clock.sleep(OVERDUE_CHECK_SECONDS)
            now = self._clock.monotonic()
            for slot in self._slots:
                if slot.works and slot.task is not None and now > slot.overdue_at and not slot.timed_out:
                    slot.timed_out = True
                    if slot.thread is not None:
                        slot.where = stack_of(slot.thread.ident, self._handler(slot.works[0]))
                        if self._on_late is not None:
                            self._on_late([(work.seq, work.fence) for work in slot.works], slot.where)
                    self._tell(slot)


def _works(item: Work | list[Work]) -> list[Work]:
    return [item] if isinstance(item, Work) else item
