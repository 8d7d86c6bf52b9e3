"""The part of the client for acts on many tasks: counted first, then done in batches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ramet.model.operations import BulkAct, BulkResult, BulkSelection, TaskFilter
from ramet.model.task.task import Task
from ramet.store.errors import StoreError, StoreUncertain, StoreUnreachable
from ramet.store.requests import TaskQuery
from ramet.store.store import Store

BATCH = 200
"""Tasks of one transaction, and of one look: another write of the database waits for no more."""


class BulkClient:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store

    async def bulk_select(self, act: BulkAct | str, wanted: TaskFilter) -> BulkSelection:
        """The tasks that a bulk act would be about, counted; nothing is done yet.

        Args:
            act: ``retry`` for new attempts, ``cancel``, or ``exclude``.
            wanted: which tasks.

        Raises:
            ValueError: there is no such act, or it leads nowhere from a state that is named.
        """
        act = BulkAct(act)
        query = TaskQuery(states=wanted.wanted(act), kind=wanted.kind, limit=BATCH)
        found: list[tuple[str, str, str]] = []
        after: int | None = 0
        while after is not None:
            page = await self.store.tasks(query._replace(after=after))
            found += [(task.id, task.kind, task.state) for task in page.tasks if wanted.matches(task)]
            after = page.next_after
        return BulkSelection.of(act, wanted, found)

    async def bulk_run(
        self,
        selection: BulkSelection,
        *,
        by: str = "client",
        reason: str | None = None,
        extend_seconds: float | None = None,
    ) -> BulkResult:
        """Do what was selected, to exactly the tasks that were counted, in transactions of at most 200.

        Each transaction is recorded as an act (``bulk_retry``, ...) with who, why and the filter, and every task tells
        it too. A task that cannot be acted on (its lineage's deadline has passed, its unique key is held, it is in
        another state by now) is left and named; it does not hold up the others.

        Args:
            extend_seconds: with ``retry``, let the lineages live at least so long from now.

        Raises:
            StoreUnreachable, StoreUncertain: the database went away; what was done before is kept. Select again.
        """
        done: list[str] = []
        left: dict[str, str] = {}
        facts = selection.filter.facts(selection.act)

        async def run(task_ids: Sequence[str]) -> None:
            done.extend(
                await self.store.act_on_tasks(
                    selection.act, task_ids, by=by, reason=reason, detail=facts, extend_seconds=extend_seconds
                )
            )

        for start in range(0, len(selection.task_ids), BATCH):
            part = selection.task_ids[start : start + BATCH]
            if await _refused(run, part) is None:
                continue
            # One of them stops its whole batch: each by itself, then.
            for task_id in part:
                if (why := await _refused(run, [task_id])) is not None:
                    left[task_id] = why
        for task_id in sorted({*selection.task_ids} - {*done} - left.keys()):
            left[task_id] = _state_of(await self.store.get(task_id))
        return BulkResult(tuple(done), left)


async def _refused(run: Callable[[Sequence[str]], Awaitable[None]], task_ids: Sequence[str]) -> str | None:
    """Why these tasks cannot be acted on together; None when they were."""
    try:
        await run(task_ids)
    except (StoreUnreachable, StoreUncertain):
        raise
    except StoreError as error:
        return str(error)
    return None


def _state_of(task: Task | None) -> str:
    return "it is gone: its lineage was pruned" if task is None else f"it is {task.state} by now"
