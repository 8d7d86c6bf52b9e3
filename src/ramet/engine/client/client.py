"""The client: submit work and ask about it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self, Unpack

from ramet.engine.base.clock import Clock, SystemClock, new_id
from ramet.engine.client.alerts import MonitorClient
from ramet.engine.client.bulk import BulkClient
from ramet.engine.client.distribution import StateQueries
from ramet.engine.client.flow import FlowClient
from ramet.engine.client.keys import KeysClient
from ramet.engine.client.money import CostClient
from ramet.engine.client.new_lineage import LimitsGiven, LineageLimits, new_lineage
from ramet.engine.client.operate import PersonsClient
from ramet.engine.client.paths import PathsClient
from ramet.engine.client.pull import PullVerbs
from ramet.engine.client.schedules import Schedules
from ramet.engine.client.settings import Settings
from ramet.engine.client.tallies import TalliesClient
from ramet.engine.client.views import ViewsClient
from ramet.engine.client.waiting import Waiting
from ramet.engine.client.watched import watched
from ramet.engine.context.data import Blob, blobs_taken, read_blob
from ramet.engine.explain.explain import Explanation, explain
from ramet.engine.explain.key import first_found
from ramet.engine.kinds.options import PathArguments, TaskOptions
from ramet.engine.kinds.registry import Handler, Registry
from ramet.model.lineage.limits import GENERATIONS_MAX, Limits
from ramet.model.lineage.lineage import Lineage
from ramet.model.task.retry import Permanent
from ramet.model.task.task import NewTask, Task, TaskHistory, TaskState
from ramet.model.values import NewBlob, check_name
from ramet.store.address import shown
from ramet.store.answers import KindCount, Reoffered, Submitted, TaskPage
from ramet.store.requests import NewLineage, TaskQuery
from ramet.store.store import Store


class TreeNode(NamedTuple):
    """A task and its children, as deep as was asked for."""

    task: Task
    children: tuple[TreeNode, ...]
    more: int
    """1 when there are more children than are shown, or children below the depth asked for."""


class Client(
    FlowClient,
    KeysClient,
    BulkClient,
    PersonsClient,
    CostClient,
    PathsClient,
    PullVerbs,
    StateQueries,
    Waiting,
    MonitorClient,
    TalliesClient,
    ViewsClient,
):
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
        self.store = watched(store)
        self.clock = clock or SystemClock(store.ahead_seconds)
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
        tracking_id: str | None = None,
        limits: LimitsGiven | None = None,
        may_raise: bool = False,
        connection: Any = None,
        on_lineage_end: str | Handler | None = None,
        **path: Unpack[PathArguments],
    ) -> Submitted:
        """Start a lineage with one root. Durable when it returns.

        Where another task holds the key of a kind with ``unique="global"``, that task is the answer (``created`` is
        False) and no lineage is started.

        Args:
            kind: a registered kind or its handler; a bare name works too where the handler lives elsewhere.
            payload: fits the handler's type; JSON in the database.
            key: instead of the kind's own key function.
            task_seconds: a deadline of this task, where it is stricter than its kind's.
            tracking_id: names the lineage; submitting the same again changes nothing.
            limits: of this lineage: those of a :class:`ramet.Limits` that differ from the default, or of a mapping. One
                that is looser than kind or app declare changes nothing, unless ``may_raise``: for operators.
            connection: your own connection to the same database, in a transaction that you began: the task exists
                if and when you commit, and takes its place in line, if it has a path, soon after. On SQLite a
                ``sqlite3.Connection``, begun with BEGIN IMMEDIATE.
            on_lineage_end: a kind (of one stage) of which a task runs after each end of the lineage, with a
                :class:`ramet.LineageTotals`. Its place is taken from ``max_tasks`` now.
            path: where the task stands in line, ``path=["doc1", "review"]`` or ``document_id="doc1"``, and how.

        Raises:
            LineageExists: another lineage has this tracking_id.
            InvalidPath: there is no such path; one line names the element.
            StoreError: the stop list covers it, or ``max_tasks`` has no room.
            pydantic.ValidationError, PayloadTooLarge: the payload does not fit.
        """
        await self.settings.refresh()
        with blobs_taken() as blobs:
            new = self._new(kind, payload, key=key, queue=queue, priority=priority, delay_seconds=delay_seconds,
                            task_seconds=task_seconds, **path)  # fmt: skip
        bounds = await self._bounds([kind], limits, may_raise, connection)
        lineage = self._lineage([new], tracking_id, bounds, blobs.values(), on_lineage_end)
        return (await self._submit([lineage], connection))[0]

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
    ) -> list[Submitted]:
        """Start many roots at once, all or none: a lineage each, or with ``one_lineage`` all in one.

        Args:
            items: kind and payload of each, and where it has options of its own a mapping of them:
                ``("edit", payload, {"path": ["doc1"]})``. Tasks on one path run in the order of the items.
            limits, may_raise, connection: as for :meth:`submit`. Of several roots of one lineage the strictest kind
                holds.

        Returns:
            One answer per item. Roots of one lineage with the same kind and key are one task.
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
        if one_lineage:
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

    async def _submit(self, lineages: Sequence[NewLineage], connection: Any) -> list[Submitted]:
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

    # --- asking

    async def get(self, task_id: str) -> Task | None:
        """One task, or None."""
        return await self.store.get(task_id)

    async def history(self, task_id: str) -> TaskHistory | None:
        """One task with its attempts, recorded transitions and refused spawns, or None."""
        return await self.store.history(task_id)

    async def tasks(
        self,
        *,
        tracking_id: str | None = None,
        states: Iterable[TaskState | str] = (),
        kind: str | None = None,
        key: str | None = None,
        min_depth: int | None = None,
        parent_id: str | None = None,
        limit: int = 100,
        after: int = 0,
        newest: bool = False,
    ) -> TaskPage:
        """Tasks that match all that is given, a page at a time (at most 1,000): the oldest first, or the newest.

        Args:
            key: in any spelling, see :meth:`spellings`; the first of which there is a task.
        """
        wanted = frozenset(TaskState(state) for state in states)
        query = TaskQuery(tracking_id, wanted, kind, key, min_depth, parent_id, limit, after, newest)
        if key is None:
            return await self.store.tasks(query)
        queries = [query._replace(key=one) for one in self.spellings(kind, key)]
        return await first_found(queries, self.store.tasks, lambda page: page.tasks)

    async def all_tasks(self, **filters: Any) -> AsyncIterator[Task]:
        """Every task that :meth:`tasks` would list, page after page."""
        after: int | None = 0
        while after is not None:
            page = await self.tasks(**filters, limit=1_000, after=after)
            for task in page.tasks:
                yield task
            after = page.next_after

    async def has_live(self, kind: str | Handler, key: str, tracking_id: str | None = None) -> bool:
        """True while a task of this kind and key is pending or processing, in one lineage or anywhere.

        Args:
            key: in any spelling, see :meth:`spellings`.
        """
        look = partial(self.store.has_live, self.registry.known(kind).name, tracking_id=tracking_id)
        return await first_found(self.spellings(kind, key), look)

    async def claimable(self, kind: str | Handler, *, queue: str | None = None, limit: int = 1_000) -> list[str]:
        """Ids of tasks that could be claimed or bound now, in the order of a claim; at most 10,000.

        Tasks whose time has come since the last claim or sweep are not among them yet. One past its own deadline is not
        either: it may be claimed once more, but not bound.
        """
        wanted = self.registry.known(kind)
        return await self.store.claimable(wanted.name, queue or wanted.queue, limit=limit)

    async def lineage(self, tracking_id: str) -> Lineage | None:
        """One lineage, or None."""
        return await self.store.lineage(tracking_id)

    async def lineages(self, *, states: Iterable[str] = (), limit: int = 100) -> list[Lineage]:
        """Lineages, newest first."""
        return await self.store.lineages(states=states, limit=limit)

    async def counts(self, tracking_id: str | None = None) -> list[KindCount]:
        """The distribution of tasks over kinds and states, with mean depths."""
        return await self.store.counts(tracking_id)

    async def block_totals(self, tracking_id: str) -> dict[tuple[str, str], int]:
        """How often spawns of each (kind, reason) were refused in a lineage, beyond stored rows included."""
        return await self.store.block_totals(tracking_id)

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a SELECT on your own tables; ``?`` stands for parameters.

        Raises:
            StoreError: the statement cannot be run, or the database cannot be read.
        """
        return await self.store.read(sql, parameters)

    async def tree(self, task_id: str, *, depth: int = 10, width: int = 100) -> TreeNode | None:
        """A task with what grew from it, down to ``depth`` levels of at most ``width`` children each."""
        task = await self.store.get(task_id)
        return None if task is None else await self._node(task, depth, width)

    async def _node(self, task: Task, depth: int, width: int) -> TreeNode:
        page = await self.tasks(parent_id=task.id, limit=width if depth > 0 else 1)
        if depth <= 0:
            return TreeNode(task, (), int(bool(page.tasks)))
        children = [await self._node(child, depth - 1, width) for child in page.tasks]
        return TreeNode(task, tuple(children), int(page.next_after is not None))

    async def roots(self, tracking_id: str) -> list[Task]:
        """The roots of a lineage, oldest first (at most 1,000)."""
        return await self.store.roots(tracking_id)

    async def child_counts(self, task_ids: Iterable[str]) -> dict[str, int]:
        """How many children each of these tasks has; tasks without any are absent."""
        return await self.store.child_counts(list(task_ids))

    async def explain(self, task_id: str) -> Explanation | None:
        """Why a task is where it is, from stored rows; None when there is no such task."""
        return await explain(self.store, task_id)

    async def blob(self, reference: Blob | Mapping[str, Any], tracking_id: str) -> Any:
        """What a blob of a lineage was made of: bytes, text or a JSON value.

        Args:
            reference: the value in a payload, state or result, typed or as JSON: ``{"$blob": "...", "size": n}``.
            tracking_id: the lineage of the task that has it.

        Raises:
            LookupError: the lineage has no such blob (any more).
        """
        return await read_blob(self.store, tracking_id, reference)

    # --- acting

    async def cancel(self, task_id: str, *, tree: bool = False, by: str = "client", reason: str | None = None) -> bool:
        """Cancel a task, with ``tree`` all that grew from it too. False when there was nothing left to cancel."""
        return await self.store.cancel(task_id, tree=tree, by=by, reason=reason)

    async def cancel_lineage(self, tracking_id: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Cancel everything of a lineage, in one transaction."""
        return await self.store.cancel_lineage(tracking_id, by=by, reason=reason)

    async def revive(
        self,
        task_ids: Iterable[str],
        *,
        by: str = "client",
        reason: str | None = None,
        extend_seconds: float | None = None,
    ) -> list[str]:
        """Give ended tasks (not successful ones) new attempts; returns the ids of those revived."""
        return await self.store.revive(list(task_ids), by=by, reason=reason, extend_seconds=extend_seconds)


class OwnLineage(Permanent):
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
            raise OwnLineage(f"a handler cannot {act} its own lineage {tracking_id}: an operator does")

    async def raise_limits(self, tracking_id: str, **options: Any) -> Lineage:
        self._refuse_act("raise limits of", tracking_id)
        return await super().raise_limits(tracking_id, **options)

    async def reoffer(self, tracking_id: str, **options: Any) -> Reoffered:
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
            raise OwnLineage("a handler cannot raise what was declared: an operator does, so leave may_raise out")
        return await super()._bounds(kinds, limits, may_raise, connection)

    async def _submit(self, lineages: Sequence[NewLineage], connection: Any) -> list[Submitted]:
        row = await self.store.lineage(self._own)
        generation = 1 if row is None else row.generation + 1
        if generation > GENERATIONS_MAX:
            raise OwnLineage(
                f"generation {generation} is over {GENERATIONS_MAX}: lineages that begin lineages have to end; "
                "a schedule begins one again and again"
            )
        return await super()._submit([item._replace(generation=generation) for item in lineages], connection)
