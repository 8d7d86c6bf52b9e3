"""How far the work is: the state queries of a queue, over a database or one lineage."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from ramet.engine.client.waiting import ends_of
from ramet.model.lineage.lineage import Lineage
from ramet.model.task.task import LIVE, Task, TaskState, Wait
from ramet.model.values import on_one_line
from ramet.store.store import Store

FREE = (None, Wait.RESOURCE)
"""What a pending task waits for that waits for nothing but a worker and, maybe, its turn at a resource."""


class StateCount(NamedTuple):
    """How many tasks are in a state, and how deep they are on average."""

    state: TaskState
    tasks: int
    mean_depth: float


class StateQueries:
    """The client's part for questions about all tasks at once."""

    store: Store

    async def distribution(self, tracking_id: str | None = None) -> list[StateCount]:
        """Tasks by state with their mean depth, most frequent state first; states without a task are left out."""
        tasks: dict[str, int] = defaultdict(int)
        depths: dict[str, float] = defaultdict(float)
        for count in await self.store.counts(tracking_id):
            tasks[count.state] += count.tasks
            depths[count.state] += count.tasks * count.mean_depth
        found = [StateCount(TaskState(state), n, depths[state] / n) for state, n in tasks.items()]
        return sorted(found, key=lambda item: (-item.tasks, item.state))

    async def queue_size(self, tracking_id: str | None = None) -> int:
        """Tasks that could be claimed at once: pending, and waiting for nothing but a worker."""
        counts = await self.store.counts(tracking_id)
        return sum(item.tasks for item in counts if item.state == TaskState.PENDING and item.wait in FREE)

    async def percent_complete(self, tracking_id: str | None = None) -> float:
        """How much of what exists has ended, 0 to 100; 100 where there is nothing.

        Raises:
            LookupError: there is no such lineage.
        """
        if tracking_id is not None:
            lineage = await self.store.lineage(tracking_id)
            if lineage is None:
                raise LookupError(f"no lineage {on_one_line(tracking_id)}")
            total, live = lineage.created, lineage.live
        else:
            counts = await self.store.counts()
            total = sum(item.tasks for item in counts)
            live = sum(item.tasks for item in counts if TaskState(item.state) in LIVE)
        return 100.0 * (total - live) / total if total else 100.0

    async def ends(self, tracking_id: str) -> list[Lineage]:
        """The lineages in which the tasks that ``on_lineage_end`` asked for run: one for each end, oldest first.

        Each has one root, :meth:`Client.roots`. Empty while there is none, and where none was asked for.

        Raises:
            LookupError: there is no such lineage.
        """
        lineage = await self.store.lineage(tracking_id)
        if lineage is None:
            raise LookupError(f"no lineage {on_one_line(tracking_id)}")
        return await ends_of(self.store, lineage)

    async def stale(self, tracking_id: str | None = None, *, limit: int = 100) -> list[Task]:
        """Tasks whose claim outlived its lease (:attr:`Task.lease_until`) and which nobody reclaimed yet.

        A worker's next sweep reclaims them, and so does :meth:`Client.reclaim`. At most 1,000.
        """
        return await self.store.stale(tracking_id, limit=limit)
