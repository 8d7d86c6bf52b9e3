"""The items of a batch that is to be sent, and what they ask.

A batch may have 50,000 prompts of any length, so each request is made of its item when it is written, and not kept. The
most that an item can cost is known before, since the batch reserves the sum of its items in one reservation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, overload

from ramet import BoundTask, Context
from ramet.llm.calls import ClaimedJob, request_of, whole_payload
from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.requests import Request
from ramet.llm.settings import ItemPayload


class ChosenItem(NamedTuple):
    """An item of the batch that is to be sent."""

    told: BoundTask
    amount: int
    """Most that it may cost, nano-dollars."""


def chosen_of(job: ClaimedJob, told: BoundTask) -> ChosenItem:
    """Return a bound item with what it may cost.

    Raises:
        KeyError: the job has no price for the item's model.
    """
    request = asked_by(told)
    return ChosenItem(told, reserve_amount(request, job.settings.prices[request.model], job.settings.discount))


async def whole_item(ctx: Context, told: BoundTask) -> BoundTask:
    """Return a bound item with the payload that :func:`ramet.llm.calls.whole_payload` read."""
    if '"$blob"' not in told.payload:
        return told
    payload = await whole_payload(ctx, ItemPayload.model_validate_json(told.payload))
    return told._replace(payload=payload.model_dump_json(by_alias=True))


def asked_by(told: BoundTask) -> Request:
    """Return what a bound item asks."""
    return request_of(told.key, ItemPayload.model_validate_json(told.payload))


class BatchRequests(Sequence[Request]):
    """Requests of a batch's items: each is made when it is looked at, so that a large batch is small in memory."""

    def __init__(self, chosen: Sequence[ChosenItem]) -> None:
        self._chosen = chosen

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, at: int) -> Request: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Request]: ...
    def __getitem__(self, at: int | slice) -> Request | Sequence[Request]:
        return BatchRequests(self._chosen[at]) if isinstance(at, slice) else asked_by(self._chosen[at].told)
