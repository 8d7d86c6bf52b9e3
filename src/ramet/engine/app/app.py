"""The part of the app that declares limits of queues and resources."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, Unpack

from ramet.engine.app.around_handlers import AroundHandlers
from ramet.engine.client.client import Client
from ramet.engine.client.schedules import ScheduleDeclaration, check_declaration
from ramet.engine.kinds.options import (
    BATCH_SECONDS,
    Execution,
    PathArguments,
    PathOf,
    PathOptions,
    ResourceOf,
    Sharing,
    at_least_one,
    checked_policy,
)
from ramet.engine.kinds.registry import QUEUE, Handler, KeyOf, LimitsOf, Registry, Upgrade, UrlOf
from ramet.engine.kinds.signatures import check_parentheses, name_of
from ramet.engine.settings.declared import DeclaredSettings
from ramet.engine.settings.setting import Setting
from ramet.model.flow.resources import FAILURES_MAX, ResourcePolicy
from ramet.model.lineage.limits import BALANCED, Limits
from ramet.model.task.retry import DEFAULT_RETRY, ErrorTable, Retry
from ramet.model.values import seconds
from ramet.store import open_store

if TYPE_CHECKING:
    from ramet.engine.app.pipeline import Pipeline
    from ramet.engine.client.sync_client import SyncClient
    from ramet.model.importing import Takeover


class FlowApp:
    """See :class:`ramet.engine.app.app.App`."""

    def __init__(self) -> None:
        self.queues: dict[str, int | None] = {}
        """Limits that :meth:`queue` declared; a worker stores them when it starts, as those of kinds and resources."""
        self.resources: dict[str, ResourcePolicy] = {}

    def queue(self, name: str, *, concurrency: int | None) -> None:
        """Declare how many tasks of a queue run at once, over all workers; a person's ``ramet limit`` is stronger.

        Raises:
            ValueError: the number is less than 1.
        """
        self.queues[name] = at_least_one(f"queue {name!r}", concurrency)

    def resource(
        self,
        pattern: str,
        *,
        concurrency: int | None = None,
        rate_per_second: float | None = None,
        burst: float = 1.0,
        breaker_failures: int = FAILURES_MAX,
        cooldown_seconds: float | None = None,
    ) -> None:
        """Declare the load that a resource can take, over all workers; a person's ``ramet limit resource`` is stronger.

        Args:
            pattern: its name, or a prefix followed by ``*``; the name itself goes first, then the longest prefix.
            concurrency: claims at once; None for no limit.
            rate_per_second: claims a second in the long run; None for no limit.
            burst: claims at once after a time without any.
            breaker_failures: failures in a row that open its breaker; 0 for no breaker.
            cooldown_seconds: after so long an open breaker lets one task through. Left out, failed tasks count
                instead of attempts, what waits is skipped, and only a person closes it.

        Raises:
            ValueError: a number is out of range.
        """
        policy = ResourcePolicy(pattern, concurrency, rate_per_second, burst, breaker_failures, cooldown_seconds)
        self.resources[pattern] = checked_policy(policy)


Function = TypeVar("Function", bound=Handler)
Upgraded = TypeVar("Upgraded", bound=Upgrade)

DATABASE = "ramet.db"


class Runnable(Protocol):
    """A worker, as :meth:`App.run` sees it."""

    async def run(self) -> None:
        """Run until there is nothing left to do."""
        ...

    async def report(self) -> Any:
        """Return what a bounded run did."""
        ...


class App(FlowApp, AroundHandlers):
    """Kinds of work that belong together.

    Args:
        limits: bounds of every lineage and task, unless a kind or a submit gives stricter ones.
        retry: how often and when tasks are tried again, unless their kind says otherwise.
        tables: ``CREATE TABLE IF NOT EXISTS`` statements of your own tables, run when a database is opened, and kept in
            it: backup and restore carry these tables (DESIGN §9).
        breadth: queues in which tasks closer to their root run first. Tasks created from now on follow it.
        processes: how many processes of their own a worker keeps for kinds with ``process=True``, at most; None for as
            many as it runs handlers. For work that keeps a processor busy, as many as there are processors.
        import_kinds: which kind of yours a type of another queue's rows is, for ``ramet import --kinds`` this app; what
            its ``--map`` says goes before.
        import_states: by kind, from the stage and the ``pipeline_state`` of another queue's row those that its handler
            goes on from, or None. Kinds that are not named start such rows at their first stage; what the row had is
            in ``ctx.state["imported"]``.
        import_held_seconds: by kind with ``unique="global"``, how long an ended row of another queue holds its key at
            most, from its end on; left out, as long as a task that ended here. 0 for work whose results were left
            behind and are needed.
        settings: of your own, changed at run time as the engine's are (:class:`ramet.Setting`).

    Raises:
        ValueError: an argument cannot be; one line says what to give.
    """

    def __init__(
        self,
        *,
        limits: Limits = BALANCED,
        retry: Retry = DEFAULT_RETRY,
        tables: Sequence[str] = (),
        breadth: Sequence[str] = (),
        processes: int | None = None,
        settings: Iterable[Setting] = (),
        import_kinds: Mapping[str, str] = MappingProxyType({}),
        import_states: Mapping[str, Takeover] = MappingProxyType({}),
        import_held_seconds: Mapping[str, float] = MappingProxyType({}),
        log_lines: int = 0,
    ) -> None:
        FlowApp.__init__(self)
        registry = Registry(limits, frozenset(breadth), DeclaredSettings(settings), retry)
        AroundHandlers.__init__(self, registry)
        self._log_lines = log_lines
        if processes is not None and processes < 1:
            raise ValueError(f"processes is {processes}: give at least 1, or None")
        self.processes = processes
        self.limits = limits
        self.tables = tuple(tables)
        self.import_kinds = dict(import_kinds)
        self.import_states = dict(import_states)
        self.import_held_seconds = {
            kind: seconds(f"import_held_seconds of {kind}", held) for kind, held in import_held_seconds.items()
        }
        self.alert_thresholds: dict[str, int | None] = {}
        self.schedules: list[ScheduleDeclaration] = []
        """Schedules that :meth:`schedule` declared; a worker stores them when it starts."""

    def task(
        self,
        kind: str | None = None,
        *,
        key: KeyOf | None = None,
        queue: str = QUEUE,
        priority: int = 0,
        limits: Limits | None = None,
        lineage_limits: LimitsOf | None = None,
        cycle_on: str | None = None,
        errors: ErrorTable | None = None,
        retry: Retry | None = None,
        unique: str = "lineage",
        unique_seconds: float | None = None,
        trap: bool = False,
        url: UrlOf | None = None,
        concurrency: int | None = None,
        resource: str | ResourceOf | None = None,
        alert_over: int | Literal["default"] | None = "default",
        process: bool = False,
        memory_bytes_max: int | None = None,
        batch: int = 1,
        batch_seconds: float = BATCH_SECONDS,
        probation: bool = True,
        pulled: bool = False,
        log_lines: int | None = None,
        path: PathOf | None = None,
        path_scope: str = "queue",
        on_dependency_failure: str = "skip",
        version: int = 1,
    ) -> Callable[[Function], Function]:
        """Register a handler: ``async def f(ctx, payload)``, or a plain function, which runs in a thread.

        ``@app.task()`` takes all defaults. A handler with several annotated parameters, ``async def f(ctx, order: int,
        note: str = "")``, has a payload with these fields: submit and spawn it with a mapping of them; a key function
        finds them as attributes.

        Args:
            kind: the name that tasks carry; the function's own when left out.
            key: from the payload, what the task is about; tasks of one lineage with the same kind and key are one.
                Left out, the whole payload is the key. See :mod:`ramet.model.keys` for canonical URLs and titles.
            queue: where its tasks wait.
            priority: larger runs sooner.
            limits: instead of the app's: of its tasks, and of every lineage whose root is of this kind, whatever starts
                it. Those that it leaves at the default are the app's.
            lineage_limits: from the stored settings by name, what such a lineage may do; instead of ``limits``.
            cycle_on: ``kind+key`` refuses a child whose key an ancestor of its own kind has; ``key`` also one whose key
                an ancestor of any kind has. Left out, it is ``key`` for keys made by :func:`ramet.url_key` or
                :func:`ramet.title_key`, whose kinds are about a place, and ``kind+key`` for all others.
            errors: exception types that mean transient or permanent to this kind.
            retry: how often and when it is tried again, instead of the app's (:class:`ramet.Retry`).
            unique: ``lineage`` allows one task of this kind and key in each lineage; ``global`` one over all of them.
            unique_seconds: with ``global``, how long a task that ended well still holds its key; left out, for good.
                One that failed does so for a day, one that a limit or a cancel ended not at all.
            trap: refuse more than ``max_shape`` spawned keys of one shape in a lineage: for links found on pages.
            url: from the payload, the URL that the stop list's hosts and domains are compared with, for kinds whose key
                is not a URL; None where a payload has none.
            concurrency: tasks of this kind at once, over all workers; None for no limit.
            resource: what its tasks share with others (a host, a provider), as a name or from the payload; a rate, a
                limit or a breaker of it (:meth:`resource`) holds them back. None where a payload has none.
            alert_over: the monitor reports when a task of a lineage is wanted more often than this number of times,
                instead of the setting ``monitor.demands_max``; None: never, nor when such tasks grow deep, or use up
                the tasks and the depth of their lineage.
            process: run each call in a process that runs nothing else meanwhile, so that it can be killed alone: past
                its limit, cancelled, or when it brings its process down.
            memory_bytes_max: with ``process``, address space that a call may take beyond what its process has.
            batch: the most tasks in one call: ``async def f(batch: BatchContext, payloads: list[T])`` returns
                one result for each task, in order.
            batch_seconds: how long the first of them waits for others.
            probation: False for handlers that share what only one process can hold (a file with one writer, a GPU):
                after a lost attempt a task of this kind runs in the common process again, not in one of its own.
            pulled: workers leave its tasks alone; a task that calls :meth:`ramet.Context.invoke` takes them, a number
                at a time, or a program that claims them itself. A worker runs only its ``on_end`` handler.
            log_lines: number of the last lines that its code logs in an attempt, by any logger, kept with that attempt
                (at most 64 KB), instead of the app's ``log_lines``; 0 for none, at most 1,000.
            path: from the payload, where its tasks wait in line when the submit or spawn gives no path: a list of
                texts, or None for none.
            path_scope: ``queue``: its tasks wait for all tasks of their queue on conflicting paths; ``lineage``: for
                those of their own lineage with this scope only. The two scopes never wait for each other.
            on_dependency_failure: ``skip``: a task of this kind that waited for one at a proper prefix of its path is
                skipped when that one ends failed or cancelled, or is skipped for this very reason; ``run``: it runs
                all the same.
            version: of the payload: raise it when what waits from before does not fit any more, and register how it
                becomes of this version with :meth:`upgrade`.

        Raises:
            ValueError: an option is not one of its values, the kind is registered already, or the function cannot be a
                handler: one sentence says what to write.
        """

        check_parentheses("@app.task", kind)
        if not (kind is None or isinstance(kind, str)):
            raise ValueError(f"the kind is {kind!r}: give its name as text, or leave it out for the function's own")

        def register(function: Function) -> Function:
            name = kind if isinstance(kind, str) else name_of(function)
            if alert_over != "default":
                self.alert_thresholds[name] = alert_over
            self.registry.add(
                name,
                function,
                key=key,
                queue=queue,
                priority=priority,
                limits=limits,
                cycle_on=cycle_on,
                errors=errors,
                retry=retry,
                unique=unique,
                unique_seconds=unique_seconds,
                trap=trap,
                url=url,
                how=Execution(
                    process,
                    memory_bytes_max,
                    batch,
                    batch_seconds,
                    probation,
                    pulled,
                    self._log_lines if log_lines is None else log_lines,
                ),
                sharing=Sharing(concurrency, resource),
                paths=PathOptions(path, path_scope, on_dependency_failure),
                lineage=lineage_limits,
                version=version,
            )
            return function

        return register

    def pipeline(self, kind: str, *, task_per_stage: bool = False, **options: Any) -> Pipeline:
        """Register a kind of several stages; register them in order with ``@pipeline.stage(product)``.

        One task gathers state and checkpoints after each stage. With ``task_per_stage`` every stage is a task of its
        own kind, ``kind.function``, which the stage before it creates under the same key; callers that want the work
        ask for ``kind``. Each then has attempts, limits and a row of its own, and none can be stranded by a limit:
        depth stays, fan-out does not count it, and its place in the budget is taken when the first is created (DESIGN
        §4).

        Args:
            options: those of :meth:`task`, for the kind or for each of its stages.

        Raises:
            ValueError: a kind with such a name is registered, or no name is given.
        """
        if not isinstance(kind, str):
            raise ValueError('a pipeline needs the name of its kind: write p = app.pipeline("name"), then @p.stage()')
        from ramet.engine.app.pipeline import Pipeline

        return Pipeline(self.registry, self.task, kind, task_per_stage=task_per_stage, options=options)

    def schedule(
        self,
        cron: str | None = None,
        *,
        every_seconds: float | None = None,
        kind: str | None = None,
        payload: Any = None,
        key: str | None = None,
        name: str | None = None,
        timezone: str = "UTC",
        limits: Limits | None = None,
        overlap: str = "skip",
        catch_up: int = 1,
        pulls: Iterable[str | Handler] = (),
        **path: Unpack[PathArguments],
    ) -> Callable[[Function], Function]:
        """Start a lineage at every slot: above ``@app.task(...)``, or called with ``kind``. Without times, every
        ``Limits.schedule_seconds`` (5 minutes). Arguments are those of
        :meth:`ramet.engine.client.schedules.Schedules.add`.

        With ``pulls``, the pulled kinds whose tasks the handler invokes, a foreground run (``ramet worker --once``,
        ``--for``) starts it as soon as one of these is due, without waiting for the slot.

        A worker stores the declaration when it starts; paused schedules stay paused, and one that a person made under
        this name stays as it is. A schedule taken out of the app goes on until ``ramet schedule remove``.

        Raises:
            ValueError: the times cannot be read, or the name is declared twice.
            UnknownKind: the function is not a handler of this app: write ``@app.schedule(...)`` above
                ``@app.task(...)``.
            pydantic.ValidationError: the payload does not fit the handler.
        """

        check_parentheses("@app.schedule", cron)
        pulled = tuple(self.registry.get(each).name for each in pulls)
        if any(not self.registry.get(name).how.pulled for name in pulled):
            raise ValueError(f"pulls is {', '.join(pulled)}: name kinds that are registered with pulled=True")

        def declare(kind: str) -> None:
            if kind in self.registry:
                self.registry.get(kind).new_task(payload, key=key, **path)
            wanted = check_declaration(
                name, kind, cron=cron, every_seconds=every_seconds, timezone=timezone, payload=payload, key=key,
                default_seconds=self.limits.schedule_seconds, path=path, limits=limits, overlap=overlap,
                catch_up=catch_up, pulls=pulled,
            )  # fmt: skip
            if any(other.name == wanted.name for other in self.schedules):
                raise ValueError(f"schedule {wanted.name!r} is declared twice: give one of them another name")
            self.schedules.append(wanted)

        def register(function: Function) -> Function:
            if kind is None:
                declare(self.registry.get(function).name)
            return function

        if kind is not None:
            declare(kind)
        return register

    def upgrade(self, kind: str | Handler, *, from_version: int) -> Callable[[Upgraded], Upgraded]:
        """Register how a payload of an older version becomes one of the next, so that a changed program still reads
        what waits.

        The function gets the payload as JSON values and returns them as the next version has them; several steps make
        a chain, 1 to 2 to 3. It runs each time when a task is claimed; the stored payload stays as it is. A payload of
        a newer version than the program knows goes back without an attempt, for a worker that reads it.

        Raises:
            UnknownKind: register the kind's handler first.
            ValueError: the kind has no such earlier version, or the step is registered already. A worker raises it
                when it starts and a step is missing.
        """

        def register(function: Upgraded) -> Upgraded:
            self.registry.add_upgrade(kind, from_version, function)
            return function

        return register

    def on_end(self, kind: str | Handler) -> Callable[[Function], Function]:
        """Register what runs once when a limit or a person ends a task of this kind, to cancel at a provider, say.

        The function has the parameters of a handler, ``call_seconds`` of time, and spawns nothing. It runs when the
        task's own handler ever ran; the task is failed or cancelled whatever comes of it (DESIGN §4). Tasks created
        from now on have it.

        Raises:
            UnknownKind: register the kind's handler first, and name the kind: ``@app.on_end("kind")``.
        """
        self.registry.get(kind)

        def register(function: Function) -> Function:
            self.registry.set_on_end(kind, function)
            return function

        return register

    def client(self, database: str | Path = DATABASE, *, create: bool = True) -> Client:
        """Return a client of this app's kinds on a database. Close it, or use it in ``async with``.

        Raises:
            StoreError: the database cannot be opened; one line says what to do.
        """
        return Client(self.registry, open_store(database, create=create), self.limits, tables=self.tables)

    def sync_client(self, database: str | Path = DATABASE, *, create: bool = True) -> SyncClient:
        """Like :meth:`client`, for programs without an event loop. Close it, or use it in ``with``.

        Raises:
            StoreError: the database cannot be opened; one line says what to do.
        """
        from ramet.engine.client.sync_client import SyncClient

        return SyncClient(self.client(database, create=create))

    @staticmethod
    def _worker(*arguments: Any, **options: Any) -> Runnable:
        """Make a worker, whose module lies above this one and is loaded when something is to be worked on."""
        worker: Runnable = importlib.import_module("ramet.engine.worker.worker").Worker(*arguments, **options)
        return worker

    def run(self, database: str | Path = DATABASE, **options: Any) -> None:
        """Work in this process until nothing live is left: for scripts. A service runs ``ramet worker``.

        Options are those of :class:`ramet.engine.worker.worker.Worker`.
        """

        async def work() -> None:
            async with self.client(database) as client:
                await App._worker(self, client, until_idle=True, **options).run()

        asyncio.run(work())
