"""Binding in a handler's hands: tasks that this one settles, for a provider's batch over many items (DESIGN §4).

``bind`` and ``settle_items`` commit when called, ``settle_item`` is buffered and commits with the task's next
checkpoint or its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ramet.engine.base.json_text import json_text
from ramet.engine.base.work import Work
from ramet.engine.context.outcome import ERROR_CHARACTERS_MAX
from ramet.engine.context.ports import Desk
from ramet.model.lineage.limits import BALANCED
from ramet.model.task import events as ev
from ramet.model.task.binding import ITEM_STATES, Binding, BoundTask, ItemAnswer, ItemSettlement
from ramet.model.values import check_name, check_text, integer, seconds_from_now, storable
from ramet.store.answers import Settled
from ramet.store.requests import Settlement

PAGE = 1_000
"""Tasks that travel at once."""


def item(
    task_id: str,
    binding: int,
    state: str,
    *,
    result: Any = None,
    reason: str | None = None,
    delay_seconds: float = 0.0,
) -> ItemSettlement:
    """What becomes of one bound task.

    Args:
        task_id: a task that is bound to this one.
        binding: the number that binding it gave.
        state: ``success``, ``failed``, ``cancelled``; or ``pending`` to let it go, claimable by anybody.
        result: JSON; kept with ``success``.
        reason: needed for ``failed`` and ``cancelled``.
        delay_seconds: with ``pending``, how long it is held back.

    Raises:
        ValueError: the state is none of these, or has no reason, or goes with none of what was given; or an id,
            number or reason is not one (TypeError where it is something else altogether).
    """
    if state not in ITEM_STATES:
        raise ValueError(f"a bound task cannot become {state!r}: give one of {', '.join(ITEM_STATES)}")
    if state in ("failed", "cancelled") and not reason:
        raise ValueError(f"a bound task that is {state} needs a reason: give reason")
    if result is not None and state != "success":
        raise ValueError(f"a result goes with success, not with {state}")
    if delay_seconds and state != "pending":
        raise ValueError(f"delay_seconds goes with pending, not with {state}")
    text = None if result is None else json_text("the result", result, BALANCED.payload_bytes_max)
    return _checked(ItemSettlement(task_id, binding, state, text, reason, delay_seconds))


def _checked(made: ItemSettlement) -> ItemSettlement:
    """One whose every part is what it says: in the worker, another would spoil the settlements of other tasks too."""
    if not isinstance(made, ItemSettlement):
        raise TypeError(f"a {type(made).__name__} settles no task: make it with ramet.item")
    return ItemSettlement(
        check_name("the id of a bound task", made.task_id),
        integer("the binding", made.binding),
        made.state,
        None if made.result is None else check_text("the result", made.result),
        None if made.reason is None else storable(_text("the reason", made.reason), ERROR_CHARACTERS_MAX),
        seconds_from_now("delay_seconds", made.delay_seconds),
    )


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is a {type(value).__name__}: give text")
    return value


class Binder:
    """What contexts of async and plain handlers have in common about bound tasks."""

    _work: Work
    _desk: Desk
    _lease_seconds: float

    _items: Sequence[ItemSettlement] = ()
    """Buffered; a context of which nothing is asked here pays nothing for it."""

    def settle_item(
        self,
        task_id: str,
        binding: int,
        state: str,
        *,
        result: Any = None,
        reason: str | None = None,
        delay_seconds: float = 0.0,
    ) -> None:
        """Settle a task that is bound to this one; commits with the next checkpoint or the end. Counts as progress.

        Late and doubled ones are refused one by one and told in the log. Arguments are those of
        :func:`ramet.engine.context.binding.item`.

        Raises:
            ValueError: the state is none that a bound task can get, or has no reason.
        """
        made = item(task_id, binding, state, result=result, reason=reason, delay_seconds=delay_seconds)
        if not isinstance(self._items, list):
            self._items = []
        self._items.append(made)

    async def _bind(self, task_ids: Iterable[str]) -> list[Binding]:
        wanted, work = [check_text("the id of a task to bind", each) for each in task_ids], self._work
        answers: list[Binding] = []
        for start in range(0, len(wanted), PAGE):
            part = wanted[start : start + PAGE]
            answers += [Binding(*told) for told in await self._desk.ask("bind", work.seq, work.fence, part)]
        return answers

    async def _bound(self) -> list[BoundTask]:
        found: list[BoundTask] = []
        while True:
            page = await self._desk.ask("bound", self._work.id, PAGE, found[-1].task_id if found else None)
            found += [BoundTask(*row) for row in page]
            if len(page) < PAGE:
                return found

    async def _settle_items(self, items: Iterable[ItemSettlement]) -> list[ItemAnswer]:
        wanted, work = [_checked(each) for each in items], self._work
        answers: list[ItemAnswer] = []
        for start in range(0, len(wanted), PAGE):
            progress = ev.Progress(work.fence, self._lease_seconds)
            part = wanted[start : start + PAGE]
            settled = await self._call(Settlement(work.seq, work.fence, progress, items=part))
            answers += settled.items
        return answers

    async def _call(self, settlement: Settlement) -> Settled:
        raise NotImplementedError


class AsyncBinder(Binder):
    """For whoever awaits: handlers and pulled claims."""

    async def bind(self, task_ids: Iterable[str]) -> list[Binding]:
        """Make pending tasks, of any lineage, claimable only through this one; commits at once.

        Each is refused by itself: when it is not pending, is held back or bound already, is past its deadline, or its
        lineage does not run.
        Snoozes and retries of this task keep them; when it ends in whatever way, those it left unsettled are free
        again. A cancel of a bound task, and the deadline of its lineage, end it all the same. Its own deadline is
        looked at when this task lets it go, or has run since without settling it.

        Returns:
            One answer per id, with the number that settling it needs.

        Raises:
            ClaimLost: the claim is not this handler's any more.
        """
        return await self._bind(task_ids)

    async def bound(self) -> list[BoundTask]:
        """The tasks that are bound to this one now, with their numbers: for the claim after a snooze."""
        return await self._bound()

    async def settle_items(self, items: Iterable[ItemSettlement]) -> list[ItemAnswer]:
        """Settle bound tasks now, thousands at a time; make the values with :func:`ramet.item`.

        Returns:
            One answer per item; late and doubled ones are refused one by one.

        Raises:
            ClaimLost: the claim is not this handler's any more.
        """
        return await self._settle_items(items)


class SyncBinder(Binder):
    """For plain handlers and claims."""

    def _wait_for(self, coroutine: Any, /) -> Any:
        raise NotImplementedError

    def bind(self, task_ids: Iterable[str]) -> list[Binding]:
        """See :meth:`AsyncBinder.bind`."""
        answers: list[Binding] = self._wait_for(self._bind(task_ids))
        return answers

    def bound(self) -> list[BoundTask]:
        """See :meth:`AsyncBinder.bound`."""
        found: list[BoundTask] = self._wait_for(self._bound())
        return found

    def settle_items(self, items: Iterable[ItemSettlement]) -> list[ItemAnswer]:
        """See :meth:`AsyncBinder.settle_items`."""
        answers: list[ItemAnswer] = self._wait_for(self._settle_items(items))
        return answers
