"""The part of the Store protocol that pages and commands watch a large database with; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from ramet.model.task.task import Task
from ramet.model.views import (
    Backlog,
    BlockPage,
    Branch,
    Delay,
    InHand,
    KindState,
    LineagePage,
    Present,
    TaskCalls,
    TaskCheckpoint,
    TwigPage,
)


class ViewStore(Protocol):
    """Every answer looks at a bounded number of rows, however many there are."""

    async def present(self) -> Present:
        """What is live and what it waits for, counted up to a bound."""
        ...

    async def lineage_page(
        self,
        *,
        states: Iterable[str] = (),
        limit: int = 50,
        before: str | None = None,
        order: str = "newest",
        prefix: str | None = None,
        outcome: str | None = None,
    ) -> LineagePage:
        """Lineages in these states (or all) in an order, at most ``limit`` (1,000); with a prefix those whose
        tracking id begins so, by name.

        Raises:
            ValueError: ``before`` is not of an earlier page, or there is no such order.
        """
        ...

    async def branches(self, *, tracking_id: str | None = None, parent_id: str | None = None) -> tuple[Branch, ...]:
        """The roots of a lineage, or the children of a task, by kind and state."""
        ...

    async def twigs(
        self,
        *,
        tracking_id: str | None = None,
        parent_id: str | None = None,
        kind: str,
        state: str,
        limit: int = 50,
        after: int = 0,
    ) -> TwigPage:
        """The tasks of one branch in the order of their numbers, at most ``limit`` (1,000)."""
        ...

    async def checkpoint(self, task_id: str) -> TaskCheckpoint | None:
        """What a task kept of its work so far; None when it kept nothing, or there is no such task."""
        ...

    async def deepest(self, tracking_ids: Iterable[str]) -> dict[str, int]:
        """The largest spawn depth in each of these lineages (at most 1,000); those without a task are absent."""
        ...

    async def lineage_counts(self, tracking_id: str) -> tuple[KindState, ...]:
        """The tasks of a lineage by kind and state."""
        ...

    async def backlogs(self) -> tuple[Backlog, ...]:
        """What waits in every queue in which something waits, by name."""
        ...

    async def resource_backlogs(self, names: Iterable[str]) -> dict[str, Backlog]:
        """What waits for each of these resources (at most 200); those for which nothing waits are absent."""
        ...

    async def in_hand(self, *, limit: int = 1_000) -> InHand:
        """Claims, those first whose lease ends first, at most ``limit`` (1,000); and how many each worker has."""
        ...

    async def block_page(
        self,
        tracking_id: str,
        *,
        kind: str | None = None,
        keys: Collection[str] = (),
        reason: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> BlockPage:
        """Refused spawns of a lineage by kind, key (any of these) and reason, at most ``limit`` (1,000).

        Raises:
            ValueError: ``after`` is not of an earlier page.
        """
        ...

    async def task_calls(self, task_id: str, *, limit: int = 100) -> TaskCalls | None:
        """What a task reserved and was charged; None when there is no such task."""
        ...

    async def tasks_with_key(self, key: str, *, limit: int = 50) -> tuple[Task, ...]:
        """Tasks with this key, of any kind in any lineage; some of them where there are more than ``limit`` (1,000)."""
        ...

    async def delays(self, tracking_id: str) -> tuple[Delay, ...]:
        """Tasks of a lineage that wait for their time, by kind and what made them wait."""
        ...
