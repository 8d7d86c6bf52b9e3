"""The part of the Store protocol for schedules; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ramet.model.schedule import Schedule, Slot
from ramet.store.requests import NewLineage


class DueSchedules(NamedTuple):
    """Schedules that want looking at, and when the next one will."""

    now: float
    """The store's clock."""
    schedules: tuple[Schedule, ...]
    next_at: float | None
    """When the next active schedule has a slot; None when there is none."""


class SlotPlan(NamedTuple):
    """What a worker found to be due of one schedule, as it read it."""

    seen: Schedule
    run: Sequence[tuple[float, NewLineage]]
    """Slots to run, ascending, each with the lineage that it becomes."""
    missed: int
    missed_from: float | None
    next_at: float


class ScheduleStore(Protocol):
    """What the engine and people ask about schedules."""

    async def put_schedule(self, schedule: Schedule, *, by: str | None, replace: bool) -> bool:
        """Store a schedule. One that is there keeps its state and what it counted; its next slot is found anew only
        when its times changed.

        Args:
            schedule: ``created_at``, ``updated_at`` and ``planned_at`` are set here, by the store's clock.
            by: who, for the record; None for an app's declaration, which is not recorded and leaves a person's
                schedule of the same name alone.
            replace: False refuses a name that is taken.

        Returns:
            False when nothing changed.

        Raises:
            StoreError: the name is taken.
        """
        ...

    async def schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        ...

    async def slots(self, name: str, *, limit: int = 100) -> list[Slot]:
        """What became of a schedule's slots, the newest first; they are kept for as long as ended lineages are."""
        ...

    async def due_schedules(self, *, limit: int = 100) -> DueSchedules:
        """Active schedules whose slot has come, or that were planned by a clock which has been set back since."""
        ...

    async def take_slots(self, plans: Sequence[SlotPlan]) -> list[Slot]:
        """Create the runs of slots and move each schedule on, in one transaction; returns what was decided.

        A slot that was decided before is passed over, and so is a schedule that changed since it was read: of any
        number of workers with the same plan, one does it. A slot that cannot be run never stops the next.
        """
        ...

    async def run_schedule(
        self, name: str, lineage: NewLineage, slot_at: float, *, by: str, reason: str | None
    ) -> Slot:
        """Create a run now that no slot asked for, recorded.

        Raises:
            StoreError: there is no such schedule, or its last run is not over and ``overlap`` is ``skip``.
        """
        ...

    async def pause_schedule(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Let no slot of it run, recorded; False when it is paused already.

        Raises:
            StoreError: there is no such schedule.
        """
        ...

    async def resume_schedule(self, name: str, next_at: float, *, by: str, reason: str | None = None) -> bool:
        """Let it go on with the slot at ``next_at``, recorded; False when it is not paused.

        Raises:
            StoreError: there is no such schedule.
        """
        ...

    async def remove_schedule(self, name: str, *, by: str = "client", reason: str | None = None) -> bool:
        """Forget a schedule and its slots, recorded; its runs stay. False when there is none."""
        ...
