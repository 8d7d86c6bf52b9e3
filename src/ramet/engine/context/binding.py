"""Binding in a handler's hands: tasks that this one settles, for a provider's batch over many items (DESIGN §4).

``bind`` and ``settle_items`` commit when called, ``settle_item`` is buffered and commits with the task's next
checkpoint or its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

from ramet.engine.base.json_text import json_text
from ramet.engine.context.data import check_own
from ramet.engine.context.outcome import ERROR_CHARACTERS_MAX
from ramet.engine.context.ports import HasClaim
from ramet.model.lineage.limits import BALANCED
from ramet.model.task import events as ev
from ramet.model.task.binding import ITEM_STATES, BindResult, BoundTask, ItemResult, ItemSettlement
from ramet.model.values import check_name, check_text, integer, seconds_from_now, storable
from ramet.store.requests import Settlement

PAGE = 1_000
"""Tasks that travel at once."""


class ItemOptions(TypedDict, total=False):
    """Named arguments of :func:`item_settlement`."""

    result: Any
    reason: str | None
    delay_seconds: float
    uses_time: bool
    writes: Sequence[tuple[str, Sequence[Any]]]


def item_settlement(
    task_id: str,
    binding: int,
    state: str,
    *,
    result: Any = None,
    reason: str | None = None,
    delay_seconds: float = 0.0,
    uses_time: bool = True,
    writes: Sequence[tuple[str, Sequence[Any]]] = (),
) -> ItemSettlement:
    """Return the settlement of one bound task.

    Args:
        task_id: a task that is bound to this one.
        binding: the number that the bind gave.
        state: ``success``, ``failed``, ``cancelled``; or ``pending`` to release it, claimable by all.
        result: JSON; kept with ``success``.
        reason: needed for ``failed`` and ``cancelled``.
        delay_seconds: with ``pending``, how long it is held back.
        uses_time: False where that does not count in the task's own time, see :meth:`ramet.Outcome.snooze`.
        writes: statements on your own tables with their parameters, as for ``ctx.write``. They commit where this very
            settlement is accepted. Where one of them fails, none is kept and the task is failed with the database's
            words; where one takes too long, the task is released for a minute.

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
    return _made(task_id, binding, state, text, reason, delay_seconds, uses_time, writes)


def _checked(made: ItemSettlement) -> ItemSettlement:
    """One whose every part is what it says: in the worker, another would spoil the settlements of other tasks too."""
    if not isinstance(made, ItemSettlement):
        raise TypeError(f"a {type(made).__name__} settles no task: make it with ramet.item_settlement")
    if made.result is not None:
        check_text("the result", made.result)
    return _made(*made)


def _made(  # noqa: PLR0917 - the fields in their order
    task_id: str,
    binding: int,
    state: str,
    result: str | None,
    reason: str | None,
    delay_seconds: float,
    uses_time: bool,
    writes: Sequence[tuple[str, Sequence[Any]]],
) -> ItemSettlement:
    """Return a settlement whose every part is checked but the result, which is JSON text."""
    return ItemSettlement(
        check_name("the id of a bound task", task_id),
        integer("the binding", binding),
        state,
        result,
        None if reason is None else storable(_text("the reason", reason), ERROR_CHARACTERS_MAX),
        seconds_from_now("delay_seconds", delay_seconds),
        bool(uses_time),
        tuple((sql, check_own("a settled task's write", sql, tuple(one))) for sql, one in writes) if writes else (),
    )


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is a {type(value).__name__}: give text")
    return value


async def bind(context: HasClaim, task_ids: Iterable[str]) -> list[BindResult]:
    """Bind tasks to a context's own: :meth:`ramet.Context.bind`."""
    wanted, work = [check_text("the id of a task to bind", each) for each in task_ids], context._work
    answers: list[BindResult] = []
    for start in range(0, len(wanted), PAGE):
        part = wanted[start : start + PAGE]
        answers += [BindResult(*row) for row in await context._desk.ask("bind", work.seq, work.fence, part)]
    return answers


async def bound(context: HasClaim) -> list[BoundTask]:
    """Return the tasks that are bound to a context's own: :meth:`ramet.Context.bound`."""
    found: list[BoundTask] = []
    while True:
        page = await context._desk.ask("bound", context._work.id, PAGE, found[-1].task_id if found else None)
        found += [BoundTask(*row) for row in page]
        if len(page) < PAGE:
            return found


async def settle_items(context: HasClaim, items: Iterable[ItemSettlement]) -> list[ItemResult]:
    """Settle tasks that are bound to a context's own: :meth:`ramet.Context.settle_items`."""
    wanted, work = [_checked(each) for each in items], context._work
    answers: list[ItemResult] = []
    for start in range(0, len(wanted), PAGE):
        progress = ev.Progress(work.fence, context._lease_seconds)
        part = wanted[start : start + PAGE]
        settled = await context._call(Settlement(work.seq, work.fence, progress, items=part))
        answers += settled.items
    return answers
