"""The supervisor of one invocation: claims pulled tasks, keeps their leases and settles them, over slots of its own.

It is a small worker inside of one handler: the same slots, heartbeats and settlements.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from ramet.engine.base.claims import ENDS_SECONDS, WorkerClaims, keep_alive, watch_ends
from ramet.engine.base.retrying import DatabaseReachability
from ramet.engine.base.task_log import BlockLog, log_outcomes
from ramet.engine.base.work import Work, work_of
from ramet.engine.client.claim import ClaimId, heartbeat_seconds
from ramet.engine.client.client import Client
from ramet.engine.context.context import Context
from ramet.engine.context.ports import ClaimLost, ContextParts, InvokeResult
from ramet.engine.context.supervisor_calls import RUN_ERRANDS, SupervisorCalls
from ramet.engine.kinds.registry import Handler, Kind, Registry
from ramet.engine.running.runner import Runner
from ramet.engine.running.settle_batch import settled_or_error, settled_together
from ramet.model.task import events as ev
from ramet.model.task.task import TERMINAL, TaskState
from ramet.store.answers import SettleResult
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.requests import Settlement

log = own_logger("ramet.invocation")

LOOK_SECONDS = 1.0
"""Longest pause between two looks for tasks that have come due."""
AGAIN_SECONDS = 1.0
"""Seconds after a statement that a busy or full database refused until it is tried again."""
LAST_SECONDS = 2.0
"""Seconds for which running tasks may go on when the invoking task itself has to stop, and finished ones may be
settled.
"""


class InvocationTimes(NamedTuple):
    """When things end, in monotonic seconds."""

    claim_until: float
    run_until: float
    """Moment at which tasks that still run are handed back."""
    end: float


class ClaimAllowance(Protocol):
    """Number of tasks that may still be claimed."""

    @property
    def left(self) -> int:
        """Number that is left."""
        ...

    async def take(self, wanted: int) -> int:
        """Return how many of these may be claimed now."""
        ...

    def taken(self, claimed: int) -> None:
        """Count tasks that may have been claimed, whatever comes of it; a negative number is known not to have been."""
        ...


Invoke = Callable[
    [Context, Sequence[str | Handler], int | None, Sequence[str] | None, bool], Coroutine[Any, Any, InvokeResult]
]
"""Begins an invocation: given, because what begins one imports this module."""


class InvocationRun:
    """One invocation, from its first claim to its last settlement; the port of its own slots."""

    def __init__(
        self,
        inside: ContextParts,
        client: Client,
        kinds: Sequence[str],
        queues: Sequence[str] | None,
        *,
        allowed: ClaimAllowance,
        times: InvocationTimes,
        concurrency: int,
        wait: bool,
        invoke: Invoke,
        ask: Callable[..., Coroutine[Any, Any, Any]],
        counted: bool,
    ) -> None:
        self._ask_run, self._counted = ask, counted
        self._client, self._store, self._kinds, self._queues = client, client.store, kinds, queues
        self._allowed, self._times, self._concurrency, self._wait = allowed, times, concurrency, wait
        self._clock, self._lease_seconds = inside.clock, inside.lease_seconds
        self._claims, self._reach = WorkerClaims(), DatabaseReachability(self._clock)
        self._calls = SupervisorCalls(self._store, self._claims, self._clock, self._reach)
        self._tries, self._refusals = self._reach.tries(), BlockLog(self._clock)
        self._runner = Runner(
            inside.registry,
            self,
            concurrency=concurrency,
            lease_seconds=self._lease_seconds,
            rng=random.Random(),
            clock=self._clock,
            until=times.run_until,
            on_start=inside.registry.listeners.on_start,
            lifespan=inside.lifespan,
        )
        self.invoke = invoke
        """Tasks that are run here may invoke others in turn."""
        self._works: dict[int, Work] = {}
        self._outcomes: list[Settlement] = []
        self._arrived, self._hurry = asyncio.Event(), asyncio.Event()
        self._changed: set[ClaimId] = set()
        self._draining = False
        self.claimed = 0
        """Tasks that were taken."""

    @property
    def changed(self) -> int:
        """Number of them that ended, moved on, or settled others."""
        return len(self._changed)

    def drain(self) -> None:
        """Claim nothing more: what runs may end."""
        self._draining = True
        self._arrived.set()

    async def run(self) -> None:
        """Until nothing is left to do, or may be done.

        Raises:
            ClaimLost: the invoking task is not its handler's any more.
        """
        self._runner.start()
        beating = keep_alive(
            self._store,
            self._claims,
            self._clock,
            lease_seconds=self._lease_seconds,
            heartbeat_seconds=heartbeat_seconds(self._lease_seconds),
            on_lost=self._give_up,
            hurry=self._hurry,
            reach=self._reach,
        )
        ends = watch_ends(self._store, self._claims, self._clock, ENDS_SECONDS, self._hurry)
        watching = [asyncio.create_task(beating), asyncio.create_task(ends)]
        try:
            await self._take_and_run()
        except (asyncio.CancelledError, ClaimLost):
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    await self._finish_all(self._times.run_until)
            raise
        finally:
            await self._runner.stop()
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
            await self._hand_all_back()

    async def _take_and_run(self) -> None:
        while True:
            self._arrived.clear()
            await self._settle()
            if self._clock.monotonic() >= self._times.run_until:
                break
            try:
                if await self._claim():
                    continue
                if not self._claims and not await self._worth_waiting():
                    return
                await self._rest()
            except StoreError as error:
                await self._pause(error, "could not look for tasks")
        if self._claims:
            log.info("%d tasks still run at the end of the invocation: they go back", len(self._claims))
            self._runner.cancel(self._claims.pairs())
            await self._finish_all(self._times.end)

    async def _finish_all(self, until: float) -> None:
        """Settle what ends, until no claim is held."""
        while self._claims and self._clock.monotonic() < until:
            self._arrived.clear()
            await self._settle()
            if self._claims:
                await self._rest_until(until)

    # --- claiming

    @property
    def _may_claim(self) -> bool:
        now = self._clock.monotonic()
        return now < self._times.claim_until and self._allowed.left > 0 and not self._draining

    @property
    def _room(self) -> int:
        return self._concurrency - len(self._claims)

    async def _claim(self) -> bool:
        if self._room <= 0 or not self._may_claim:
            return False
        wanted = await self._allowed.take(self._room)
        if wanted <= 0:
            return False
        # The lease counts from before the request was sent (DESIGN §10).
        sent_at = self._clock.monotonic()
        self._allowed.taken(wanted)
        works = await self._client.take(
            lambda claimed, *_: work_of(claimed), self._kinds, wanted, queues=self._queues,
            lease_seconds=self._lease_seconds, wait_seconds=0.0,
        )  # fmt: skip
        self._tries.succeeded()
        self._allowed.taken(len(works) - wanted)
        self.claimed += len(works)
        older = frozenset(work.seq for work in works if work.seq in self._claims)
        if older:  # Ended from outside and claimed for its end.
            self._give_up(older)
        self._claims.take(((work.seq, work.fence) for work in works), sent_at + self._lease_seconds, sent_at)
        self._works.update((work.seq, work) for work in works)
        self._runner.add(works)
        return bool(works)

    async def _worth_waiting(self) -> bool:
        """Whether a task may come due that could still be claimed."""
        return self._wait and self._may_claim and await self._store.any_live(self._kinds)

    async def _rest(self) -> None:
        """Until something ended, there may be work, or it is time for something else."""
        if self._room <= 0 or not self._may_claim:
            await self._rest_until(self._times.run_until)
            return
        due_at = await self._store.next_due_at()
        pause = min(LOOK_SECONDS, self._times.claim_until - self._clock.monotonic())
        if due_at is not None:
            pause = min(pause, max(0.001, due_at - self._clock.now()))
        waiting = asyncio.create_task(self._store.wait_for_work(pause))
        try:
            await self._rest_until(self._clock.monotonic() + pause, waiting)
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    async def _rest_until(self, until: float, *others: asyncio.Task[Any]) -> None:
        seconds = max(0.0, until - self._clock.monotonic())
        own = [asyncio.create_task(self._arrived.wait()), asyncio.create_task(self._clock.sleep(seconds))]
        try:
            await asyncio.wait([*own, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in own:
                task.cancel()

    async def _pause(self, error: StoreError, what: str) -> None:
        """Before what failed is tried again."""
        left = self._times.end - self._clock.monotonic()
        await self._clock.sleep(max(0.0, min(left, self._tries.failed(error, what, AGAIN_SECONDS))))

    # --- settling

    async def _settle(self) -> None:
        while self._outcomes:
            batch = settled_together(self._outcomes, self._works)
            try:
                answers = await settled_or_error(self._store, batch)
            except StoreError as error:
                # Whether or not something of it was written: by its fence each takes effect once.
                await self._pause(error, "could not settle")
                if self._clock.monotonic() >= self._times.end:
                    return
                continue
            self._tries.succeeded()
            del self._outcomes[: len(batch)]
            log_outcomes(batch, answers, self._works, self._claims, self._clock.monotonic())
            for item, answer in zip(batch, answers, strict=True):
                self._note(item, answer)
            self._let_go([(item.seq, item.fence) for item in batch])
            if self._counted:
                states = Counter(
                    answer.state
                    for item, answer in zip(batch, answers, strict=True)
                    if answer.state is not None and not isinstance(item.event, ev.HandBack)
                )
                await self._ask_run("run_settled", states)

    def _note(self, item: Settlement, answer: SettleResult) -> None:
        if answer.state is not None and TaskState(answer.state) in TERMINAL:
            self._changed.add((item.seq, item.fence))
        if any(settled.state for settled in answer.items):
            self._changed.add((item.seq, item.fence))
        if isinstance(item.event, ev.Checkpoint) and answer.refused is None:
            self._moved(item.seq, item.fence, item.event.stage)
        if (work := self._works.get(item.seq)) is not None and (answer.spawns or answer.items):
            self._refusals.note(work.tracking_id, work.id, work.spawn_depth, answer.spawns, answer.items)

    def _moved(self, seq: int, fence: int, stage: str | None) -> None:
        work = self._works.get(seq)
        if work is not None and stage is not None and stage != work.stage:
            self._works[seq] = work._replace(stage=stage)
            self._changed.add((seq, fence))

    def _let_go(self, claims: Sequence[ClaimId]) -> None:
        for seq in self._claims.drop(claims):
            self._works.pop(seq, None)

    def _give_up(self, seqs: frozenset[int]) -> None:
        """Give up claims that are not this invocation's any more."""
        claims = self._claims.pairs(sorted(seqs))
        self._let_go(claims)
        self._runner.cancel(claims)

    async def _hand_all_back(self) -> None:
        self._outcomes += [Settlement(seq, fence, ev.HandBack(fence)) for seq, fence in self._claims.pairs()
                           if not any((seq, fence) == (done.seq, done.fence) for done in self._outcomes)]  # fmt: skip
        if not self._outcomes:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._settle()
        if self._claims:
            log.warning("%d claims could not be handed back: they return when their leases lapse", len(self._claims))

    # --- the port of the slots

    def deliver(self, settlement: Settlement) -> None:
        if self._claims.current(settlement.seq, settlement.fence, self._clock.monotonic()):
            self._outcomes.append(settlement)
        self._arrived.set()

    def stopped(self, claim: ClaimId) -> None:
        # Refused where the task was ended from outside, which frees the slot that was held on for it (DESIGN §4).
        self._outcomes.append(Settlement(*claim, ev.HandBack(claim[1])))
        self._arrived.set()

    async def call(self, settlement: Settlement) -> SettleResult:
        if not self._claims.current(settlement.seq, settlement.fence, self._clock.monotonic()):
            return SettleResult(settlement.seq, None, "stale")
        settled = await self._calls.call(settlement)
        self._note(settlement, settled)
        if settled.state != "processing":
            self._let_go([(settlement.seq, settlement.fence)])
            self._arrived.set()
        return settled

    async def ask(self, errand: str, *arguments: Any) -> Any:
        if errand in RUN_ERRANDS:
            return await self._ask_run(errand, *arguments)
        return await self._calls.ask(self._lease_seconds, errand, *arguments)

    def client(self) -> Client:
        return self._client


