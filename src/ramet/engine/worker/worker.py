"""The worker: claims tasks, hands them to its handlers, settles their outcomes, and stops in order."""

from __future__ import annotations

import asyncio
import math
import os
import random
import socket
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Unpack

from ramet.engine.app.app import App
from ramet.engine.base.claims import ENDS_SECONDS, WorkerClaims, keep_alive, watch_ends
from ramet.engine.base.clock import Clock, SystemClock, new_id, sleep_unless
from ramet.engine.base.retrying import DatabaseReachability, unless_ended
from ramet.engine.base.task_log import BlockLog, log_outcomes
from ramet.engine.base.work import Work, work_of
from ramet.engine.client.client import Client
from ramet.engine.client.waiting import lineage_is_over
from ramet.engine.context.supervisor_calls import RUN_ERRANDS, SupervisorCalls
from ramet.engine.kinds.registry import Kind
from ramet.engine.running.settle_batch import settled_or_error, settled_together
from ramet.engine.settings.live import Tuning
from ramet.engine.worker.bounded import DRAINED, TASKS, BoundedRun, RunOptions, RunReport
from ramet.engine.worker.child_process import ChildPlan
from ramet.engine.worker.handlers import ClaimId, Handlers, InProcess
from ramet.engine.worker.loops import declare_first, housekeeping, report_presence, serving, started
from ramet.engine.worker.pool import Pool
from ramet.model.task import events as ev
from ramet.store.answers import SettleResult
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.requests import ClaimRequest, Settlement

AHEAD_SECONDS = 0.25
"""Work to hold beyond what runs."""
BATCH_SECONDS = 0.05
"""Claim at least this much at a time, so that fast tasks come in large batches."""
HELD_MAX = 4_000
SMOOTHING = 0.5
MEASURE_SECONDS = 0.05


