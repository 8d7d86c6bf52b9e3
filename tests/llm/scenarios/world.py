"""The pipeline as it runs, on a virtual clock: workers with all their loops, the schedule, the provider, one database.

Nothing is called by the test but a submit: slots come by the clock, the poller's invocations wait for what comes due,
maintenance sweeps. What goes wrong is said by the story: the provider, single statements, the process.
"""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast
from unittest.mock import patch

import pytest

from ramet import Client, Task
from ramet.engine.worker.worker import Worker
from ramet.llm import pipeline
from ramet.llm.calls import calling
from ramet.llm.jobs import Job, find_job, submit_job
from ramet.llm.providers.base import Mode, Provider
from ramet.llm.settings import BATCH_ITEM, ITEM, JobSettings
from ramet.llm.status import JobStatus, status_of
from ramet.store.errors import StoreBusy, StoreError
from ramet.store.requests import ClaimRequest
from tests.llm.running.conftest import DEAR, MODEL, asked
from tests.llm.scenarios.slow_provider import SlowProvider
from tests.simulation.database import SIMULATED, SimulatedStore
from tests.simulation.faults import Died
from tests.simulation.simulate import no_chance, survived
from tests.simulation.virtual_time import VirtualClock, VirtualLoop, run

Told = TypeVar("Told")
Story = Callable[["World"], Awaitable[Told]]
Fault = Callable[[str, str], Exception | None]
"""Given ``before`` or ``after`` and a statement: what the database raises there, if anything."""

SLOT_SECONDS = 300.0
LEASE_SECONDS = 300.0
STEP_SECONDS = 0.001
SCHEDULE = "llm"
LOOK_SECONDS = 60.0
"""How often loops look that find nothing, most of the time. Bells wake them in between."""
ENOUGH_SECONDS = 80 * 3_600.0
"""Whatever happens, every job has ended by then."""


def on_both(some: Iterable[Sequence[Any]], more: Iterable[Sequence[Any]] = (), *, server: bool = True) -> list[Any]:
    """Parameters: each database with each of these.

    A server is ten times as slow: all but its first is ``nightly``, and that too without ``server``.
    """
    found: list[Any] = []
    for number, values in enumerate(some):
        found += [
            pytest.param("postgres", *values, marks=[pytest.mark.nightly] if number or not server else []),
            pytest.param("sqlite", *values),
        ]
    found += [pytest.param(on, *values, marks=pytest.mark.nightly) for values in more for on in sorted(SIMULATED)]
    return found


class StepClock(VirtualClock):
    """A clock on which every pause moves time, as on a real one: a moment less than a number can tell would not."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(max(seconds, STEP_SECONDS))


class PulledClaim(NamedTuple):
    """What an invocation took at once."""

    at: float
    tasks: tuple[str, ...]


class View:
    """One process's way to the database. What is left of a dead process reaches nothing any more."""

    def __init__(self, world: World) -> None:
        self.gone = False
        self.on_death: Callable[[], None] = lambda: None
        self._world, self._store = world, world.store

    def join(self, worker: str, *, unless_joined: bool = False) -> None:
        """A simulated worker has no process of its own whose death could be proven: leases must do."""

    async def wait_for_work(self, timeout_seconds: float) -> None:
        """As the store's, but never for less than time can pass in one step."""
        await self._store.wait_for_work(max(timeout_seconds, STEP_SECONDS))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not asyncio.iscoroutinefunction(found):
            return found

        async def call(*arguments: Any, **options: Any) -> Any:
            if self.gone:
                raise StoreBusy("the process is gone")
            self._store.hook(self._around if self._world.fault or self._world.dies_in is not None else None)
            try:
                answer = await found(*arguments, **options)
            except Died as died:
                # A dead process has no transaction; this one lives on for the others.
                self._store.abandon()
                self.gone = True
                self.on_death()
                raise StoreBusy("the process is gone") from died
            finally:
                self._store.hook(None)
            if name == "claim":
                self._world.note(arguments[0], answer)
            return answer

        return call

    def _around(self, when: str, sql: str) -> None:
        world = self._world
        if world.dies_in is not None:
            world.dies_in -= 1
            if world.dies_in < 0:
                world.dies_in = None
                raise Died(when, sql)
        error = world.fault(when, sql) if world.fault is not None else None
        if error is not None:
            world.faults += 1
            raise error


