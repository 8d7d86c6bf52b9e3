"""Bounded reads, as methods of a store; :mod:`ramet.store.base_views` has the promises."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

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
from ramet.store.facade.runs import Verbs
from ramet.store.reads import details, flow, lineages, live, tree


class ViewVerbs(Verbs):
    """See :class:`ramet.store.base_views.ViewStore`."""

    async def present(self) -> Present:
        return await self._read(live.present)

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
        return await self._read(
            partial(
                lineages.lineage_page,
                states=states,
                limit=limit,
                before=before,
                order=order,
                prefix=prefix,
                outcome=outcome,
            )
        )

    async def branches(self, *, tracking_id: str | None = None, parent_id: str | None = None) -> tuple[Branch, ...]:
        return await self._read(partial(tree.branches, tracking_id=tracking_id, parent_id=parent_id))

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
        return await self._read(
            partial(
                tree.twigs,
                tracking_id=tracking_id,
                parent_id=parent_id,
                kind=kind,
                state=state,
                limit=limit,
                after=after,
            )
        )

    async def checkpoint(self, task_id: str) -> TaskCheckpoint | None:
        return await self._read(partial(tree.checkpoint, task_id=task_id))

    async def deepest(self, tracking_ids: Iterable[str]) -> dict[str, int]:
        return await self._read(partial(tree.deepest, tracking_ids=tracking_ids))

    async def lineage_counts(self, tracking_id: str) -> tuple[KindState, ...]:
        return await self._read(partial(tree.lineage_counts, tracking_id=tracking_id))

    async def backlogs(self) -> tuple[Backlog, ...]:
        return await self._read(flow.backlogs)

    async def resource_backlogs(self, names: Iterable[str]) -> dict[str, Backlog]:
        return await self._read(partial(flow.resource_backlogs, names=names))

    async def in_hand(self, *, limit: int = 1_000) -> InHand:
        return await self._read(partial(flow.in_hand, limit=limit))

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
        return await self._read(
            partial(
                details.block_page,
                tracking_id=tracking_id,
                kind=kind,
                keys=keys,
                reason=reason,
                limit=limit,
                after=after,
            )
        )

    async def task_calls(self, task_id: str, *, limit: int = 100) -> TaskCalls | None:
        return await self._read(partial(details.task_calls, task_id=task_id, limit=limit))

    async def tasks_with_key(self, key: str, *, limit: int = 50) -> tuple[Task, ...]:
        return await self._read(partial(details.tasks_with_key, key=key, limit=limit))

    async def delays(self, tracking_id: str) -> tuple[Delay, ...]:
        return await self._read(partial(tree.delays, tracking_id=tracking_id))
