"""The context of a handler: its task, and the verbs with which it makes requests.

Spawns and writes are buffered and commit together with the task's next checkpoint or its end, so a handler that crashes
leaves nothing half-done. ``checkpoint``, ``progress`` and ``spawn_now`` commit when called.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from ramet.engine.base.clock import new_id
from ramet.engine.base.forwarding import Answer, Blocking, answer_from, blocking
from ramet.engine.base.json_text import json_text
from ramet.engine.base.work import Work, completed, succeeded
from ramet.engine.context.binding import ItemOptions, bind, bound, item_settlement, settle_items
from ramet.engine.context.data import Actuals, OwnStatements, check_own, run_transaction
from ramet.engine.context.joined import EarlierSpawns, Joined
from ramet.engine.context.money import Reservation, SyncReservation, reserve
from ramet.engine.context.outcome import ERROR_CHARACTERS_MAX, Endings, Outcome, outcome_event
from ramet.engine.context.ports import ClaimLost, ContextParts, InvokeResult, SupervisorPort
from ramet.engine.context.rates import adapt_rate, take_units
from ramet.engine.context.task import CallTime, OwnTask, PipelineStateMixin
from ramet.engine.kinds.options import Dependency, SpawnHandle, TaskArguments
from ramet.engine.kinds.registry import Handler, Kind, Registry
from ramet.engine.kinds.signatures import FirstArgument
from ramet.model.flow.resources import ResponseLimits
from ramet.model.lineage.branches import Budget
from ramet.model.lineage.limits import LOWERABLE
from ramet.model.money import Charge, amount_of
from ramet.model.task import events as ev
from ramet.model.task.binding import BindResult, BoundTask, ItemResult, ItemSettlement
from ramet.model.task.task import NewTask
from ramet.model.values import INTEGER_MAX, PROGRESS_CHARACTERS_MAX, check_name, finite, storable, whole
from ramet.store.answers import SettleResult, SpawnResult, StatementResult
from ramet.store.requests import Settlement, Write

if TYPE_CHECKING:
    # The one circle of the engine, of types alone: a claim is a context with a client, and the client makes claims.
    # Without it ``ctx.client`` would have to hide which methods a client has.
    from ramet.engine.client.client import Client
    from ramet.engine.context.blob import Blob


class HandlerPort(SupervisorPort, Protocol):
    """The supervisor of a handler, which also lends it a client and runs pulled tasks inside of its own."""

    def client(self) -> Client:
        """Return a client for reading."""
        ...

    async def invoke(
        self,
        context: Context,
        kinds: Sequence[str | Handler],
        concurrency: int | None,
        queues: Sequence[str] | None,
        wait: bool,
        /,
    ) -> InvokeResult:
        """Run pulled tasks: :meth:`ramet.Context.invoke`."""
        ...


_BUFFERS = ("_spawns", "_writes", "_lower", "_charged", "_items", "_held_for", "_switched_off")


class BaseContext(OwnTask, PipelineStateMixin, CallTime, FirstArgument):
    """Common part of contexts of async and plain handlers."""

    _desk: HandlerPort
    # Buffered: a task that asks for nothing pays nothing for these.
    _spawns: tuple[NewTask, ...] | list[NewTask] = ()
    _writes: tuple[Write, ...] | list[Write] = ()
    _lower: tuple[tuple[str, int], ...] = ()
    _client: Client | None = None
    _charged: int | None = None
    _items: tuple[ItemSettlement, ...] | list[ItemSettlement] = ()
    _held_for: float | None = None
    _switched_off: str | None = None
    _earlier: EarlierSpawns | None = None
    joined: Joined | None = None
    """The tasks that this one has waited for, when it is called again after a join; None before its first join."""
    after: Joined | None = None
    """The tasks that it was created after, as a join shows them; None where there are none."""

    def __init__(self, work: Work, kind: Kind, registry: Registry, desk: HandlerPort, lease_seconds: float) -> None:
        self._work = work
        self._kind = kind
        self._registry = registry
        self._desk = desk
        self._lease_seconds = lease_seconds
        self._stage = work.stage

    @property
    def stage(self) -> str | None:
        """The stage that the last checkpoint moved to."""
        return self._stage

    @property
    def client(self) -> Client:
        """A client of the same database, for questions about other tasks.

        It refuses to raise limits of the task's own lineage, to offer spawns or tasks of it again and to resume it
        (:class:`ramet.OwnLineageRefused`): an operator does that. A lineage that is submitted through it is one
        generation further from its beginning; of these there are at most 10 (DESIGN §5, I6).
        """
        if self._client is None:
            self._client = self._desk.client()._for_handler(self.tracking_id)
        return self._client

    def _may_spawn(self) -> None:
        if self._work.ending is not None:
            raise ValueError(f"task {self.id} is ending ({self.ending_reason}): an on_end handler spawns nothing")

    def spawn(
        self,
        kind: str | Handler,
        payload: Any = None,
        *,
        key: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        delay_seconds: float = 0.0,
        keep_edge: bool = False,
        task_seconds: float | None = None,
        required: bool = False,
        after: Iterable[Dependency] = (),
        budget: Budget | None = None,
        **more: Unpack[TaskArguments],
    ) -> SpawnHandle:
        """Ask for a child task; return a name for ``after`` of a later one. The guard decides at this task's next
        checkpoint or its end.

        Args:
            keep_edge: a spawn that is refused because its task exists already leaves the edge to that task, which
                ``ramet tree`` and ``ramet explain`` show.
            task_seconds: its own deadline, where it is stricter than its kind's.
            required: this task's work is not done without the child. A refusal other than ``in_flight`` and ``done``
                (the child is there already) ends this task with the permanent error ``spawn_refused``, and nothing
                that was buffered is kept.
            after: tasks of this lineage that have to end first: what an earlier ``spawn`` returned, ``(kind, key)``, or
                an id. The child finds them in ``ctx.after``, and is skipped when one of them does not succeed, unless
                ``on_dependency_failure="run"``.
            budget: a part of what the lineage has, for the child and all that grows below it (:class:`ramet.Budget`).
            more: its ``tags``, and its path: below this task's own, beside it, or on it; then it begins after its end.

        Raises:
            UnknownKind: the kind is not registered.
            PayloadTooLarge, InvalidPath: keep the large part elsewhere; one line names the element of the path.
        """
        self._may_spawn()
        target = self._registry.get(kind)
        new = target.new_task(
            payload, key=key, queue=queue, priority=priority, delay_seconds=delay_seconds, keep_edge=keep_edge,
            task_seconds=task_seconds, required=required, after=after, budget=budget, **more,
        )  # fmt: skip
        self.spawn_next(new)
        return SpawnHandle(target.name, new.key)

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Add a statement on your own tables that commits with the task, under its fence. Each ``?`` is a parameter.

        Raises:
            ValueError, TypeError: it touches the engine's own tables, or writes no rows; a parameter cannot be stored.
        """
        write = Write(sql, check_own("ctx.write", sql, parameters))
        if isinstance(self._writes, list):
            self._writes.append(write)
        else:
            self._writes = [write]

    def lower(self, **limits: int) -> None:
        """Lower ``max_tasks``, ``max_fan_out``, ``max_spawn_depth`` or ``max_shape`` of the lineage, never raise them.

        Raises:
            ValueError: another limit, or not a number of at least 0.
        """
        for name, value in limits.items():
            # Refused here: in the worker it would spoil the settlements of other tasks too.
            if name not in LOWERABLE:
                raise ValueError(f"{name} cannot be lowered by a handler: give one of {sorted(LOWERABLE)}")
            whole(f"the lowered {name}", value, most=INTEGER_MAX)
        self._lower += tuple(limits.items())

    def charge(self, nano_dollars: int) -> None:
        """Book money that was spent without a reservation; commits with the task. Counts as progress.

        Raises:
            ValueError: not a whole number of nano-dollars.
        """
        # Also their sum: a claim that charges more than that is mistaken.
        self._charged = amount_of((self._charged or 0) + amount_of(nano_dollars, "to be charged are"), "charged are")

    def settle_item(self, task_id: str, binding: int, state: str, **more: Unpack[ItemOptions]) -> None:
        """Settle a task that is bound to this one; commits with the next checkpoint or the end. Counts as progress.

        Late and doubled ones are refused one by one and logged. Arguments are those of
        :func:`ramet.engine.context.binding.item_settlement`.

        Raises:
            ValueError: the state is not one that a bound task can get, or has no reason; or as for :meth:`write`.
        """
        made = item_settlement(task_id, binding, state, **more)
        if isinstance(self._items, list):
            self._items.append(made)
        else:
            self._items = [made]

    def hold_key(self, seconds: float) -> None:
        """For a kind with ``unique="global"``: how long this task's key stays held after its end, at most the kind's
        ``unique_seconds``; 0 frees it at once. The last call counts.

        It holds when this claim of the task ends it as success, filtered or skipped. After a failure, an end from
        outside or another claim the usual rule holds, and of a kind with a task per stage the last stage's word.

        Raises:
            ValueError: the kind's keys are a lineage's own matter, or not a number of at least 0.
        """
        if self._work.unique_seconds is None and self._kind.unique_seconds is None:
            raise ValueError(f"kind {self._work.kind!r} is not unique over all lineages: register it unique='global'")
        if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
            raise ValueError(f"a key is to be held for {seconds!r}: give a number of seconds, 0 or more")
        self._held_for = float(seconds)

    def switch_off(self, reason: str) -> None:
        """Open the breaker of this task's resource, as its last failure would: it is gone, say. Commits with the task's
        next checkpoint or its end; an exception drops it.

        Without a cool-down only a person closes it, and what waits for the resource is skipped
        (``source_disabled``); with one, a task is let through again after it.

        Raises:
            ValueError: the task has no resource, or the reason is empty.
        """
        if self._work.resource is None:
            raise ValueError(f"task {self._work.id} has no resource to switch off: register its kind with resource=")
        if not reason.strip():
            raise ValueError("a resource is switched off without a reason: give one, people will ask")
        self._switched_off = storable(reason, ERROR_CHARACTERS_MAX)

    def inside(self) -> ContextParts:
        """For the engine: what it needs to run other tasks inside of this one."""
        parts = (self._work, self._kind, self._registry, self._clock, self._lease_seconds, self._call, self._desk.ask)
        return ContextParts(*parts, self.lifespan)

    def spawn_next(self, new: NewTask) -> None:
        """For the engine: a task that commits with this one's end, the next stage of a staged kind among others."""
        if isinstance(self._spawns, list):
            self._spawns.append(new)
        else:
            self._spawns = [new]

    def take_settlement(
        self, event: Callable[[int], ev.Event], result: str | None = None, pipeline_state: str | None = None
    ) -> Settlement:
        """Everything buffered so far, under the given event."""
        work = self._work
        made = event(work.fence)
        if self._earlier is not None and type(made) is ev.Join:
            made = self._earlier.with_results(made)
        held_for = None if type(made) is ev.Checkpoint else self._held_for  # A key is held from the end on.
        settlement = Settlement(
            seq=work.seq,
            fence=work.fence,
            event=made,
            result=result,
            spawns=self._spawns,
            writes=self._writes,
            pipeline_state=pipeline_state,
            lower=self._lower,
            charge=None if self._charged is None else Charge(new_id(), self._charged),
            items=self._items,
            hold_seconds=held_for,
            switch_off=self._switched_off,
        )
        self._spawns, self._writes, self._lower, self._charged, self._items = (), (), (), None, ()
        self._switched_off = None
        self._held_for = self._held_for if held_for is None else None
        return settlement

    def _asks_for_nothing(self) -> bool:
        """Return whether :meth:`take_settlement` would take nothing that was buffered."""
        # One after the other: this runs for every task, and most have none.
        if self._spawns or self._writes or self._items or self._lower:
            return False
        return self._charged is None and self._held_for is None and self._switched_off is None

    def buffered(self) -> Mapping[str, Any]:
        """Return what :meth:`take_settlement` takes, by attribute, for :meth:`buffer_again`."""
        return {name: getattr(self, name) for name in _BUFFERS}

    def buffer_again(self, buffered: Mapping[str, Any]) -> None:
        """Take back the contents of a settlement that was not delivered."""
        vars(self).update(buffered)

    async def _call(self, settlement: Settlement) -> SettleResult:
        return self._accepted(await self._desk.call(settlement))

    def _accepted(self, settled: SettleResult) -> SettleResult:
        if settled.refused is not None:
            raise ClaimLost(f"task {self.id}: {settled.refused}" + (f" ({settled.reason})" if settled.reason else ""))
        if settled.state != "processing":
            raise ClaimLost(f"task {self.id} is {settled.state}: {settled.reason}")
        if settled.spawns:
            self._earlier = (self._earlier or EarlierSpawns()).add(settled.spawns)
        return settled


