"""The client for programs without an event loop: scripts, notebooks, Django views.

Every method is made of the async client's by :func:`~ramet.engine.base.forwarding.blocking`, so that the two cannot
differ in name, parameters or answer; type checkers see the same signatures. So are those of its parts and its claims.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, Self, Unpack, overload

from ramet.engine.base import current_tasks
from ramet.engine.base.forwarding import Answer, Blocking, Parameters, WaitFor, blocking
from ramet.engine.client.claim import BaseClaim, Claim, ClaimId
from ramet.engine.client.client import Client, Payload, Returned
from ramet.engine.client.handle import SubmitOptions, SyncTaskHandle, TaskHandle
from ramet.engine.client.schedules import Schedules
from ramet.engine.client.settings import Settings
from ramet.engine.context.context import SyncVerbs
from ramet.engine.context.joined import load_joined
from ramet.engine.context.ports import ClaimLost
from ramet.engine.kinds.registry import Handler
from ramet.engine.settings.setting import SETTINGS_SECONDS
from ramet.model.lineage.limits import LEASE_SECONDS
from ramet.model.task.task import Task


class SyncClaim(SyncVerbs, BaseClaim):
    """:class:`~ramet.engine.client.claim.Claim` without ``await``.

    In ``with`` the lease is kept by heartbeats. A lost claim cannot interrupt a plain block: its next verb raises
    ``ClaimLost``, ``lost`` is true at once, and the block's end raises ``ClaimLost`` when nothing else was raised.
    """

    def __init__(self, wait_for: WaitFor, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._wait_for = wait_for

    heartbeat = blocking(Claim.heartbeat)
    advance = blocking(Claim.advance)
    complete = blocking(Claim.complete)
    filter = blocking(Claim.filter)
    skip = blocking(Claim.skip)
    fail = blocking(Claim.fail)
    join = blocking(Claim.join)
    snooze = blocking(Claim.snooze)
    continue_later = blocking(Claim.continue_later)
    release = blocking(Claim.release)

    def __enter__(self) -> Self:
        self._wait_for(self.keep_alive())
        current_tasks.enter_block(self.unfinished)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        current_tasks.leave_block(self.unfinished)
        lost = self._lost
        self._wait_for(self._leave(error))
        if lost and error is None:
            raise ClaimLost(f"task {self.id}: the claim with fence {self.fence} was lost while working on it")


class SyncPart(Blocking):
    """A part of a client whose methods wait."""

    def __init__(self, wait_for: WaitFor, asynchronous: Any) -> None:
        self._wait_for = wait_for
        self.asynchronous = asynchronous
        """The part that does the work."""

    @property
    def _async(self) -> Any:
        return self.asynchronous


class SyncSchedules(SyncPart):
    """:class:`ramet.engine.client.schedules.Schedules` without ``await``: ``client.schedules`` of a
    :class:`ramet.SyncClient`."""

    add = blocking(Schedules.add)
    declare = blocking(Schedules.declare)
    all = blocking(Schedules.all)
    get = blocking(Schedules.get)
    slots = blocking(Schedules.slots)
    pause = blocking(Schedules.pause)
    resume = blocking(Schedules.resume)
    remove = blocking(Schedules.remove)
    run = blocking(Schedules.run)


class SyncSettings(SyncPart):
    """:class:`ramet.engine.client.settings.Settings` without ``await``: ``client.settings`` of a
    :class:`ramet.SyncClient`."""

    refresh = blocking(Settings.refresh)
    limits = blocking(Settings.limits)
    all = blocking(Settings.all)
    get = blocking(Settings.get)
    check = blocking(Settings.check)
    set = blocking(Settings.set)
    set_many = blocking(Settings.set_many)
    unset = blocking(Settings.unset)
    preset = blocking(Settings.preset)


def _in_this_thread(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """Run what never waits: a verb on the caller's own connection, which belongs to the caller's thread."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer
    coroutine.close()
    raise AssertionError("a verb on the caller's own connection waited for something")


