"""The part of the Store protocol for tasks that another task settles; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ramet.model.task.binding import Binding, BoundTask, StageCount


class BindingStore(Protocol):
    """Bind tasks to a settler; it settles them with its own settlements (DESIGN §4)."""

    async def bind(self, seq: int, fence: int, task_ids: Sequence[str]) -> list[Binding]:
        """Make pending tasks claimable only through the task that holds this claim; answers in the order asked.

        They may be of any lineage. Each is refused by itself: when it is not pending, held back, bound already, or
        of a lineage that does not run. Every one when the claim is stale or its lineage over. Their deadlines run on;
        when the settler ends in whatever way, those it left unsettled are let go by the next sweep.
        """
        ...

    async def bound(self, settler_id: str, *, limit: int = 1_000, after: str | None = None) -> list[BoundTask]:
        """Tasks that are bound to a settler now, in the order of their creation; at most 10,000.

        Args:
            after: the id of one of them: only those behind it.
        """
        ...

    async def claimable(self, kind: str, queue: str, *, limit: int = 1_000) -> list[str]:
        """Ids of tasks that could be bound now, in the order of a claim; at most 10,000.

        A look, no promise: somebody else may take them.
        """
        ...

    async def bound_counts(self, tracking_id: str) -> dict[str, int]:
        """How many tasks of a lineage are bound, by the id of the task that they are bound to."""
        ...

    async def stage_counts(self, kind: str, tracking_id: str | None = None) -> list[StageCount]:
        """The distribution of a staged kind's tasks over stages and states, in one lineage or in all."""
        ...
