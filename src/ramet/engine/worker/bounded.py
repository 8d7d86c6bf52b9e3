"""Runs with an end: what bounds one run of a worker, and what the run reports (docs/decisions/0061)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

from ramet.engine.app.app import DATABASE, App
from ramet.engine.base.clock import Clock
from ramet.engine.client.client import Client
from ramet.engine.client.schedules import ScheduleDeclaration
from ramet.engine.kinds.registry import Kind
from ramet.engine.worker.loops import PAUSE_SECONDS_MIN, tick
from ramet.model.task import events as ev
from ramet.model.values import INTEGER_MAX, SECONDS_MAX, seconds, whole
from ramet.store.answers import SettleResult
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.requests import Settlement

log = own_logger("ramet.worker")

CLAIM_SHARE = 0.8
"""Share of a run's time after which no more tasks are claimed, and running handlers may end."""
DRAIN_SECONDS_MAX = 60.0
"""A long run claims until this long before its end."""
STOP_SHARE = 0.05
"""Share of a run's time, at its end, for handing back what still runs."""
STOP_SECONDS_MAX = 5.0

NOTHING_DUE, TIME, TASKS, DRAINED = "nothing_due", "time", "tasks", "drained"


class RunReport(NamedTuple):
    """Report of one bounded run (:func:`ramet.run_once`)."""

    settled: int
    """Claims that were settled, those of handlers that pull tasks included."""
    states: Mapping[str, int]
    """The same by the state that followed; ``pending`` is a retry, a snooze or a continuation."""
    due: int
    """Tasks of the served kinds that could be claimed now; counted up to 10,000."""
    delayed: int
    """Those whose time is to come; counted up to 10,000."""
    next_due_at: float | None
    """Moment at which the first of the delayed ones is due, Unix seconds."""
    ended: str
    """``nothing_due``, ``time``, ``tasks`` (the most that it may claim) or ``drained`` (a signal)."""


class RunOptions(TypedDict, total=False):
    """Bounds of one run of a :class:`ramet.Worker`. The first that is reached counts."""

    once: bool
    """Return when nothing that the worker serves is due; what is delayed is left. Not together with ``until_idle``."""
    run_seconds: float | None
    """Return after so long: nothing is claimed in the last fifth (at most a minute), and what still runs shortly before
    the end goes back with its attempt."""
    max_tasks: int | None
    """Most tasks to claim."""
    foreground: bool
    """Take the tasks that schedules pull (``pulls=``) as any others: a person's run is a trigger of its own. Runs with
    one of the three other bounds start these schedules as soon as such tasks are due."""


@dataclass(eq=False)
class Claiming:
    """A claim of the worker that is under way."""

    granted: int
    """Tasks that it may claim."""
    brought: int = 0
    """Tasks that it claimed."""


