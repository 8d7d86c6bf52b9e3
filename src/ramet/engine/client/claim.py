"""A claim of a program that is not a worker, as :meth:`ramet.engine.client.client.Client.claim` gives it.

A claim has everything that a handler's context has, because it is one; only its ends are calls instead of returned
values. Whatever it asks for goes through the same Store verbs as a worker's and carries the same fence. Its lease is
kept by one heartbeat loop for all claims of a client that share a lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, NamedTuple, Self

from ramet.engine.base import current_tasks
from ramet.engine.base.claims import WorkerClaims, keep_alive
from ramet.engine.base.clock import Clock
from ramet.engine.base.error_text import describe_error, traceback_of
from ramet.engine.base.observe import observer
from ramet.engine.base.task_log import log_outcome
from ramet.engine.base.work import Work, work_of
from ramet.engine.context.context import AsyncContext, BaseContext, HandlerPort, settlement_of
from ramet.engine.context.outcome import OnDependencyFailure, Outcome, ReportedError, error_event
from ramet.engine.context.ports import ClaimLost
from ramet.engine.kinds.options import Dependency
from ramet.engine.kinds.registry import Handler, Kind, Registry
from ramet.model.lineage.branches import Budget
from ramet.model.lineage.limits import HEARTBEAT_SECONDS
from ramet.model.task import events as ev
from ramet.model.task.retry import ErrorClass
from ramet.model.task.task import NewTask, TaskState
from ramet.store.answers import ClaimedTask, SettleResult, SpawnResult
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.requests import Settlement
from ramet.store.store import Store

ClaimId = tuple[int, int]
"""(seq, fence) of a claim."""


def heartbeat_seconds(lease_seconds: float) -> float:
    """Return the seconds between two heartbeats: 30, or a third of a lease under 90 s."""
    return min(HEARTBEAT_SECONDS, lease_seconds / 3)


class _HeartbeatLoop(NamedTuple):
    claims: WorkerClaims
    task: asyncio.Task[None]


class LeaseKeeper:
    """Claims of one client in use just now. Belongs to one event loop."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.clock = clock
        self._store = store
        self._loops: dict[float, _HeartbeatLoop] = {}
        self._on_lost: dict[ClaimId, Callable[[], None]] = {}

    def keep(self, pair: ClaimId, lapses_at: float, lease_seconds: float, on_lost: Callable[[], None]) -> None:
        """Extend the lease of a claim from now on; ``on_lost`` is called when it is no longer the caller's.

        Args:
            pair: (seq, fence).
            lapses_at: monotonic seconds, no later than the lease in the database.
            lease_seconds: what every heartbeat extends it to.
            on_lost: called once, in the event loop.
        """
        loop = self._loops.get(lease_seconds)
        if loop is None or loop.task.get_loop() is not asyncio.get_running_loop():
            loop = self._loops[lease_seconds] = self._start(lease_seconds)
        self._on_lost[pair] = on_lost
        loop.claims.take([pair], lapses_at)

    def _start(self, lease_seconds: float) -> _HeartbeatLoop:
        claims = WorkerClaims()

        def lost(seqs: frozenset[int]) -> None:
            for pair in claims.pairs(sorted(seqs)):
                claims.drop([pair])
                self._on_lost.pop(pair)()

        beating = keep_alive(
            self._store,
            claims,
            self.clock,
            lease_seconds=lease_seconds,
            heartbeat_seconds=heartbeat_seconds(lease_seconds),
            on_lost=lost,
        )
        return _HeartbeatLoop(claims, asyncio.create_task(beating, name="ramet heartbeat of pulled claims"))

    def drop(self, pair: ClaimId, lease_seconds: float) -> None:
        """Stop extending a claim. The loop ends with the last one."""
        self._on_lost.pop(pair, None)
        loop = self._loops.get(lease_seconds)
        if loop is None:
            return
        loop.claims.drop([pair])
        if not len(loop.claims):
            loop.task.cancel()
            del self._loops[lease_seconds]

    async def stop(self) -> None:
        """End all loops; leases run out by themselves."""
        tasks: Sequence[asyncio.Task[None]] = [loop.task for loop in self._loops.values()]
        self._loops, self._on_lost = {}, {}
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


log = own_logger("ramet.pull")


