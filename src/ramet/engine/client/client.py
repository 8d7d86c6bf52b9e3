"""The client: submit work and ask about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, overload

from ramet.engine.base.clock import Clock, SystemClock, new_id
from ramet.engine.client.handle import SubmitOptions, TaskHandle
from ramet.engine.client.new_lineage import LimitsGiven, LineageLimits, new_lineage
from ramet.engine.client.operate import Operating
from ramet.engine.client.pull import PullVerbs
from ramet.engine.client.reading import Reading
from ramet.engine.client.schedules import Schedules
from ramet.engine.client.settings import Settings
from ramet.engine.client.waiting import Waiting
from ramet.engine.client.watched import watched
from ramet.engine.context.data import blobs_taken
from ramet.engine.kinds.options import TaskArguments, TaskOptions
from ramet.engine.kinds.registry import Handler, Registry
from ramet.model.lineage.branches import Budget
from ramet.model.lineage.limits import GENERATIONS_MAX, Limits
from ramet.model.lineage.lineage import Lineage
from ramet.model.task.retry import Permanent, Retry
from ramet.model.task.task import NewTask
from ramet.model.values import NewBlob, check_name
from ramet.store.address import shown
from ramet.store.answers import ReofferResult, SpawnResult, SubmitResult
from ramet.store.requests import NewLineage
from ramet.store.store import Store

Payload = TypeVar("Payload")
Returned = TypeVar("Returned")
Parameters = ParamSpec("Parameters")


class Client(Reading, Operating, Waiting, PullVerbs):
    """Submits work to a database and answers questions about it. Safe to use from many asyncio tasks at once."""

    def __init__(
        self,
        registry: Registry,
        store: Store,
        limits: Limits,
        *,
        tables: Sequence[str] = (),
        clock: Clock | None = None,
    ) -> None:
        self.registry = registry
        self.clock = clock or SystemClock(store.ahead_seconds)
        self._limits = limits
        self.store = watched(store, registry.listeners, self.clock.now)
        self._decide = LineageLimits(registry, store, limits)
        self._tables = tables
        self.settings = Settings(store, registry.live)
        """Defaults that can be changed while the engine runs."""
        self.schedules = Schedules(registry, store, limits)
        """Periodic triggers: add, list, pause, resume, remove, run."""

    async def __aenter__(self) -> Self:
        await self.ensure_tables()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def place(self) -> str:
        """The database's address as it may be shown: without its password."""
        return shown(self.store.address)

    async def ensure_tables(self) -> None:
        """Create the app's own tables where they are missing."""
        if self._tables:
            await self.store.ensure_tables(self._tables)

    async def close(self) -> None:
        """Release the database. Claims that are not settled return when their leases lapse."""
        await self._stop_keeping()
        await self.store.close()

    def _for_handler(self, tracking_id: str) -> OwnClient:
        """Return the client that handlers of this lineage have (:attr:`ramet.Context.client`)."""
        return OwnClient(self, tracking_id)

    # --- submitting

    @overload
    async def submit(self, kind: str, payload: Any = None, **options: Unpack[SubmitOptions]) -> TaskHandle[Any]: ...
    @overload
    async def submit(
        self, kind: Callable[[Any], Returned], payload: None = None, **options: Unpack[SubmitOptions]
    ) -> TaskHandle[Returned]: ...
    @overload
    async def submit(
        self, kind: Callable[[Any, Payload], Returned], payload: Payload, **options: Unpack[SubmitOptions]
    ) -> TaskHandle[Returned]: ...
    @overload
    async def submit(
        self,
        kind: Callable[Concatenate[Any, Parameters], Returned],
        payload: Mapping[str, Any],
        **options: Unpack[SubmitOptions],
    ) -> TaskHandle[Returned]: ...
    @overload
    async def submit(
        self,
        kind: Callable[[Any, list[Payload]], Any],
        payload: Payload,
        **options: Unpack[SubmitOptions],
    ) -> TaskHandle[Any]: ...
    async def submit(
        self,
        kind: str | Handler,
        payload: Any = None,
        *,
        key: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        delay_seconds: float = 0.0,
        task_seconds: float | None = None,
        budget: Budget | None = None,
        max_attempts: int | None = None,
        retry: Retry | None = None,
        payload_version: int | None = None,
        tracking_id: str | None = None,
        limits: LimitsGiven | None = None,
        may_raise: bool = False,
        connection: Any = None,
        on_lineage_end: str | Handler | None = None,
        **more: Unpack[TaskArguments],
    ) -> TaskHandle[Any]:
        """Start a lineage with one root. Durable when it returns. Of a handler, type checkers compare the payload (or
        take a mapping of its fields) and know the result.

        Where another task holds the key of a kind with ``unique="global"``, that task is the answer (``created`` is
        False) and no lineage is started.

        Args:
            kind: a registered kind or its handler; a bare name works too where the handler lives elsewhere.
            payload: fits the handler's type; JSON in the database.
            key: instead of the kind's own key function.
            task_seconds, max_attempts: of this task, where they are stricter than its kind's.
            budget: a part of the lineage for the root and what grows below it; its ``keep_cost`` is the root's alone.
            retry: when it is tried again, instead of its kind's; its ``attempts`` are ``max_attempts``.
            payload_version: of a payload for a kind that is known here by name only; left out, 1.
            tracking_id: names the lineage; submitting the same again changes nothing.
            limits: of this lineage: those of a :class:`ramet.Limits` that differ from the default, or of a mapping. One
                that is looser than kind or app declare changes nothing, unless ``may_raise``: for operators.
            connection: your own connection to the same database, in a transaction that you began: the task exists
                if and when you commit, and takes its place in line, if it has a path, soon after. On SQLite a
                ``sqlite3.Connection``, begun with BEGIN IMMEDIATE.
            on_lineage_end: a kind (of one stage) of which a task runs after each end of the lineage, with a
                :class:`ramet.LineageTotals`. Its place is taken from ``max_tasks`` now.
            more: its place in line, ``path=["doc1", "review"]`` or ``document_id="doc1"``, and its ``tags``.

        Raises:
            LineageExists: another lineage has this tracking_id.
            InvalidPath: there is no such path; one line names the element.
            QueueBlocked: an operator has blocked its queue.
            StoreError: the stop list covers it, or ``max_tasks`` has no room.
            pydantic.ValidationError, PayloadTooLarge: the payload does not fit.
        """
        await self.settings.refresh()
        with blobs_taken() as blobs:
            new = self._new(kind, payload, key=key, queue=queue, priority=priority, delay_seconds=delay_seconds,
                            task_seconds=task_seconds, budget=budget, max_attempts=max_attempts, retry=retry,
                            payload_version=payload_version, **more)  # fmt: skip
        bounds = await self._bounds([kind], limits, may_raise, connection)
        lineage = self._lineage([new], tracking_id, bounds, blobs.values(), on_lineage_end)
        return TaskHandle.of((await self._submit([lineage], connection))[0], self, self.registry.known(kind))

    async def submit_many(
        self,
        items: Iterable[tuple[str | Handler, Any] | tuple[str | Handler, Any, TaskOptions]],
        *,
        one_lineage: bool = False,
        tracking_id: str | None = None,
        limits: LimitsGiven | None = None,
        may_raise: bool = False,
        connection: Any = None,
        on_lineage_end: str | Handler | None = None,
    ) -> list[SubmitResult]:
        """Start many roots at once, all or none: a lineage each, or with ``one_lineage`` all in one.

        Args:
            items: kind and payload of each, and where it has options of its own a mapping of them:
                ``("edit", payload, {"path": ["doc1"]})``. Tasks on one path run in the order of the items. With
                ``{"after": [("fetch", key)]}`` a task waits for others of the same call, which are then one lineage.
            limits, may_raise, connection: as for :meth:`submit`. Of several roots of one lineage the strictest kind
                holds.

        Returns:
            One answer per item. Roots of one lineage with the same kind and key are one task.

        Raises:
            StoreError: as for :meth:`submit`; or tasks come after each other, or after one that is not among them.
        """
        await self.settings.refresh()
        news: list[NewTask] = []
        kinds: list[str | Handler] = []
        blobs: list[tuple[NewBlob, ...]] = []
        with blobs_taken() as taken:
            for kind, payload, *options in items:
                news.append(self._new(kind, payload, **(options[0] if options else {})))
                kinds.append(kind)
                blobs.append(tuple(taken.values()))
                taken.clear()
        if not news:
            return []
        if one_lineage or any(new.after is not None for new in news):
            together = [blob for some in blobs for blob in some]
            bounds = await self._bounds(dict.fromkeys(kinds), limits, may_raise, connection)
            return await self._submit([self._lineage(news, tracking_id, bounds, together, on_lineage_end)], connection)
        if tracking_id is not None:
            raise ValueError("tracking_id names one lineage: give one_lineage=True with it")
        bounds_of = {kind: await self._bounds([kind], limits, may_raise, connection) for kind in dict.fromkeys(kinds)}
        each = [
            self._lineage([new], None, bounds_of[kind], some, on_lineage_end)
            for new, kind, some in zip(news, kinds, blobs, strict=True)
        ]
        return await self._submit(each, connection)

    async def add(
        self,
        tracking_id: str,
        items: Iterable[tuple[str | Handler, Any] | tuple[str | Handler, Any, TaskOptions]],
    ) -> list[SpawnResult]:
        """Add roots to a running lineage, under its limits and its guard. Durable when it returns.

        Args:
            tracking_id: of the lineage.
            items: as for :meth:`submit_many`; ``after`` may also name tasks of the lineage that are there already.

        Returns:
            The guard's answer to each: its id, or the reason of the refusal, which is recorded nowhere else.

        Raises:
            StoreError: there is no such lineage; nothing was created.
            OwnLineageRefused: a handler adds to its own lineage: it spawns.
            pydantic.ValidationError, PayloadTooLarge: a payload does not fit.
        """
        await self.settings.refresh()
        with blobs_taken() as blobs:
            news = [self._new(kind, payload, **(options[0] if options else {})) for kind, payload, *options in items]
        if not news:
            return []
        most = self.settings.live.limits(self._limits).lineage_blob_bytes_max
        return await self.store.add(tracking_id, news, blobs=tuple(blobs.values()), bytes_max=most)

    async def block_queue(
        self,
        name: str,
        *,
        on_drained: tuple[str | Handler, Any] | None = None,
        by: str = "client",
        reason: str | None = None,
    ) -> bool:
        """Refuse submits into a queue with :class:`ramet.QueueBlocked`; spawns of running lineages go on. Recorded.

        Args:
            name: of the queue.
            on_drained: kind and payload of a task that is submitted, exactly once, when no task of the queue lives any
                more: by the next sweep of a worker. It may be of the queue itself.
            by: who does it, for the record.
            reason: why, for the record.

        Returns:
            False when it is blocked already: nothing was changed.

        Raises:
            ValueError: the payload needs a blob.
            pydantic.ValidationError, PayloadTooLarge: the payload does not fit.
        """
        lineage = None
        if on_drained is not None:
            await self.settings.refresh()
            kind, payload = on_drained
            with blobs_taken() as blobs:
                new = self._new(kind, payload)
            if blobs:
                raise ValueError("on_drained cannot carry a blob: give it a smaller payload")
            lineage = self._lineage([new], None, await self._bounds([kind], None, False, None))
        return await self.store.block_queue(name, on_drained=lineage, by=by, reason=reason)

    async def _submit(self, lineages: Sequence[NewLineage], connection: Any) -> list[SubmitResult]:
        if connection is not None:
            return self.store.submit_within(connection, lineages)
        return await self.store.submit(lineages)

    def _new(self, kind: str | Handler, payload: Any, **options: Any) -> NewTask:
        return self.registry.known(kind).new_task(payload, **options)

    async def _bounds(
        self, kinds: Iterable[str | Handler], limits: LimitsGiven | None, may_raise: bool, connection: object
    ) -> Limits:
        found = await self._decide.decided(kinds, limits, may_raise=may_raise, connection=connection)
        return self.settings.live.limits(found)

    def _lineage(
        self,
        roots: Sequence[NewTask],
        tracking_id: str | None,
        bounds: Limits,
        blobs: Iterable[NewBlob] = (),
        on_lineage_end: str | Handler | None = None,
    ) -> NewLineage:
        name = check_name("tracking_id", tracking_id) if tracking_id else new_id()
        end = None if on_lineage_end is None else self.registry.known(on_lineage_end).end_task()
        return new_lineage(name, roots, bounds, blobs, end)


