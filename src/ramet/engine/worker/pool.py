"""Garbage collections that a supervisor leaves out, since it makes few cycles.

It makes thousands of small values for every batch and gives them all up again without a cycle among them: collecting as
often as Python does by default finds nothing and costs a tenth of all its processor time.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ramet.engine.base.clock import Clock, SystemClock
from ramet.engine.base.work import Work
from ramet.engine.kinds.registry import Registry
from ramet.engine.worker.child_exit import ChildExit, conclude, overdue
from ramet.engine.worker.child_process import ChildPlan, ChildProcess, ChildShape, try_to_start
from ramet.engine.worker.handlers import ClaimId, Supervisor
from ramet.engine.worker.isolated import IsolatedPool, largest_isolated_batch
from ramet.store.answers import SettleResult
from ramet.store.loggers import own_logger
from ramet.store.requests import Settlement

ALLOCATIONS = 50_000
"""Values that may be made, and not given up yet, between two collections."""


class _GcTuning:
    """Several workers may run in one process: the last one that ends puts back what the first one found."""

    def __init__(self) -> None:
        self._running = 0
        self._found = (0, 0, 0)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if not self._running:
            self._found = first, second, third = gc.get_threshold()
            if 0 < first < ALLOCATIONS:  # 0: the program that runs this has switched collecting off.
                gc.set_threshold(ALLOCATIONS, second, third)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                gc.set_threshold(*self._found)


seldom_collected = _GcTuning()
"""While this lasts, this process collects seldom. Only for processes in which no handlers run."""


log = own_logger("ramet.worker")

WATCH_SECONDS = 0.25
GRACE_SECONDS = 5.0
"""Seconds that a handler may take to end after it was cancelled, before its process is replaced."""
LINGER_SECONDS = 10.0
"""Seconds that its neighbours may take to finish before their process is killed."""
ANSWER_SECONDS = 1.0
"""A process that does not answer for so long is taken to be blocked by one of its handlers."""
SILENT_SECONDS = 10.0
"""Seconds after which a process that was given tasks, runs none and does not answer counts as hung: another takes its
place.
"""
RESTART_SECONDS_MAX = 30.0
HEALTHY_SECONDS = 300.0
"""A handler process that lived so long did not die of its start: the next one may begin at once."""


class Pool:
    """All processes that run a worker's handlers."""

    def __init__(
        self,
        registry: Registry,
        plan: ChildPlan,
        concurrency: int,
        rng: random.Random,
        clock: Clock | None = None,
        *,
        processes: int | None = None,
    ) -> None:
        self._registry = registry
        self._plan = plan
        self._shape = ChildShape(concurrency, largest_isolated_batch(registry, process=False), alone=False)
        self._clock = clock or SystemClock(plan.ahead_seconds)
        self._rng = rng
        self._supervisor: Supervisor | None = None
        self._main: ChildProcess | None = None
        self._leaving: dict[ChildProcess, set[ClaimId]] = {}
        """Processes that are being replaced, with the claims that they were given."""
        self._cancelled: dict[ClaimId, tuple[ChildProcess, float]] = {}
        """Claims whose handlers were cancelled, and the moments."""
        self._waiting: list[Work] = []
        """Claimed while there was no process to take them."""
        self._alone = IsolatedPool(plan, registry, self._clock, self._rng, concurrency=concurrency, processes=processes)
        self._draining = False
        self._deaths, self._died_at = 0, 0.0
        self._renewing: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._seldom_collected = ExitStack()

    @property
    def pid(self) -> int | None:
        """The process id of the main child; None while there is none."""
        return None if self._main is None else self._main.pid

    @property
    def deaths(self) -> int:
        """Number of times that the main child died without having lived for long."""
        return self._deaths

    @property
    def _attached_supervisor(self) -> Supervisor:
        assert self._supervisor is not None
        return self._supervisor

    # --- what the worker asks for

    async def start(self, supervisor: Supervisor) -> None:
        """Start the main child and wait until it has loaded the app.

        Raises:
            RuntimeError: the app cannot be loaded; the child has printed why.
        """
        self._supervisor = supervisor
        self._alone.start(supervisor)
        child = self._new()
        await child.start()
        self._main = child
        self._watching = asyncio.create_task(self._watch())
        self._seldom_collected.enter_context(seldom_collected())
        if not child.alive:
            self.died(child, "the handler process ended as soon as it was ready")

    def run(self, works: Sequence[Work]) -> None:
        rest = self._alone.take(works)
        if self._main is None:
            self._waiting += rest
        elif rest:
            self._main.run(rest)

    def cancel(self, claims: Sequence[ClaimId]) -> None:
        now = self._clock.monotonic()
        waited = {(work.seq, work.fence) for work in self._waiting}.intersection(claims)
        self._waiting = [work for work in self._waiting if (work.seq, work.fence) not in waited]
        ended = list(waited)
        alone = self._alone.cancel(claims, now)
        for claim in claims:
            if claim in waited or claim in alone:
                continue
            child = next((old for old, given in self._leaving.items() if claim in given), self._main)
            if child is None:
                ended.append(claim)
            else:
                self._cancelled[claim] = child, now
                child.cancel([claim])
        if ended:
            self._attached_supervisor.stopped(ended)

    @property
    def set_aside(self) -> int:
        return self._alone.waiting_on_probation

    async def drain(self) -> list[ClaimId]:
        self._draining = True
        unstarted = [(work.seq, work.fence) for work in self._waiting] + self._alone.drain()
        self._waiting = []
        if self._main is not None:
            unstarted += await self._main.drain()
        return unstarted

    async def stop(self) -> None:
        self._seldom_collected.close()
        own = [task for task in (self._watching, self._renewing, *self._closing) if task is not None]
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)
        children = [*([self._main] if self._main is not None else []), *self._leaving]
        self._main = None
        await asyncio.gather(*(child.end() for child in children), self._alone.stop())
        for child in children:
            child.forget()

    # --- what a child tells

    def done(self, child: ChildProcess, settlements: Sequence[Settlement]) -> None:
        self._attached_supervisor.outcomes(settlements)

    def started(self, claims: Sequence[ClaimId]) -> None:
        self._attached_supervisor.started(claims)

    def stopped(self, child: ChildProcess, claims: Sequence[ClaimId]) -> None:
        for claim in claims:
            self._cancelled.pop(claim, None)
        self._attached_supervisor.stopped(claims)

    async def call(self, settlement: Settlement) -> SettleResult:
        return await self._attached_supervisor.call(settlement)

    async def ask(self, errand: str, *arguments: Any) -> Any:
        return await self._attached_supervisor.ask(errand, *arguments)

    def died(self, child: ChildProcess, why: str) -> None:
        if child is not self._main:
            return  # One that is leaving is looked after by the code that replaces it.
        now = self._clock.monotonic()
        self._deaths = self._deaths + 1 if now - self._died_at < HEALTHY_SECONDS else 1
        self._died_at = now
        log.error("%s while running %d tasks; starting another", why, len(child.running()))
        given = self._given_to_main()
        self._main = None
        # They go back rather than wait for the next process: it may take long.
        self._attached_supervisor.hand_back(self._conclude(child, given, crashed=True))
        self._renew(self._pause_seconds())

    # --- the watch over what runs

    async def _watch(self) -> None:
        """See to time limits, and to cancelled handlers that do not end. It reads memory: no handler can starve it."""
        while True:
            await self._clock.sleep(WATCH_SECONDS)
            now = self._clock.monotonic()
            self._alone.look(now)
            main = self._main
            if main is None:
                continue
            main.look()
            if not main.alive or self._renews:
                continue
            if stuck := self._stuck(main, now):
                log.warning("handlers of %d tasks do not end: their process is replaced", len(stuck))
                self._renew(0.0)
            elif self._is_stalled(main, now):
                log.error("the handler process %s was given tasks and does not answer: it is replaced", main.pid)
                self._renew(0.0)

    def _is_stalled(self, child: ChildProcess, now: float) -> bool:
        """Whether nothing of what it was given begins: something that a handler left behind may hold its loop."""
        if child.running() or not self._given_to_main():
            child.excuse()
            return False
        return child.silent_seconds(now) > SILENT_SECONDS

    def _stuck(self, child: ChildProcess, now: float) -> set[ClaimId]:
        """Claims whose handlers should have ended a while ago."""
        running = child.running()
        known = {claim for claim, (where, at) in self._cancelled.items() if where is child and now > at + GRACE_SECONDS}
        if known:
            known &= {(run.seq, run.fence) for run in running}
        return known | overdue(self._attached_supervisor, self._registry, running, now, GRACE_SECONDS)

    # --- replacing the main child

    def _new(self) -> ChildProcess:
        return ChildProcess(self._plan, self, self._shape)

    def _pause_seconds(self) -> float:
        return min(0.1 * float(2 ** min(self._deaths, 9)), RESTART_SECONDS_MAX) - 0.1

    @property
    def _renews(self) -> bool:
        return self._renewing is not None and not self._renewing.done()

    def _renew(self, pause_seconds: float) -> None:
        if not self._renews:
            self._renewing = asyncio.create_task(self._replace(pause_seconds))

    async def _replace(self, pause_seconds: float) -> None:
        """Start a main child; when it is ready it takes the place of the one that is there, if any."""
        while True:
            await self._clock.sleep(pause_seconds)
            child = self._new()
            if not await try_to_start(child, self._attached_supervisor.broken):
                return
            if child.alive:
                break
            self._deaths += 1
            pause_seconds = self._pause_seconds()
        old = self._main
        if old is not None:
            self._leaving[old] = self._given_to_main()
            closing = asyncio.create_task(self._close(old))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        self._main = child
        waiting, self._waiting = self._waiting, []
        if waiting:
            child.run(waiting)

    def _given_to_main(self) -> set[ClaimId]:
        """Return the held claims that the main child was given."""
        elsewhere = {(work.seq, work.fence) for work in self._waiting} | self._alone.claims
        return set(self._attached_supervisor.unsettled()).difference(elsewhere, *self._leaving.values())

    async def _close(self, old: ChildProcess) -> None:
        """End a child in which a handler is stuck: neighbours may finish; what it says it did not begin moves on."""
        given, answers = self._leaving[old], True
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                unstarted = await old.drain()
        except TimeoutError:
            answers = False
            log.warning("the handler process %s does not answer: it is killed", old.pid)
        else:
            given.difference_update(unstarted)
            self._move(unstarted)
            until = self._clock.monotonic() + LINGER_SECONDS
            while old.alive and self._unaffected(old) and self._clock.monotonic() < until:
                await self._clock.sleep(WATCH_SECONDS)
        crashed = not old.alive
        if old.running() or not answers:
            await old.kill()
        else:
            await old.end()
        del self._leaving[old]
        # Not moved: it may have begun more than it had time to tell, and nothing begins twice under one fence.
        self._attached_supervisor.hand_back(self._conclude(old, given, crashed=crashed))

    def _unaffected(self, child: ChildProcess) -> set[ClaimId]:
        """Claims whose handlers run and may still do so."""
        running = child.running()
        late = overdue(self._attached_supervisor, self._registry, running, self._clock.monotonic(), 0.0)
        return {(run.seq, run.fence) for run in running}.difference(late, self._cancelled)

    def _move(self, claims: Iterable[ClaimId]) -> None:
        """Move what one process had not begun to another."""
        works = [
            work
            for work in map(
                self._attached_supervisor.work, set(claims).intersection(self._attached_supervisor.unsettled())
            )
            if work
        ]
        if self._draining:
            self._attached_supervisor.hand_back([(work.seq, work.fence) for work in works])
        elif works:
            self.run(works)

    def _conclude(self, child: ChildProcess, given: set[ClaimId], *, crashed: bool) -> list[ClaimId]:
        ran = child.running()
        stopped = [claim for claim, (where, _) in self._cancelled.items() if where is child]
        for claim in stopped:
            del self._cancelled[claim]
        late = overdue(self._attached_supervisor, self._registry, ran, self._clock.monotonic(), 0.0)
        left = conclude(
            self._attached_supervisor,
            self._registry,
            self._rng,
            ran=ran,
            given=given,
            late=late,
            stopped=stopped,
            crashed=crashed,
            known=ChildExit(child.how, child.where),
        )
        child.forget()
        return left
