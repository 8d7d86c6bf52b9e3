"""Schedules as people and apps make them: checked here, kept by the store, run by the workers' schedule loop."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any, NamedTuple, Unpack

from ramet.engine.base.clock import new_id
from ramet.engine.base.forwarding import of_store
from ramet.engine.client.new_lineage import LimitsGiven, LineageLimits, new_lineage
from ramet.engine.kinds.options import PLAIN, PathArguments
from ramet.engine.kinds.registry import Handler, Registry
from ramet.engine.settings.live import LiveSettings
from ramet.model.lineage.limits import BALANCED, Limits
from ramet.model.schedule import Schedule, ScheduleSlot, Timing, check_name, slot_tracking_id
from ramet.model.task.task import NewTask
from ramet.store.requests import NewLineage
from ramet.store.store import Store

CATCH_UP_MAX = 100


class ScheduleDeclaration(NamedTuple):
    """A schedule as it is declared."""

    name: str
    timing: Timing
    kind: str
    payload: Any = None
    key: str | None = None
    queue: str | None = None
    priority: int | None = None
    path: PathArguments | None = None
    limits: LimitsGiven | None = None
    overlap: str = "skip"
    catch_up: int = 1
    open_times: bool = False
    """True when no times were given: they are those of ``schedule_seconds``."""
    pulls: tuple[str, ...] = ()
    """Pulled kinds whose tasks its handler invokes: a foreground run starts it when one of them is due."""


def check_declaration(
    name: str | None,
    kind: str,
    *,
    cron: str | None,
    every_seconds: float | None,
    timezone: str,
    default_seconds: float,
    overlap: str = "skip",
    catch_up: int = 1,
    **more: Any,
) -> ScheduleDeclaration:
    """Check a declaration.

    Raises:
        ValueError: with one line that says what to give instead.
    """
    open_times = cron is None and every_seconds is None
    if open_times:
        every_seconds = default_seconds
    if overlap not in ("skip", "allow"):
        raise ValueError(f"overlap is {overlap!r}: give 'skip' or 'allow'")
    if not 0 <= catch_up <= CATCH_UP_MAX:
        raise ValueError(f"catch_up is {catch_up}: give a number from 0 to {CATCH_UP_MAX}")
    PLAIN.rule(None, **(more.get("path") or {}))
    timing = Timing(cron, every_seconds, timezone)
    return ScheduleDeclaration(
        check_name(name or kind), timing, kind, overlap=overlap, catch_up=catch_up, open_times=open_times, **more
    )


def schedule_row(registry: Registry, wanted: ScheduleDeclaration, now: float, by: str, limits: Limits) -> Schedule:
    """Return the row of a schedule. Its task is made once, so that a payload that does not fit is refused here.

    Args:
        limits: of its lineages; stored, so that no other app's worker loosens them (DESIGN §8).

    Raises:
        pydantic.ValidationError, PayloadTooLarge: the payload does not fit the kind.
        InvalidPath: there is no such path.
    """
    kind = registry.known(wanted.kind)
    path = wanted.path or {}
    new = kind.new_task(wanted.payload, key=wanted.key, queue=wanted.queue, priority=wanted.priority, **path)
    task = {name: value for name, value in new._asdict().items() if name != "id"}
    timing = wanted.timing
    return Schedule(
        name=wanted.name,
        cron=timing.cron,
        every_seconds=timing.every_seconds,
        timezone=timing.timezone,
        kind=wanted.kind,
        task=json.dumps(task, sort_keys=True),
        limits=json.dumps(asdict(limits), sort_keys=True),
        overlap=wanted.overlap,
        catch_up=wanted.catch_up,
        state="active",
        declared_by=by,
        reason=None,
        created_at=now,
        updated_at=now,
        planned_at=now,
        next_at=timing.next_after(now),
        last_slot=None,
        last_tracking_id=None,
        runs=0,
        skipped=0,
        missed=0,
    )


def lineage_of_slot(schedule: Schedule, slot_at: float, limits: Limits, live: LiveSettings) -> NewLineage:
    """Return the lineage of a slot: a lineage of its own, named by schedule and slot, under the settings in force."""
    bounds = limits if schedule.limits is None else Limits(**json.loads(schedule.limits))
    new = NewTask.restored({**json.loads(schedule.task), "id": new_id()})
    return new_lineage(slot_tracking_id(schedule.name, slot_at), [within_settings(new, live)], live.limits(bounds))


def within_settings(new: NewTask, live: LiveSettings) -> NewTask:
    """Return the task with its own limits no looser than the settings: it was made when the schedule was declared."""
    names = ("max_attempts", "task_seconds", "max_chain_depth")
    limits = live.limits(replace(BALANCED, **{name: getattr(new, name) for name in names}))
    return new._replace(**{name: getattr(limits, name) for name in names})


class Schedules:
    """A client's way to schedules: ``client.schedules``."""

    def __init__(self, registry: Registry, store: Store, limits: Limits) -> None:
        self._registry = registry
        self.store = store
        self._limits = limits
        self._decide = LineageLimits(registry, store, limits)

    async def add(
        self,
        kind: str | Handler,
        payload: Any = None,
        *,
        cron: str | None = None,
        every_seconds: float | None = None,
        timezone: str = "UTC",
        name: str | None = None,
        key: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        limits: LimitsGiven | None = None,
        may_raise: bool = False,
        overlap: str = "skip",
        catch_up: int = 1,
        replace: bool = False,
        by: str = "client",
        **path: Unpack[PathArguments],
    ) -> Schedule:
        """Let a task of this kind start a lineage at every slot. Durable when it returns; every worker runs the slots.

        Args:
            kind: a registered kind or its handler.
            payload: the same for every slot; a handler finds its slot in ``ctx.tracking_id``
            (:func:`ramet.schedule_slot`).
            cron: minute, hour, day, month, weekday, or ``@daily``; without any time, every ``Limits.schedule_seconds``.
            every_seconds: instead of cron; slots are multiples of it since 1970.
            timezone: in which the expression is read. Jobs at a fixed time run once on days when clocks change.
            name: the kind's, if none is given.
            limits, may_raise: of each slot's lineage, as for :meth:`ramet.Client.submit`; stored.
            overlap: ``skip`` a slot while the last run is not over (recorded), or ``allow`` it.
            catch_up: how many slots that were not run in time are run late, the newest; 0 runs none late.
            replace: change a schedule of this name.
            path: the place of each slot's task in line.

        Raises:
            ValueError: the times cannot be read, or an option is not one of its values.
            StoreError: the name is taken and ``replace`` was not given.
        """
        known = self._registry.known(kind)
        wanted = check_declaration(
            name, known.name, cron=cron, every_seconds=every_seconds, timezone=timezone,
            default_seconds=(await self._bounds()).schedule_seconds, payload=payload, key=key, queue=queue,
            priority=priority, path=path, limits=limits, overlap=overlap, catch_up=catch_up,
        )  # fmt: skip
        now = (await self.store.due_schedules(limit=1)).now
        bounds = await self._decide.decided([kind], limits, may_raise=may_raise)
        row = schedule_row(self._registry, wanted, now, "person", bounds)
        await self.store.put_schedule(row, by=by, replace=replace)
        return await self.get(row.name) or row

    async def declare(self, wanted: ScheduleDeclaration) -> bool:
        """Store what an app declares; False when that is there already, or a person made one of this name."""
        now = (await self.store.due_schedules(limit=1)).now
        if wanted.open_times:
            wanted = wanted._replace(timing=Timing(every_seconds=(await self._bounds()).schedule_seconds))
        bounds = await self._decide.decided([wanted.kind], wanted.limits)
        row = schedule_row(self._registry, wanted, now, "app", bounds)
        return await self.store.put_schedule(row, by=None, replace=True)

    async def _bounds(self) -> Limits:
        live = self._registry.live
        live.update(await self.store.settings())
        live.reader = self
        return live.limits(self._limits)

    all = of_store(Store.schedules, "All schedules, by name.")

    async def get(self, name: str) -> Schedule | None:
        """One schedule, or None."""
        return next((found for found in await self.store.schedules() if found.name == name), None)

    slots = of_store(Store.slots, "What became of a schedule's slots, the newest first.")
    pause = of_store(
        Store.pause_schedule, "Let no slot of it run until it is resumed; False when it is paused already."
    )

    async def resume(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Let it go on with its next slot; what came while it was paused is not run. False when it is not paused."""
        found = await self.get(name)
        now = (await self.store.due_schedules(limit=1)).now
        next_at = 0.0 if found is None else found.timing.next_after(now)
        return await self.store.resume_schedule(name, next_at, by=by, reason=reason)

    remove = of_store(
        Store.remove_schedule, "Forget it; its runs stay. A worker whose app declares it brings it back when it starts."
    )

    async def run(self, name: str, *, by: str = "client", reason: str | None = None) -> ScheduleSlot:
        """Run it once now, paused or not.

        Raises:
            StoreError: there is none, or its last run is not over and its ``overlap`` is ``skip``.
        """
        now = (await self.store.due_schedules(limit=1)).now
        found = await self.get(name)
        live = self._registry.live
        new = NewLineage("", []) if found is None else lineage_of_slot(found, now, await self._bounds(), live)
        return await self.store.run_schedule(name, new, now, by=by, reason=reason)
