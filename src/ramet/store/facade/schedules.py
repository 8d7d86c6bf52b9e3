"""Schedules, as methods of a store; :mod:`ramet.store.base_schedules` has the promises."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ramet.model.schedule import Schedule, Slot
from ramet.store.base_schedules import DueSchedules, SlotPlan
from ramet.store.facade.runs import Verbs
from ramet.store.requests import NewLineage
from ramet.store.verbs import schedule as scheduling


class ScheduleVerbs(Verbs):
    """See :class:`ramet.store.base_schedules.ScheduleStore`."""

    async def put_schedule(self, schedule: Schedule, *, by: str | None, replace: bool) -> bool:
        return await self._write(partial(scheduling.put_schedule, schedule=schedule, by=by, replace=replace))

    async def schedules(self) -> list[Schedule]:
        return await self._read(scheduling.schedules)

    async def slots(self, name: str, *, limit: int = 100) -> list[Slot]:
        return await self._read(partial(scheduling.slots, name=name, limit=limit))

    async def due_schedules(self, *, limit: int = 100) -> DueSchedules:
        return await self._read(partial(scheduling.due_schedules, limit=limit))

    async def take_slots(self, plans: Sequence[SlotPlan]) -> list[Slot]:
        return await self._write_beside(partial(scheduling.take_slots, plans=plans))

    async def run_schedule(
        self, name: str, lineage: NewLineage, slot_at: float, *, by: str, reason: str | None
    ) -> Slot:
        return await self._write(
            partial(scheduling.run_schedule, name=name, lineage=lineage, slot_at=slot_at, by=by, reason=reason)
        )

    async def pause_schedule(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(scheduling.pause_schedule, name=name, by=by, reason=reason))

    async def resume_schedule(self, name: str, next_at: float, *, by: str, reason: str | None = None) -> bool:
        return await self._write(partial(scheduling.resume_schedule, name=name, next_at=next_at, by=by, reason=reason))

    async def remove_schedule(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        return await self._write(partial(scheduling.remove_schedule, name=name, by=by, reason=reason))
