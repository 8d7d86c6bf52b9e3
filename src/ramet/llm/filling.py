"""Which items go into the next batch of a lane: those of its model, as many as batch, bytes and money allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, overload

from ramet import BoundTask, Context, item
from ramet.llm.calls import Job, request_of
from ramet.llm.pricing.prices import reserve_amount
from ramet.llm.requests import Request
from ramet.llm.settings import BATCH_ITEM, ItemPayload
from ramet.llm.submits import SubmitState
from ramet.model.money import Ceiling

LOOK_AT = 10_000
"""Items that one look lists."""
ROUNDS_MAX = 20
"""Looks of one filling: other lanes take what was seen."""
OVERHEAD_BYTES = 512
"""What a provider's format adds to a request, at most."""


class BatchState(SubmitState):
    """What a lane knows of its batch."""

    items: int = 0
    items_max: int | None = None
    """The next batch has no more: the provider refused a larger one, so that the one bad request is found by halves."""
    looks: int = 0
    """How often a submit was looked for of which nobody knew whether it was taken on."""


class Chosen(NamedTuple):
    """An item of the batch that is to be sent."""

    told: BoundTask
    amount: int
    """What it may cost, nano-dollars."""


def chosen_of(job: Job, told: BoundTask) -> Chosen:
    """A bound item with what it may cost."""
    request = asked_by(told)
    return Chosen(told, reserve_amount(request, job.settings.prices[request.model], job.settings.discount))


def asked_by(told: BoundTask) -> Request:
    """What a bound item asks."""
    return request_of(told.key, ItemPayload.model_validate_json(told.payload))


class Asked(Sequence[Request]):
    """What the items of a batch ask: each is made when it is looked at, so that a large batch is small in memory."""

    def __init__(self, chosen: Sequence[Chosen]) -> None:
        self._chosen = chosen

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, at: int) -> Request: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Request]: ...
    def __getitem__(self, at: int | slice) -> Request | Sequence[Request]:
        return Asked(self._chosen[at]) if isinstance(at, slice) else asked_by(self._chosen[at].told)


async def fill(ctx: Context, job: Job, queue: str, state: BatchState) -> list[Chosen]:
    """Bind items for the next batch; those that an earlier claim bound are the batch, as they are."""
    bound = await ctx.bound()
    if not bound:
        await _bind(ctx, job, queue, await _count(ctx, job, state))
        bound = await ctx.bound()
    chosen: list[Chosen] = []
    size = amount = 0
    room = await _room(ctx)
    for told in bound:
        size += len(told.payload.encode()) + OVERHEAD_BYTES
        one = chosen_of(job, told)
        if chosen and (size > job.settings.batch_bytes or (room is not None and amount + one.amount > room)):
            break
        chosen.append(one)
        amount += one.amount
    await release(ctx, bound[len(chosen) :])
    return chosen


async def release(ctx: Context, bound: Sequence[BoundTask], delay_seconds: float = 0.0) -> None:
    """Let items go, for this lane or another."""
    if bound:
        await ctx.settle_items(
            [item(told.task_id, told.number, "pending", delay_seconds=delay_seconds) for told in bound]
        )


async def refuse(ctx: Context, job: Job, queue: str, amount: int, reason: str) -> None:
    """Fail all items that may cost as much as one for which there will never be room again; let the others go.

    Args:
        amount: what that one may cost, nano-dollars.
    """
    for _ in range(ROUNDS_MAX):
        found = await ctx.client.claimable(BATCH_ITEM, queue=queue, limit=LOOK_AT)
        if found:
            await ctx.bind(found)
        bound = await ctx.bound()
        answers = [
            item(told.task_id, told.number, "failed", reason=reason)
            for told in bound
            if chosen_of(job, told).amount >= amount
        ]
        await ctx.settle_items(answers)
        if not found or len(answers) < len(bound):
            await release(ctx, await ctx.bound())
            return


async def _count(ctx: Context, job: Job, state: BatchState) -> int:
    """How many items to bind: no more than could be sent, so that few have to be let go again."""
    most = min(job.settings.batch_items, job.caps.items_max)
    if state.items_max is not None:
        most = min(most, state.items_max)
    # All of it is read into memory once: of large prompts no more than a batch may have.
    most = min(most, job.settings.batch_bytes * 5 // (4 * job.settings.mean_bytes))
    room = await _room(ctx)
    if room is not None and job.settings.mean_amount:
        most = min(most, room * 5 // (4 * job.settings.mean_amount))
    return max(1, most)


async def _room(ctx: Context) -> int | None:
    """What may still be reserved, nano-dollars; None without a ceiling."""
    costs = await ctx.client.costs(ctx.tracking_id, limit=1)
    bounds = [Ceiling("lineage", row.spent, row.reserved, row.max_cost, row.soft_cost) for row in costs.lineages]
    left = [
        bound.reservable - bound.spent - bound.reserved
        for bound in (*bounds, costs.day, costs.total)
        if bound.reservable is not None
    ]
    return max(0, min(left)) if left else None


async def _bind(ctx: Context, job: Job, queue: str, count: int) -> None:
    for _ in range(ROUNDS_MAX):
        found = await ctx.client.claimable(BATCH_ITEM, queue=queue, limit=min(count, LOOK_AT))
        if not found or count <= 0:
            return
        count -= sum(told.refused is None for told in await ctx.bind(found))
