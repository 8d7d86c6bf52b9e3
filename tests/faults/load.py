"""Four workers on one database, trees that are submitted while they work, and faults in between."""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from ramet import Client, Limits
from ramet.store.errors import StoreError
from tests.crash.process import WorkerProcess
from tests.faults.checker import Asked, wrong
from tests.faults.effects import EFFECTS, count, effects
from tests.faults.fault_app import BUDGET, MONEY, app, submit_tree
from tests.support.waiting import until

WORKERS = 4
CONCURRENCY = 4
LEASE_SECONDS = 3.0
QUICK = {
    "worker.lease_seconds": LEASE_SECONDS,
    "worker.heartbeat_seconds": 0.5,
    "worker.poll_seconds": 0.1,
    "maintenance.sweep_seconds": 0.2,
}
"""So that what a fault leaves behind is taken up again within seconds."""
READY = " serves "
"""What a worker's log says once it listens to signals."""
LIMITS = (None, Limits(max_tasks=BUDGET), Limits(max_cost=MONEY))
"""Of one tree after the other."""


@asynccontextmanager
async def under_load(load: Load) -> AsyncIterator[Load]:
    """What happens inside happens while four workers work; afterwards everything drains and is checked."""
    try:
        await load.begin()
        yield load
        await load.finish()
    finally:
        load.end()


class Load:
    """Everything that goes on while faults happen."""

    def __init__(self, address: str, folder: Path, seed: int, *, direct: str | None = None) -> None:
        """Args:
        address: of the database, as workers and submitters know it: through the proxy, say.
        folder: for logs and effects.
        direct: the address that the checker uses; the same by default.
        """
        self.address, self.direct, self.folder = address, direct or address, folder
        self.rng = random.Random(seed)
        self.workers: list[WorkerProcess] = []
        self.roots: dict[str, str] = {}
        self.limits: dict[str, Limits] = {}
        self.refused = 0
        """Submits that failed before they were acknowledged."""
        self._names = (f"tree-{number}" for number in itertools.count())
        self._effects = folder / "effects"
        self._effects.touch()

    async def begin(self) -> None:
        """Make the database, submit a few trees, start the workers."""
        async with app.client(self.direct) as client:
            await client.ensure_tables()
            for name, value in QUICK.items():
                await client.settings.set(name, value)
        await self.submit(3)
        for _ in range(WORKERS):
            self.start_worker()
        # One that finds no server when it starts says so and ends; here it is about those that are at work.
        await self._all_serve()

    async def _all_serve(self) -> None:
        await until(lambda: all(READY in worker.log for worker in self.workers), "every worker serves")

    def start_worker(self) -> None:
        """One more."""
        self.workers.append(
            WorkerProcess(
                self.address, "--concurrency", str(CONCURRENCY), app="tests.faults.fault_app:app",
                environment={EFFECTS: str(self._effects)}, folder=self.folder,
            )
        )  # fmt: skip

    async def submit(self, trees: int = 1) -> None:
        """So many more; each is submitted again and again until it is acknowledged."""
        for name in itertools.islice(self._names, trees):
            limits = LIMITS[len(self.roots) % len(LIMITS)]
            if limits is not None:
                self.limits[name] = limits
            self.roots[name] = await until(partial(self._try, name, limits), f"{name} is taken")

    async def _try(self, name: str, limits: Limits | None) -> str:
        try:
            async with app.client(self.address) as client:
                return await submit_tree(client, name, limits)
        except StoreError:
            self.refused += 1
            return ""

    # --- how far it is

    def progress(self) -> int:
        """Effects so far."""
        return count(self._effects)

    async def go_on(self, more: int) -> None:
        """Let so many more effects happen."""
        target = self.progress() + more

        def far_enough() -> bool:
            self.look_at_workers()
            return self.progress() >= target

        await until(far_enough, f"{more} more effects after {target - more}")

    async def leases_lapse(self) -> None:
        """Wait for longer than a claim lives without a heartbeat."""
        at = time.monotonic() + LEASE_SECONDS
        await until(lambda: time.monotonic() > at, "the leases lapse")

    async def workers_say(self, what: str) -> None:
        """Wait until one of them has logged this."""
        await until(lambda: any(what in worker.log for worker in self.workers), f"a worker says {what!r}")

    def look_at_workers(self) -> None:
        """A worker ends when it is told to, and by nothing that a database does."""
        for worker in self.workers:
            assert not worker.ended, f"a worker ended by itself:\n{worker.log}"

    async def faults(self, times: int, fault: Callable[[], None], *, effects_between_max: int = 20) -> None:
        """The fault at seeded moments of the progress, with more trees all the time."""
        for _ in range(times):
            await self.submit()
            await self.go_on(self.rng.randint(1, effects_between_max))
            fault()

    # --- faults of workers

    def kill_a_worker(self) -> None:
        """kill -9 of one of them; another takes its place."""
        victim = self.rng.choice(self.workers)
        victim.kill()
        self.workers.remove(victim)
        self.start_worker()

    # --- the end

    async def finish(self) -> None:
        """Everything drains, the workers end in good order, and every promise was kept."""
        async with app.client(self.direct) as client:
            await until(lambda: self._drained(client), "everything has ended")
            # One that was started last may not listen to signals yet.
            await self._all_serve()
            for worker in self.workers:
                worker.send(signal.SIGTERM)
            for worker in self.workers:
                code = await asyncio.to_thread(worker.code)
                assert code == 0, worker.log
            told = effects(self._effects)
            found = await wrong(client.store, Asked(self.roots, self.limits), told)
            assert not found, "\n".join(found)

    async def _drained(self, client: Client) -> bool:
        self.look_at_workers()
        return not await client.store.read("SELECT 1 FROM ramet_lineages WHERE ended_at IS NULL LIMIT 1")

    def end(self) -> None:
        """For the end of a test, in whatever state it left the workers."""
        for worker in self.workers:
            with suppress(ProcessLookupError):
                worker.end_whatever_it_does()
