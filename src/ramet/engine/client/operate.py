"""The acts of an operator: on tasks, lineages, queues, resources, the deny list and alerts. Each is recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from math import inf, isfinite
from typing import Any

from ramet.engine.alerts.channels import configured
from ramet.engine.alerts.monitor import monitor_limits, notice_rules, try_channels
from ramet.engine.base.forwarding import of_store
from ramet.engine.kinds.options import at_least_one, checked_policy
from ramet.model.alerts.notifications import Message
from ramet.model.alerts.rules import Alert
from ramet.model.flow.resources import KindLimit, ResourcePolicy
from ramet.model.lineage.deny_list import StopEntry
from ramet.model.lineage.lineage import Lineage
from ramet.model.money import amount_of
from ramet.model.operations import BulkAction, BulkResult, BulkSelection, TaskFilter
from ramet.model.paths import some_path
from ramet.model.task.task import Task
from ramet.model.values import priority as checked_priority
from ramet.store.answers import ReofferResult
from ramet.store.errors import StoreError, StoreUncertain, StoreUnreachable
from ramet.store.requests import Cursor, TaskQuery
from ramet.store.store import Store

BATCH = 200
"""Tasks of one transaction, and of one look: another write of the database waits for no more."""


class Operating:
    """The part of a client for operators. See :class:`ramet.engine.client.client.Client`."""

    store: Store

    # --- tasks

    cancel = of_store(
        Store.cancel,
        "Cancel a task, with ``tree`` all that grew from it too. False when there was nothing left to cancel.",
    )

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

    async def exclude(self, task_ids: Iterable[str], *, by: str = "client", reason: str | None = None) -> list[str]:
        """Take pending, failed or cancelled tasks out for good; returns the ids of those excluded.

        They are skipped (``excluded``), and nothing of their identity is spawned again in their lineage, nor elsewhere
        where it is unique over all lineages. :meth:`revive` undoes it.

        Raises:
            StoreError: a task id is unknown; nothing was done.
        """
        return await self.store.exclude(list(task_ids), by=by, reason=reason)

    async def reprioritise(self, task_id: str, priority: int, *, by: str = "client", reason: str | None = None) -> int:
        """Give a pending task another priority: the largest goes first. Recorded as an act.

        Returns:
            The priority that it had.

        Raises:
            ValueError: the priority is out of range.
            StoreError: there is no such task, it is not pending, or its kind is pulled.
        """
        return await self.store.reprioritise(
            task_id, priority=checked_priority("priority", priority), by=by, reason=reason
        )

    async def reschedule(
        self,
        task_id: str,
        *,
        at: float | None = None,
        delay_seconds: float | None = None,
        by: str = "client",
        reason: str | None = None,
    ) -> float:
        """Move the moment from which a pending task may be claimed, later or sooner. Recorded as an act.

        Args:
            at: Unix seconds; a moment in the past means now.
            delay_seconds: from now; 0 for now. Give one of the two.

        Returns:
            The moment, Unix seconds.

        Raises:
            ValueError: not one of the two was given, or it is not such a number.
            StoreError: there is no such task, it is not pending, or it waits for others.
        """
        moment, seconds = at, delay_seconds
        if (moment is None) == (seconds is None) or not isfinite(moment or 0.0) or not 0.0 <= (seconds or 0.0) < inf:
            raise ValueError("give at, a moment in Unix seconds, or delay_seconds of at least 0")
        return await self.store.reschedule(task_id, at=at, delay_seconds=seconds or 0.0, by=by, reason=reason)

    async def bulk_select(
        self,
        act: BulkAction | str,
        wanted: TaskFilter,
        *,
        limit: int | None = None,
        looks: int | None = None,
        newest: bool = False,
    ) -> BulkSelection:
        """Return the tasks that a bulk act would be about, counted; nothing is done yet.

        Args:
            act: ``retry`` for new attempts, ``cancel``, or ``exclude``.
            wanted: which tasks.
            limit: the most tasks to select, those that were created first; None for all.
            looks: the most tasks in these states, of this kind and lineage, to compare with the rest of the filter;
                None for all.
            newest: select those that were created last instead.

        Returns:
            The selection; its ``more`` says whether a bound was met.

        Raises:
            ValueError: there is no such act, or it leads nowhere from a state that is named.
        """
        act = BulkAction(act)
        states = wanted.wanted(act)
        query = TaskQuery(states=states, kind=wanted.kind, tracking_id=wanted.tracking_id, limit=BATCH, newest=newest)
        found: list[Task] = []
        if wanted.task_ids:
            named = await self.store.named(wanted.task_ids)
            found += [task for task in named if task.state in states and wanted.matches(task)]
        after: int | None = None if wanted.task_ids else 0
        looked_at = 0
        while after is not None and (limit is None or len(found) < limit) and (looks is None or looked_at < looks):
            page = await self.store.tasks(query._replace(after=after))
            found += [task for task in page.tasks if wanted.matches(task)]
            after, looked_at = page.next_after, looked_at + len(page.tasks)
        selected = found[:limit][::-1] if newest else found[:limit]
        selection = BulkSelection.of(act, wanted, [(task.id, task.kind, task.state) for task in selected])
        return selection._replace(more=after is not None or len(found) > len(selected))

    async def bulk_run(
        self,
        selection: BulkSelection,
        *,
        by: str = "client",
        reason: str | None = None,
        extend_seconds: float | None = None,
    ) -> BulkResult:
        """Do what was selected, to exactly the tasks that were counted, in transactions of at most 200.

        Each transaction is recorded as an act (``bulk_retry``, ...) with who, why and the filter, and every task tells
        it too. A task that cannot be acted on (its lineage's deadline has passed, its unique key is held, it is in
        another state by now) is left and named; it does not hold up the others.

        Args:
            extend_seconds: with ``retry``, let the lineages live at least so long from now.

        Raises:
            StoreUnreachable, StoreUncertain: the database went away; what was done before is kept. Select again.
        """
        done: list[str] = []
        left: dict[str, str] = {}
        facts = selection.filter.facts(selection.act)

        async def run(task_ids: Sequence[str]) -> None:
            done.extend(
                await self.store.act_on_tasks(
                    selection.act, task_ids, by=by, reason=reason, detail=facts, extend_seconds=extend_seconds
                )
            )

        for start in range(0, len(selection.task_ids), BATCH):
            part = selection.task_ids[start : start + BATCH]
            if await _refused(run, part) is None:
                continue
            # One of them stops its whole batch: each by itself, then.
            for task_id in part:
                if (why := await _refused(run, [task_id])) is not None:
                    left[task_id] = why
        for task_id in sorted({*selection.task_ids} - {*done} - left.keys()):
            left[task_id] = _state_of(await self.store.get(task_id))
        return BulkResult(tuple(done), left)

    # --- lineages

    cancel_lineage = of_store(Store.cancel_lineage, "Cancel everything of a lineage, in one transaction.")

    pause_lineage = of_store(
        Store.pause_lineage,
        "Claim nothing more of a lineage and stop its clocks, for at most 30 days. False when it is not running.",
    )

    resume_lineage = of_store(
        Store.resume_lineage,
        "Let a paused lineage go on; its deadlines move by the time it was paused. False when it is not paused.",
    )

    async def raise_limits(
        self,
        /,
        tracking_id: str,
        *,
        by: str = "client",
        reason: str | None = None,
        extend_seconds: float | None = None,
        allow_shapes: Sequence[str] = (),
        **limits: int,
    ) -> Lineage:
        """Raise limits of a lineage, and let it live at least ``extend_seconds`` from now. Recorded as an act.

        Args:
            limits: ``max_spawn_depth``, ``max_tasks``, ``max_fan_out``, ``max_shape``, ``retries_per_minute``,
                ``max_cost`` or ``soft_cost`` (nano-dollars). :meth:`reoffer` offers earlier blocks again.
            allow_shapes: shapes of honest pages, which ``max_shape`` bounds no more: ``https://x.example/a/#``, or with
                a limit of its own ``https://x.example/a/#=5000``.

        Raises:
            StoreError: no such lineage or limit, or a value under the present one; nothing was changed.
        """
        limits = {name: amount_of(v, f"{name} is") if name.endswith("_cost") else v for name, v in limits.items()}
        return await self.store.raise_limits(
            tracking_id, limits, by=by, reason=reason, extend_seconds=extend_seconds, allow_shapes=allow_shapes
        )

    async def set_max_cost(
        self, tracking_id: str, max_cost: int, *, by: str = "client", reason: str | None = None
    ) -> Lineage:
        """Set what a lineage may cost, more or less than now, and its soft ceiling if it has one. Recorded as an act.

        It is not lowered below what is spent and reserved: nothing at work is cancelled by it.

        Args:
            tracking_id: of the lineage.
            max_cost: nano-dollars.

        Returns:
            The lineage as it is then.

        Raises:
            StoreError: there is no such lineage; nothing was changed.
        """
        limits = {"max_cost": amount_of(max_cost, "max_cost is")}
        return await self.store.raise_limits(tracking_id, limits, by=by, reason=reason, may_lower=True)

    async def reoffer(
        self,
        tracking_id: str,
        *,
        reasons: Collection[str] = (),
        kind: str | None = None,
        key: str | None = None,
        shape: str | None = None,
        by: str = "client",
        reason: str | None = None,
    ) -> ReofferResult:
        """Offer all spawns again that the guard blocked for these reasons: depth, budget, fan_out, deadline, cost,
        stop_list or trap; all of them when none is given.

        Each goes through the whole guard as a child of the first parent that asked for it. A finished or failed
        lineage runs again when something was created.

        Args:
            reasons: which refusals.
            kind, key, shape: only spawns of this kind, this canonical key, keys of this shape (as
                :meth:`raise_limits` allows it).
            by: who does it, for the record.
            reason: why, for the record.

        Raises:
            StoreError: no such lineage, it was cancelled, its deadline has passed, or a reason cannot be offered again.
        """
        created: list[str] = []
        there, still = 0, Counter[str]()
        after: Cursor | None = None
        while True:
            page = await self.store.reoffer(
                tracking_id, reasons=reasons, by=by, reason=reason, after=after, kind=kind, key=key, shape=shape
            )
            created += page.created
            there += page.there_already
            still.update(page.still_blocked)
            after = page.after
            if after is None:
                return ReofferResult(tuple(created), there, dict(still))

    # --- queues and kinds

    pause_queue = of_store(
        Store.pause_queue,
        "Claim nothing more from a queue and stop the clocks of what began in it. False when it is paused already.",
    )

    resume_queue = of_store(Store.resume_queue, "Claim from a paused queue again. False when it is not paused.")
    unblock_queue = of_store(
        Store.unblock_queue,
        """Accept submits into a blocked queue again. False when it is not blocked.

        A task of ``on_drained`` that has not come yet does not come any more.
        """,
    )

    queues = of_store(Store.queues, "Every queue that was ever limited, paused or blocked, by name.")

    # --- paths

    async def pause_path(
        self,
        path: Sequence[str],
        *,
        queue: str | None = None,
        tracking_id: str | None = None,
        by: str = "client",
        reason: str | None = None,
    ) -> bool:
        """Claim nothing more at a path and below it. False when it is paused already. Recorded as an act.

        Tasks keep their places in line, and their clocks run on; those that run may end.

        Args:
            path: elements, at least one.
            queue: to which the path belongs; None is ``default``.
            tracking_id: for paths of scope ``lineage``: which lineage.
            by: who does it, for the record.
            reason: why, for the record.

        Raises:
            InvalidPath: the path cannot be one, or is empty.
        """
        wanted = some_path(path)
        return await self.store.pause_path(wanted, queue=queue, tracking_id=tracking_id, by=by, reason=reason)

    async def resume_path(
        self,
        path: Sequence[str],
        *,
        queue: str | None = None,
        tracking_id: str | None = None,
        by: str = "client",
        reason: str | None = None,
    ) -> bool:
        """Claim at a path and below it again. False when just this path is not paused."""
        wanted = some_path(path)
        return await self.store.resume_path(wanted, queue=queue, tracking_id=tracking_id, by=by, reason=reason)

    path_pauses = of_store(Store.path_pauses, "The paused paths, the longest paused first.")

    async def path_size(self, path: Sequence[str], *, queue: str | None = None) -> dict[str, int]:
        """Count the live tasks at a path and below it, by state. Reads all live tasks, a page at a time.

        Raises:
            InvalidPath: the path cannot be one, or is empty.
        """
        wanted = TaskFilter(path=some_path(path), queue=queue)
        counts = (await self.bulk_select(BulkAction.CANCEL, wanted)).counts
        states: Counter[str] = Counter()
        for (_, state), number in counts.items():
            states[state] += number
        return dict(states)

    async def limit(
        self, what: str, name: str, concurrency: int | None, *, by: str = "client", reason: str | None = None
    ) -> None:
        """Set how many claims at once a ``queue`` or ``kind`` may have over all workers; None for no limit.

        From then on what an app declares about it changes nothing.

        Raises:
            ValueError: the limit is less than 1, or ``what`` is neither.
        """
        if what not in ("queue", "kind"):
            raise ValueError(f"{what!r} cannot be limited: give 'queue' or 'kind', or use limit_resource")
        await self.store.limit(what, name, at_least_one(f"{what} {name!r}", concurrency), by=by, reason=reason)

    async def reset_limit(self, what: str, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Let what an app declares about a ``queue``, ``kind`` or ``resource`` hold again. False when it does already.

        Raises:
            ValueError: ``what`` is none of these.
        """
        if what not in ("queue", "kind", "resource"):
            raise ValueError(f"{what!r} has no limits: give 'queue', 'kind' or 'resource'")
        return await self.store.reset_limit(what, name, by=by, reason=reason)

    async def kind_limits(self) -> list[KindLimit]:
        """Limits of kinds, by name."""
        return list(await self.store.kind_limits())

    usage = of_store(Store.usage, "Claims that are held now, by queue, kind and resource.")
    workers = of_store(Store.workers, "Workers that were seen within a day, with what they serve.")

    unserved = of_store(
        Store.unserved,
        """Kinds and queues with live tasks that no living worker serves.

        Of each at most 10,000 claimable tasks are counted, and of tasks that wait the first 2,000 of each sort.
        """,
    )

    commit_times = of_store(
        Store.commit_times,
        """How long transactions took, by what they were for, as all workers measured them (a quarter of a minute ago).

        Programs that only submit do not hand over what they measured.
        """,
    )

    # --- resources

    async def limit_resource(self, policy: ResourcePolicy, *, by: str = "client", reason: str | None = None) -> None:
        """Set all that a resource, or all with a prefix, bear. From then on what an app declares changes nothing.

        :meth:`change_resource` sets some of it, :meth:`reset_limit` takes it back.

        Raises:
            ValueError: a number is out of range.
        """
        await self.store.limit_resource(checked_policy(policy), by=by, reason=reason)

    async def change_resource(
        self, /, pattern: str, *, by: str = "client", reason: str | None = None, **changes: float | None
    ) -> ResourcePolicy:
        """Set some of what a resource, or all with a prefix, bear; everything else stays as it is.

        Args:
            changes: fields of :class:`ramet.ResourcePolicy`, such as ``rate_per_second=2``; None for no limit.

        Returns:
            The policy in force from now on.

        Raises:
            ValueError: there is no such field, or a number is out of range.
        """
        known = ResourcePolicy._fields[1:-1]
        for name in changes:
            if name not in known:
                raise ValueError(f"a resource has no {name!r}: give some of {', '.join(known)}")
        checked_policy(ResourcePolicy(pattern)._replace(**changes))  # type: ignore[arg-type]  # What a field holds is checked there.
        return await self.store.change_resource(pattern, changes, by=by, reason=reason)

    policies = of_store(Store.policies, "What resources bear, by pattern.")

    resources = of_store(
        Store.resources, "Where resources stand, those with an open breaker first; or the one of this name."
    )

    open_breaker = of_store(Store.open_breaker, "Switch a resource off. False when its breaker is open already.")

    close_breaker = of_store(
        Store.close_breaker, "Switch a resource on again and end its pause. False when there was neither."
    )

    # --- the deny list, and the audit log

    stop_list = of_store(Store.stop_list, "Hosts, domains and patterns that nothing is created for.")

    async def stop(self, entry_type: str, value: str, *, by: str = "client", reason: str | None = None) -> StopEntry:
        """Put a ``host``, a ``domain`` (with all hosts below it) or a ``pattern`` of keys on the deny list.

        From then on the guard blocks every spawn that it covers, and submits of it are refused. Tasks that exist are
        not touched.

        Raises:
            InvalidEntry: the value is not valid; the message says what to give.
        """
        return (await self.store.stop(entry_type, value, by=by, reason=reason))[0]

    unstop = of_store(
        Store.unstop,
        "Take an entry off the stop list; False when it was not there. :meth:`reoffer` creates what it had blocked.",
    )

    acts = of_store(
        Store.acts,
        "What people did to one lineage, or to anything; newest first, at most 1,000, before an act's number.",
    )

    # --- alerts

    alerts = of_store(
        Store.alerts,
        """Alerts, newest first (at most 1,000): those that fire, with ``resolved=True`` those that are over, with
        ``firing=False`` alone all; of one lineage or any; before the alert of this number.""",
    )

    alert = of_store(Store.alert, "One alert; None when there is none, or it was pruned.")

    async def check_alerts(self) -> list[Alert]:
        """Run the monitor now, to the end of what changed since its last look; returns the alerts that fire."""
        stored = await self.store.settings()
        limits, rules = monitor_limits(stored), notice_rules(stored)
        while (await self.store.look(limits, force=True, rules=rules)).more:
            pass
        return await self.store.alerts(limit=1_000)

    acknowledge_alert = of_store(
        Store.acknowledge_alert,
        """A person took notice of a firing alert: it is sent no more while it fires. Recorded as an act.

        Returns:
            False when it does not fire, or was acknowledged before.
        """,
    )

    alert_notices = of_store(
        Store.alert_notices,
        """Notices that were sent or are to be sent, newest first (at most 1,000): of one alert or any; with
        ``waiting`` only what is still to be sent.""",
    )

    alert_channels = of_store(
        Store.alert_channels,
        "Ways to people that workers had within the last week, by name; the log is everybody's and not among them.",
    )

    async def notify(
        self,
        text: str,
        *,
        key: str,
        lines: Sequence[str] = (),
        data: Mapping[str, Any] | None = None,
        tracking_id: str | None = None,
    ) -> bool:
        """Send people a message through the channels of alerts: the log, a webhook, mail and chat.

        Written once under its key, whatever crashes; a worker sends it, at least once, with the same delivery id.

        Args:
            text: one line.
            key: names the message; another call with it sends nothing, for as long as ended lineages are kept.
            lines: more, for channels that have room. Text from outside is made harmless where it is shown.
            data: the same for programs that receive the webhook: a JSON object.
            tracking_id: the lineage that it is about, with which it is pruned.

        Returns:
            False when it was sent before.

        Raises:
            ValueError: there is no text, or it is more than 64 KiB as JSON.
        """
        message = Message(text, tuple(lines), data).checked()
        return await self.store.notify(message, key=key, tracking_id=tracking_id)

    async def try_alert_channels(self, channel: str | None = None, *, by: str = "client") -> dict[str, str | None]:
        """Send a test through every channel that is set up in this process, or through one.

        Returns:
            By name of the channel, why it was not delivered; None where it was.

        Raises:
            ValueError: this process has no such channel; one line says what to set.
        """
        here = configured()
        if channel is not None and channel not in here.by_name:
            why = here.wrong.get(channel, f"it is not set up here: there are {', '.join(sorted(here.by_name))}")
            raise ValueError(f"channel {channel!r}: {why}")
        wanted = {name: one for name, one in here.by_name.items() if channel in (None, name)}
        errors: dict[str, str | None] = dict(here.wrong) if channel is None else {}
        return errors | await try_channels(self.store, wanted, by)


async def _refused(run: Callable[[Sequence[str]], Awaitable[None]], task_ids: Sequence[str]) -> str | None:
    """Why these tasks cannot be acted on together; None when they were."""
    try:
        await run(task_ids)
    except (StoreUnreachable, StoreUncertain):
        raise
    except StoreError as error:
        return str(error)
    return None


def _state_of(task: Task | None) -> str:
    return "it is gone: its lineage was pruned" if task is None else f"it is {task.state} by now"