class SyncClient(Blocking):
    """:class:`~ramet.engine.client.client.Client` without ``await``. Safe to use from many threads at once.

    It runs an event loop in a thread of its own, so it works inside a running loop's thread too (a notebook), where
    it blocks that loop while it waits. Make one per process: after a fork, open another. Close it, or use it in
    ``with``.
    """

    def __init__(self, client: Client) -> None:
        self.asynchronous = client
        """The client that does the work; its coroutines go to :meth:`wait_for`."""
        self.schedules = SyncSchedules(self.wait_for, client.schedules)
        """Periodic triggers: add, list, pause, resume, remove, run."""
        self.settings = SyncSettings(self.wait_for, client.settings)
        """Defaults that can be changed while the engine runs."""
        self._process = os.getpid()
        self._own_loop = asyncio.new_event_loop()
        self._loop: asyncio.AbstractEventLoop | None = self._own_loop
        self._thread = threading.Thread(target=self._serve, args=(self._own_loop,), name="ramet client", daemon=True)
        self._thread.start()

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()

    def wait_for(self, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
        """Run a coroutine in the client's loop and wait for its answer; Ctrl-C cancels it.

        Raises:
            RuntimeError: the client is closed, was opened before a fork, or is called from its own loop.
        """
        loop, why = self._loop, None
        if loop is None:
            why = "the client is closed: open another"
        elif self._process != os.getpid():
            why = "the client was opened before this process was forked: open one in each process"
        elif threading.current_thread() is self._thread:
            why = "called from the client's own event loop: await the method of client.asynchronous there"
        if loop is None or why is not None:
            coroutine.close()
            raise RuntimeError(why)
        waiting = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()
            raise

    _wait_for = wait_for

    @property
    def _async(self) -> Client:
        return self.asynchronous

    def _run(
        self,
        method: Callable[Concatenate[Any, Parameters], Coroutine[Any, Any, Answer]],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Answer:
        if kwargs.get("connection") is None:
            return super()._run(method, *args, **kwargs)
        # Whatever the method reads first must be known by now: in this thread nothing can be waited for.
        self.wait_for(self.asynchronous.settings.refresh(SETTINGS_SECONDS / 2))
        return _in_this_thread(method(self.asynchronous, *args, **kwargs))

    def close(self) -> None:
        """Release the database and end the loop. Claims that are not settled return when their leases lapse."""
        if self._loop is None or self._process != os.getpid():
            return
        self.wait_for(self.asynchronous.close())
        loop, self._loop = self._loop, None
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()

    def __enter__(self) -> Self:
        self.ensure_tables()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def place(self) -> str:
        """The database's address as it may be shown: without its password."""
        return self.asynchronous.place

    ensure_tables = blocking(Client.ensure_tables)

    @overload
    def submit(self, kind: str, payload: Any = None, **options: Unpack[SubmitOptions]) -> SyncTaskHandle[Any]: ...
    @overload
    def submit(
        self, kind: Callable[[Any], Returned], payload: None = None, **options: Unpack[SubmitOptions]
    ) -> SyncTaskHandle[Returned]: ...
    @overload
    def submit(
        self, kind: Callable[[Any, Payload], Returned], payload: Payload, **options: Unpack[SubmitOptions]
    ) -> SyncTaskHandle[Returned]: ...
    @overload
    def submit(
        self,
        kind: Callable[Concatenate[Any, Parameters], Returned],
        payload: Mapping[str, Any],
        **options: Unpack[SubmitOptions],
    ) -> SyncTaskHandle[Returned]: ...
    @overload
    def submit(
        self,
        kind: Callable[[Any, list[Payload]], Any],
        payload: Payload,
        **options: Unpack[SubmitOptions],
    ) -> SyncTaskHandle[Any]: ...
    @wraps(Client.submit)
    def submit(self, kind: Any, payload: Any = None, **options: Any) -> SyncTaskHandle[Any]:
        method: Callable[..., Coroutine[Any, Any, TaskHandle[Any]]] = Client.submit
        handle = self._run(method, kind, payload, **options)
        return SyncTaskHandle.waiting(handle, self.wait_for)

    submit_many = blocking(Client.submit_many)
    add = blocking(Client.add)

    get = blocking(Client.get)
    history = blocking(Client.history)
    task_log = blocking(Client.task_log)
    tasks = blocking(Client.tasks)
    tallies = blocking(Client.tallies)
    has_live = blocking(Client.has_live)
    claimable = blocking(Client.claimable)
    can_spawn = blocking(Client.can_spawn)
    bound_counts = blocking(Client.bound_counts)
    lineage = blocking(Client.lineage)
    lineages = blocking(Client.lineages)
    counts = blocking(Client.counts)
    distribution = blocking(Client.distribution)
    queue_size = blocking(Client.queue_size)
    percent_complete = blocking(Client.percent_complete)
    stale = blocking(Client.stale)
    ends = blocking(Client.ends)
    wait_lineage = blocking(Client.wait_lineage)
    block_totals = blocking(Client.block_totals)
    parent_block_counts = blocking(Client.parent_block_counts)
    acts = blocking(Client.acts)
    costs = blocking(Client.costs)
    stage_counts = blocking(Client.stage_counts)
    read = blocking(Client.read)
    tree = blocking(Client.tree)
    roots = blocking(Client.roots)
    child_counts = blocking(Client.child_counts)
    joined = blocking(Client.joined)
    waiting_for = blocking(Client.waiting_for)
    explain = blocking(Client.explain)
    explain_key = blocking(Client.explain_key)
    wait = blocking(Client.wait)
    result = blocking(Client.result)
    blob = blocking(Client.blob)

    cancel = blocking(Client.cancel)
    cancel_lineage = blocking(Client.cancel_lineage)
    revive = blocking(Client.revive)
    bulk_select = blocking(Client.bulk_select)
    bulk_run = blocking(Client.bulk_run)

    paths = blocking(Client.paths)
    blocked_by = blocking(Client.blocked_by)
    held_back = blocking(Client.held_back)

    present = blocking(Client.present)
    problem_counts = blocking(Client.problem_counts)
    state_counts = blocking(Client.state_counts)
    lineage_page = blocking(Client.lineage_page)
    branches = blocking(Client.branches)
    twigs = blocking(Client.twigs)
    timeline = blocking(Client.timeline)
    checkpoint = blocking(Client.checkpoint)
    deepest = blocking(Client.deepest)
    lineage_counts = blocking(Client.lineage_counts)
    delays = blocking(Client.delays)
    backlogs = blocking(Client.backlogs)
    resource_backlogs = blocking(Client.resource_backlogs)
    in_hand = blocking(Client.in_hand)
    block_page = blocking(Client.block_page)
    task_calls = blocking(Client.task_calls)
    tasks_with_key = blocking(Client.tasks_with_key)

    alert = blocking(Client.alert)
    alerts = blocking(Client.alerts)
    acknowledge_alert = blocking(Client.acknowledge_alert)
    alert_channels = blocking(Client.alert_channels)
    alert_notices = blocking(Client.alert_notices)
    check_alerts = blocking(Client.check_alerts)
    notify = blocking(Client.notify)
    try_alert_channels = blocking(Client.try_alert_channels)
    edges = blocking(Client.edges)
    exclude = blocking(Client.exclude)
    reprioritise = blocking(Client.reprioritise)
    reschedule = blocking(Client.reschedule)
    close_breaker = blocking(Client.close_breaker)
    kind_limits = blocking(Client.kind_limits)
    limit = blocking(Client.limit)
    limit_resource = blocking(Client.limit_resource)
    reset_limit = blocking(Client.reset_limit)
    change_resource = blocking(Client.change_resource)
    open_breaker = blocking(Client.open_breaker)
    policies = blocking(Client.policies)
    resources = blocking(Client.resources)
    unserved = blocking(Client.unserved)
    usage = blocking(Client.usage)
    workers = blocking(Client.workers)
    commit_times = blocking(Client.commit_times)
    pause_lineage = blocking(Client.pause_lineage)
    pause_queue = blocking(Client.pause_queue)
    block_queue = blocking(Client.block_queue)
    unblock_queue = blocking(Client.unblock_queue)
    queues = blocking(Client.queues)
    pause_path = blocking(Client.pause_path)
    resume_path = blocking(Client.resume_path)
    path_pauses = blocking(Client.path_pauses)
    path_size = blocking(Client.path_size)
    reoffer = blocking(Client.reoffer)
    resume_lineage = blocking(Client.resume_lineage)
    resume_queue = blocking(Client.resume_queue)
    stop = blocking(Client.stop)
    stop_list = blocking(Client.stop_list)
    unstop = blocking(Client.unstop)
    settle_many = blocking(Client.settle_many)
    heartbeat_many = blocking(Client.heartbeat_many)
    acknowledge = blocking(Client.acknowledge)
    joined_page = blocking(Client.joined_page)
    claim_fate = blocking(Client.claim_fate)
    reclaim = blocking(Client.reclaim)
    blocks = blocking(Client.blocks)
    raise_limits = blocking(Client.raise_limits)
    set_max_cost = blocking(Client.set_max_cost)

    def spellings(self, kind: str | Handler | None, key: str) -> list[str]:
        """See :meth:`ramet.engine.client.client.Client.spellings`."""
        return self.asynchronous.spellings(kind, key)

    def all_tasks(self, **filters: Any) -> Iterator[Task]:
        """Every task that :meth:`tasks` would list, page after page."""
        after: int | None = 0
        while after is not None:
            page = self.tasks(**filters, limit=1_000, after=after)
            yield from page.tasks
            after = page.next_after

    def claim(
        self,
        kinds: str | Handler | Iterable[str | Handler],
        n: int = 1,
        *,
        queues: Sequence[str] | None = None,
        path: Sequence[str] | None = None,
        lease_seconds: float = LEASE_SECONDS,
        wait_seconds: float = 0.0,
        worker: str | None = None,
    ) -> list[SyncClaim]:
        """See :meth:`ramet.engine.client.client.Client.claim`."""
        claims = self.wait_for(
            self.asynchronous.take(
                partial(SyncClaim, self.wait_for),
                kinds,
                n,
                queues=queues,
                path=path,
                lease_seconds=lease_seconds,
                wait_seconds=wait_seconds,
                worker=worker,
            )
        )
        self.wait_for(load_joined(claims))
        return claims

    def resume_claims(
        self, claims: Iterable[ClaimId], *, lease_seconds: float = LEASE_SECONDS
    ) -> list[SyncClaim | ClaimLost]:
        """See :meth:`ramet.engine.client.client.Client.resume_claims`."""
        make = partial(SyncClaim, self.wait_for)
        return self.wait_for(self.asynchronous.take_again(make, claims, lease_seconds=lease_seconds))

    @contextmanager
    def keep(self, claims: Iterable[BaseClaim]) -> Iterator[None]:
        """See :meth:`ramet.engine.client.client.Client.keep`."""
        held = list(claims)
        keeping = self.asynchronous.keep(held)
        self.wait_for(_entered(keeping))
        try:
            for claim in held:
                current_tasks.enter_block(claim.unfinished)
            yield
        finally:
            for claim in held:
                current_tasks.leave_block(claim.unfinished)
            self.wait_for(_left(keeping))


async def _entered(keeping: Any) -> None:
    await keeping.__aenter__()


async def _left(keeping: Any) -> None:
    await keeping.__aexit__(None, None, None)
