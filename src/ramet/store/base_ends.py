"""The part of the Store protocol for whoever watches tasks end; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ramet.model.task.task import Task


class EndsStore(Protocol):
    """What this process ends, whatever for: a settlement, a person's act, a deadline, the end of a lineage."""

    def watch_ends(self, told: Callable[[list[int]], None]) -> None:
        """Tell the numbers of the tasks that a transaction of this store ended.

        ``told`` is called once for each of them, in any thread, when its end is durable and before the verb has its
        answer. It returns at once and raises nothing. Whoever called last is told.
        """
        ...

    async def tasks_of(self, seqs: Sequence[int]) -> list[Task]:
        """The tasks with these numbers, in their order; unknown numbers are left out."""
        ...