class Spawn(NamedTuple):
    """A child that :meth:`Claim.complete` asks for; the fields are the parameters of ``ctx.spawn``."""

    kind: str | Handler
    payload: Any = None
    key: str | None = None
    queue: str | None = None
    priority: int | None = None
    delay_seconds: float = 0.0
    keep_edge: bool = False
    path: Sequence[str] | None = None
    document_id: str | None = None
    reserve_path: bool = False
    path_scope: str | None = None
    on_dependency_failure: str | None = None
    task_seconds: float | None = None
    required: bool = False
    after: Iterable[Dependency] = ()
    budget: Budget | None = None
    tags: Sequence[str] = ()


_OPTIONS = Spawn._fields[2:]


class ClaimResult(NamedTuple):
    """Result of a claim that ended, for its task."""

    state: TaskState
    """``pending`` when it will run again."""
    reason: str | None
    spawns: Sequence[SpawnResult] = ()
    """The guard's answers, in the order asked."""


class ClaimEnvironment(NamedTuple):
    """Environment that the claims of one client share."""

    registry: Registry
    desk: HandlerPort
    keeper: LeaseKeeper
    jitter: Callable[[], float]
    """Draws in [0, 1) for the back-off."""


class BaseClaim(BaseContext):
    """Common part of claims of async and of plain programs."""

    def __init__(
        self, claimed: ClaimedTask, kind: Kind, hold: ClaimEnvironment, lease_seconds: float, lapses_at: float
    ) -> None:
        super().__init__(work_of(claimed), kind, hold.registry, hold.desk, lease_seconds)
        self._hold = hold
        self._lapses_at, self._taken_at = lapses_at, hold.keeper.clock.monotonic()
        self.begin(hold.keeper.clock, math.inf)
        self._over: str | None = None
        self._lost = False
        self._payload: Any = None
        self._parsed = False
        watching = observer()
        self._observed = None if watching is None else watching.running([self._work])

    @property
    def payload(self) -> Any:
        """The payload: of the handler's type where this program registers the kind, else plain JSON values.

        Raises:
            pydantic.ValidationError: it does not fit the handler's type.
        """
        if not self._parsed:
            typed = self._kind.payload is not None
            self._payload = self._kind.read(self._work) if typed else json.loads(self._work.payload)
            self._parsed = True
        return self._payload

    @property
    def fence(self) -> int:
        """The number of this claim: grows with every claim of the task and never falls."""
        return self._work.fence

    @property
    def round(self) -> int:
        """Number of the task's joins so far."""
        return self._work.round

    @property
    def raw_payload(self) -> Any:
        """The payload as plain JSON values, whether this program registers the kind or not."""
        return json.loads(self._work.payload)

    @property
    def lease_seconds(self) -> float:
        """Seconds for which the claim lives without a heartbeat."""
        return self._lease_seconds

    @property
    def lost(self) -> bool:
        """True once a heartbeat or a verb learned that the claim is no longer this program's."""
        return self._lost

    @property
    def over(self) -> bool:
        """True once an outcome was accepted, or the claim is lost."""
        return self._lost or self._over is not None

    def unfinished(self) -> Work | None:
        """Return the work of the claim, until it is over."""
        return None if self.over else self._work

    @property
    def pair(self) -> ClaimId:
        """Key by which the store knows the claim: the number of its task, and its fence."""
        return self._work.seq, self._work.fence

    # --- one settlement

    def settlement_for(self, outcome: Any, spawns: Iterable[Spawn] = ()) -> Settlement:
        """Return the settlement of a handler that returned (or, for an exception, raised) this.

        Raises:
            ClaimLost: the claim is over.
        """
        self._check()
        more = [self._spawn_request(spawn) for spawn in spawns]
        if isinstance(outcome, BaseException):
            draw, table, kind = self._hold.jitter(), self._kind.error_table(), self._kind
            event = error_event(outcome, self.fence, draw, table, handler=kind.handler, waits=kind.waits_of(self._work))
            return Settlement(*self.pair, event)
        more += self._kind.next_stage(self, outcome)
        settlement = settlement_of(self, outcome)
        return settlement._replace(spawns=[*settlement.spawns, *more]) if more else settlement

    def settled(self, answer: SettleResult, settlement: Settlement) -> ClaimResult:
        """Take the store's answer to the claim's end, which was this settlement.

        Raises:
            ClaimLost: it was refused, or the database would not take what it asked for.
        """
        if self._observed is not None:
            self._observed.ended([settlement], lost=answer.refused is not None)
        if answer.refused is not None or answer.state is None:
            self._lost = self._cancelled = True
            raise ClaimLost(_refused(self.id, answer))
        self._over = answer.state
        log_outcome(self._work, settlement, answer, self._hold.keeper.clock.monotonic() - self._taken_at)
        return ClaimResult(TaskState(answer.state), answer.reason, answer.spawns)

    def _check(self) -> None:
        if self._lost:
            raise ClaimLost(f"task {self.id}: this claim (fence {self.fence}) was lost before")
        if self._over is not None:
            raise ClaimLost(f"task {self.id}: this claim (fence {self.fence}) has ended already, as {self._over}")

    def _spawn_request(self, spawn: Spawn) -> NewTask:
        options: dict[str, Any] = dict(zip(_OPTIONS, spawn[2:], strict=True))
        return self._registry.get(spawn.kind).new_task(spawn.payload, **options)

    @contextmanager
    def buffers_kept(self) -> Iterator[None]:
        """Restore what was buffered when the block raises: the same call may be made once more."""
        before = self.buffered()
        try:
            yield
        except Exception:
            self.buffer_again(before)
            raise

    async def _end(self, make: Callable[[], Settlement]) -> ClaimResult:
        with self.buffers_kept():
            settlement = make()
            answer = await self._desk.call(settlement)
        self.let_go()
        ended = self.settled(answer, settlement)
        kept = isinstance(settlement.event, ev.Complete | ev.Filter | ev.Skip | ev.Fail)
        if kept and ended.state is TaskState.PENDING:
            raise ClaimLost(f"task {self.id} is pending again, nothing of this was kept: {ended.reason}")
        return ended

    async def _call(self, settlement: Settlement) -> SettleResult:
        self._check()
        return await super()._call(settlement)

    def _accepted(self, settled: SettleResult) -> SettleResult:
        try:
            return super()._accepted(settled)
        except ClaimLost:
            self._lost = self._cancelled = True
            self.let_go()
            raise

    # --- keeping

    async def keep_alive(self, on_lost: Callable[[], None] = lambda: None) -> None:
        """Start heartbeats; ``on_lost`` is called when one learns that the claim is not current any more."""
        self._check()
        now = self._hold.keeper.clock.monotonic()
        if self._lapses_at - now <= self._lease_seconds - heartbeat_seconds(self._lease_seconds):
            await Claim.heartbeat(self)

        def lost() -> None:
            self._lost = self._cancelled = True
            on_lost()

        self._hold.keeper.keep(self.pair, self._lapses_at, self._lease_seconds, lost)

    def let_go(self) -> None:
        """Stop the heartbeats."""
        self._hold.keeper.drop(self.pair, self._lease_seconds)

    async def _leave(self, error: BaseException | None) -> None:
        """Leave the block: an exception is the attempt's outcome; without any outcome the claim goes back."""
        self.let_go()
        if self._over is not None:
            return
        try:
            if self._lost:
                # Ended from outside, it still held its slot: its work has stopped.
                await self._desk.client().store.acknowledge([self.pair])
                return
            if isinstance(error, Exception):
                await Claim.fail(self, error)
            else:
                await Claim.release(self)
        except ClaimLost as lost:
            log.info("%s", lost)
        except StoreError as failure:
            log.warning("task %s could not be settled (%s): it returns when its lease lapses", self.id, failure)


