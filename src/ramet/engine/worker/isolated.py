"""Handler processes that run one call at a time, so that each can be ended, or die, without taking others along.

For tasks that were lost before (DESIGN §10: after a first loss a task runs in a probation child, one per child), and
for kinds with ``process=True``. Processes are started when there is something to run, and kept for the next.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Any

from ramet.engine.base.clock import Clock
from ramet.engine.base.work import Work
from ramet.engine.context.batch import BatchCollector
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.child_exit import ChildExit, conclude, overdue
from ramet.engine.worker.child_process import ChildPlan, ChildProcess, ChildShape, try_to_start
from ramet.engine.worker.handlers import ClaimId, Supervisor
from ramet.model.task import events as ev
from ramet.store.answers import SettleResult
from ramet.store.loggers import own_logger
from ramet.store.processes.running_notes import RunningNote
from ramet.store.requests import Settlement

log = own_logger("ramet.worker")

GRACE_SECONDS = 1.0
"""Seconds that a handler may take to end after its limit, or after it was cancelled, before its process is killed."""
SILENT_SECONDS = 10.0
"""A process that was given a call, has not begun it and does not answer for so long is killed."""
IDLE_SECONDS = 60.0
"""Seconds for which a process waits for something to run before it is ended."""
RESTART_SECONDS = 1.0
PROBATION_MIN = 2
PROBATION_SHARE = 4


def largest_isolated_batch(registry: Registry, *, process: bool) -> int:
    """Return the largest batch of the kinds that run in processes of their own, or of those that do not."""
    return max((kind.how.batch for kind in registry.kinds if kind.how.process == process), default=1)


class _Lane:
    """Calls of one sort, of which a bounded number may run at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self.waiting: deque[_IsolatedCall] = deque()


class _IsolatedCall:
    """Call that one process runs at a time."""

    def __init__(self, lane: _Lane, works: Sequence[Work]) -> None:
        self.lane = lane
        self.works = {(work.seq, work.fence): work for work in works}
        self.left = set(self.works)
        self.cancelled: dict[ClaimId, float] = {}
        """Moments at which its claims were cancelled, by claim."""


