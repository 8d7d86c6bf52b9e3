"""When a lineage is over: its last task has ended, and so has the task of its end, where one was wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from ramet.engine.base.current_tasks import current_tasks, handled_tasks
from ramet.engine.base.work import Work
from ramet.model.lineage.lineage import Lineage, end_name
from ramet.model.task.retry import Permanent
from ramet.model.task.task import Task, TaskState
from ramet.model.values import on_one_line
from ramet.store.errors import StoreError
from ramet.store.store import Store


async def ends_of(store: Store, lineage: Lineage) -> list[Lineage]:
    """Return the small lineages in which the tasks of its ends run, oldest first; those that were pruned are left
    out.
    """
    found = [await store.lineage(end_name(lineage.tracking_id, number)) for number in range(1, lineage.ends + 1)]
    return [row for row in found if row is not None]


async def lineage_is_over(store: Store, tracking_id: str) -> bool:
    """Return True when nothing is to come of a lineage any more, the task of its end included; also where there is
    none.
    """
    lineage = await store.lineage(tracking_id)
    if lineage is None:
        return True
    if lineage.live or lineage.end_wanted:
        return False
    last = await store.lineage(end_name(tracking_id, lineage.ends)) if lineage.ends else None
    return last is None or last.live == 0


WAIT_SECONDS = (0.02, 0.5)
"""Between two looks of one who waits for an end: at first, and at most."""


class TaskFailed(Exception):
    """Raised by :meth:`Client.result` for a task that did not end in success.

    ``task`` has its state and error; the message ends with the first line of the error.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(f"task {task.id} ({task.kind}) is {task.state}: {task.why or 'no reason'}")
        self.task = task


class WaitRefused(Permanent):
    """Raised by waits of code that holds a task, for something that cannot end before that task does.

    A handler that lets it through fails at once: another try would ask the same.
    """