INVOCATION_SHARE = 0.8
"""Share of an invocation's time after which no more tasks are claimed."""
MARGIN_SHARE = 0.05
"""Share of an invocation's time, at its end, for handing back what still runs."""
MARGIN_SECONDS_MAX = 5.0
BLOCK_ITEMS = 100
"""Most claims that are noted at once. Claims that are noted and not made are lost with the process, for this link."""


class ChainAllowance:
    """Number of tasks that the present link of a chain may still claim."""

    def __init__(self, context: Context, items_max: int) -> None:
        self._context, self._items_max = context, items_max

    @property
    def left(self) -> int:
        """Number that may still be claimed."""
        return self._context.claims_left_over() + self._remaining

    @property
    def _remaining(self) -> int:
        return max(0, self._items_max - self._context.claims_noted())

    async def take(self, wanted: int) -> int:
        """Ensure that this number is noted, or what is left; return how many may be claimed now.

        Raises:
            ClaimLost: the invoking task is not this handler's any more.
        """
        context = self._context
        missing = wanted - context.claims_left_over()
        more = min(max(missing, BLOCK_ITEMS), self._remaining)
        if missing > 0 and more > 0:
            claims, inside = context.claims_noted() + more, context.inside()
            # Not a checkpoint: that a claim is about to be made is not progress.
            event = ev.Progress(inside.work.fence, inside.lease_seconds)
            text = context.note_text(claims)
            await inside.call(Settlement(inside.work.seq, inside.work.fence, event, pipeline_state=text))
            context.note_stored(claims)
        return min(wanted, context.claims_left_over())

    def taken(self, claimed: int) -> None:
        """See :class:`ramet.engine.running.invocation.ClaimAllowance`."""
        self._context.claims_taken(claimed)