class IsolatedPool:
    """All such processes of a worker."""

    def __init__(
        self,
        plan: ChildPlan,
        registry: Registry,
        clock: Clock,
        rng: random.Random,
        *,
        concurrency: int,
        processes: int | None = None,
    ) -> None:
        self._plan = plan
        self._registry = registry
        self._clock = clock
        self._rng = rng
        self._supervisor: Supervisor | None = None
        self._probation = _Lane(max(PROBATION_MIN, concurrency // PROBATION_SHARE))
        self._processes = _Lane(min(concurrency, processes or concurrency))
        own = [kind for kind in registry.kinds if kind.how.process]
        self._own_process = frozenset(kind.name for kind in own)
        self._in_company = frozenset(kind.name for kind in registry.kinds if not kind.how.probation)
        self._gatherer = BatchCollector({kind.name: kind.how for kind in own if kind.how.batch > 1}, self._gathered)
        self._shape = ChildShape(1, largest_isolated_batch(registry, process=True), alone=True)
        self._calls: dict[ChildProcess, _IsolatedCall] = {}
        self._starting: set[_IsolatedCall] = set()
        self._ending: set[_IsolatedCall] = set()
        """Their processes are being killed."""
        self._idle: list[tuple[ChildProcess, float]] = []
        """Ready for a call, and since when; the one used last comes last."""
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, supervisor: Supervisor) -> None:
        """Know whom to tell."""
        self._supervisor = supervisor

    @property
    def _attached_supervisor(self) -> Supervisor:
        assert self._supervisor is not None
        return self._supervisor

    @property
    def claims(self) -> set[ClaimId]:
        """Everything that was taken and has not ended."""
        calls = [
            *self._calls.values(),
            *self._starting,
            *self._ending,
            *self._probation.waiting,
            *self._processes.waiting,
        ]
        gathering = {(work.seq, work.fence) for work in self._gatherer.works}
        return gathering.union(*(call.left for call in calls))

    @property
    def waiting_on_probation(self) -> int:
        """Tasks that wait for a probation child."""
        return len(self._probation.waiting)

    def take(self, works: Sequence[Work]) -> Sequence[Work]:
        """Take what has to run alone; returns the rest."""
        own = self._own_process
        if not any(work.losses or work.kind in own for work in works):
            return works
        rest = []
        for work in works:
            if work.losses and work.kind not in self._in_company:
                self._probation.waiting.append(_IsolatedCall(self._probation, [work]))
            elif work.kind in own:
                for single in self._gatherer.take([work]):
                    self._processes.waiting.append(_IsolatedCall(self._processes, [single]))
            else:
                rest.append(work)
        self._fill()
        return rest

    def _gathered(self, works: list[Work]) -> None:
        self._processes.waiting.append(_IsolatedCall(self._processes, works))
        self._fill()

    def cancel(self, claims: Sequence[ClaimId], now: float) -> set[ClaimId]:
        """Stop those of these claims that are here; returns them."""
        wanted = set(claims)
        found = wanted.intersection((work.seq, work.fence) for work in self._gatherer.works)
        self._gatherer.drop(found)
        for call in [*self._starting, *self._probation.waiting, *self._processes.waiting]:
            here = wanted & call.left
            call.left -= here
            found |= here
        if found:
            self._attached_supervisor.stopped(sorted(found))
        for lane in (self._probation, self._processes):
            lane.waiting = deque(call for call in lane.waiting if call.left)
        for child, call in self._calls.items():
            here = wanted & call.left
            if here:
                found |= here
                call.cancelled.update(dict.fromkeys(here, now))
                child.cancel(sorted(here))
        return found

    def drain(self) -> list[ClaimId]:
        """Begin nothing more; returns what was not begun."""
        unstarted = [(work.seq, work.fence) for work in self._gatherer.works]
        self._gatherer.clear()
        for call in [*self._starting, *self._probation.waiting, *self._processes.waiting]:
            unstarted += sorted(call.left)
            call.left.clear()
        self._probation.waiting.clear()
        self._processes.waiting.clear()
        return unstarted

    async def stop(self) -> None:
        """End everything now."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        children = [*self._calls, *(child for child, _ in self._idle)]
        self._calls, self._idle = {}, []
        await asyncio.gather(*(_retire(child) for child in children))

    def look(self, now: float) -> None:
        """End what does not end by itself, and processes that are no longer needed."""
        for child, call in list(self._calls.items()):
            child.look()
            running = child.running()
            overstaying = {claim for claim, at in call.cancelled.items() if now > at + GRACE_SECONDS}
            if (
                call.left <= overstaying
                or self._is_stalled(child, running, now)
                or overdue(self._attached_supervisor, self._registry, running, now, GRACE_SECONDS)
            ):
                del self._calls[child]
                self._ending.add(call)
                self._begin(self._end(child, call))
        while self._idle and now > self._idle[0][1] + IDLE_SECONDS:
            self._begin(_retire(self._idle.pop(0)[0]))

    def _is_stalled(self, child: ChildProcess, running: Sequence[RunningNote], now: float) -> bool:
        """Whether it does not begin what it was given: something that an earlier call left behind may hold its loop."""
        if running:
            child.excuse()
            return False
        return child.silent_seconds(now) > SILENT_SECONDS

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- giving calls to processes

    def _fill(self) -> None:
        for lane in (self._probation, self._processes):
            while lane.waiting and lane.taken < lane.most:
                call = lane.waiting.popleft()
                lane.taken += 1
                if self._idle:
                    self._give(self._idle.pop()[0], call)
                else:
                    self._starting.add(call)
                    self._begin(self._start(call))

    def _give(self, child: ChildProcess, call: _IsolatedCall) -> None:
        self._calls[child] = call
        child.run([call.works[claim] for claim in sorted(call.left)])

    async def _start(self, call: _IsolatedCall) -> None:
        """Start a process for this call; it may be cancelled or handed back until there is one."""
        while True:
            child = ChildProcess(self._plan, self, self._shape)
            if not await try_to_start(child, self._attached_supervisor.broken):
                return
            if child.alive:
                break
            await self._clock.sleep(RESTART_SECONDS)
        self._starting.discard(call)
        if call.left:
            self._give(child, call)
        else:
            self._free(child, call)

    def _free(self, child: ChildProcess | None, call: _IsolatedCall) -> None:
        """Free the process of a call that is over; where it is still there, it waits for another one."""
        call.lane.taken -= 1
        if child is not None:
            self._idle.append((child, self._clock.monotonic()))
        self._fill()

    # --- what a child tells

    def done(self, child: ChildProcess, settlements: Sequence[Settlement]) -> None:
        self._attached_supervisor.outcomes(settlements)
        exhausted = any(type(s.event) is ev.Error and s.event.message.startswith("MemoryError") for s in settlements)
        self._ended(child, [(item.seq, item.fence) for item in settlements], exhausted=exhausted)

    def started(self, claims: Sequence[ClaimId]) -> None:
        self._attached_supervisor.started(claims)

    def stopped(self, child: ChildProcess, claims: Sequence[ClaimId]) -> None:
        self._attached_supervisor.stopped(claims)
        self._ended(child, claims)

    async def call(self, settlement: Settlement) -> SettleResult:
        return await self._attached_supervisor.call(settlement)

    async def ask(self, errand: str, *arguments: Any) -> Any:
        return await self._attached_supervisor.ask(errand, *arguments)

    def _ended(self, child: ChildProcess, claims: Sequence[ClaimId], *, exhausted: bool = False) -> None:
        call = self._calls.get(child)
        if call is None:
            return
        call.left.difference_update(claims)
        if not call.left:
            del self._calls[child]
            if exhausted:
                # A handler that could not get memory may have left anything behind.
                self._begin(_retire(child))
            self._free(None if exhausted else child, call)

    def died(self, child: ChildProcess, why: str) -> None:
        self._idle = [(other, since) for other, since in self._idle if other is not child]
        call = self._calls.pop(child, None)
        if call is None:
            child.forget()
            return
        log.error("%s while running %s", why, ", ".join(work.id for work in call.works.values()))
        self._attached_supervisor.hand_back(self._conclude(child, call, crashed=True))

    async def _end(self, child: ChildProcess, call: _IsolatedCall) -> None:
        await child.kill()
        self._ending.discard(call)
        self._attached_supervisor.hand_back(self._conclude(child, call, crashed=False))

    def _conclude(self, child: ChildProcess, call: _IsolatedCall, *, crashed: bool) -> list[ClaimId]:
        ran = child.running()
        stopped = [claim for claim in call.cancelled if claim in call.left]
        late = overdue(self._attached_supervisor, self._registry, ran, self._clock.monotonic(), 0.0)
        left = conclude(
            self._attached_supervisor,
            self._registry,
            self._rng,
            ran=ran,
            given=call.left,
            late=late,
            stopped=stopped,
            crashed=crashed,
            alone=len(call.works) == 1,
            known=ChildExit(child.how, child.where),
        )
        child.forget()
        self._free(None, call)
        return left


async def _retire(child: ChildProcess) -> None:
    await child.end()
    child.forget()
