"""Working everything off in the test's own loop, one task after the other, without waiting for time to pass."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ramet.engine.app.app import App
from ramet.engine.base.work import work_of
from ramet.engine.client.client import Client
from ramet.engine.context.supervisor_calls import run_supervisor_call
from ramet.engine.running.invocation import invoke
from ramet.engine.running.runner import Runner
from ramet.engine.worker.loops import declare_limits
from ramet.model.lineage.limits import LEASE_SECONDS
from ramet.model.lineage.lineage import LineageOutcome, combined_outcome
from ramet.model.task.task import TaskState
from ramet.store.answers import ClaimedTask, SettleResult
from ramet.store.requests import ClaimRequest, Settlement
from ramet.testing.fixtures import FakeClock

WORKER = "drain"
LOOK_SECONDS = 0.25
"""A handler that really waits (for a socket, a thread) lets as much of the test's time pass as of the real one. One
that is only slow, on a busy machine, lets none pass."""


class Drained(NamedTuple):
    """Result of :func:`drain`."""

    ran: int
    """Handler calls."""
    left: int
    """Live tasks that nothing here can bring on: paused, bound, in other hands, or of kinds not served."""
    advanced_seconds: float
    """Seconds by which the clock was advanced for delayed tasks and retries."""
    refused: Mapping[str, int] = {}
    """Spawns that the guard refused meanwhile, by reason (:class:`ramet.BlockReason`)."""
    outcome: LineageOutcome = LineageOutcome(0, {})
    """Outcome of all lineages of the database together: failed tasks, and wanted tasks that do not exist."""


async def drain(
    app: App,
    client: Client,
    *,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    advance: bool = True,
    outlive_leases: bool = False,
    tasks_max: int = 100_000,
) -> Drained:
    """Run the app's handlers until nothing is left to do: retries, snoozes and all that was spawned included.

    One handler at a time, in the order in which a worker would claim, through the code that a worker runs. Limits that
    the app declares hold, as under a worker: a rate takes its time of the clock.

    Args:
        app: whose handlers to run.
        client: from :func:`ramet.testing.fresh_client`.
        kinds: only these. Pulled kinds run where a handler invokes them, as under a worker.
        seed: of the draws for the back-off: the same seed gives the same run.
        advance: jump to the next delayed task when nothing else is left; False leaves delayed tasks alone.
        outlive_leases: also jump past the leases of claims in other hands, as after a crash.
        tasks_max: handler calls after which it gives up: something feeds itself.

    Raises:
        RuntimeError: it gave up.
    """
    await declare_limits(app, client.store)
    clock = client.clock if isinstance(client.clock, FakeClock) and advance else None
    began_at, before = client.clock.now(), await _refused(client)
    async with app.opened() as lifespan:
        draining = _DrainSupervisor(app, client, kinds, seed, lifespan)
        try:
            await draining.all(clock, tasks_max, outlive_leases=outlive_leases)
        finally:
            await draining.runner.stop()
    left = sum(item.tasks for item in await client.counts() if not TaskState(item.state).terminal)
    refused = dict(sorted((await _refused(client) - before).items()))
    return Drained(draining.ran, left, client.clock.now() - began_at, refused, await _outcome(client))


async def _outcome(client: Client) -> LineageOutcome:
    found: list[LineageOutcome] = []
    before: str | None = None
    while True:
        page = await client.lineage_page(limit=1_000, before=before)
        found += [lineage.outcome for lineage in page.lineages]
        before = page.next_before
        if before is None:
            return combined_outcome(found)


async def _refused(client: Client) -> Counter[str]:
    """Refused spawns of all time, by reason; a refused ``ctx.reserve`` is none."""
    return (await client.tallies(kinds=False)).refused()


def _idle() -> bool:
    """Return whether the event loop has nothing to run; asyncio offers no other sign. A foreign loop counts as idle."""
    return not getattr(asyncio.get_running_loop(), "_ready", None)


class _DrainSupervisor:
    """The supervisor's part of a worker, as small as it can be."""

    def __init__(self, app: App, client: Client, kinds: Sequence[str] | None, seed: int, lifespan: Any) -> None:
        # Of pulled kinds a claim gives those that are ending, as it does to a worker.
        served = [app.registry.get(name) for name in kinds] if kinds is not None else list(app.registry.kinds)
        self._client = client
        self._registry = app.registry
        self._store = client.store
        self._names = [kind.name for kind in served]
        self._queues = sorted({kind.queue for kind in served})
        self._delivered: list[Settlement] = []
        self._arrived = asyncio.Event()
        self.ran = 0
        self.runner = Runner(
            app.registry,
            self,
            concurrency=1,
            lease_seconds=LEASE_SECONDS,
            rng=random.Random(seed),
            clock=client.clock,
            width=max((kind.how.batch for kind in served), default=1),
            on_start=app.registry.listeners.on_start,
            lifespan=lifespan,
        )
        self.runner.start()

    async def all(self, clock: FakeClock | None, tasks_max: int, *, outlive_leases: bool) -> None:
        """Run one task after the other until nothing is left to do.

        Args:
            clock: is advanced to the next delayed task; None leaves those alone.

        Raises:
            RuntimeError: the allowed number of handler calls was not enough.
        """
        while True:
            if await self.one():
                if self.ran >= tasks_max:
                    raise RuntimeError(f"after {tasks_max} handler calls there is still more: raise tasks_max")
                continue
            if (await self._store.sweep()).changed:
                continue
            next_at = None if clock is None else await self.next_at(outlive_leases)
            if clock is None or next_at is None:
                return
            clock.advance(max(0.0, next_at - clock.now()))

    async def one(self) -> bool:
        """Run one task; False when none can be claimed."""
        request = ClaimRequest(WORKER, self._queues, self._names, 1, LEASE_SECONDS)
        claimed = await self._store.claim(request)
        if not claimed:
            return False
        kind = claimed[0].standing.kind
        company = self._registry.get(kind).how.batch - 1
        if company and claimed[0].standing.ending is None:
            claimed += await self._store.claim(request._replace(kinds=[kind], limit=company))
        self.ran += 1
        await self._run(claimed)
        return True

    async def _run(self, claimed: Sequence[ClaimedTask]) -> None:
        self._arrived.clear()
        self.runner.add([work_of(item) for item in claimed])
        self.runner.gather_no_more()
        while len(self._delivered) < len(claimed) and self.runner.busy:
            try:
                await asyncio.wait_for(self._arrived.wait(), LOOK_SECONDS)
                self._arrived.clear()
            except TimeoutError:
                if isinstance(self._client.clock, FakeClock) and _idle():
                    self._client.clock.advance(LOOK_SECONDS)
        delivered, self._delivered = self._delivered, []
        if delivered:
            await self._store.settle(delivered)

    async def next_at(self, outlive_leases: bool) -> float | None:
        """Return the time of the next possible step."""
        moments = [await self._store.next_due_at()]
        if outlive_leases:
            page = await self._client.tasks(states=[TaskState.PROCESSING], limit=1_000)
            moments += [task.lease_until for task in page.tasks]
        return min((moment for moment in moments if moment is not None), default=None)

    # The runner's port.

    def deliver(self, settlement: Settlement) -> None:
        self._delivered.append(settlement)
        self._arrived.set()

    def stopped(self, claim: tuple[int, int]) -> None:
        self._arrived.set()

    async def call(self, settlement: Settlement) -> SettleResult:
        [settled] = await self._store.settle([settlement])
        return settled

    async def ask(self, errand: str, *arguments: Any) -> Any:
        return await run_supervisor_call(self._store, errand, arguments)

    invoke = staticmethod(invoke)

    def client(self) -> Client:
        return self._client
