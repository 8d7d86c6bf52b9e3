"""Runs handlers: a fixed number of slots that take claimed tasks and turn each into one settlement.

Used inside a handler process, or in the worker's own loop with ``in_process``. It knows nothing of the database.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from ramet.engine.base.clock import Clock, SystemClock
from ramet.engine.base.current_tasks import enter_call
from ramet.engine.base.error_text import describe_error, stack_of
from ramet.engine.base.observe import observer
from ramet.engine.base.task_lines import keep_lines, take_lines
from ramet.engine.base.work import Work
from ramet.engine.context.batch import BatchCollector
from ramet.engine.kinds.registry import Registry
from ramet.engine.running.handler_calls import HandlerCalls, RunnerPort
from ramet.engine.running.slot import ClaimId, HandlerSlot, NoSlotNotes, SlotNotes
from ramet.model.values import on_one_line
from ramet.store.loggers import own_logger
from ramet.store.requests import Settlement

log = own_logger("ramet.worker")

YIELD_EVERY = 64
"""Handlers in a row after which a slot steps aside: those that never wait would keep the loop to themselves."""
OVERDUE_CHECK_SECONDS = 0.25
STALLED_CHECKS = 5
"""Checks without a new call after which tasks that wait for a slot go back: another worker may have one, and a handler
that waits for one of these tasks would hold its slot for ever.
"""


class Runner:
    """A set of slots over one registry.

    A coroutine can be ended by its cancellation; a thread cannot. Where another process can end this one (``patient``),
    the slot of a thread that has to stop stays taken until the thread has ended. Otherwise the slot goes on without it.

    Args:
        started: the notes of what runs; each slot has ``width`` places in it.
        width: the most tasks of one call of a batch handler.
        alone: this process runs one call at a time and what it is given at once is one call; limits of memory hold.
        until: monotonic seconds: handlers learn that their time is over then, whatever their own limit.
        on_late: called with plain handlers past their limit, and where they are, before this process is ended.
        on_start: called with claims whose handlers are about to be called.
        lifespan: what the app's lifespan yielded, for contexts.
    """

    def __init__(
        self,
        registry: Registry,
        port: RunnerPort,
        *,
        concurrency: int,
        lease_seconds: float,
        rng: random.Random,
        clock: Clock | None = None,
        started: SlotNotes | None = None,
        width: int = 1,
        patient: bool = False,
        alone: bool = False,
        until: float = math.inf,
        on_late: Callable[[Sequence[ClaimId], str | None], None] | None = None,
        on_start: Callable[[Sequence[Work]], None] | None = None,
        lifespan: Any = None,
    ) -> None:
        self._registry = registry
        self._port = port
        self._clock = clock or SystemClock()
        self._calls = HandlerCalls(
            registry, port, self._clock, rng,
            lease_seconds=lease_seconds, alone=alone, until=until, lifespan=lifespan,
        )  # fmt: skip
        self._ends = self._calls.ends
        self._queue: deque[Work | list[Work]] = deque()
        self._queued = 0
        """Calls that were ever queued."""
        self._begun: deque[int] = deque(maxlen=STALLED_CHECKS)
        """Number of them that had begun at the last checks that found others waiting for a slot."""
        self._idle: deque[asyncio.Future[None]] = deque()
        self._slots = [HandlerSlot() for _ in range(concurrency)]
        self._patient, self._alone, self._width = patient, alone, width
        self._on_late, self._on_start = on_late, on_start
        self._log_lines = {kind.name: kind.how.log_lines for kind in registry.kinds if kind.how.log_lines}
        batches = {kind.name: kind.how for kind in registry.kinds if kind.how.batch > 1}
        self._gatherer = BatchCollector(batches, self._gathered) if batches and not alone else None
        self._watch: asyncio.Task[None] | None = None
        self._started: SlotNotes = started or NoSlotNotes()
        self._stopped = False
        self._process = os.getpid()
        self._observer = observer()

    def start(self) -> None:
        """Start the slots in the running loop."""
        for number, slot in enumerate(self._slots):
            self._start_slot(number, slot)
        self._start_watch()

    def add(self, works: Sequence[Work]) -> None:
        """Queue claimed tasks."""
        if self._gatherer is not None:
            works = self._gatherer.take(works)
        if self._alone and works and self._registry.known(works[0].kind).how.batch > 1:
            self._gathered(list(works))
        else:
            self._enqueue(works)

    def gather_no_more(self) -> None:
        """Call batch handlers with what there is, without waiting for company."""
        if self._gatherer is not None:
            self._gatherer.flush()

    def _gathered(self, works: list[Work]) -> None:
        """Run the works of one call, which are together now."""
        calls = [works[at : at + self._width] for at in range(0, len(works), self._width)]
        self._enqueue(calls)

    def _enqueue(self, calls: Sequence[Work | list[Work]]) -> None:
        self._queue.extend(calls)
        self._queued += len(calls)
        for _ in range(min(len(calls), len(self._idle))):
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def take_unstarted(self) -> list[Work]:
        """Remove and return what no handler has begun. Running batches learn that no more will come."""
        for slot in self._slots:
            for context in slot.contexts.values():
                context.drain()
        works = [work for item in self._queue for work in _works(item)]
        self._queue.clear()
        if self._gatherer is not None:
            works += self._gatherer.works
            self._gatherer.clear()
        return works

    def cancel(self, claims: Collection[ClaimId]) -> None:
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

    def _tell(self, slot: HandlerSlot) -> None:
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
        self._calls.stop()

    def _start_watch(self, ended: asyncio.Task[None] | None = None) -> None:
        if not self._stopped:
            self._watch = asyncio.create_task(self._watch_overdue())
            self._watch.add_done_callback(self._start_watch)

    def _start_slot(self, number: int, slot: HandlerSlot) -> None:
        slot.task = asyncio.create_task(self._serve(number, slot))
        slot.task.add_done_callback(partial(self._slot_ended, number, slot))

    def _slot_ended(self, number: int, slot: HandlerSlot, task: asyncio.Task[None]) -> None:
        """Start a slot that ended again; what it ran is an error.

        A cancellation that is not the runner's ends it: a mistake of a handler, or a loop that closes before the runner
        was stopped, and would wait for ever for a task that goes on. Whatever else ends it is a fault, and logged.
        """
        error = None if task.cancelled() else task.exception()
        if self._stopped or slot.task is not task:
            return
        why = "it was cancelled" if error is None else str(describe_error(error))
        if error is not None:
            log.error("a slot for handlers ended (%s): it starts again", on_one_line(why))
        works = slot.works
        self._start_slot(number, slot)
        for at, _ in enumerate(works, number * self._width):
            self._started.free(at)
        self._deliver(
            slot, [self._ends.error(work, "SlotEnded", f"the slot that ran it ended: {why}") for work in works]
        )
        slot.works, slot.contexts = (), {}

    async def _serve(self, number: int, slot: HandlerSlot) -> None:
        in_a_row = 0
        while slot.task is not None:
            while not self._queue:
                in_a_row = 0
                await self._wait_for_work()
            works = _works(self._queue.popleft())
            self._call_begins(works, number, slot)
            try:
                settlements = await self._calls.run(works, slot)
                if slot.timed_out and slot.thread:
                    settlements = [self._ends.timeout(work, slot.where) for work in works]
            except asyncio.CancelledError as error:
                if slot.task is None:
                    raise
                settlements = [
                    self._ends.cut_short(work, slot.where, error, timed_out=slot.timed_out) for work in works
                ]
            except BaseException as error:
                # GeneratorExit, where what the handler waited for raised it: Python closes all that wait, then tells.
                if slot.abandoned:
                    raise
                settlements = [self._ends.error(work, *describe_error(error)) for work in works]
            if os.getpid() != self._process:
                os._exit(0)  # A copy that the handler forked: the original tells what comes of the call.
            cancelled = slot.task.cancelling() > 0
            stopping = slot.timed_out or bool(slot.lost)
            if cancelled:
                await slot.forget_cancellations()
            self._call_over(settlements, number, slot)
            if cancelled and not stopping:
                return
            in_a_row += 1
            if in_a_row >= YIELD_EVERY:
                in_a_row = 0
                await asyncio.sleep(0)

    async def _wait_for_work(self) -> None:
        """Until there may be some."""
        waiter = asyncio.get_running_loop().create_future()
        self._idle.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._idle:
                self._idle.remove(waiter)

    def _call_begins(self, works: Sequence[Work], number: int, slot: HandlerSlot) -> None:
        slot.begin(works)
        if (most := self._log_lines.get(works[0].kind, 0)) and works[0].ending is None:
            keep_lines(works, most)
        enter_call(works)
        if self._observer is not None:
            slot.observed = self._observer.running(works)
        if self._on_start is not None:
            self._on_start(works)
        for at, work in enumerate(works, number * self._width):
            self._started.note(at, work.seq, work.fence)

    def _call_over(self, settlements: Sequence[Settlement], number: int, slot: HandlerSlot) -> None:
        enter_call(())  # The outcome's further way is not the handler's doing any more.
        if slot.observed is not None:
            slot.observed.ended(settlements, lost=bool(slot.lost))
        self._deliver(slot, settlements)
        for at in range(number * self._width, number * self._width + len(slot.works)):
            self._started.free(at)
        slot.works, slot.contexts = (), {}

    def _deliver(self, slot: HandlerSlot, settlements: Sequence[Settlement]) -> None:
        if self._log_lines:
            settlements = [item._replace(log=take_lines(item.seq, item.fence)) for item in settlements]
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

    async def _watch_overdue(self) -> None:
        """End handlers past their invocation limit. One timer for all slots costs nothing per task."""
        while not self._stopped:
            await self._clock.sleep(OVERDUE_CHECK_SECONDS)
            now = self._clock.monotonic()
            self._hand_back_queued()
            for slot in self._slots:
                if slot.works and slot.task is not None and now > slot.overdue_at and not slot.timed_out:
                    slot.timed_out = True
                    if slot.thread is not None:
                        slot.where = stack_of(slot.thread.ident, self._registry.known(slot.works[0].kind).handler)
                        if self._on_late is not None:
                            self._on_late([(work.seq, work.fence) for work in slot.works], slot.where)
                    self._tell(slot)

    def _hand_back_queued(self) -> None:
        """Give back all calls that wait for a slot where no slot has become free for a while."""
        if not self._queue:
            self._begun.clear()
            return
        begun = self._queued - len(self._queue)
        if len(self._begun) == STALLED_CHECKS and self._begun[0] == begun:
            works = [work for item in self._queue for work in _works(item)]
            self._queue.clear()
            log.debug("%d tasks waited for a slot for too long: they go back", len(works))
            for work in works:
                self._port.stopped((work.seq, work.fence))
        self._begun.append(begun)


def _works(item: Work | list[Work]) -> list[Work]:
    return [item] if isinstance(item, Work) else item
