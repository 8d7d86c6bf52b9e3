"""What a handler holds: its task, and the verbs with which it asks for things.

Spawns and writes are buffered and commit together with the task's next checkpoint or its end, so a handler that
crashes leaves nothing half-done. ``checkpoint``, ``progress`` and ``spawn_now`` commit when called.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from ramet.engine.base.clock import new_id
from ramet.engine.base.json_text import json_text
from ramet.engine.base.work import Work, completed
from ramet.engine.context.binding import AsyncBinder, Binder, SyncBinder
from ramet.engine.context.data import AsyncDomain, SyncDomain, check_own
from ramet.engine.context.directives import NOTHING, Beyond
from ramet.engine.context.money import Reservation, SyncReservation, reserve
from ramet.engine.context.outcome import Endings, Outcome, outcome_event
from ramet.engine.context.ports import ClaimLost, Desk, Inside, Invocation
from ramet.engine.context.rates import AsyncRates, SyncRates
from ramet.engine.context.task import CallTime, Gathered, OwnTask
from ramet.engine.kinds.options import PathArguments
from ramet.engine.kinds.registry import Handler, Kind, Registry
from ramet.engine.kinds.signatures import FirstArgument
from ramet.model.lineage.limits import LOWERABLE
from ramet.model.money import Charge, amount_of
from ramet.model.task import events as ev
from ramet.model.task.task import NewTask
from ramet.model.values import INTEGER_MAX, PROGRESS_CHARACTERS_MAX, check_name, finite, storable, whole
from ramet.store.answers import Settled, SpawnAnswer
from ramet.store.requests import Settlement, Write

if TYPE_CHECKING:
    # The one circle of the engine, of types alone: a claim is a context with a client, and the client makes claims.
    # Without it ``ctx.client`` would have to hide which methods a client has.
    from ramet.engine.client.client import Client


class HandlerDesk(Desk, Protocol):
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
    ) -> Invocation:
        """Run pulled tasks: :meth:`ramet.Context.invoke`."""
        ...


class BaseContext(OwnTask, Gathered, CallTime, Binder, Beyond, FirstArgument):
    """What contexts of async and plain handlers have in common."""

    _desk: HandlerDesk
    # Buffered: a task that asks for nothing pays nothing for these.
    _spawns: tuple[NewTask, ...] | list[NewTask] = ()
    _writes: tuple[Write, ...] | list[Write] = ()
    _lower: tuple[tuple[str, int], ...] = ()
    _client: Client | None = None
    _charged: int | None = None

    def __init__(self, work: Work, kind: Kind, registry: Registry, desk: HandlerDesk, lease_seconds: float) -> None:
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
        (:class:`ramet.OwnLineage`): an operator does that. A lineage that is submitted through it is one generation
        further from its beginning; of these there are at most 10 (DESIGN §5, I6).
        """
        if self._client is None:
            self._client = self._desk.client()._for_handler(self.tracking_id)
        return self._client

    # --- asking for things that commit with the task

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
        **path: Unpack[PathArguments],
    ) -> None:
        """Ask for a child task. The guard decides when this task ends or reaches its next checkpoint.

        Args:
            keep_edge: a spawn that is refused because its task exists already leaves the edge to that task, which
                ``ramet tree`` and ``ramet explain`` show.
            task_seconds: its own deadline, where it is stricter than its kind's.
            required: this task's work is not done without the child. A refusal other than ``in_flight`` and ``done``
                (the child is there already) ends this task with the permanent error ``spawn_refused``, and nothing
                that was buffered is kept.
            path: where the child stands in line: below this task's own path, beside it, or on it. One that conflicts
                with this task begins after its end; spawned last, on a prefix of the others' paths, one begins when
                all of them have ended.

        Raises:
            UnknownKind: nobody registered that kind.
            PayloadTooLarge: keep the large part elsewhere.
            InvalidPath: there is no such path; one line names the element.
        """
        self._may_spawn()
        target = self._registry.get(kind)
        new = target.new_task(
            payload, key=key, queue=queue, priority=priority, delay_seconds=delay_seconds, keep_edge=keep_edge,
            task_seconds=task_seconds, required=required, **path,
        )  # fmt: skip
        self.spawn_next(new)

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """A statement on your own tables that commits with the task, under its fence. ``?`` stands for parameters.

        Raises:
            ValueError: the statement touches the engine's own tables, or is none that writes rows.
            TypeError: a parameter is not None, a boolean, number, text or bytes.
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

    # --- for the engine

    def inside(self) -> Inside:
        """For the engine: what it needs to run other tasks inside of this one."""
        return Inside(self._work, self._kind, self._registry, self._clock, self._lease_seconds, self._call)

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
        settlement = Settlement(
            work.seq,
            work.fence,
            made,
            result,
            self._spawns,
            self._writes,
            pipeline_state,
            None,
            self._lower,
            None if self._charged is None else Charge(new_id(), self._charged),
            self._items,
            # Nearly every task asks for neither.
            *(NOTHING if self._held_for is None and self._switched_off is None else self.take_beyond(made)),
        )
        self._spawns, self._writes, self._lower, self._charged, self._items = (), (), (), None, ()
        return settlement

    async def _call(self, settlement: Settlement) -> Settled:
        return self._accepted(await self._desk.call(settlement))

    def _accepted(self, settled: Settled) -> Settled:
        if settled.refused is not None:
            raise ClaimLost(f"task {self.id}: {settled.refused}" + (f" ({settled.reason})" if settled.reason else ""))
        if settled.state != "processing":
            raise ClaimLost(f"task {self.id} is {settled.state}: {settled.reason}")
        return settled

    async def _checkpoint(self, stage: str | None, state: dict[str, Any] | None) -> Sequence[SpawnAnswer]:
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

    async def _progress(self, done: float, total: float | None, message: str) -> None:
        note = storable(message, PROGRESS_CHARACTERS_MAX)
        for name, value in (("done", done), ("total", 0.0 if total is None else total)):
            finite(name, value)
        text = json.dumps({"done": done, "total": total, "message": note}, allow_nan=False)
        work = self._work
        await self._call(Settlement(work.seq, work.fence, ev.Progress(work.fence, self._lease_seconds), progress=text))

    async def _spawn_now(self, kind: str | Handler, payload: Any, options: dict[str, Any]) -> SpawnAnswer:
        self._may_spawn()
        new = self._registry.get(kind).new_task(payload, **options)
        work = self._work
        settled = await self._call(
            Settlement(work.seq, work.fence, ev.Progress(work.fence, self._lease_seconds), spawns=[new])
        )
        return settled.spawns[0]

    async def _reserve(self, nano_dollars: int, name: str | None) -> Reservation:
        answer = await reserve(self._desk, self._work, nano_dollars, name)
        if isinstance(answer, str):
            raise ClaimLost(f"task {self.id}: {answer}")
        return answer


def settlement_of(context: BaseContext, result: Any) -> Settlement:
    """What ends a task whose handler returned this: a result, or an end that was chosen."""
    if isinstance(result, Outcome):
        return context.take_settlement(partial(outcome_event, result))
    text = None
    if result is not None:
        text = json_text("the result", result, context._kind.limits.payload_bytes_max)
    return context.take_settlement(completed, text)


class AsyncContext(AsyncDomain, AsyncBinder, AsyncRates, BaseContext):
    """What commits when called, for whoever awaits it: handlers and pulled claims."""

    async def checkpoint(self, stage: str | None = None, state: dict[str, Any] | None = None) -> Sequence[SpawnAnswer]:
        """Commit stage, state, buffered spawns and writes now; a crash resumes after it.

        Returns:
            The guard's answers to the spawns buffered so far.

        Raises:
            ClaimLost: the claim is not this handler's any more.
        """
        return await self._checkpoint(stage, state)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell people how far this task is. Extends the lease; commits at once.

        Raises:
            ClaimLost: the claim is not this handler's any more.
        """
        await self._progress(done, total, message)

    async def spawn_now(self, kind: str | Handler, payload: Any = None, **options: Any) -> SpawnAnswer:
        """Ask for a child and learn the guard's answer at once. Options as for :meth:`spawn`.

        Raises:
            ClaimLost: the claim is not this handler's any more.
        """
        return await self._spawn_now(kind, payload, options)

    async def reserve(self, nano_dollars: int, *, name: str | None = None) -> Reservation:
        """Keep money for a call before making it; commits at once. Settle it afterwards.

        Args:
            nano_dollars: upper bound of the price; cap the call's output so that it holds.
            name: what this task calls the call. Asked again under the name, by a later claim after a crash, it is the
                same reservation, as large as it was first; its ``actual`` tells when that call was settled already.

        Raises:
            CostRefused: the ceiling of the lineage, the UTC day or the database has no room.
            ClaimLost: the claim is not this handler's any more.
            ValueError: not a whole number of nano-dollars, or a name whose call was open when the task ended.
        """
        return await self._reserve(nano_dollars, name)

    def reservation(self, reservation_id: str, nano_dollars: int) -> Reservation:
        """What an earlier claim of this task reserved, to be settled now: keep ``id`` and ``amount`` in the state."""
        return Reservation(self._desk, reservation_id, nano_dollars, self.id)


