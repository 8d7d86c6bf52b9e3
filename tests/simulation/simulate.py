"""One seeded run of the whole engine: several workers, faults, crashes, people who interfere, one virtual clock."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from ramet.engine.app import App
from ramet.engine.client import Client
from ramet.engine.worker import Worker
from ramet.store.errors import StoreError
from ramet.store.sqlite import SqliteStore
from tests.simulation.faults import Faults, FaultyStore
from tests.simulation.virtual_time import VirtualClock, VirtualLoop, run
from tests.simulation.workload import LIMITS, TABLES, Item, make_app

LEASE_SECONDS = 300.0
END_SECONDS = 60_000.0
"""Everything must be over by then: the lineages' deadlines are a third of it."""


@dataclass
class Plan:
    """What a run consists of."""

    seed: int
    workers: int = 3
    lineages: int = 3
    crashes: int = 4
    jumps: int = 1
    faults: Faults = field(default_factory=Faults)


@dataclass
class Run:
    """What a run leaves."""

    path: Path
    crashes: int
    seconds: float
    """Virtual seconds until everything had ended."""


def simulate(plan: Plan, folder: Path, prepare: Callable[[SqliteStore], None] | None = None) -> Run:
    """Run one plan in ``folder``; raises when something never ends. The same seed gives the same run.

    Args:
        prepare: changes the fresh database before anything runs (to break it on purpose).
    """
    loop = VirtualLoop()
    log = logging.getLogger("ramet")
    numbers = count(1)
    # Ids are made from chance and real time: here they count, so that a seed tells everything.
    with ExitStack() as stack:
        stack.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL)
        for module in ("client", "registry", "worker"):
            stack.enter_context(patch(f"ramet.engine.{module}.new_id", lambda: f"{next(numbers):012d}"))
        stack.enter_context(patch("ramet.engine.worker.os.getpid", lambda: 1))
        return run(_Simulation(plan, folder, loop).run(prepare), loop)


class _Simulation:
    def __init__(self, plan: Plan, folder: Path, loop: VirtualLoop) -> None:
        self._plan = plan
        self._rng = random.Random(plan.seed)
        self._path = folder / f"seed-{plan.seed}.db"
        self._clock = VirtualClock(loop)
        self._app: App = make_app(plan.seed)
        self._running: list[tuple[FaultyStore, asyncio.Task[None]]] = []
        self._crashed: list[asyncio.Task[None]] = []
        self._stores: list[SqliteStore] = []
        self._crashes = 0

    async def run(self, prepare: Callable[[SqliteStore], None] | None) -> Run:
        store = self._open()
        if prepare is not None:
            prepare(store)
        client = Client(self._app.registry, store, LIMITS, tables=TABLES)
        await client.ensure_tables()
        await self._submit(client)
        self._running = [self._start() for _ in range(self._plan.workers)]
        trouble = asyncio.create_task(self._trouble(client))
        try:
            async with asyncio.timeout(END_SECONDS):
                while not await store.idle(["walk", "look"]):
                    await asyncio.sleep(5.0)
                    self._raise_errors()
        finally:
            tasks = [trouble, *self._crashed, *(task for _, task in self._running)]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for opened in self._stores:
                opened.close_now()
        return Run(self._path, self._crashes, self._clock.monotonic())

    def _open(self) -> SqliteStore:
        store = SqliteStore(self._path, clock=self._clock.now, inline=True)
        self._stores.append(store)
        return store

    async def _submit(self, client: Client) -> None:
        rng = self._rng
        for _ in range(self._plan.lineages):
            spread = rng.choice((3, 20, 200))
            items = [
                (rng.choice(("walk", "look")), Item(number=rng.randrange(spread), spread=spread))
                for _ in range(rng.randrange(1, 4))
            ]
            await client.submit_many(items, one_lineage=True)

    def _start(self) -> tuple[FaultyStore, asyncio.Task[None]]:
        rng = random.Random(self._rng.random())
        store = FaultyStore(self._open(), rng, self._plan.faults)
        client = Client(self._app.registry, cast(Any, store), LIMITS)
        worker = Worker(
            self._app,
            client,
            concurrency=rng.randrange(1, 6),
            lease_seconds=LEASE_SECONDS,
            clock=self._clock,
            rng=rng,
        )
        return store, asyncio.create_task(self._live(worker, store))

    async def _live(self, worker: Worker, store: FaultyStore) -> None:
        """A worker that meets an error of the database outside its loops starts again, as a service would."""
        while True:
            try:
                await worker.run()
            except StoreError:
                if store.gone:
                    return
                await asyncio.sleep(1.0)

    def _raise_errors(self) -> None:
        for _, task in self._running:
            if task.done() and not task.cancelled():
                task.result()

    async def _trouble(self, client: Client) -> None:
        """Crashes, clock jumps and people, at moments that the seed chooses."""
        rng = self._rng
        deeds = ["crash"] * self._plan.crashes + ["jump"] * self._plan.jumps + ["cancel", "tree", "revive"]
        rng.shuffle(deeds)
        for deed in deeds:
            await asyncio.sleep(rng.expovariate(1 / 120))
            if deed == "crash":
                self._crash()
            elif deed == "jump":
                self._clock.offset += rng.choice((-500.0, 500.0, 2_000.0))
            else:
                await self._interfere(client, deed)

    def _crash(self) -> None:
        """A worker's memory is gone in the middle of whatever it did; another one takes its place."""
        number = self._rng.randrange(len(self._running))
        store, task = self._running[number]
        store.gone = True
        task.cancel()
        self._crashed.append(task)
        self._crashes += 1
        self._running[number] = self._start()

    async def _interfere(self, client: Client, deed: str) -> None:
        rng = self._rng
        page = await client.tasks(limit=1_000)
        if not page.tasks:
            return
        task = rng.choice(page.tasks)
        try:
            if deed == "cancel":
                await client.cancel(task.id, by="simulation")
            elif deed == "tree":
                await client.cancel(task.id, tree=True, by="simulation")
            else:
                ended = [t.id for t in page.tasks if t.state.terminal]
                await client.revive(rng.sample(ended, min(3, len(ended))), by="simulation")
        except StoreError:
            # Reviving past the deadline is refused: an answer, not a fault.
            return