class SettleRate:
    """Learns how fast tasks are settled. Slow handlers hold as many claims as slots; fast ones prefetch."""

    def __init__(self, clock: Clock, concurrency: int) -> None:
        self._clock = clock
        self._concurrency = concurrency
        self._per_second = 0.0
        self._count = 0
        self._since = clock.monotonic()

    def settled(self, count: int, taken_at: float = math.inf) -> None:
        """Note that ``count`` tasks were settled just now, none of them claimed before this (monotonic seconds)."""
        self._count += count
        now = self._clock.monotonic()
        elapsed = now - self._since
        if now > taken_at:
            # At least this number were done in that time: known at once, however short it was.
            self._per_second = max(self._per_second, count / (now - taken_at))
        if elapsed >= MEASURE_SECONDS:
            measured = self._count / elapsed
            # Up at once, down by halves: a backlog of fast tasks is half done before a slow average has noticed.
            self._per_second = max(measured, self._per_second + (measured - self._per_second) * SMOOTHING)
            self._count, self._since = 0, self._clock.monotonic()

    def stalled(self) -> None:
        """Note that what was prefetched did not begin in time."""
        self._per_second, self._count, self._since = 0.0, 0, self._clock.monotonic()

    def wanted(self, held: int) -> int:
        """Return how many to claim now; 0 when it is better to wait for more room."""
        target = min(HELD_MAX, self._concurrency + int(self._per_second * AHEAD_SECONDS))
        room = target - held
        batch = max(1, min(target // 2, int(self._per_second * BATCH_SECONDS)))
        return room if room >= batch else 0


class _Lane:
    def __init__(self, pace: SettleRate) -> None:
        self.pace = pace
        self.held = 0


class BatchPrefetch:
    """Kinds with batch handlers are claimed beside the others: as many as fill the batches of all slots.

    Without them nothing else is done here, and nothing is counted.
    """

    def __init__(self, clock: Clock, kinds: Sequence[Kind], concurrency: int) -> None:
        self._lanes = {
            kind.name: _Lane(SettleRate(clock, min(HELD_MAX, concurrency * kind.how.batch)))
            for kind in kinds
            if kind.how.batch > 1
        }

    def __contains__(self, kind: object) -> bool:
        return kind in self._lanes

    @property
    def held(self) -> int:
        """Held claims of these kinds."""
        return sum(lane.held for lane in self._lanes.values())

    def wanted(self) -> list[tuple[Sequence[str], int]]:
        """Return which kinds to claim now, and how many of each."""
        wants = (((kind,), lane.pace.wanted(lane.held)) for kind, lane in self._lanes.items())
        return [(kinds, count) for kinds, count in wants if count]

    def took(self, works: Iterable[Work]) -> None:
        """Add held claims."""
        if self._lanes:
            for work in works:
                if work.kind in self._lanes:
                    self._lanes[work.kind].held += 1

    def stalled(self) -> None:
        """Note that what was prefetched did not begin in time."""
        for lane in self._lanes.values():
            lane.pace.stalled()

    def left(self, works: Iterable[Work]) -> int:
        """Drop claims that are no longer held; return how many of them were of these kinds."""
        count = 0
        if self._lanes:
            for work in works:
                lane = self._lanes.get(work.kind)
                if lane is not None:
                    count += 1
                    lane.held -= 1
                    lane.pace.settled(1)
        return count


def place(
    app: App,
    client: Client,
    worker: str,
    target: str | None,
    *,
    concurrency: int,
    lease_seconds: float,
    rng: random.Random,
    clock: Clock,
) -> Handlers:
    """In the worker's own loop without a ``target``, else in processes that load the app from there."""
    if target is None:
        return InProcess(app, client, concurrency=concurrency, lease_seconds=lease_seconds, rng=rng, clock=clock)
    store, live = client.store, app.registry.live
    plan = ChildPlan(target, store.address, lease_seconds, worker, store.slots_folder, live, store.ahead_seconds)
    return Pool(app.registry, plan, concurrency, rng, processes=app.processes)


log = own_logger("ramet.worker")

POLL_SECONDS = 1.0
SET_ASIDE_MAX = 1_000
"""Most claims that wait for a probation child without keeping the worker from claiming others."""
END_SECONDS_MAX = 10.0
"""Seconds for which a worker that ends waits for each of the database's last answers: one that cannot be reached must
not keep it.
"""


class Worker:
    """Runs an app's handlers on a database.

    Args:
        app: whose kinds to serve.
        client: of the database; the worker does not close it.
        target: ``module:attribute`` of the app, to run handlers in a child process; None runs them in this one.
        kinds: serve only these.
        queues: serve only these; by default the queues of the kinds served.
        concurrency: handlers that run at once.
        until_idle: return when nothing that this worker serves is live.
        until_ended: return when the lineage with this tracking_id has ended, and the task of its end too.
        bounds: when the run ends by itself (:class:`ramet.RunOptions`).
    """

    def __init__(
        self,
        app: App,
        client: Client,
        *,
        target: str | None = None,
        kinds: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        concurrency: int = 16,
        lease_seconds: float | None = None,
        heartbeat_seconds: float | None = None,
        sweep_seconds: float | None = None,
        poll_seconds: float | None = None,
        ends_seconds: float = ENDS_SECONDS,
        until_idle: bool = False,
        until_ended: str | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        **bounds: Unpack[RunOptions],
    ) -> None:
        served = app.registry.served(kinds)
        self.name = f"{socket.gethostname()[:40]}-{os.getpid()}-{new_id()[-6:]}"
        self._app = app
        self._client = client
        self._store = client.store
        self._clock = clock or SystemClock(client.store.ahead_seconds)
        self._kinds = [kind.name for kind in served]
        self._queues = list(queues) if queues is not None else sorted({kind.queue for kind in served})
        self._tuning = Tuning(app.registry.live, lease_seconds=lease_seconds, heartbeat_seconds=heartbeat_seconds,
                              sweep_seconds=sweep_seconds, poll_seconds=poll_seconds)  # fmt: skip
        self._ends_seconds = ends_seconds
        self._run = BoundedRun(app, client, self._clock, self._kinds, until_idle=until_idle, **bounds)
        self._until_idle, self._until_ended = until_idle, until_ended
        self._claims = WorkerClaims()
        self._works: dict[int, Work] = {}
        self._serving = serving(self.name, self._kinds, self._queues, concurrency)
        self._pace = SettleRate(self._clock, concurrency)
        self._lanes = BatchPrefetch(self._clock, served, concurrency)
        self._groups = self._run.claim_groups([kind for kind in served if kind.name not in self._lanes])
        self._outcomes: list[Settlement] = []
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._nudged = False
        self._resting: asyncio.Task[None] | None = None
        self._draining, self._stopped = asyncio.Event(), asyncio.Event()
        self._hurry = asyncio.Event()
        """Asks for heartbeats at once: a task was ended from outside, or leases are shorter than the last was."""
        self._asking = asyncio.Lock()
        """Held while the database claims for this worker."""
        self._settling = asyncio.Lock()
        """Held while the database settles for this worker."""
        self._refusals = BlockLog(self._clock)
        self._reach = DatabaseReachability(self._clock)
        self._calls = SupervisorCalls(self._store, self._claims, self._clock, self._reach)
        self._lease_seconds = self._tuning.lease_seconds()
        self._broken: RuntimeError | None = None
        self.settled = 0
        """Tasks that this worker has settled so far."""
        self._handlers = place(app, client, self.name, target, concurrency=concurrency, clock=self._clock,
                               lease_seconds=self._tuning.lease_seconds(), rng=rng or random.Random())  # fmt: skip

    # --- the supervisor's life

    async def run(self) -> None:
        """Work until drained or stopped, or, where that was asked for, until nothing is left.

        Raises:
            StoreError: the database failed in a way that waiting does not repair.
            RuntimeError: the handlers' process cannot load the app (any more), or the app's lifespan cannot open.
        """
        await self._client.settings.refresh(0.0)
        await declare_first(self._app, self._store, reach=self._reach, clock=self._clock,
                            pause_seconds=self._tuning.poll_seconds(), unless=self._draining)  # fmt: skip
        await self._run.begin()
        self._store.join(self.name)
        await self._handlers.start(self)
        loops = started([
            ("claim", self._claim_loop),
            ("settle", self._settle_loop),
            ("heartbeat", self._heartbeat_loop),
            ("ends", partial(watch_ends, self._store, self._claims, self._clock, self._ends_seconds, self._hurry)),
            *housekeeping(self._app, self._client, self._clock, self._tuning),
            ("seen", partial(report_presence, self._store, self._clock, self._serving, self._app)),
            ("stop", self._stopped.wait),
            ("time", partial(self._run.keep_time, self.drain, self.stop)),
        ], self._clock)  # fmt: skip
        try:
            done, _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            if loops[0] in done and loops[0].exception() is None:
                await self._finish(loops[1:])
            for task in loops:
                if task.done():
                    task.result()
        finally:
            await self._shut_down(loops)
        if self._broken is not None:
            raise self._broken

    @property
    def in_hand(self) -> int:
        """Claims that this worker holds: running, waiting for a slot, or on their way to be settled."""
        return len(self._claims)

    @property
    def ended(self) -> str:
        """Why a bounded run ended, a word of :class:`ramet.RunReport`; empty before, and in runs without bounds."""
        return self._run.ended

    async def report(self) -> RunReport:
        """Return what this run did so far, and what is left of the kinds that it serves."""
        return await self._run.report()

    def drain(self) -> None:
        """Claim nothing more, let running handlers end, hand the rest back. Returns at once."""
        self._run.end(DRAINED)
        self._draining.set()
        self._room.set()
        self._nudge()

    def stop(self) -> None:
        """End now. Claims go back with their attempts; nothing is lost."""
        self.drain()
        self._stopped.set()

    async def _finish(self, others: Sequence[asyncio.Task[Any]]) -> None:
        """After the last claim: give back what did not begin, wait for what runs."""
        if self._draining.is_set():
            # Not longer than until the second signal: a process that hangs never says what it did not begin.
            unstarted = await unless_ended(others, self._handlers.drain())
            if unstarted is None:
                return
            log.info("draining: %d tasks run on, %d go back", len(self._claims) - len(unstarted), len(unstarted))
            self.hand_back(unstarted)
        while self._claims and not any(task.done() for task in others):
            self._room.clear()
            await unless_ended(others, self._room.wait())

    async def _shut_down(self, loops: Sequence[asyncio.Task[Any]]) -> None:
        try:
            await self._handlers.stop()
        finally:
            try:
                # The result of a call under way must be known first: its tasks would be lost or sent twice.
                with suppress(TimeoutError):
                    async with asyncio.timeout(END_SECONDS_MAX), self._asking, self._settling:
                        pass
            finally:
                for task in loops:
                    task.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self._hand_all_back()

    async def _hand_all_back(self) -> None:
        self.hand_back(self._claims.pairs())
        try:
            async with asyncio.timeout(END_SECONDS_MAX):
                while self._outcomes:
                    await self._settle_batch()
                await asyncio.sleep(0)  # The last batch is noted too.
        except (StoreError, TimeoutError) as error:
            log.warning("%d claims could not be handed back (%s): they return when their leases lapse",
                        len(self._claims), str(error) or "no answer")  # fmt: skip

    # --- claiming

    async def _claim_loop(self) -> None:
        tries = self._reach.tries()
        while not self._draining.is_set():
            wanted = self._claim_plan()
            if not wanted:
                if self._run.spent and not self._claims:
                    return self._run.end(TASKS)
                self._room.clear()
                await self._room.wait()
                continue
            try:
                found = any([await self._claim(kinds, count) for kinds, count in wanted])
                tries.succeeded()
                if found or await self._store.tend_paths() or await self._run.start_pulling(self._kinds_in_hand()):
                    continue
                if await self._is_drained():
                    return
                seconds = await self._idle_seconds()
            except StoreError as error:
                pause = tries.failed(error, "could not claim", self._tuning.poll_seconds())
                await sleep_unless(self._clock, pause, self._draining)
            else:
                await self._rest(seconds)

    async def _rest(self, seconds: float) -> None:
        """Until there may be work, or the hand is empty, or it is time to drain."""
        if not self._nudged:
            # One task and nothing to tidy up after it: from here to the claim a lone task waits.
            self._resting = asyncio.create_task(self._store.wait_for_work(seconds))
            try:
                await asyncio.wait((self._resting,))
            finally:
                self._resting.cancel()
        self._nudged = False

    def _nudge(self) -> None:
        self._nudged = True
        if self._resting is not None:
            self._resting.cancel()

    def _claim_plan(self) -> list[tuple[Sequence[str], int]]:
        """Return which kinds to claim now, and how many tasks of them."""
        beside = self._lanes.held + min(self._handlers.set_aside, SET_ASIDE_MAX)
        if self._run.spent:
            return []
        count = self._pace.wanted(max(0, len(self._claims) - beside)) if self._groups else 0
        return [*((group, count) for group in self._groups if count), *self._lanes.wanted()]

    async def _claim(self, kinds: Sequence[str], wanted: int) -> bool:
        # The lease counts from before the request was sent (DESIGN §10).
        sent_at = self._clock.monotonic()
        lease_seconds = self._tuning.lease_seconds()
        if lease_seconds < self._lease_seconds:
            self._hurry.set()  # The next heartbeat was planned for longer leases: it could come too late for these.
        self._lease_seconds = lease_seconds
        pulled = not self._run.pulled.isdisjoint(kinds)
        async with self._asking:
            with self._run.claiming(wanted) as claim:
                if not claim.granted:
                    return False
                request = ClaimRequest(self.name, self._queues, kinds, claim.granted, lease_seconds, pulled)
                works = [work_of(item) for item in await self._store.claim(request)]
                claim.brought = len(works)
            self._run.found(len(works))
            await asyncio.sleep(0)  # The answer to a settle of the same transaction: the next batch goes first.
            older = frozenset(work.seq for work in works if work.seq in self._claims)
            if older:  # Ended from outside and claimed for its end: no heartbeat will ask for the older claim any more.
                self._give_up(older)
            self._claims.take(((work.seq, work.fence) for work in works), sent_at + lease_seconds, sent_at)
        if not works:
            return False
        if self._clock.monotonic() >= sent_at + lease_seconds:  # The answer took so long that they are lost again.
            self._give_up(frozenset(work.seq for work in works))
            return True
        self._works.update((work.seq, work) for work in works)
        self._lanes.took(works)
        self._handlers.run(works)
        return True

    async def _is_drained(self) -> bool:
        if self._claims:
            return False
        if self._run.once:
            return await self._run.nothing_due()
        if self._until_ended is not None:
            return await lineage_is_over(self._store, self._until_ended)
        return self._until_idle and await self._store.idle(self._kinds)

    async def _idle_seconds(self) -> float:
        """Until the next delayed task is due, at most the poll interval. Polling is the truth, waking a convenience."""
        if self._run.once and not self._claims:
            return 0.001
        due_at = await self._store.next_due_at()
        if due_at is None:
            return self._tuning.poll_seconds()
        return min(self._tuning.poll_seconds(), max(0.001, due_at - self._clock.now()))

    # --- settling

    def outcomes(self, settlements: Sequence[Settlement]) -> None:
        """Handlers ended (called by the place where they run)."""
        now = self._clock.monotonic()
        self._queue_outcomes(self._claims.still_current(settlements, now))

    def _queue_outcomes(self, settlements: Sequence[Settlement]) -> None:
        self._outcomes += settlements
        self._arrived.set()

    async def call(self, settlement: Settlement) -> SettleResult:
        """Commit a checkpoint, progress or a spawn of a running handler now."""
        if not self._claims.current(settlement.seq, settlement.fence, self._clock.monotonic()):
            return SettleResult(settlement.seq, None, "stale")
        settled = await self._calls.call(settlement)
        self._note(settled)
        if settled.state != "processing":
            self._let_go([(settlement.seq, settlement.fence)])
        return settled

    async def ask(self, errand: str, *arguments: Any) -> Any:
        """Answer a handler's request to the database beside its settlements (see
        :mod:`ramet.engine.context.supervisor_calls`).
        """
        if errand in RUN_ERRANDS:
            return await self._run.answer(errand, *arguments)
        return await self._calls.ask(self._tuning.lease_seconds(), errand, *arguments)

    async def _settle_loop(self) -> None:
        tries = self._reach.tries()
        while True:
            await self._arrived.wait()
            while self._outcomes:
                try:
                    await self._settle_batch()
                    tries.succeeded()
                except StoreError as error:
                    # Whether or not something of the batch was written: by its fence each takes effect once.
                    await self._clock.sleep(tries.failed(error, "could not settle", self._tuning.poll_seconds()))
            self._arrived.clear()

    async def _settle_batch(self) -> None:
        async with self._settling:
            batch = settled_together(self._outcomes, self._works)
            answers = await settled_or_error(self._store, batch)
            del self._outcomes[: len(batch)]
        # After the next batch is on its way: the database need not wait for what is noted here of this one.
        asyncio.get_running_loop().call_soon(self._note_settled, batch, answers)

    def _note_settled(self, batch: Sequence[Settlement], answers: Sequence[SettleResult]) -> None:
        """Let go of what was settled. The loop that calls this reports no error: it ends this worker."""
        try:
            self._settled(batch, answers)
        except Exception as error:
            log.exception("%d settled tasks could not be let go", len(batch))
            self.broken(RuntimeError(f"settled tasks could not be let go ({error}): report this, and start it again"))

    def _settled(self, batch: Sequence[Settlement], answers: Sequence[SettleResult]) -> None:
        log_outcomes(batch, answers, self._works, self._claims, self._clock.monotonic())
        self._run.settled(batch, answers)
        for settled in answers:
            if settled.spawns or settled.items:
                self._note(settled)
        taken_at = self._claims.oldest_taken_at()
        beside = self._let_go([(item.seq, item.fence) for item in batch])
        self.settled += len(batch)
        self._pace.settled(len(batch) - beside, taken_at)

    def _note(self, settled: SettleResult) -> None:
        if (work := self._works.get(settled.seq)) is not None and (settled.spawns or settled.items):
            self._refusals.note(work.tracking_id, work.id, work.spawn_depth, settled.spawns, settled.items)

    def _kinds_in_hand(self) -> set[str]:
        return {work.kind for work in self._works.values()}

    def _let_go(self, claims: Sequence[tuple[int, int]]) -> int:
        """Drop claims that are no longer held; return how many of them were of batch kinds."""
        gone = [self._works.pop(seq, None) for seq in self._claims.drop(claims)]
        beside = self._lanes.left(work for work in gone if work is not None)
        self._room.set()
        if not self._claims:
            self._nudge()
        return beside

    # --- losing claims, losing the child

    def _heartbeat_loop(self) -> Coroutine[Any, Any, None]:
        return keep_alive(
            self._store,
            self._claims,
            self._clock,
            lease_seconds=self._tuning.lease_seconds,
            heartbeat_seconds=self._tuning.heartbeat_seconds,
            on_lost=self._give_up,
            hurry=self._hurry,
            reach=self._reach,
        )

    def _give_up(self, seqs: frozenset[int]) -> None:
        """Give up claims that are not this worker's any more."""
        claims = self._claims.pairs(sorted(seqs))
        self._let_go(claims)
        self._handlers.cancel(claims)

    # --- what the place where handlers run tells and asks

    def work(self, claim: ClaimId) -> Work | None:
        """Return the work of a held claim; None when it is not held."""
        work = self._works.get(claim[0])
        return work if work is not None and work.fence == claim[1] else None

    def unsettled(self) -> list[ClaimId]:
        """Return the held claims whose outcome is not known."""
        settling = {(item.seq, item.fence) for item in self._outcomes}
        return [claim for claim in self._claims.pairs() if claim not in settling]

    def lost(self, claims: Sequence[ClaimId], *, alone: bool, how: str | None = None) -> None:
        """Handle the loss of the process that ran these."""
        event = ev.LeaseExpired(alone=alone, worker_dead=True, error=how)
        self._queue_outcomes([Settlement(seq, fence, event) for seq, fence in claims if self._claims.holds(seq, fence)])

    def hand_back(self, claims: Sequence[ClaimId]) -> None:
        """Hand these back with their attempts."""
        held = [(seq, fence) for seq, fence in claims if self._claims.holds(seq, fence)]
        self._queue_outcomes([Settlement(seq, fence, ev.HandBack(fence)) for seq, fence in held])

    def started(self, claims: Sequence[ClaimId]) -> None:
        """Report that the handlers of these claims are called."""
        works = [work for claim in claims if (work := self.work(claim)) is not None]
        self._app.registry.listeners.started(works)

    def stopped(self, claims: Sequence[ClaimId]) -> None:
        """Release what these claims held: their handlers run no more, or waited for a slot for too long.

        Where the task was ended from outside that is refused, and frees the slot that was held on for it (DESIGN §4).
        """
        if any(self._claims.holds(seq, fence) for seq, fence in claims):
            self._pace.stalled()
            self._lanes.stalled()
        self._queue_outcomes([Settlement(seq, fence, ev.HandBack(fence)) for seq, fence in claims])

    def broken(self, error: RuntimeError) -> None:
        """No handler can be run any more: this worker ends with the reason."""
        self._broken = error
        self.stop()