@asynccontextmanager
async def _with_timeout(seconds: float | None, what: Callable[[], str]) -> AsyncIterator[None]:
    """Bound the block to this time.

    Raises:
        TimeoutError: it was not enough; ``what`` says for what.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimeoutError(f"{what()} after {seconds:g} s") from error


def _task_still_live(what: str, task: Task | None) -> str:
    if task is None:
        return f"{what} could not be looked at: the database did not answer"
    waits = f", waits: {task.wait}" if task.wait else f", held by worker {task.worker}" if task.worker else ""
    return f"{what} ({task.kind}) is still {task.state} (attempt {task.attempts}{waits})"


def _lineage_still_live(tracking_id: str, lineage: Lineage | None) -> str:
    what = f"lineage {on_one_line(tracking_id)}"
    if lineage is None:
        return f"{what} could not be looked at: the database did not answer"
    return f"{what} is still {lineage.state} ({lineage.live} live tasks of {lineage.tasks})"


_JOIN = "`return ctx.join()` instead: the task is called again with `ctx.joined` when its children have ended"
_INSTEAD = "return, and let a task on the same path, spawned after the others, do the rest"


class Waiting:
    """See :class:`ramet.engine.client.client.Client`."""

    store: Store

    async def wait(self, task_id: str, *, timeout_seconds: float | None = None) -> Task:
        """Wait until a task has ended.

        Raises:
            LookupError: there is no such task.
            WaitRefused: a handler asks, or a program in the block of a claim, and the path of its own task holds that
                one back, directly or in turn; or it is the task itself; or a handler asks for a pending task of its own
                lineage, and handlers of its kind could hold every slot in which that one can run: join it instead.
            TimeoutError: it is still live after ``timeout_seconds``; the message says in which state, and why.
        """
        seen: Task | None = None
        noted = False
        try:
            async with _with_timeout(timeout_seconds, lambda: _task_still_live(f"task {on_one_line(task_id)}", seen)):
                pause, longest = WAIT_SECONDS
                while True:
                    seen = task = await self.store.get(task_id)
                    if task is None:
                        raise LookupError(f"no task {on_one_line(task_id)}")
                    if task.state.terminal:
                        return task
                    await self._refuse(task)
                    if pause == longest and not noted:
                        noted = await self._note_wait(task_id)
                    await asyncio.sleep(pause)
                    pause = min(pause * 1.5, longest)
        finally:
            if noted:
                await self._forget_wait()

    async def result(self, task_id: str, *, timeout_seconds: float | None = None) -> Any:
        """Wait for a task and return what its handler returned.

        Raises:
            TaskFailed: it ended in another state than success.
            WaitRefused, TimeoutError: as for :meth:`wait`.
        """
        task = await self.wait(task_id, timeout_seconds=timeout_seconds)
        if task.state is not TaskState.SUCCESS:
            raise TaskFailed(task)
        return task.result

    async def wait_lineage(self, tracking_id: str, *, timeout_seconds: float | None = None) -> Lineage:
        """Wait until the last task of a lineage has ended, and the task of its end where one was asked for.

        Raises:
            LookupError: there is no such lineage.
            WaitRefused: a handler asks, or a program in the block of a claim, and the held task belongs to the lineage,
                or holds a task of it back by its path.
            TimeoutError: something of it is still to come after ``timeout_seconds``; the message says how much.
        """
        seen: Lineage | None = None
        async with _with_timeout(timeout_seconds, lambda: _lineage_still_live(tracking_id, seen)):
            pause, longest = WAIT_SECONDS
            while True:
                seen = lineage = await self.store.lineage(tracking_id)
                if lineage is None:
                    raise LookupError(f"no lineage {on_one_line(tracking_id)}")
                if await lineage_is_over(self.store, tracking_id):
                    return await self.store.lineage(tracking_id) or lineage
                await self._refuse_lineage(lineage)
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, longest)

    async def _note_wait(self, task_id: str) -> bool:
        """Note that a handler waits and holds its slot: where all do, that is found by these rows. Return False outside
        of handlers.
        """
        if not (handled := handled_tasks()):
            return False
        await self.store.note_wait(handled[0].seq, handled[0].fence, task_id)
        return True

    async def _forget_wait(self) -> None:
        # Of a claim that has ended nothing counts, so the handler need not know that the database is away.
        with suppress(StoreError):
            await self.store.forget_wait(handled_tasks()[0].seq, handled_tasks()[0].fence)

    async def _refuse(self, wanted: Task) -> None:
        held = current_tasks()
        if not held:
            return
        if any((work.id, work.fence) == (wanted.id, wanted.fence) for work in held):
            raise WaitRefused(f"task {wanted.id} must not wait for itself: return what it has")
        placed = [work.seq for work in held if work.path is not None]
        if wanted.state is TaskState.PROCESSING:
            return
        why = await self.store.holds_back(placed, wanted.id) if placed and wanted.path else None
        if why is not None:
            raise WaitRefused(f"{_named(held)} must not wait for task {wanted.id}: {why}; {_INSTEAD}")
        own = [work.seq for work in handled_tasks() if work.tracking_id == wanted.tracking_id]
        if own and await self.store.may_starve(own, wanted.id):
            raise WaitRefused(
                f"{_named(held)} must not wait for task {wanted.id} of its own lineage: handlers that wait so could "
                f"hold every slot in which a task of kind {wanted.kind!r} can run; {_JOIN}"
            )

    async def _refuse_lineage(self, wanted: Lineage) -> None:
        held = current_tasks()
        own = [work for work in held if work.tracking_id == wanted.tracking_id]
        if own and await self._runs(own[0]):
            raise WaitRefused(
                f"{_named(held)} must not wait for lineage {wanted.tracking_id}, which ends after it: return, and "
                "let a task that is given as on_lineage_end do the rest"
            )
        placed = [work.seq for work in held if work.path is not None]
        why = await self.store.holds_back_lineage(placed, wanted.tracking_id) if placed else None
        if why is not None:
            raise WaitRefused(f"{_named(held)} must not wait for lineage {wanted.tracking_id}: {why}; {_INSTEAD}")

    async def _runs(self, work: Work) -> bool:
        """Return False for what a handler left running after its end."""
        task = await self.store.get(work.id)
        return task is not None and (task.state, task.fence) == (TaskState.PROCESSING, work.fence)


def _named(held: Sequence[Work]) -> str:
    return f"task {held[0].id}" if len(held) == 1 else f"one of {len(held)} held tasks, {held[0].id} first,"
