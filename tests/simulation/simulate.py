"""One seeded run of the whole engine: several workers, faults, crashes, people who interfere, one virtual clock."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast
from unittest.mock import patch

from ramet.engine.app.app import App
from ramet.engine.client.client import Client
from ramet.engine.worker.worker import Worker
from ramet.store.errors import StoreError
from ramet.store.schema import versions
from tests.simulation.checks import rows_of, violations
from tests.simulation.database import SIMULATED, MemoryStore, SimulatedStore
from tests.simulation.doubled_loops import DoubledWorker
from tests.simulation.event_counts import counted, happened
from tests.simulation.faults import Faults, FaultyStore
from tests.simulation.observed_answers import Witness
from tests.simulation.people import DEEDS, OF_PARTS, People
from tests.simulation.virtual_time import VirtualClock, VirtualLoop, run
from tests.simulation.workload import TABLES, make_app
from tests.simulation.workload_parts import parts_of
from tests.upgrade.plans import NEXT

LEASE_SECONDS = 300.0
END_SECONDS = 80_000.0
"""Everything must be over by then: the lineages' deadlines are a quarter of it."""
STALLED_SECONDS = 12_000.0
"""Whatever lasts longer has waited for a lineage's deadline: what delays a run by itself takes a fraction of it."""
POLL_SECONDS, SWEEP_SECONDS, ENDS_SECONDS = 25.0, 20.0, 15.0
"""How often loops look that find nothing, most of the time. Bells wake them in between."""

Prepare = Callable[[SimulatedStore], None]


@dataclass
class Plan:
    """What a run consists of."""

    seed: int
    on: str = "sqlite"
    """Which database."""
    workers: int = 3
    lineages: int = 3
    crashes: int = 4
    jumps: int = 2
    faults: Faults = field(default_factory=Faults)
    prepare: Prepare | None = None
    """Changes the fresh database before anything runs (to break it on purpose)."""
    trace: bool = False
    parts: frozenset[str] | None = None
    """What it has besides plain tasks (:data:`tests.simulation.workload_parts.PARTS`); by default what the seed
    draws."""
    later: versions.SchemaPlan = NEXT
    """The schema that a run with an upgrade gets."""


@dataclass
class Run:
    """What a run leaves."""

    violations: list[str]
    dump: list[str]
    """The whole database."""
    trace: list[str]
    """One line for each verb and each deed, where that was asked for."""
    outcomes: dict[str, int]
    """How often attempts ended in which way."""
    deaths: int
    seconds: float
    """Virtual seconds until everything had ended."""
    events: Counter[str]
    """How often what happened (:mod:`tests.simulation.event_counts`)."""


def simulate(plan: Plan, folder: Path) -> Run:
    """Run one plan; raises when something never ends. The same seed gives the same run.

    Args:
        folder: where the database would be, were it not in memory.
    """
    loop = VirtualLoop()
    SIMULATED[plan.on].ready()
    with no_chance(), survived() as errors, counted() as decided:
        found = run(_Simulation(plan, folder, loop).run(), loop)
    found.events.update(decided)
    found.violations.extend(errors)
    return found


@contextmanager
def survived() -> Iterator[list[str]]:
    """Errors of the engine itself that it logs and outlives: here each is a broken promise."""
    log, collecting = logging.getLogger("ramet"), _Collecting(logging.ERROR)
    of_handlers = logging.getLogger("ramet.tasks")
    with ExitStack() as stack:
        for each, level in ((log, logging.ERROR), (of_handlers, logging.CRITICAL)):
            stack.callback(each.setLevel, each.level)
            each.setLevel(level)
        stack.enter_context(patch.object(log, "propagate", False))
        stack.enter_context(patch.object(log, "handlers", [collecting]))
        yield collecting.lines