def _refused(task_id: str, answer: SettleResult) -> str:
    why = answer.refused or "refused"
    if why == "stale":
        why = "stale: the lease expired, the task was ended from outside, or another claim holds it"
    return f"task {task_id}: {why}" + (f" ({answer.reason})" if answer.reason else "")


class Claim(BaseClaim, AsyncContext):
    """A task in this program's hands, under a lease and a fence.

    Everything that it asks for is refused with :class:`ClaimLost` when the claim is not current any more. In
    ``async with`` the lease is kept by heartbeats; a lost claim cancels the block and comes out as ``ClaimLost``.
    A block that raises has failed its task, by the error's class; one without outcome hands it back.
    """

    async def heartbeat(self: BaseClaim) -> None:
        """Extend the lease to ``lease_seconds`` from now.

        Raises:
            ClaimLost: with what became of the task.
        """
        self._check()
        client = self._desk.client()
        sent_at = self._hold.keeper.clock.monotonic()
        if not await client.store.heartbeat([self.pair], self._lease_seconds):
            self._lapses_at = sent_at + self._lease_seconds
            return
        self._lost = self._cancelled = True
        self.let_go()
        task = await client.get(self.id)
        now = "it was pruned" if task is None else f"it is {task.state}" + (f": {task.reason}" if task.reason else "")
        raise ClaimLost(f"task {self.id}: the claim with fence {self.fence} is not current any more; {now}")

    async def advance(
        self: BaseClaim, stage: str | None = None, data: dict[str, Any] | None = None
    ) -> Sequence[SpawnResult]:
        """Commit a stage, its data (the new pipeline_state) and what was buffered; a crash resumes after it.

        Raises:
            ClaimLost: the claim is not current.
        """
        return await AsyncContext.checkpoint(self, stage, data)

    async def complete(self: BaseClaim, result: Any = None, *, spawns: Iterable[Spawn] = ()) -> ClaimResult:
        """End as *success*, with the result, the buffered spawns and writes, and these spawns, in one transaction.

        Returns:
            The guard's answers, buffered spawns first.

        Raises:
            ClaimLost: the claim is not current, or the database refused a write; nothing was kept.
            UnknownKind, PayloadTooLarge, pydantic.ValidationError: a spawn cannot be made; the claim goes on.
        """
        return await self._end(lambda: self.settlement_for(result, spawns))

    async def filter(self: BaseClaim, reason: str) -> ClaimResult:
        """End as *filtered*: what the task is about was rejected. Keeps what was buffered."""
        return await self._end(lambda: self.settlement_for(Outcome.filter(reason)))

    async def skip(self: BaseClaim, reason: str) -> ClaimResult:
        """End as *skipped*: the work need not be done. Keeps what was buffered."""
        return await self._end(lambda: self.settlement_for(Outcome.skip(reason)))

    async def fail(self: BaseClaim, error: BaseException | str, *, retry: bool | None = None) -> ClaimResult:
        """Fail the attempt. Writes and spawns since the last checkpoint are dropped.

        Args:
            error: an exception is judged as one that a handler raised (DESIGN §6), ``RetryAfter`` included.
            retry: True tries again while attempts are left, False never; None leaves it to the error's class.

        Returns:
            ``pending`` when it will be tried again.
        """

        def make() -> Settlement:
            if retry is None and isinstance(error, BaseException):
                return self.settlement_for(error)
            self._check()
            name, text = ("Error", error) if isinstance(error, str) else describe_error(error)
            trace = None if isinstance(error, str) else traceback_of(error, self._kind.handler)
            classes = {None: ErrorClass.UNCLASSIFIED, True: ErrorClass.TRANSIENT, False: ErrorClass.PERMANENT}
            return self.settlement_for(ReportedError(name, text, classes[retry], trace))

        return await self._end(make)

    async def join(
        self: BaseClaim, *, branch: bool = False, on_dependency_failure: OnDependencyFailure = "run"
    ) -> ClaimResult:
        """Wait for this task's own children, see :meth:`ramet.Context.join`; it is claimed again when they have ended,
        with ``joined``."""
        outcome = Outcome.join(branch=branch, on_dependency_failure=on_dependency_failure)
        return await self._end(lambda: self.settlement_for(outcome))

    async def snooze(
        self: BaseClaim, seconds: float, reason: str | None = None, *, uses_time: bool = True
    ) -> ClaimResult:
        """Return to pending for this number of seconds (at least 1); the attempt is given back. Keeps what was
        buffered.

        ``uses_time`` is False where the task's own time does not run meanwhile, see :meth:`ramet.Outcome.snooze`.
        """
        return await self._end(lambda: self.settlement_for(Outcome.snooze(seconds, reason, uses_time=uses_time)))

    async def continue_later(self: BaseClaim) -> ClaimResult:
        """Run again with fresh attempts: only after progress, and at most ``max_chain_depth`` times."""
        return await self._end(lambda: self.settlement_for(Outcome.continue_later()))

    async def release(self: BaseClaim) -> None:
        """Hand the task back with its attempt, as if it had never been claimed. Buffered writes and spawns are
        dropped.
        """

        def make() -> Settlement:
            self._check()
            return Settlement(*self.pair, ev.HandBack(self.fence))

        await self._end(make)

    async def __aenter__(self) -> Self:
        working = asyncio.current_task()
        assert working is not None
        self._working = working
        self._cancelling = working.cancelling()
        await self.keep_alive(self._cancel_working)
        current_tasks.enter_block(self.unfinished)
        self._below = ExitStack()
        if self._observed is not None:
            self._below.enter_context(self._observed.inside())
        return self

    def _cancel_working(self) -> None:
        self._working.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._below.close()
        current_tasks.leave_block(self.unfinished)
        cancelled_by_us = self._lost and isinstance(error, asyncio.CancelledError)
        await self._leave(error)
        if cancelled_by_us and self._working.uncancel() <= self._cancelling:
            raise ClaimLost(
                f"task {self.id}: the claim with fence {self.fence} was lost while working on it"
            ) from error
