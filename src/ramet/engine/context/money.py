"""Money in a handler: reserve before a call, settle after it (DESIGN §8).

A reservation is an upper bound, so what is called must have its output capped. An actual cost above it is booked in
full and logged; it is the only way past a ceiling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.engine.base.clock import new_id
from ramet.engine.base.forwarding import Blocking, WaitFor, blocking
from ramet.engine.base.work import Work
from ramet.engine.context.ports import SupervisorPort
from ramet.model.lineage.guard import BlockReason
from ramet.model.money import BookedCost, ReserveResult, amount_of, as_usd
from ramet.model.reasons import NO_FACTS, block_words
from ramet.model.values import check_name
from ramet.store.loggers import own_logger

log = own_logger("ramet.cost")


class CostRefused(Exception):
    """Raised by ``ctx.reserve``: a ceiling leaves no room for what was to be reserved. Do not make the call.

    A handler that lets it through is put off where asking again makes sense (its attempt is given back), and fails
    with reason ``cost`` where it never will.
    """

    def __init__(self, detail: str, retry_seconds: float | None, facts: Mapping[str, Any] = NO_FACTS) -> None:
        super().__init__(f"cost: {detail}")
        self.facts = facts
        """Ceiling that has no room, and its sums."""
        self.retry_seconds = retry_seconds
        """Seconds after which there may be room; None when there never will be."""


class Reservation:
    """Money kept for one call. Settle it when the price is known; until then its whole amount counts."""

    def __init__(
        self, desk: SupervisorPort, reservation_id: str, amount: int, task_id: str, actual: int | None = None
    ) -> None:
        self._desk = desk
        self.id = reservation_id
        self.amount = amount
        """Nano-dollars."""
        self.actual = actual
        """Cost of the call, when a reservation of this name was settled before: the call was made, make no other."""
        self._task_id = task_id

    async def settle(self, actual: int) -> None:
        """Book what the call cost, nano-dollars; 0 when it was not made. Never refused, and twice is once.

        Raises:
            ValueError: not a whole number of nano-dollars.
            StoreError: the database could not be written; settle again.
        """
        amount = amount_of(actual, "the actual cost is")
        log_booked(self._task_id, amount, BookedCost(*await self._desk.ask("settle_reserved", self.id, amount)))


def log_booked(task_id: str, amount: int, booked: BookedCost) -> None:
    """Warn where something else was booked than a call cost, or more than was reserved."""
    if booked.actual is None:
        log.warning("reservation %s of task %s was pruned: %s are not booked", booked.id, task_id, as_usd(amount))
    elif booked.actual != amount:
        log.warning("a call of task %s was settled before at %s: %s are not booked", task_id, as_usd(booked.actual),
                    as_usd(amount))  # fmt: skip
    elif booked.over:
        log.warning("a call of task %s cost %s, %s more than reserved: cap its output or reserve more", task_id,
                    as_usd(amount), as_usd(booked.over))  # fmt: skip


class SyncReservation(Blocking):
    """See :class:`Reservation`; for plain handlers, which run in a thread."""

    def __init__(self, reservation: Reservation, wait_for: WaitFor) -> None:
        self._reservation = reservation
        self._wait_for = wait_for
        self.id = reservation.id
        self.amount = reservation.amount
        self.actual = reservation.actual

    @property
    def _async(self) -> Reservation:
        return self._reservation

    settle = blocking(Reservation.settle)


async def reserve(
    desk: SupervisorPort, work: Work, nano_dollars: int, name: str | None = None, *, repeatable: bool = False
) -> Reservation | str:
    """Reserve for a claim; the reason when the claim is not current any more.

    Args:
        name: of the call, if it has one; it is the reservation's id together with the task's.
        repeatable: a named call that is repeated costs nothing.

    Raises:
        CostRefused: a ceiling has no room.
        ValueError: not a whole number of nano-dollars.
    """
    amount = amount_of(nano_dollars, "to be reserved are")
    reservation_id = new_id() if name is None else f"{work.id}.{check_name('the name of a call', name)}"
    answer = ReserveResult(
        *await desk.ask("reserve", reservation_id, work.seq, work.fence, amount, name is not None, bool(repeatable))
    )
    if answer.refused == BlockReason.COST:
        detail = block_words(BlockReason.RESERVE, answer.facts)
        raise CostRefused(detail, answer.retry_seconds, answer.facts)
    if answer.refused is not None:
        return answer.refused
    return Reservation(desk, answer.id, amount, work.id, answer.actual)