class _Collecting(logging.Handler):
    """One line for each error."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.lines.append(record.getMessage() + (f": {type(error).__name__}: {error}" if error else ""))


@contextmanager
def no_chance() -> Iterator[None]:
    """Ids are made from chance and real time, names from the machine: here they count, so that a seed tells all."""
    log, numbers = logging.getLogger("ramet"), count(1)
    with ExitStack() as stack:
        stack.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL)
        stack.enter_context(
            patch("ramet.engine.base.clock.os.urandom", lambda size: next(numbers).to_bytes(size, "big"))
        )
        stack.enter_context(patch("ramet.engine.base.clock.time.time_ns", lambda: 0))
        stack.enter_context(patch("ramet.engine.worker.worker.socket.gethostname", lambda: "simulated"))
        stack.enter_context(patch("ramet.engine.worker.worker.os.getpid", lambda: 1))
        # Handlers of the workload are overdue after minutes: looking every quarter of a second is most of a run.
        stack.enter_context(patch("ramet.engine.running.runner.OVERDUE_CHECK_SECONDS", 15.0))
        # So that there are more who wait for one task than one transaction writes.
        stack.enter_context(patch("ramet.store.rows.waits.TOGETHER_MAX", 2))
        # Every worker reads what every installed package declares: a fifth of a run.
        stack.enter_context(patch("ramet.engine.alerts.channels.installed", dict))
        yield


class _Process(NamedTuple):
    """A worker, its view of the database and what keeps it running."""

    store: FaultyStore
    worker: Worker
    life: asyncio.Task[None]


class _Simulation:
    def __init__(self, plan: Plan, folder: Path, loop: VirtualLoop) -> None:
        self._plan = plan
        self._rng = random.Random(plan.seed)
        self._clock = VirtualClock(loop)
        self._trace: list[str] = []
        self._store = SIMULATED[plan.on](folder, self._clock.now)
        self._parts = parts_of(plan.seed, plan.on) if plan.parts is None else plan.parts
        self._witness = Witness(self._store, self._clock.now, self._parts)
        self._app: App
        self._app, self._kinds = make_app(plan.seed, self._parts)
        self._copy: tuple[Any, dict[str, Any]] | None = None
        self._names = count(1)
        self._running: dict[str, _Process] = {}
        self._others: list[asyncio.Task[None]] = []
        self._deaths = 0

    def _tell(self, line: str) -> None:
        if self._plan.trace:
            self._trace.append(f"{self._clock.monotonic():12.3f} {line}")

    async def run(self) -> Run:
        plan, store = self._plan, self._store
        if plan.prepare is not None:
            plan.prepare(store)
        client = self._client("people")
        await store.ensure_tables(TABLES)
        people = People(client, self._rng, self._tell, self._kinds, self._parts)
        for _ in range(plan.workers):
            self._start()
        submitting = asyncio.create_task(people.submit(plan.lineages))
        trouble = asyncio.create_task(self._trouble(people))
        self._others += [submitting, trouble]
        try:
            async with asyncio.timeout(END_SECONDS):
                await submitting
                served = [kind.name for kind in self._app.registry.kinds]
                while (
                    people.busy or ("schedules" in self._parts and not trouble.done()) or not await store.idle(served)
                ):
                    await asyncio.sleep(20.0)
                    self._raise_errors()
            return await self._result()
        finally:
            tasks = [*self._others, *(process.life for process in self._running.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            store.close_now()

    async def _result(self) -> Run:
        outcomes = dict(self._store.rows("SELECT outcome, COUNT(*) FROM ramet_attempts GROUP BY outcome"))
        found = [*self._witness.violations(), *await violations(self._store, self._witness.pruned)]
        seconds = self._clock.monotonic()
        if seconds > STALLED_SECONDS:
            found.append(f"it took {seconds:.0f} s: something waited until the deadline of its lineage")
        dump = self._store.dump() if self._plan.trace else []
        events = self._witness.events + happened(self._store, self._witness)
        return Run(found, dump, self._trace, outcomes, self._deaths, seconds, events)

    def _faulty(self, name: str) -> FaultyStore:
        rng = random.Random(self._rng.random())
        return FaultyStore(name, self._witness, rng=rng, faults=self._plan.faults, tell=self._tell)

    def _client(self, name: str) -> Client:
        client = Client(self._app.registry, cast(Any, self._faulty(name)), self._app.limits)
        client.settings.monotonic = self._clock.monotonic
        return client

    def _start(self) -> None:
        name = f"w{next(self._names)}"
        client = self._client(name)
        store = cast(FaultyStore, client.store)
        rng = random.Random(self._rng.random())
        make = DoubledWorker if rng.random() < 0.3 else Worker
        worker = make(
            self._app, client, concurrency=rng.randrange(1, 6), lease_seconds=LEASE_SECONDS, clock=self._clock,
            rng=rng, poll_seconds=POLL_SECONDS, sweep_seconds=SWEEP_SECONDS, ends_seconds=ENDS_SECONDS,
        )  # fmt: skip
        store.on_death = lambda: self._bury(name)
        self._running[name] = _Process(store, worker, asyncio.create_task(self._live(name, worker, store)))

    async def _live(self, name: str, worker: Worker, store: FaultyStore) -> None:
        """A worker that meets an error of the database outside its loops starts again, as a service would."""
        while True:
            try:
                await worker.run()
            except StoreError:
                if store.gone:
                    return
                await asyncio.sleep(1.0)
            else:
                if name in self._running:
                    self._others.append(self._running.pop(name).life)
                    self._start()
                return

    def _raise_errors(self) -> None:
        for life in [*self._others, *(process.life for process in self._running.values())]:
            if life.done() and not life.cancelled():
                life.result()

    def _bury(self, name: str) -> None:
        """A worker's memory is gone in the middle of whatever it did; another one takes its place."""
        if name not in self._running:
            return
        store, _, life = self._running.pop(name)
        store.gone = True
        # Not from inside the dying task itself: what a cancelled handler does last must find the process dead.
        asyncio.get_running_loop().call_soon(life.cancel)
        self._others.append(life)
        self._deaths += 1
        self._start()

    async def _trouble(self, people: People) -> None:
        """Crashes, clock jumps and people, at moments that the seed chooses."""
        rng = self._rng
        deeds = ["crash"] * self._plan.crashes + ["jump"] * self._plan.jumps + ["drain", "stop", *DEEDS]
        deeds += [deed for part, more in OF_PARTS.items() if part in self._parts for deed in more]
        rng.shuffle(deeds)
        for deed in deeds:
            await asyncio.sleep(rng.expovariate(1 / 30))
            if deed == "crash":
                self._crash()
            elif deed in ("drain", "stop"):
                name = rng.choice(sorted(self._running))
                self._tell(f"{name} is told to {deed}")
                getattr(self._running[name].worker, deed)()
            elif deed == "jump":
                self._clock.offset += rng.choice((-500.0, -20.0, 20.0, 500.0, 2_000.0))
                self._tell(f"the clock is {self._clock.offset:+.0f} s off")
            elif deed == "deadline":
                self._jump_to_deadline()
            elif deed == "upgrade":
                self._upgrade()
            elif deed == "copy":
                assert isinstance(self._store, MemoryStore)
                self._copy = self._store.copy(), self._witness.remember()
            elif deed == "restore":
                await self._restore(people)
            elif "at once" in self._parts:
                self._others.append(asyncio.create_task(people.do(deed)))
            else:
                await people.do(deed)
        await people.hush()

    def _jump_to_deadline(self) -> None:
        """The clock jumps to the moment at which a lineage ends that has a task running."""
        deadlines = self._store.rows(
            "SELECT DISTINCT g.deadline_at FROM ramet_live l JOIN ramet_lineages g ON g.tracking_id = l.tracking_id "
            "WHERE l.state = 'processing' ORDER BY 1"
        )
        if deadlines:
            [deadline_at] = self._rng.choice(deadlines)
            self._clock.offset += max(0.0, deadline_at - self._clock.now())
            self._tell(f"the clock is {self._clock.offset:+.0f} s off, at a deadline")

    def _upgrade(self) -> None:
        """A later version changes the schema while workers of this one run; what they know stays as it is."""
        before = rows_of(self._store, columns := self._store.columns())
        self._store.upgrade(self._plan.later)
        self._tell("the schema is a later one")
        self._witness.events["upgraded"] += 1
        self._witness.events["upgraded under claims"] += bool(self._witness.leases())
        after = rows_of(self._store, columns)
        self._witness.broken += [f"the upgrade changed table {name}" for name in before if before[name] != after[name]]

    async def _restore(self, people: People) -> None:
        """The machine is lost with everybody on it; a copy of the database goes on elsewhere."""
        if self._copy is None:
            return
        assert isinstance(self._store, MemoryStore)
        copy, memory = self._copy
        dead, self._copy = list(self._running), None
        self._store.restore(copy)
        self._witness.go_back(memory)
        for name in dead:
            self._bury(name)
        self._tell("a copy takes the place of the database")
        self._witness.events["restored"] += 1
        await people.make_good()

    def _crash(self) -> None:
        """Now, or at one of the next statements."""
        name = self._rng.choice(sorted(self._running))
        if self._rng.random() < 0.5:
            self._tell(f"{name} dies")
            self._bury(name)
        else:
            self._running[name].store.die_soon()