@dataclass
class Set:
    """What a world begins with."""

    on: str
    """Which database."""
    mode: Mode
    seed: int = 0
    workers: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the engine, by name."""


class World:
    """Everything that a story has to do with."""

    def __init__(self, given: Set, folder: Path, loop: VirtualLoop) -> None:
        self.given = given
        self.rng = random.Random(given.seed)
        self.clock = StepClock(loop)
        self.store: SimulatedStore = SIMULATED[given.on](folder, self.clock.now)
        self.provider = SlowProvider(given.mode, self.clock.now)
        self.pulled: list[PulledClaim] = []
        self.fault: Fault | None = None
        self.faults = 0
        """How often it raised."""
        self.dies_in: int | None = None
        """So many statements from now on the process dies that sends the next one."""
        self.deaths = 0
        self.client = self._client(View(self))
        self._running: dict[str, tuple[View, asyncio.Task[None]]] = {}
        self._others: list[asyncio.Task[None]] = []
        self._names = count(1)

    def _client(self, view: View) -> Client:
        app = pipeline.app
        client = Client(app.registry, cast(Any, view), app.limits, tables=app.tables, clock=self.clock)
        client.settings.monotonic = self.clock.monotonic
        return client

    # --- running

    async def tell(self, story: Story[Told]) -> Told:
        """Run a story to its end."""
        await self.client.ensure_tables()
        for name, value in self.given.settings.items():
            await self.client.settings.set(name, value)
        for _ in range(self.given.workers):
            self._start()
        try:
            async with asyncio.timeout(ENOUGH_SECONDS):
                return await story(self)
        finally:
            tasks = [*self._others, *(life for _, life in self._running.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await calling.close()
            self.store.close_now()

    def _start(self) -> None:
        name, view = f"w{next(self._names)}", View(self)
        worker = Worker(
            pipeline.app, self._client(view), concurrency=4, lease_seconds=LEASE_SECONDS, clock=self.clock,
            rng=random.Random(self.rng.random()), poll_seconds=LOOK_SECONDS, sweep_seconds=LOOK_SECONDS / 2,
            ends_seconds=LOOK_SECONDS,
        )  # fmt: skip
        view.on_death = lambda: self.kill(name)
        self._running[name] = view, asyncio.create_task(self._live(worker, view))

    async def _live(self, worker: Worker, view: View) -> None:
        """A worker that meets an error of the database outside its loops starts again, as a service would."""
        while True:
            try:
                await worker.run()
            except StoreError:
                if view.gone:
                    return
                await asyncio.sleep(1.0)

    def kill(self, name: str | None = None) -> None:
        """A worker's memory is gone, in the middle of whatever it did; another one takes its place."""
        name = name or self.rng.choice(sorted(self._running))
        if name not in self._running:
            return
        view, life = self._running.pop(name)
        view.gone = True
        # Not from inside the dying task itself: what a cancelled handler does last must find the process dead.
        asyncio.get_running_loop().call_soon(life.cancel)
        self._others.append(life)
        self.deaths += 1
        self._start()

    # --- looking

    def note(self, request: ClaimRequest, claimed: Sequence[Any]) -> None:
        """What a process claimed."""
        if request.pulled and claimed:
            self.pulled.append(PulledClaim(self.clock.now(), tuple(one.id for one in claimed)))

    async def claims_of_slots(self) -> dict[float, int]:
        """How many items and batches each run of the schedule took on."""
        slots = await self.client.schedules.slots(SCHEDULE, limit=1_000)
        began = sorted(slot.slot_at for slot in slots if slot.outcome == "run")
        counts = dict.fromkeys(began, 0)
        for claim in self.pulled:
            counts[began[bisect_right(began, claim.at) - 1]] += len(claim.tasks)
        return counts

    async def links_of_slots(self) -> dict[float, list[str]]:
        """How the links of each run's chain ended; a lost one is one more entry."""
        found: dict[float, list[str]] = {}
        for slot in await self.client.schedules.slots(SCHEDULE, limit=1_000):
            if slot.outcome != "run" or slot.tracking_id is None:
                continue
            [root] = await self.client.roots(slot.tracking_id)
            history = await self.client.history(root.id)
            assert history is not None
            found[slot.slot_at] = [attempt.outcome for attempt in history.attempts]
        return found

    async def submit(self, texts: list[str], *, name: str = "job", max_cost: int = 10**12, **settings: Any) -> Job:
        """A job that asks these."""
        made = JobSettings(provider="fake", mode=self.given.mode, prices={MODEL: DEAR}, rows=0, items=0, **settings)
        while True:
            try:
                job, _ = await submit_job(self.client, name, asked(texts), made, max_cost=max_cost)
            except StoreError:
                await asyncio.sleep(1.0)
            else:
                return job

    async def status(self, name: str = "job") -> JobStatus:
        """Where a job stands."""
        return await status_of(self.client, await find_job(self.client, name), now=self.clock.now())

    async def over(self, *names: str) -> None:
        """Until these jobs have ended, and all that is done after an end."""
        for name in names or ("job",):
            while True:
                lineage = (await find_job(self.client, name)).lineage
                if lineage.ended_at is not None and lineage.live == 0:
                    break
                await asyncio.sleep(LOOK_SECONDS)

    async def items(self, name: str = "job") -> dict[str, Task]:
        """The items of a job, by what they ask."""
        job = await find_job(self.client, name)
        found = {}
        for kind in (ITEM, BATCH_ITEM):
            async for task in self.client.all_tasks(kind=kind, tracking_id=job.job_id):
                found[str(task.payload["messages"][0]["content"])] = task
        return found


def play(given: Set, folder: Path, story: Story[Told]) -> Told:
    """Let a story happen; the same seed gives the same one.

    Args:
        folder: where the database would be, were it not in memory.
    """
    loop = VirtualLoop()
    SIMULATED[given.on].ready()
    with no_chance(), survived() as errors, _in_virtual_time(given.seed):
        world = World(given, folder, loop)
        with _provider(world):
            told = run(world.tell(story), loop)
    assert errors == [], errors
    return told


@contextmanager
def _in_virtual_time(seed: int) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(patch("ramet.llm.items._chance", random.Random(seed)))
        # Times at which something is due are met to the moment; this is how often it looks in between.
        stack.enter_context(patch("ramet.engine.running.invocation.LOOK_SECONDS", LOOK_SECONDS))
        stack.enter_context(patch("ramet.engine.running.invocation.ENDS_SECONDS", LOOK_SECONDS))
        yield


@contextmanager
def _provider(world: World) -> Iterator[None]:
    opener = calling.opener
    calling.opener = lambda settings: cast(Provider, world.provider)
    try:
        yield
    finally:
        calling.opener = opener
