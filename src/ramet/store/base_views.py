"""The part of the Store protocol that pages and commands watch a large database with; see :mod:`ramet.store.base`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ramet.model.views import Branch, KindState, LineagePage, Present, TaskCheckpoint, TwigPage


class ViewStore(Protocol):
    """Every answer looks at a bounded number of rows, however many there are."""

    async def present(self) -> Present:
        """What is live and what it waits for, counted up to a bound."""
        ...

    async def lineage_page(
        self, *, states: Iterable[str] = (), limit: int = 50, before: str | None = None
    ) -> LineagePage:
        """Lineages in these states (or all), newest first, at most ``limit`` (1,000).

        Raises:
            ValueError: ``before`` is not of an earlier page.
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