def settlement_of(context: BaseContext, result: Any) -> Settlement:
    """Return the settlement that ends a task whose handler returned this: a result, or an end that was chosen."""
    if isinstance(result, Outcome):
        return context.take_settlement(partial(outcome_event, result))
    text = None
    if result is not None:
        text = json_text("the result", result, context._kind.limits.payload_bytes_max)
    if context._asks_for_nothing():
        return succeeded(context._work.seq, context._work.fence, text)
    return context.take_settlement(completed, text)


class AsyncContext(BaseContext):
    """Verbs that commit when called, for callers that await them: handlers and pulled claims.

    :class:`SyncVerbs` runs the same methods for callers in threads, so they use nothing but what every context has.
    """

    async def checkpoint(
        self: BaseContext, stage: str | None = None, state: dict[str, Any] | None = None
    ) -> Sequence[SpawnResult]:
        """Commit stage, state, buffered spawns and writes now; a crash resumes after it.

        Returns:
            The guard's answers to the spawns buffered so far.

        Raises:
            ClaimLost: the claim is not this handler's any more.
        """
        text = None
        if stage is not None:
            check_name("the stage", stage)
        if state is not None:
            text = self.state_text(state, self._kind.limits.pipeline_state_bytes_max)
        settled = await self._call(
            self.take_settlement(lambda fence: ev.Checkpoint(fence, self._lease_seconds, stage), pipeline_state=text)
        )
        if stage is not None:
            self._stage = stage
        if text is not None:
            self.state_stored(text)
        return settled.spawns

    async def progress(self: BaseContext, done: float, total: float | None = None, message: str = "") -> None:
        """Tell people how far this task is. Extends the lease; commits at once.

        Raises:
            ClaimLost: the claim was lost.
        """
        note = storable(message, PROGRESS_CHARACTERS_MAX)
        for name, value in (("done", done), ("total", 0.0 if total is None else total)):
            finite(name, value)
        text = json.dumps({"done": done, "total": total, "message": note}, allow_nan=False)
        work = self._work
        await self._call(Settlement(work.seq, work.fence, ev.Progress(work.fence, self._lease_seconds), progress=text))

    async def spawn_now(self: BaseContext, /, kind: str | Handler, payload: Any = None, **options: Any) -> SpawnResult:
        """Ask for a child and learn the guard's answer at once. Options as for :meth:`spawn`.

        Raises:
            ClaimLost: the claim is not this handler's any more.
        """
        self._may_spawn()
        new = self._registry.get(kind).new_task(payload, **options)
        work = self._work
        settled = await self._call(
            Settlement(work.seq, work.fence, ev.Progress(work.fence, self._lease_seconds), spawns=[new])
        )
        return settled.spawns[0]

    async def reserve(
        self: BaseContext, nano_dollars: int, *, name: str | None = None, provider_deduplicates: bool = False
    ) -> Reservation:
        """Keep money for a call before making it; commits at once. Settle it afterwards.

        Args:
            nano_dollars: upper bound of the price; cap the call's output so that it holds.
            name: of the call. ``actual`` tells a later claim when that was settled already. One that an earlier claim
                left open, by a crash say, may have been made: it is booked in full, and this claim reserves again.
            provider_deduplicates: a repeated call has no price, as every claim sends the same key: a later claim takes
                over what an earlier one left open, as large as it was.

        Raises:
            CostRefused: the ceiling of the lineage, the UTC day or the database has no room.
            ClaimLost, ValueError: the claim was lost; not a whole number of nano-dollars, or not a valid name.
        """
        answer = await reserve(self._desk, self._work, nano_dollars, name, repeatable=provider_deduplicates)
        if isinstance(answer, str):
            raise ClaimLost(f"task {self.id}: {answer}")
        return answer

    def reservation(self, reservation_id: str, nano_dollars: int) -> Reservation:
        """Return what an earlier claim of this task reserved, to be settled now: keep ``id`` and ``amount`` in the
        state.
        """
        return Reservation(self._desk, reservation_id, nano_dollars, self.id)

    async def bind(self: BaseContext, task_ids: Iterable[str]) -> list[BindResult]:
        """Make pending tasks, of any lineage, claimable only through this one; commits at once.

        Each is refused by itself: when it is not pending, is held back or bound already, is past its deadline, or its
        lineage does not run. Snoozes and retries of this task keep them; its end frees those that it left unsettled. A
        cancel of a bound task, and the deadline of its lineage, end it all the same. Its own deadline is looked at
        when this task lets it go, or has run since without settling it.

        Returns:
            One answer per id, with the number that settling it needs.

        Raises:
            ClaimLost: the claim is not this handler's any more.
        """
        return await bind(self, task_ids)

    async def bound(self: BaseContext) -> list[BoundTask]:
        """Return the tasks that are bound to this one now, with their numbers: for the claim after a snooze."""
        return await bound(self)

    async def settle_items(self: BaseContext, items: Iterable[ItemSettlement]) -> list[ItemResult]:
        """Settle bound tasks now, thousands at a time; make the values with :func:`ramet.item_settlement`.

        Returns:
            One answer per item; late and doubled ones are refused one by one.

        Raises:
            ClaimLost: the claim is not this handler's any more.
        """
        return await settle_items(self, items)

    async def take(self: BaseContext, amounts: Mapping[str, float]) -> float:
        """Take an amount of each of these resources' rates, all or nothing, before a call; commits at once.

        The buckets are in the database: all workers share them, and lineages get equal shares of what is scarce. An
        amount above a burst is given when that bucket is full, and the next ones wait until it is paid.

        Args:
            amounts: by name of resource, in the units of its rate: requests, tokens.

        Returns:
            0.0 when all was taken. Else nothing was, and this is the number of seconds until there may be room: wait
            here if they are few (what you asked for is left to this lineage for 5 s from then), or
            ``return ctx.snooze(seconds, "rate")``; 300 where only a person can close a resource's breaker.

        Raises:
            ClaimLost, ValueError: the claim was lost; an invalid name of a resource, or an amount below 0. Nothing was
                taken.
        """
        return await take_units(self, amounts)

    async def adapt(
        self: BaseContext,
        name: str,
        *,
        limit_per_minute: float | None = None,
        remaining: float | None = None,
        reset_seconds: float | None = None,
    ) -> None:
        """Tell what a response's headers said about a resource's limit: all workers keep to it from now on.

        It makes a resource slower, never faster than its policy says. Nothing remaining until a reset, without a
        limit, is a refusal: a pause for so long, and half the rate. Commits at once, and writes only what is new.

        Args:
            name: of the resource.
            limit_per_minute: units that the server allows in a minute.
            remaining: units that are left.
            reset_seconds: until nothing of the limit is used.

        Raises:
            ValueError: no name of a resource, a limit of 0, or a number below 0.
        """
        await adapt_rate(self, name, ResponseLimits(limit_per_minute, remaining, reset_seconds))

    async def blob(self: BaseContext, content: bytes | str | Any) -> Blob:
        """Store a large value in this lineage, now; returns the small reference to put into payloads and results.

        The same content is stored once. One that nothing refers to goes when its lineage is pruned, as all do.

        Raises:
            BlobTooLarge, ClaimLost: it is over ``Limits.blob_bytes_max``; the claim was lost.
            StoreError: the lineage's blobs would be over ``Limits.lineage_blob_bytes_max`` together.
        """
        from ramet.engine.context.blob import put_blob

        return await put_blob(self, content)

    async def read_blob(self: BaseContext, reference: Blob | Mapping[str, Any]) -> Any:
        """Return the value that a blob of this lineage was made of: bytes, text or a JSON value.

        Raises:
            LookupError: there is no such blob in this lineage.
        """
        from ramet.engine.context.blob import read_blob

        return await read_blob(self.client.store, self.tracking_id, reference)

    async def transaction(
        self: BaseContext, statements: OwnStatements, *, settle: Actuals = ()
    ) -> list[StatementResult]:
        """Run statements on your own tables now, all or none, under the claim's fence: one transaction.

        For rows that must be read and changed together before the handler goes on; what can wait goes into ``write``.
        It is committed when this returns and stays so when the handler fails later, so make it safe to repeat: give
        ``expect_rows`` to a statement whose condition must still hold. It counts as progress.

        Args:
            statements: SELECT, INSERT, UPDATE, DELETE or REPLACE, with ``?`` for parameters.
            settle: reservations with what their calls cost, nano-dollars, booked in the same transaction. After an
                error nothing is booked: settle them by themselves then, for the money was spent.

        Raises:
            TransactionRefused: a statement failed, or met another number of rows than it expects; nothing was kept.
            ClaimLost, ValueError, TypeError: the claim was lost; a statement or parameter that cannot be run here.
        """
        return await run_transaction(self, statements, settle)

    async def read(self: BaseContext, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a SELECT on your own tables, outside of any transaction; each ``?`` is a parameter."""
        return await self.client.store.read(sql, parameters)


class SyncVerbs(Blocking, BaseContext):
    """Verbs that commit when called, for callers in threads: plain handlers and claims."""

    checkpoint = blocking(AsyncContext.checkpoint)
    progress = blocking(AsyncContext.progress)
    spawn_now = blocking(AsyncContext.spawn_now)
    bind = blocking(AsyncContext.bind)
    bound = blocking(AsyncContext.bound)
    settle_items = blocking(AsyncContext.settle_items)
    take = blocking(AsyncContext.take)
    adapt = blocking(AsyncContext.adapt)
    blob = blocking(AsyncContext.blob)
    read_blob = blocking(AsyncContext.read_blob)
    transaction = blocking(AsyncContext.transaction)
    read = blocking(AsyncContext.read)

    def reserve(
        self, nano_dollars: int, *, name: str | None = None, provider_deduplicates: bool = False
    ) -> SyncReservation:
        """See :meth:`Context.reserve`."""
        made = self._run(AsyncContext.reserve, nano_dollars, name=name, provider_deduplicates=provider_deduplicates)
        return SyncReservation(made, self._wait_for)

    def reservation(self, reservation_id: str, nano_dollars: int) -> SyncReservation:
        """See :meth:`Context.reservation`."""
        return SyncReservation(Reservation(self._desk, reservation_id, nano_dollars, self.id), self._wait_for)


class SyncContext(Endings, SyncVerbs):
    """The context of a plain ``def`` handler, which runs in a thread."""

    def __init__(self, *arguments: Any, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(*arguments)
        self._loop = loop

    def _wait_for(self, coroutine: Coroutine[Any, Any, Answer], /) -> Answer:
        return answer_from(self._loop, coroutine)


class Context(Endings, AsyncContext):
    """The context of an ``async def`` handler."""

    async def invoke(
        self,
        kinds: Sequence[str | Handler],
        *,
        concurrency: int | None = None,
        queues: Sequence[str] | None = None,
        wait: bool = True,
    ) -> InvokeResult:
        """Take tasks of pulled kinds, the one that has been due the longest first, and run their handlers here.

        At most ``Limits.invocation_items`` of this task's kind are claimed in each link of its chain, however often it
        is retried, and none after 80 % of ``invocation_seconds``; what still runs shortly before the end goes back
        with its attempt. When something changed this counts as progress (:meth:`continue_later`).

        Args:
            kinds: registered with ``pulled=True``.
            concurrency: how many of them run at once; left out, ``Limits.invocation_concurrency``.
            queues: where to look; by default where these kinds wait.
            wait: also for what comes due meanwhile, while any of them is live; False returns when nothing is due.

        Raises:
            ClaimLost, ValueError: the claim was lost; a kind is not pulled, or ``concurrency`` is less than 1.
        """
        return await self._desk.invoke(self, kinds, concurrency, queues, wait)