class BoundedRun:
    """The bounds of one run of a worker; without any it runs until it is drained.

    A person's run is a trigger of its own (DESIGN §8) and does not wait for the slots of schedules that pull tasks: a
    bounded one starts them when such tasks are due, a foreground one takes the tasks itself, so that neither the chain
    of a schedule nor the items of an invocation bound it.

    Args:
        kinds: names of the kinds that the worker serves.
        until_idle, bounds: of the worker.

    Raises:
        InvalidNumber: a bound is out of range.
        ValueError: ``once`` and ``until_idle`` contradict.
    """

    def __init__(
        self,
        app: App,
        client: Client,
        clock: Clock,
        kinds: Sequence[str],
        *,
        until_idle: bool = False,
        **bounds: Unpack[RunOptions],
    ) -> None:
        if bounds.get("once") and until_idle:
            raise ValueError("once and until_idle are both given: leave one out, until_idle waits for delayed tasks")
        self._app, self._client, self._clock, self._kinds = app, client, clock, kinds
        self.once = bounds.get("once", False)
        run_seconds, max_tasks = bounds.get("run_seconds"), bounds.get("max_tasks")
        self._seconds = None if run_seconds is None else seconds("run_seconds", run_seconds, least=0.001)
        self._left = None if max_tasks is None else whole("max_tasks", max_tasks, least=1, most=INTEGER_MAX)
        self.bounded = self.once or self._seconds is not None or self._left is not None
        pulling = [one for one in app.schedules if one.pulls and one.kind in kinds]
        foreground = bounds.get("foreground", False)
        self._pulling = pulling if self.bounded and not foreground else []
        pulled = frozenset(kind for one in pulling for kind in one.pulls) if foreground else frozenset()
        self.pulled = pulled.intersection(kinds)
        """Pulled kinds whose tasks this run takes as any others."""
        self._tried: dict[str, frozenset[str]] = {}
        """Tasks that were due when a schedule was last started, by schedule: what it left then is not a reason to start
        it again.
        """
        self._quiet = False
        self._under_way: set[Claiming] = set()
        self._claimed = asyncio.Event()
        self.states: Counter[str] = Counter()
        self.ended = ""
        """Reason of the end of the run, a word of :attr:`RunReport.ended`; empty while it goes on."""

    async def begin(self) -> None:
        """Store the schedules of the app first: a run that ends soon has to know which are due.

        Raises:
            StoreError: the database failed.
        """
        if self.once:
            for declared in self._app.schedules:
                await self._client.schedules.declare(declared)

    def end(self, why: str) -> None:
        """Note why the run ends; the first reason counts."""
        self.ended = self.ended or why

    async def keep_time(self, drain: Callable[[], None], stop: Callable[[], None]) -> None:
        """Drain the worker early enough for its handlers to end in time, and stop it at the end."""
        if self._seconds is None:
            await asyncio.Event().wait()
            return
        margin = min(self._seconds * STOP_SHARE, STOP_SECONDS_MAX)
        draining = min(self._seconds * (1.0 - CLAIM_SHARE), DRAIN_SECONDS_MAX)
        await self._clock.sleep(self._seconds - draining)
        self.end(TIME)
        drain()
        await self._clock.sleep(draining - margin)
        stop()

    # --- how many tasks

    @property
    def spent(self) -> bool:
        """True when nothing more may be claimed."""
        return self._left == 0

    def take(self, wanted: int) -> int:
        """Return how many of these may be claimed, and count them as claimed."""
        granted = wanted if self._left is None else min(wanted, self._left)
        self.give_back(-granted)
        return granted

    def give_back(self, count: int) -> None:
        """Give back the number that was taken and not claimed."""
        if self._left is not None:
            self._left += count

    @contextmanager
    def claiming(self, wanted: int) -> Iterator[Claiming]:
        """Take this number for a claim, which says how many it brought; the others are given back at its end."""
        claim = Claiming(self.take(wanted))
        self._under_way.add(claim)
        try:
            yield claim
        finally:
            self._under_way.remove(claim)
            self.give_back(claim.granted - claim.brought)
            self._claimed.set()

    async def _take_beside(self, wanted: int) -> int:
        """Take for a handler that pulls tasks. Waits for numbers that claims under way may give back.

        Else a claim that finds nothing keeps the handler from all tasks, and nothing asks for them again.
        """
        before = {*self._under_way}
        while self._left is not None and self._left < wanted and before & self._under_way:
            self._claimed.clear()
            await self._claimed.wait()
        return self.take(wanted)

    def found(self, count: int) -> None:
        """Note the number of claimed tasks: where it is not 0, more may grow from them."""
        self._quiet = self._quiet and not count

    def settled(self, batch: Iterable[Settlement], answers: Iterable[SettleResult]) -> None:
        """Count outcomes by the state that followed. A task that goes back unstarted has no outcome."""
        if self.bounded:
            self.states.update(
                answer.state
                for item, answer in zip(batch, answers, strict=True)
                if answer.state is not None and not isinstance(item.event, ev.HandBack)
            )

    def claim_groups(self, kinds: Sequence[Kind]) -> list[list[str]]:
        """Return the names of these kinds, by the claims that take them.

        Beside the pulled kinds that this run takes, those that it leaves to others are claimed apart: of them a worker
        takes what is ending, and nothing else.
        """
        if not self.pulled:
            return [[kind.name for kind in kinds]] if kinds else []
        others = [kind for kind in kinds if kind.how.pulled and kind.name not in self.pulled]
        ending = [kind.name for kind in others if kind.on_end is not None]
        taken = [kind.name for kind in kinds if kind not in others]
        return [taken, ending] if ending else [taken]

    # --- what is due

    async def start_pulling(self, running: Iterable[str] = ()) -> bool:
        """Start the schedules that pull tasks which are due; return whether one was started.

        Args:
            running: kinds of the held tasks: a schedule whose task runs is left alone.
        """
        started = False
        for declared in self._pulling:
            if declared.kind not in running and await self._start(declared):
                started = True
        return started

    async def _start(self, declared: ScheduleDeclaration) -> bool:
        due = frozenset([task_id for kind in declared.pulls for task_id in await self._client.claimable(kind)])
        if not due or due == self._tried.get(declared.name):
            self._tried[declared.name] = due
            return False
        schedule = await self._client.schedules.get(declared.name)
        if schedule is None or schedule.state != "active":
            return False
        try:
            await self._client.schedules.run(declared.name, by="worker", reason="a foreground run found tasks due")
        except StoreError as error:
            log.debug("schedule %s was not started: %s", declared.name, error)  # Its last run is not over.
            return False
        self._tried[declared.name] = due
        return True

    async def nothing_due(self) -> bool:
        """Return whether nothing is due, when no task could be claimed and none is held. Says so at the second look.

        Schedules whose slot has come are run, and maintenance is done, because both make tasks claimable.

        Raises:
            StoreError: the database failed.
        """
        live, store = self._client.settings.live, self._client.store
        pause = await tick(store, SECONDS_MAX, live.limits(self._app.limits), live)
        again = pause <= PAUSE_SECONDS_MIN or (await store.sweep()).changed
        if again or await self.start_pulling():
            self._quiet = False
            return False
        if self._quiet:
            self.end(NOTHING_DUE)
        quiet, self._quiet = self._quiet, True
        return quiet

    # --- handlers that pull tasks in their own process

    async def answer(self, errand: str, argument: Any = None) -> Any:
        """Answer a handler's errand about the run (:mod:`ramet.engine.context.supervisor_calls`)."""
        if errand == "run_claim":
            return await self._take_beside(int(argument))
        if errand == "run_settled":
            self.states.update(argument)
            return None
        return [not self.once, self.bounded, sorted(self.pulled)]

    async def report(self) -> RunReport:
        """Return what was done and what is left."""
        left = await self._client.store.left_work(self._kinds)
        return RunReport(self.states.total(), dict(sorted(self.states.items())), *left, self.ended or NOTHING_DUE)


async def run_once(
    app: App,
    database: str | Path = DATABASE,
    *,
    seconds: float | None = None,
    max_tasks: int | None = None,
    **options: Any,
) -> RunReport:
    """Work on tasks that are due now and those that grow from them, and end when nothing is due: for serverless
    functions and tests.

    Schedules whose slot has come are run, and tasks that handlers pull are taken. Nothing waits: a delayed task, or one
    that snoozed, is left for the next run and reported. Handlers run in this process.

    Args:
        seconds: the longest that it takes: nothing is claimed in the last fifth, and what still runs shortly before the
            end goes back with its attempt.
        max_tasks: the most tasks to claim.
        options: those of :class:`ramet.Worker`.

    Raises:
        StoreError: the database cannot be opened, or fails.
        InvalidNumber: a bound is out of range.
    """
    async with app.client(database) as client:
        worker = App._worker(app, client, once=True, run_seconds=seconds, max_tasks=max_tasks, **options)
        await worker.run()
        report: RunReport = await worker.report()
        return report


def sync_run_once(app: App, database: str | Path = DATABASE, **options: Any) -> RunReport:
    """:func:`ramet.run_once` for programs without an event loop, with the same options and errors."""
    return asyncio.run(run_once(app, database, **options))
