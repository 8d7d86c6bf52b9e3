"""The store: one verb per intent, always for a batch, each in one transaction.

Times inside come from the store's own clock, so that one clock judges leases. Requests and answers are plain values;
nothing of a dialect shows. The conformance tests prove for both dialects what each verb promises.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ramet.model.alerts.notifications import NoticeRules
from ramet.model.alerts.rules import MonitorLimits
from ramet.model.flow.resources import ResponseLimits
from ramet.model.operations import BulkAction
from ramet.store.answers import MonitorStepResult, SettleResult, SubmitResult, SweepResult
from ramet.store.errors import StoreUncertain
from ramet.store.imports import import_tasks as import_verbs
from ramet.store.maintenance import monitor, notification_outbox, path_followup
from ramet.store.maintenance import monitor as alert_verbs
from ramet.store.maintenance import prune as prune_verbs
from ramet.store.processes.registry import ProcessRegistry
from ramet.store.reads import details, flow, joined, live, path_reach, timeline, tree
from ramet.store.reads import handler_waits as handler_wait_reads
from ramet.store.reads import history as history_reads
from ramet.store.reads import history as key
from ramet.store.reads import lineages as lineage_reads
from ramet.store.reads import paths as path_reads
from ramet.store.reads import tasks as task_reads
from ramet.store.requests import NewLineage, Settlement
from ramet.store.rows import blobs, keys, money, own_tables, spawns
from ramet.store.rows import settings as settings_rows
from ramet.store.rows import tallies as tally_rows
from ramet.store.rows import workers as commit_time_rows
from ramet.store.rows import workers as worker_rows
from ramet.store.rows.tallies import EndsCallback
from ramet.store.rows.workers import CommitTimer, Measured
from ramet.store.session import Session
from ramet.store.state import path_changes
from ramet.store.verbs import claim as claim_verbs
from ramet.store.verbs import fenced, limits, operate, path_pauses, pause, queue_block, rates, schedule
from ramet.store.verbs import raise_limits as raise_verbs
from ramet.store.verbs import reoffer as reoffer_verbs
from ramet.store.verbs import resources as resource_verbs
from ramet.store.verbs import settle as settle_verbs
from ramet.store.verbs import spawn as spawn_verbs
from ramet.store.verbs import submit as submit_verbs
from ramet.store.verbs.reclaim import DeadWorkers

P = ParamSpec("P")
Item = TypeVar("Item")
Answer = TypeVar("Answer")
Running = Coroutine[Any, Any, Answer]
"""Result of a call of a verb: to be awaited."""


def reads(function: Callable[Concatenate[Session, P], Answer]) -> Callable[Concatenate[Store, P], Running[Answer]]:
    """Return the verb that runs ``function`` on a consistent view of what is durable."""
    ask = _asking(function)

    async def verb(self: Store, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return await self._read(ask(*args, **kwargs))

    return _shown_as(function, verb)


def writes(
    function: Callable[Concatenate[Session, P], Answer],
    *,
    follows: Callable[..., tuple[Sequence[str], Sequence[str]] | None] | None = None,
) -> Callable[Concatenate[Store, P], Running[Answer]]:
    """Return the verb that runs ``function`` alone: no other verb writes until it is durable.

    ``follows``: for a verb that may reopen lineages, takes its arguments by name and returns the tasks and lineages
    that :meth:`Store._follow` prepares first; None for none.
    """
    ask = _asking(function)

    async def verb(self: Store, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        asked = ask(*args, **kwargs)
        if follows is not None and (reopened := follows(**asked.keywords)) is not None:
            await self._follow(*reopened)
        return await self._write(asked)

    return _shown_as(function, verb)


def writes_beside(
    function: Callable[Concatenate[Session, P], Answer], name: str = "other"
) -> Callable[Concatenate[Store, P], Running[Answer]]:
    """Return the verb that runs ``function``, which locks every row it decides about, while others write too.

    ``name``: the one of :data:`ramet.model.flow.resources.COMMIT_VERBS` under which its commit is measured.
    """
    ask = _asking(function)

    async def verb(self: Store, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return await self._write_beside(ask(*args, **kwargs), name)

    return _shown_as(function, verb)


def writes_together(
    function: Callable[[Session, Sequence[Item]], Sequence[Answer]], name: str = "other"
) -> Callable[[Store, Sequence[Item]], Running[list[Answer]]]:
    """Return the verb as :func:`writes_beside` does, with an answer to each item; callers may share a transaction."""

    async def verb(self: Store, items: Sequence[Item], /) -> list[Answer]:
        return [*await self._write_together(function, items, name)]

    return _shown_as(function, verb)


def writes_measured(
    function: Callable[Concatenate[Session, Measured, P], None],
) -> Callable[Concatenate[Store, P], Running[None]]:
    """Return the verb that also stores how long commits of this process took since the last such call."""
    ask = _asking(function, given=2)

    async def verb(self: Store, /, *args: P.args, **kwargs: P.kwargs) -> None:
        measured = self._timer.take()
        try:
            await self._write_beside(partial(ask(*args, **kwargs), measured=measured))
        except StoreUncertain:
            raise  # It may be stored: a second time would count commits twice.
        except BaseException:
            self._timer.give_back(measured)
            raise

    return _shown_as(function, verb, given=2)


def _asking(function: Callable[..., Answer], given: int = 1) -> Callable[..., partial[Answer]]:
    """Return what binds a caller's arguments, by name, to a function whose first ``given`` ones it does not give.

    By name, because :func:`ramet.store.requests.check_arguments` goes by names.
    """
    code = function.__code__
    names = code.co_varnames[max(given, code.co_posonlyargcount) : code.co_argcount]

    def ask(*args: object, **kwargs: object) -> partial[Answer]:
        if len(args) > len(names):
            raise TypeError(f"{function.__name__} takes {len(names)} positional arguments, not {len(args)}")
        return partial(function, **dict(zip(names, args, strict=False)), **kwargs)

    return ask


Verb = TypeVar("Verb", bound=Callable[..., object])


def _shown_as(function: Callable[..., object], verb: Verb, given: int = 1) -> Verb:
    """Give a verb the docstring and the parameters of the function that does the work, for ``help`` and the like."""
    signature = inspect.signature(function)
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wraps(function)(verb)
    vars(verb)["__signature__"] = signature.replace(parameters=[me, *[*signature.parameters.values()][given:]])
    return verb


class Store(ABC):
    """Everything the engine asks of a database. A dialect says how verbs run."""

    _timer: CommitTimer
    """Timer of commits; nothing is measured where verbs run inline."""
    _neighbours: ProcessRegistry

    # --- how verbs run

    @abstractmethod
    async def _read(self, verb: Callable[[Session], Answer]) -> Answer:
        """Run a verb on a consistent view of what is durable."""

    @abstractmethod
    async def _write(self, verb: Callable[[Session], Answer]) -> Answer:
        """Run a verb alone: no other verb writes until it is durable, which it is when this returns."""

    @abstractmethod
    async def _write_beside(self, verb: Callable[[Session], Answer], name: str = "other") -> Answer:
        """Run a verb that locks every row it decides about, so that others may write at the same time."""

    @abstractmethod
    async def _write_together(
        self, verb: Callable[[Session, Sequence[Item]], Sequence[Answer]], items: Sequence[Item], name: str = "other"
    ) -> Sequence[Answer]:
        """Run a verb as :meth:`_write_beside` does; those that wait may share a transaction."""

    @abstractmethod
    def _within(self, connection: object, verb: Callable[[Session], Answer]) -> Answer:
        """Run a verb in the caller's transaction and thread, see :meth:`submit_within`."""

    @abstractmethod
    async def _follow(self, task_ids: Sequence[str], tracking_ids: Sequence[str] = ()) -> None:
        """Prepare to reopen these tasks and lineages.

        Reopening first follows the end of a lineage to its last task, alone. A dialect on which others would wait for
        that may do most of it here.
        """

    @abstractmethod
    async def _sweep(self, limit: int, dead_workers: DeadWorkers) -> SweepResult:
        """Do one round of maintenance; claims of ``dead_workers`` need not wait for their leases."""

    # --- the database and the processes on it

    @property
    @abstractmethod
    def address(self) -> str:
        """The address that :func:`ramet.store.opening.open_store` takes to open it again.

        With its password, if it has one: show people :func:`ramet.store.address.shown` of it.
        """

    @property
    @abstractmethod
    def ahead_seconds(self) -> float:
        """Seconds by which the store's clock, which all stored times follow, was ahead of this machine's when it was
        opened.
        """

    @property
    def slots_folder(self) -> Path | None:
        """Folder in which a worker that joined notes what its handlers run
        (:mod:`ramet.store.processes.running_notes`).

        A sweep after its death can tell that from what was only fetched. None where there is no such place.
        """
        return self._neighbours.folder

    def join(self, worker: str, *, unless_joined: bool = False) -> None:
        """Be seen as alive by other processes on this database, and be woken by them, until closed.

        The last name that joined holds; ``unless_joined`` leaves the one that joined before.
        """
        self._neighbours.join(worker, unless_joined=unless_joined)

    async def wait_for_work(self, timeout_seconds: float) -> None:
        """Return as soon as a task may have become claimable, or after the time-out."""
        await self._neighbours.wait(timeout_seconds)

    @abstractmethod
    def watch_ends(self, ends: EndsCallback) -> None:
        """Call the given function with the numbers of tasks that a transaction of this store ended, for whatever
        reason.

        It is called once for each task, in any thread, when the end is durable and before the verb returns. It must
        return at once and raise nothing. A later call replaces it.
        """

    async def close(self) -> None:
        """Release everything. Leases of this process's claims stay until they expire or are handed back."""
        self.close_now()

    @abstractmethod
    def close_now(self) -> None:
        """Finish what waits to be written and release everything."""

    now = reads(flow.now)

    # --- work

    submit = writes_together(submit_verbs.submit, "submit")

    def submit_within(self, connection: object, lineages: Sequence[NewLineage]) -> list[SubmitResult]:
        """Submit in a transaction that the caller began on its own connection to the same database.

        Runs in the caller's thread, takes effect if and when the caller commits, and wakes no worker: they look again
        within their poll interval.

        Raises:
            StoreError: the connection is not to this database, or has no open transaction.
        """
        return self._within(connection, partial(submit_verbs.submit, lineages=lineages))

    claim = writes_beside(claim_verbs.claim, "claim")
    claimed = reads(claim_verbs.claimed)
    heartbeat = writes_beside(claim_verbs.heartbeat)

    async def settle(self, batch: Sequence[Settlement]) -> list[SettleResult]:
        """Apply what workers ask for under their claims; each is refused on its own when its fence is stale.

        Spawns, writes, state and result of one settlement commit together or not at all.
        """
        try:
            return [*await self._write_together(settle_verbs.settle, batch, "settle")]
        except settle_verbs.UNSETTLEABLE as error:
            if len(batch) == 1:
                failed = settle_verbs.failed(batch[0], settle_verbs.NOT_STORED, error)
                return [*await self._write_together(settle_verbs.settle, [failed], "settle")]
        # It is not known which one is at fault: settle each half in a transaction of its own.
        half = len(batch) // 2
        return [*await self.settle(batch[:half]), *await self.settle(batch[half:])]

    put_blob = writes_beside(fenced.put_blob)
    blob = reads(blobs.read_blob)
    transact = writes_beside(fenced.transact)
    bind = writes_beside(fenced.bind)
    note_wait = writes_beside(fenced.note_wait)
    forget_wait = writes_beside(fenced.forget_wait)
    acknowledge = writes_beside(path_changes.release_claims)
    ends = reads(task_reads.ends)

    async def sweep(self, *, limit: int = 500) -> SweepResult:
        """Do one round of maintenance: what is due, stale, overdue, ended. Safe in any number of workers at once."""
        dead = self._neighbours.dead()
        swept = await self._sweep(limit, self._neighbours.last_running(dead))
        if not swept.reclaimed and not swept.poisoned:
            for name in dead:
                self._neighbours.forget(name)
        return swept

    async def tend_paths(self) -> bool:
        """Do a part of the work on paths: tickets for what is due, looks at waiting tasks after an end.

        For a worker with nothing to claim; maintenance does the same. Returns whether there was anything.
        """
        return await self._read(path_followup.has_work) and await self._write_beside(path_followup.run_step)

    # --- what operators do

    cancel = writes(operate.cancel)
    cancel_lineage = writes(operate.cancel_lineage)
    exclude = writes(operate.exclude)
    reprioritise = writes(operate.reprioritise)
    reschedule = writes(operate.reschedule)
    revive = writes(operate.revive, follows=lambda *, task_ids, **_: (task_ids, ()))
    act_on_tasks = writes(
        operate.act_on_tasks, follows=lambda *, act, task_ids, **_: (task_ids, ()) if act is BulkAction.RETRY else None
    )
    add = writes(spawn_verbs.add, follows=lambda *, tracking_id, **_: ((), [tracking_id]))
    reoffer = writes(reoffer_verbs.reoffer, follows=lambda *, tracking_id, **_: ((), [tracking_id]))
    raise_limits = writes(raise_verbs.raise_limits)
    pause_lineage = writes(pause.pause_lineage)
    resume_lineage = writes(pause.resume_lineage)
    pause_queue = writes(pause.pause_queue)
    resume_queue = writes(pause.resume_queue)
    block_queue = writes(queue_block.block_queue)
    unblock_queue = writes(queue_block.unblock_queue)
    queues = reads(queue_block.queues)
    pause_path = writes(path_pauses.pause_path)
    resume_path = writes(path_pauses.resume_path)
    path_pauses = reads(path_pauses.path_pauses)
    acts = reads(settings_rows.acts)
    stop_list = reads(keys.entries)
    stop = writes(keys.add)
    unstop = writes(keys.remove)
    prune = writes(prune_verbs.prune)
    prunable = reads(prune_verbs.prunable)

    # --- limits, resources, workers

    declare = writes(limits.declare)
    limit = writes(limits.limit)
    limit_resource = writes(limits.limit_resource)
    change_resource = writes(limits.change_resource)
    reset_limit = writes(limits.reset_limit)
    kind_limits = reads(limits.kind_limits)

    async def root_limits(self, kinds: Sequence[str], connection: object = None) -> dict[str, str]:
        """Return what apps declared about lineages whose root is of one of these kinds: JSON by kind, where declared.

        Args:
            connection: asked instead of one of the store's own, as for :meth:`submit_within`, in the caller's thread.
        """
        verb = partial(limits.root_limits, kinds=kinds)
        return await self._read(verb) if connection is None else self._within(connection, verb)

    policies = reads(resource_verbs.policies)
    resources = reads(resource_verbs.resources)
    open_breaker = writes(resource_verbs.open_breaker)
    close_breaker = writes(resource_verbs.close_breaker)
    usage = reads(resource_verbs.in_use)
    take = writes_together(rates.take)

    async def adapt(self, name: str, limits: ResponseLimits) -> None:
        """Store what a server's response says about its limits, which hold from now on. Writes only what changes."""
        if await self._read(partial(rates.adapted, name=name, limits=limits)) is not None:
            await self._write_beside(partial(rates.adapt, name=name, limits=limits))

    see_worker = writes_measured(worker_rows.see_worker)
    forget_worker = writes_measured(worker_rows.forget_worker)
    workers = reads(worker_rows.workers)
    unserved = reads(flow.unserved)
    commit_times = reads(commit_time_rows.commit_times)

    # --- money

    reserve = writes_beside(fenced.reserve)
    settle_reserved = writes_beside(money.settle_reserved)
    costs = reads(money.costs)

    # --- schedules

    put_schedule = writes(schedule.put_schedule)
    schedules = reads(schedule.schedules)
    slots = reads(schedule.slots)
    due_schedules = reads(schedule.due_schedules)
    take_slots = writes_beside(schedule.take_slots)
    run_schedule = writes(schedule.run_schedule)
    pause_schedule = writes(schedule.pause_schedule)
    resume_schedule = writes(schedule.resume_schedule)
    remove_schedule = writes(schedule.remove_schedule)

    # --- settings and tables of apps

    settings = reads(settings_rows.settings)
    setting_rows = reads(settings_rows.setting_rows)
    put_setting = writes(settings_rows.put_setting)
    change_settings = writes(settings_rows.change_settings)
    ensure_tables = writes(own_tables.ensure)
    read = reads(own_tables.read)

    # --- the monitor

    async def look(
        self, limits: MonitorLimits, *, force: bool = False, rules: NoticeRules | None = None
    ) -> MonitorStepResult:
        """Do one bounded step of a look for suspicious patterns; record what it finds.

        Reads only what changed since the last look. Safe in any number of workers at once: a step that two take is
        done by one of them.

        Args:
            limits: when to look and what to tolerate.
            force: look although it is not time yet.
            rules: when people are notified; the notices are written with what was found.
        """
        # The long part reads without the write lock; judging what it found is short.
        seen = await self._read(partial(monitor.gather, limits=limits, force=force))
        if seen is None:
            return MonitorStepResult(ran=False)
        return await self._write(partial(monitor.judge, seen=seen, limits=limits, rules=rules or NoticeRules()))

    alerts = reads(alert_verbs.alerts)
    alert = reads(alert_verbs.alert)
    acknowledge_alert = writes(alert_verbs.acknowledge)
    put_alert_thresholds = writes(alert_verbs.put_thresholds)
    alert_notices = reads(notification_outbox.notices)
    alert_channels = reads(notification_outbox.channels)
    see_alert_channels = writes(notification_outbox.record_channels)
    notices_due = reads(notification_outbox.notices_due)
    take_notices = writes(notification_outbox.take_notices)
    notify = writes(notification_outbox.notify)
    try_channel = writes(notification_outbox.try_channel)
    settle_notice = writes(notification_outbox.settle_notice)

    # --- questions: every answer looks at a bounded number of rows, but where its docstring says otherwise

    get = reads(task_reads.get)
    ids_like = reads(task_reads.ids_like)
    tasks_of = reads(task_reads.tasks_of)
    history = reads(history_reads.history)
    task_log = reads(history_reads.task_log)
    stale = reads(task_reads.stale)
    named = reads(task_reads.named)
    problem_counts = reads(live.problem_counts)
    state_counts = reads(live.state_counts)
    has_live = reads(task_reads.has_live)
    lineage = reads(task_reads.lineage)
    roots = reads(task_reads.roots)
    child_counts = reads(task_reads.child_counts)
    blocks = reads(task_reads.blocks)
    block_totals = reads(task_reads.block_totals)
    counts = reads(task_reads.counts)
    idle = reads(task_reads.idle)
    any_live = reads(task_reads.any_live)
    left_work = reads(live.left_work)
    can_spawn = reads(spawn_verbs.can_spawn)
    next_due_at = reads(task_reads.next_due_at)
    known = reads(key.known)
    parent_block_counts = reads(history_reads.parent_block_counts)
    edges = reads(spawns.edges)
    join_page = reads(joined.join_page)
    join_totals = reads(joined.join_totals)
    join_wait = reads(joined.join_wait)
    join_round = reads(joined.join_round)
    waiting_for = reads(joined.waiting_for)
    bound = reads(fenced.bound)
    claimable = reads(fenced.claimable)
    bound_counts = reads(fenced.bound_counts)
    stage_counts = reads(details.stage_counts)
    tallies = reads(tally_rows.tallies)
    present = reads(live.present)
    lineage_page = reads(lineage_reads.lineage_page)
    branches = reads(tree.branches)
    twigs = reads(tree.twigs)
    timeline = reads(timeline.timeline)
    checkpoint = reads(tree.checkpoint)
    deepest = reads(tree.deepest)
    lineage_counts = reads(tree.lineage_counts)
    delays = reads(tree.delays)
    backlogs = reads(flow.backlogs)
    resource_backlogs = reads(flow.resource_backlogs)
    in_hand = reads(flow.in_hand)
    block_page = reads(details.block_page)
    task_calls = reads(details.task_calls)
    tasks_with_key = reads(details.tasks_with_key)
    lineages = reads(task_reads.lineages)
    tasks = reads(task_reads.tasks)
    held_back = reads(path_reach.held_back)
    holds_back = reads(path_reach.holds_back)
    holds_back_lineage = reads(path_reach.holds_back_lineage)
    handler_waits = reads(handler_wait_reads.handler_waits)
    starved = reads(handler_wait_reads.starved)
    may_starve = reads(handler_wait_reads.may_starve)
    blocked_by = reads(path_reads.blocked_by)
    paths = reads(path_reads.paths)

    # --- imports

    import_places = reads(import_verbs.places)
    import_tasks = writes(import_verbs.import_tasks)
    import_release = writes(import_verbs.release)
    import_line_up = writes(import_verbs.line_up)
    import_begin = writes(import_verbs.begin)
    import_imports = reads(import_verbs.imports)
    import_end = writes(import_verbs.end)
    import_verify = reads(import_verbs.verify)
    import_recount = reads(import_verbs.recount)