class OwnLineageRefused(Permanent):
    """Raised by ``ctx.client``: a handler wants what only an operator may do to its lineage, or begins one too many."""


class OwnClient(Client):
    """The client that a handler has: everything but what would widen its own lineage (DESIGN §5, §8).

    See :attr:`ramet.Context.client`. It shares everything with the client that it is made of.
    """

    __slots__ = ("_own",)

    def __init__(self, client: Client, tracking_id: str) -> None:
        self.__dict__ = client.__dict__
        self._own = tracking_id

    def _refuse_act(self, act: str, tracking_id: str) -> None:
        if tracking_id == self._own:
            raise OwnLineageRefused(f"a handler cannot {act} its own lineage {tracking_id}: an operator does")

    async def add(self, tracking_id: str, items: Iterable[Any]) -> list[SpawnResult]:
        if tracking_id == self._own:
            raise OwnLineageRefused(f"a handler adds no roots to its own lineage {tracking_id}: use ctx.spawn")
        return await super().add(tracking_id, items)

    async def raise_limits(self, tracking_id: str, **options: Any) -> Lineage:
        self._refuse_act("raise limits of", tracking_id)
        return await super().raise_limits(tracking_id, **options)

    async def set_max_cost(self, tracking_id: str, max_cost: int, **options: Any) -> Lineage:
        self._refuse_act("set the ceiling of", tracking_id)
        return await super().set_max_cost(tracking_id, max_cost, **options)

    async def reoffer(self, tracking_id: str, **options: Any) -> ReofferResult:
        self._refuse_act("offer blocked spawns again in", tracking_id)
        return await super().reoffer(tracking_id, **options)

    async def resume_lineage(self, tracking_id: str, **options: Any) -> bool:
        self._refuse_act("resume", tracking_id)
        return await super().resume_lineage(tracking_id, **options)

    async def revive(self, task_ids: Iterable[str], **options: Any) -> list[str]:
        ids = list(task_ids)
        for task_id in ids:
            task = await self.store.get(task_id)
            self._refuse_act("retry tasks of", "" if task is None else task.tracking_id)
        return await super().revive(ids, **options)

    async def _bounds(
        self, kinds: Iterable[str | Handler], limits: LimitsGiven | None, may_raise: bool, connection: object
    ) -> Limits:
        if may_raise:
            raise OwnLineageRefused(
                "a handler cannot raise what was declared: an operator does, so leave may_raise out"
            )
        return await super()._bounds(kinds, limits, may_raise, connection)

    async def _submit(self, lineages: Sequence[NewLineage], connection: Any) -> list[SubmitResult]:
        row = await self.store.lineage(self._own)
        generation = 1 if row is None else row.generation + 1
        if generation > GENERATIONS_MAX:
            raise OwnLineageRefused(
                f"generation {generation} is over {GENERATIONS_MAX}: lineages that begin lineages have to end; "
                "a schedule begins one again and again"
            )
        return await super()._submit([item._replace(generation=generation) for item in lineages], connection)
