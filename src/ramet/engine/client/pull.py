"""The pull API: claim tasks, work on them anywhere, settle them; by the same Store verbs as a worker."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any, NamedTuple, TypeVar, cast

from ramet.engine.base import current_tasks
from ramet.engine.base.clock import Clock, new_id
from ramet.engine.client.claim import BaseClaim, Claim, ClaimEnvironment, ClaimId, ClaimResult, LeaseKeeper
from ramet.engine.context.context import HandlerPort
from ramet.engine.context.joined import load_joined
from ramet.engine.context.ports import ClaimLost
from ramet.engine.context.supervisor_calls import run_supervisor_call
from ramet.engine.kinds.registry import Handler, Kind, Registry
from ramet.model.lineage.limits import LEASE_SECONDS
from ramet.model.paths import path_of
from ramet.model.task import events as ev
from ramet.model.task.joined import JoinPage, JoinPlace
from ramet.model.task.task import TaskState
from ramet.model.values import check_name
from ramet.store.answers import ClaimedTask, SettleResult
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.requests import ClaimRequest, Settlement
from ramet.store.store import Store

log = own_logger("ramet.pull")

AnyClaim = TypeVar("AnyClaim")

SETTLE_BATCH = 1_000
LOOK_SECONDS = 1.0
"""Longest pause between two looks of a claim that waits. Polling is the truth, waking a convenience."""
_JITTER = random.SystemRandom()


REMOTE = "remote:"
"""Prefix of the name of a worker that works through a client of another program: no process of this machine has such a
name, so nothing that happens to one ends these claims.
"""
_SETTLED = frozenset({"success", "filtered", "skipped", "error", "snooze", "continue"})


class ClaimFate(NamedTuple):
    """Outcome of a claim, and its task as it is now."""

    task_id: str | None
    outcome: str | None
    """Outcome of its attempt: success, filtered, skipped, error, snooze, continue, lost, returned or ended; None while
    there is none.
    """
    message: str
    """Message in words, on one line."""

    @property
    def settled(self) -> bool:
        """True if its worker settled it: a settlement whose answer did not arrive was accepted."""
        return self.outcome in _SETTLED


class _AnyKind(Registry):
    """The app's kinds, and any other name with the app's defaults: a puller may spawn what others handle."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def get(self, kind: str | Handler) -> Kind:
        return self._registry.known(kind)


class _DirectPort:
    """Settles without a supervisor in between."""

    def __init__(self, verbs: PullVerbs) -> None:
        self._verbs = verbs

    async def call(self, settlement: Settlement) -> SettleResult:
        [settled] = await self._verbs.store.settle([settlement])
        return settled

    async def ask(self, errand: str, *arguments: Any) -> Any:
        return await run_supervisor_call(self._verbs.store, errand, arguments)

    def client(self) -> Any:
        return self._verbs