class SyncContext(Endings, SyncDomain, SyncBinder, SyncRates, BaseContext):
    """The context of a plain ``def`` handler, which runs in a thread."""

    def __init__(self, *arguments: Any, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(*arguments)
        self._loop = loop

    def _wait_for(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def checkpoint(self, stage: str | None = None, state: dict[str, Any] | None = None) -> Sequence[SpawnAnswer]:
        """See :meth:`Context.checkpoint`."""
        return asyncio.run_coroutine_threadsafe(self._checkpoint(stage, state), self._loop).result()

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """See :meth:`Context.progress`."""
        asyncio.run_coroutine_threadsafe(self._progress(done, total, message), self._loop).result()

    def spawn_now(self, kind: str | Handler, payload: Any = None, **options: Any) -> SpawnAnswer:
        """See :meth:`Context.spawn_now`."""
        return asyncio.run_coroutine_threadsafe(self._spawn_now(kind, payload, options), self._loop).result()

    def reserve(self, nano_dollars: int, *, name: str | None = None) -> SyncReservation:
        """See :meth:`Context.reserve`."""
        return SyncReservation(self._wait_for(self._reserve(nano_dollars, name)), self._wait_for)

    def reservation(self, reservation_id: str, nano_dollars: int) -> SyncReservation:
        """See :meth:`Context.reservation`."""
        return SyncReservation(Reservation(self._desk, reservation_id, nano_dollars, self.id), self._wait_for)


class Context(Endings, AsyncContext):
    """The context of an ``async def`` handler."""

    async def invoke(
        self,
        kinds: Sequence[str | Handler],
        *,
        concurrency: int | None = None,
        queues: Sequence[str] | None = None,
        wait: bool = True,
    ) -> Invocation:
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
            ClaimLost: the claim is not this handler's any more.
            ValueError: a kind is not pulled, or ``concurrency`` is less than 1.
        """
        return await self._desk.invoke(self, kinds, concurrency, queues, wait)
