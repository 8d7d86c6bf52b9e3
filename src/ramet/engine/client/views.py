"""The part of the client that pages and commands watch a large database with.

Every answer looks at a bounded number of rows, however many there are, and says where it stopped counting.
"""

from __future__ import annotations

from collections.abc import Iterable

from ramet.engine.context.task import NOTE
from ramet.model.task.task import TaskState
from ramet.model.views import (
    Backlog,
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
from ramet.store.store import Store


class ViewsClient:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store

    async def present(self) -> Present:
        """What is live at this moment and what it waits for, each counted up to 10,000."""
        return await self.store.present()

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
        """Lineages, a page at a time.

        Args:
            states: only lineages in these; empty for all.
            limit: at most so many (1,000).
            before: :attr:`~ramet.LineagePage.next_before` of the page before this one.
            order: ``newest``; ``fullest``: of the newest 2,000 of each state those that used most of their tasks or
                their money; or ``deadline``: open ones whose time ends first. The last two have one page.
            prefix: only lineages whose tracking id begins so; they come by name, whatever the order.
            outcome: only lineages of this outcome (:attr:`ramet.Lineage.outcome`): ``clean``, ``failures`` or
                ``incomplete``. Of the newest a page passes 10,000 of each state, so it may have fewer than asked for
                although there are more.

        Raises:
            ValueError: ``before`` is not of an earlier page, or there is no such order or outcome.
        """
        return await self.store.lineage_page(
            states=states, limit=limit, before=before, order=order, prefix=prefix, outcome=outcome
        )

    async def branches(self, *, tracking_id: str | None = None, parent_id: str | None = None) -> tuple[Branch, ...]:
        """The roots of a lineage, or the children of a task, by kind and state: what a tree shows of very many.

        The first 5,000 are looked at. When there are more, every count says so.

        Raises:
            ValueError: not one of ``tracking_id`` and ``parent_id`` was given.
        """
        _one_of(tracking_id, parent_id)
        return await self.store.branches(tracking_id=tracking_id, parent_id=parent_id)

    async def twigs(
        self,
        *,
        tracking_id: str | None = None,
        parent_id: str | None = None,
        kind: str,
        state: TaskState | str,
        limit: int = 50,
        after: int = 0,
    ) -> TwigPage:
        """The tasks of one branch (:meth:`branches`) with how many children each has, a page at a time (at most 1,000).

        One page looks at 5,000 roots or children, so it may have fewer tasks than asked for, or none, and still name
        where to go on.

        Raises:
            ValueError: not one of ``tracking_id`` and ``parent_id`` was given, or there is no such state.
        """
        _one_of(tracking_id, parent_id)
        return await self.store.twigs(
            tracking_id=tracking_id,
            parent_id=parent_id,
            kind=kind,
            state=TaskState(state).value,
            limit=limit,
            after=after,
        )

    async def checkpoint(self, task_id: str) -> TaskCheckpoint | None:
        """What a task kept of its work so far, also after its end: pipeline_state and progress.

        None when it kept nothing, or there is no such task.
        """
        found = await self.store.checkpoint(task_id)
        if found is None or not isinstance(found.pipeline_state, dict):
            return found
        state = {name: value for name, value in found.pipeline_state.items() if name != NOTE}
        return found._replace(pipeline_state=state or None)

    async def deepest(self, tracking_ids: Iterable[str]) -> dict[str, int]:
        """The largest spawn depth that each of these lineages reached (the first 1,000); those without a task are
        absent. One look at an index for each."""
        return await self.store.deepest(tracking_ids)

    async def lineage_counts(self, tracking_id: str) -> tuple[KindState, ...]:
        """The tasks of a lineage by kind and state.

        Live and unsuccessful tasks are looked at first, then successful ones, 20,000 of each at most; where there are
        more, their counts say so. The numbers on the lineage itself are exact (:class:`ramet.Lineage`).
        """
        return await self.store.lineage_counts(tracking_id)

    async def delays(self, tracking_id: str) -> tuple[Delay, ...]:
        """Tasks of a lineage that wait for their time, by kind and what made them wait, the most frequent first.

        20,000 live tasks are looked at; where there are more, every count says so.
        """
        return await self.store.delays(tracking_id)

    async def backlogs(self) -> tuple[Backlog, ...]:
        """What waits in every queue in which something waits, by name.

        Of each up to 10,000 claimable tasks are counted (1,000 where there are more than ten queues), and of tasks that
        wait for anything else the first 2,000 of each sort over all queues.
        """
        return await self.store.backlogs()

    async def resource_backlogs(self, names: Iterable[str]) -> dict[str, Backlog]:
        """What waits for each of these resources (the first 200); those for which nothing waits are absent.

        Of each up to 10,000 tasks are counted, 1,000 where more than ten are asked about.
        """
        return await self.store.resource_backlogs(names)

    async def in_hand(self, *, limit: int = 1_000) -> InHand:
        """Claims at this moment, those first whose lease ends first (at most 1,000), and how many each worker has."""
        return await self.store.in_hand(limit=limit)

    async def task_calls(self, task_id: str, *, limit: int = 100) -> TaskCalls | None:
        """What one task reserved and was charged, with its latest calls (at most 1,000); None when there is no such
        task. The first 20,000 calls are summed up."""
        return await self.store.task_calls(task_id, limit=limit)


def _one_of(tracking_id: str | None, parent_id: str | None) -> None:
    if (tracking_id is None) == (parent_id is None):
        raise ValueError("give a tracking_id for the roots of a lineage, or a parent_id for the children of a task")