class PullVerbs:
    """The client's part for programs that take tasks themselves instead of registering handlers."""

    registry: Registry
    store: Store
    clock: Clock
    _hold: ClaimEnvironment | None = None
    _puller: str | None = None

    async def claim(
        self,
        kinds: str | Handler | Iterable[str | Handler],
        n: int = 1,
        *,
        queues: Sequence[str] | None = None,
        path: Sequence[str] | None = None,
        lease_seconds: float = LEASE_SECONDS,
        wait_seconds: float = 0.0,
        worker: str | None = None,
    ) -> list[Claim]:
        """Take up to ``n`` tasks of these kinds, in order of priority, then age; each under a new fence and lease.

        Args:
            kinds: registered or not; one or several.
            n: at most 5,000 at once.
            queues: where to look; by default where these kinds wait.
            path: only tasks at this path or below it; of scope ``queue``. The first 10,000 in line are looked at.
            lease_seconds: how long each claim lives without a heartbeat.
            wait_seconds: how long to wait for the first task when there is none; 0 answers at once.
            worker: who works on them, where that is another program than this one: its claims outlive this one, and
                return only when their leases lapse.

        Returns:
            Fewer claims, or none, when there is no more to take.

        Raises:
            ValueError: no kind, a number that makes no sense, or a kind with a task per stage: its stages are claimed.
            InvalidPath: there is no such path.
        """
        claims = await self.take(
            Claim, kinds, n, queues=queues, path=path, lease_seconds=lease_seconds, wait_seconds=wait_seconds,
            worker=worker,
        )  # fmt: skip
        await load_joined(claims)
        return claims

    async def take(
        self,
        make: Callable[[ClaimedTask, Kind, ClaimEnvironment, float, float], AnyClaim],
        kinds: str | Handler | Iterable[str | Handler],
        n: int,
        *,
        queues: Sequence[str] | None,
        path: Sequence[str] | None = None,
        lease_seconds: float,
        wait_seconds: float,
        worker: str | None = None,
    ) -> list[AnyClaim]:
        """:meth:`claim`, for any type of claim."""
        wanted = [kinds] if isinstance(kinds, str) or callable(kinds) else list(kinds)
        if not wanted or n < 1 or not lease_seconds > 0:
            raise ValueError("claim needs at least one kind, n of at least 1 and lease_seconds over 0")
        found = [self.registry.known(kind) for kind in wanted]
        for kind in found:
            kind.check_claimable()
        places = sorted({kind.queue for kind in found}) if queues is None else list(queues)
        names = [kind.name for kind in found]
        own = self._name()  # Also for another worker: it is by this name that this process is woken.
        holder = own if worker is None else f"{REMOTE}{check_name('the worker', worker)}"
        request = ClaimRequest(holder, places, names, n, lease_seconds, pulled=True, path=path_of(path))
        give_up_at = self.clock.monotonic() + wait_seconds
        while True:
            # The lease counts from before the request was sent (DESIGN §10).
            sent_at = self.clock.monotonic()
            claimed = await self._claimed(request)
            left = give_up_at - self.clock.monotonic()
            if claimed or left <= 0:
                return [self._in_hand(make, item, lease_seconds, sent_at + lease_seconds) for item in claimed]
            await self.store.wait_for_work(min(left, LOOK_SECONDS))

    async def resume_claims(
        self, claims: Iterable[ClaimId], *, lease_seconds: float = LEASE_SECONDS
    ) -> list[Claim | ClaimLost]:
        """Return claims that were taken before, here or by another program, to be kept and settled here.

        Args:
            claims: (seq, fence) of each, as :attr:`Claim.pair` gave it.
            lease_seconds: what their heartbeats and checkpoints extend the lease to.

        Returns:
            In the order given: the claim, or ``ClaimLost`` where it is not the newest of its task, or that is not
            processing. A lease that has lapsed is refused by the verb that needs it.
        """
        return await self.take_again(Claim, claims, lease_seconds=lease_seconds)

    async def take_again(
        self,
        make: Callable[[ClaimedTask, Kind, ClaimEnvironment, float, float], AnyClaim],
        claims: Iterable[ClaimId],
        *,
        lease_seconds: float,
    ) -> list[AnyClaim | ClaimLost]:
        """:meth:`resume_claims`, for any type of claim."""
        wanted = list(claims)
        lapses_at = self.clock.monotonic() + lease_seconds
        found = {
            (item.standing.seq, item.standing.fence): self._in_hand(make, item, lease_seconds, lapses_at)
            for item in (await self.store.claimed(wanted) if wanted else ())
        }
        return [found.get(pair) or ClaimLost((await self.claim_fate(*pair)).message) for pair in wanted]

    async def heartbeat_many(
        self, claims: Iterable[ClaimId], *, lease_seconds: float = LEASE_SECONDS
    ) -> dict[ClaimId, ClaimFate]:
        """Extend the leases of claims, (seq, fence) each, in one transaction; return what became of those lost."""
        wanted = list(claims)
        lost = await self.store.heartbeat(wanted, lease_seconds) if wanted else frozenset[int]()
        return {pair: await self.claim_fate(*pair) for pair in wanted if pair[0] in lost}

    async def acknowledge(self, claims: Iterable[ClaimId]) -> None:
        """Free the slots and paths of tasks that were ended from outside: their worker does not run them any more."""
        await self.store.acknowledge(list(claims))

    async def joined_page(self, claim: BaseClaim, after: JoinPlace | None, *, before: bool = False) -> JoinPage:
        """Return a page of the tasks that a claimed task has joined; with ``before`` of those it was created after."""
        return await self.store.join_page(claim.pair[0], 0 if before else claim.round, after)

    async def claim_fate(self, seq: int, fence: int) -> ClaimFate:
        """Return what became of a claim that is not current any more."""
        tasks = await self.store.tasks_of([seq])
        history = await self.store.history(tasks[0].id) if tasks else None
        if history is None:
            return ClaimFate(None, None, "there is no task of this claim: it was never there, or it was pruned")
        task = history.task
        outcome = next((one.outcome for one in history.attempts if one.fence == fence), None)
        if fence > task.fence:
            began = "was never given"
        elif outcome is not None:
            began = f"is over: its attempt ended as {outcome}"
        elif task.state.terminal:
            began = "is over: the task was ended from outside"
        else:
            began = "is not current any more: its lease expired, or its lineage was ended"
        now = f"the task is {task.state}" + (f" ({task.reason})" if task.reason else "")
        held = task.state is TaskState.PROCESSING and task.fence != fence
        held_by = f", under fence {task.fence}, held by {task.worker}" if held else ""
        return ClaimFate(task.id, outcome, f"task {task.id}: the claim with fence {fence} {began}; {now}{held_by}")

    async def _claimed(self, request: ClaimRequest) -> list[ClaimedTask]:
        """Return the claimed tasks; when the caller was cancelled while the database answered, give them back
        instead.
        """
        asking = asyncio.ensure_future(self.store.claim(request))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            with suppress(StoreError):
                await self._hand_back([(item.standing.seq, item.standing.fence) for item in await asking])
            raise

    async def _hand_back(self, pairs: Sequence[ClaimId]) -> None:
        if pairs:
            await self.store.settle([Settlement(seq, fence, ev.HandBack(fence)) for seq, fence in pairs])

    def _in_hand(
        self,
        make: Callable[[ClaimedTask, Kind, ClaimEnvironment, float, float], AnyClaim],
        claimed: ClaimedTask,
        lease_seconds: float,
        lapses_at: float,
    ) -> AnyClaim:
        if self._hold is None:
            desk = cast(HandlerPort, _DirectPort(self))
            keeper = LeaseKeeper(self.store, self.clock)
            self._hold = ClaimEnvironment(_AnyKind(self.registry), desk, keeper, _JITTER.random)
        return make(claimed, self.registry.known(claimed.standing.kind), self._hold, lease_seconds, lapses_at)

    def _name(self) -> str:
        """By what name the rows say who holds a claim."""
        if self._puller is None:
            self._puller = f"{socket.gethostname()[:40]}-{os.getpid()}-{new_id()[-6:]}"
            # So that its death can be proven; a worker that shares this client keeps its own name.
            self.store.join(self._puller, unless_joined=True)
        return self._puller

    async def settle_many(self, outcomes: Iterable[tuple[BaseClaim, Any]]) -> list[ClaimResult | ClaimLost]:
        """End many claims in few transactions: several times faster than one by one.

        Args:
            outcomes: claims, each with what a handler would have returned or raised: a result, an
                :class:`~ramet.engine.context.outcome.Outcome`, or an exception.

        Returns:
            In the order given, what became of each; a claim that is not current any more has its ``ClaimLost`` here,
            and disturbs no other.

        Raises:
            StoreError: the database could not be reached; what is not ``over`` can be settled again.
        """
        answers: list[ClaimResult | ClaimLost] = []
        asked = list(outcomes)
        for at in range(0, len(asked), SETTLE_BATCH):
            answers += await self._settle_batch(asked[at : at + SETTLE_BATCH])
        return answers

    async def _settle_batch(self, batch: Sequence[tuple[BaseClaim, Any]]) -> list[ClaimResult | ClaimLost]:
        results: list[ClaimResult | ClaimLost | None] = [None] * len(batch)
        sent: list[tuple[int, BaseClaim, Settlement]] = []
        with ExitStack() as kept:
            for at, (claim, outcome) in enumerate(batch):
                kept.enter_context(claim.buffers_kept())
                try:
                    sent.append((at, claim, claim.settlement_for(outcome)))
                except ClaimLost as lost:
                    results[at] = lost
            answers = await self.store.settle([settlement for _, _, settlement in sent])
        for (at, claim, settlement), answer in zip(sent, answers, strict=True):
            claim.let_go()
            try:
                results[at] = claim.settled(answer, settlement)
            except ClaimLost as lost:
                results[at] = lost
        return [answer for answer in results if answer is not None]

    @asynccontextmanager
    async def keep(self, claims: Iterable[BaseClaim]) -> AsyncIterator[None]:
        """Keep these claims alive by heartbeats while the block runs; those without outcome go back at its end.

        For batches that are worked on one after the other. A claim that is lost meanwhile says so at its next verb.
        """
        held = list(claims)
        try:
            for claim in held:
                await claim.keep_alive()
                current_tasks.enter_block(claim.unfinished)
            yield
        finally:
            for claim in held:
                current_tasks.leave_block(claim.unfinished)
                claim.let_go()
            try:
                await self._hand_back([claim.pair for claim in held if not claim.over])
                lost = [claim.pair for claim in held if claim.lost]
                if lost:
                    await self.store.acknowledge(lost)
            except StoreError as error:
                log.warning("claims could not be handed back (%s): they return when their leases lapse", error)

    async def reclaim(self) -> int:
        """Make stale claims pending again, now instead of at a worker's next sweep; return how many.

        The current attempt is lost and does not count, except as one of the losses that make a task poison.
        """
        count = 0
        while True:
            swept = await self.store.sweep()
            count += swept.reclaimed
            if not swept.reclaimed and not swept.poisoned:
                return count

    async def _stop_keeping(self) -> None:
        if self._hold is not None:
            await self._hold.keeper.stop()