class RunAllowance(ChainAllowance):
    """The same, where the run of the worker is bounded too: each claim is granted by it."""

    def __init__(self, context: Context, items_max: int, ask: Callable[..., Coroutine[Any, Any, int]]) -> None:
        super().__init__(context, items_max)
        self._ask = ask
        self._granted = 0
        """Granted by the run and not used."""
        self._spent = False

    @property
    def left(self) -> int:
        return min(super().left, self._granted) if self._spent else super().left

    async def take(self, wanted: int) -> int:
        wanted = await super().take(wanted)
        if wanted > self._granted:
            missing = wanted - self._granted
            granted = await self._ask("run_claim", missing)
            self._granted += granted
            self._spent = granted < missing
        return min(wanted, self._granted)

    def taken(self, claimed: int) -> None:
        super().taken(claimed)
        self._granted -= claimed

    async def give_back(self) -> None:
        """Return to the run what was granted and not used."""
        if self._granted:
            await self._ask("run_claim", -self._granted)


async def invoke(
    context: Context, kinds: Sequence[str | Handler], concurrency: int | None, queues: Sequence[str] | None, wait: bool
) -> InvokeResult:
    """Run pulled tasks inside of the context's task: :meth:`ramet.Context.invoke`."""
    inside = context.inside()
    concurrency = inside.kind.limits.invocation_concurrency if concurrency is None else concurrency
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}: give at least 1")
    names = [kind.name for kind in _pulled(inside.registry, kinds)]
    limits, client = inside.kind.limits, context.client
    waits, counted, taken = await inside.ask("run_terms")
    names = [name for name in names if name not in taken]
    if not names:  # The worker of a foreground run takes them itself.
        return InvokeResult(0, 0, await client.store.any_live(taken))
    allowed = RunAllowance(context, limits.invocation_items, inside.ask)
    invoking = InvocationRun(
        inside,
        client,
        names,
        queues,
        allowed=allowed if counted else ChainAllowance(context, limits.invocation_items),
        times=_times(inside, limits.invocation_seconds, context.remaining_seconds),
        concurrency=min(concurrency, max(1, limits.invocation_items)),
        wait=wait and waits,
        invoke=invoke,
        ask=inside.ask,
        counted=counted,
    )
    context.on_drain(invoking.drain)
    if context.draining:
        invoking.drain()
    try:
        await invoking.run()
        await allowed.give_back()
    finally:
        context.on_drain(None)
    if invoking.changed:
        work = inside.work
        await inside.call(Settlement(work.seq, work.fence, ev.Checkpoint(work.fence, inside.lease_seconds)))
    return InvokeResult(invoking.claimed, invoking.changed, await client.store.any_live(names))


def _times(inside: ContextParts, seconds: float, left: float) -> InvocationTimes:
    """Return the times of a handler that has this many of its seconds left."""
    end = inside.clock.monotonic() + left
    margin = min(seconds * MARGIN_SHARE, MARGIN_SECONDS_MAX)
    return InvocationTimes(end - seconds * (1 - INVOCATION_SHARE), end - margin, end)


def _pulled(registry: Registry, kinds: Sequence[str | Handler]) -> list[Kind]:
    found = [registry.get(kind) for kind in kinds]
    if not found:
        raise ValueError("invoke needs at least one kind")
    for kind in found:
        kind.check_claimable()
        if not kind.how.pulled:
            raise ValueError(f"kind {kind.name!r} is not pulled, workers run it: register it with pulled=True")
    return found
