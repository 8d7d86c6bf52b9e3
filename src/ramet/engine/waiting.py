"""The client's part that waits for what others do."""

from __future__ import annotations

import asyncio
from typing import Any

from ramet.engine.lineage_over import over
from ramet.model.lineage import Lineage
from ramet.model.task import Task, TaskState
from ramet.store.base import Store

WAIT_SECONDS = (0.02, 0.5)
"""Between two looks of one who waits for an end: at first, and at most."""


class TaskFailed(Exception):
    """:meth:`Client.result` of a task that did not end in success."""

    def __init__(self, task: Task) -> None:
        super().__init__(f"task {task.id} ({task.kind}) is {task.state}: {task.reason or task.error or 'no reason'}")
        self.task = task


class Waiting:
    """See :class:`ramet.engine.client.Client`."""

    store: Store

    async def wait(self, task_id: str, *, timeout_seconds: float | None = None) -> Task:
        """Wait until a task has ended.

        Raises:
            LookupError: there is no such task.
            TimeoutError: it is still live after ``timeout_seconds``.
        """
        async with asyncio.timeout(timeout_seconds):
            pause, longest = WAIT_SECONDS
            while True:
                task = await self.store.get(task_id)
                if task is None:
                    raise LookupError(f"no task {task_id}")
                if task.state.terminal:
                    return task
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, longest)

    async def result(self, task_id: str, *, timeout_seconds: float | None = None) -> Any:
        """Wait for a task and return what its handler returned.

        Raises:
            TaskFailed: it ended in another state than success.
        """
        task = await self.wait(task_id, timeout_seconds=timeout_seconds)
        if task.state is not TaskState.SUCCESS:
            raise TaskFailed(task)
        return task.result

    async def wait_lineage(self, tracking_id: str, *, timeout_seconds: float | None = None) -> Lineage:
        """Wait until the last task of a lineage has ended, and the task of its end where one was asked for.

        Raises:
            LookupError: there is no such lineage.
            TimeoutError: something of it is still to come after ``timeout_seconds``.
        """
        async with asyncio.timeout(timeout_seconds):
            pause, longest = WAIT_SECONDS
            while True:
                lineage = await self.store.lineage(tracking_id)
                if lineage is None:
                    raise LookupError(f"no lineage {tracking_id}")
                if await over(self.store, tracking_id):
                    return lineage
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, longest)
