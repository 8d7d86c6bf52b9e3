"""An invocation: a handler that takes pulled tasks and runs them, so many and for so long as its limits allow.

How many were claimed is written on the handler's own row before they are, block by block, for the present link of its
chain: whatever dies and is run again, no link claims more than ``Limits.invocation_items`` (DESIGN §8).
"""

from __future__ import annotations

from collections.abc import Sequence

from ramet.engine.base.ports import Inside, Invocation
from ramet.engine.context.context import Context
from ramet.engine.kinds.registry import Handler, Kind, Registry
from ramet.engine.running.invocation import Invoking, Times
from ramet.model.task import events as ev
from ramet.store.requests import Settlement

INVOCATION_SHARE = 0.8
"""Of an invocation's time: after that nothing is claimed any more."""
MARGIN_SHARE = 0.05
"""Of an invocation's time, at its end: for handing back what still runs."""
MARGIN_SECONDS_MAX = 5.0
BLOCK_ITEMS = 100
"""So many claims are noted at once. What is noted and not claimed is lost with the process, for this link."""


class Allowance:
    """How many more tasks the present link of a chain may claim."""

    def __init__(self, context: Context, items_max: int) -> None:
        self._context, self._items_max = context, items_max

    @property
    def left(self) -> int:
        """So many may still be claimed."""
        return self._context.claims_left_over() + self._not_noted

    @property
    def _not_noted(self) -> int:
        return max(0, self._items_max - self._context.claims_noted())

    async def take(self, wanted: int) -> int:
        """See to it that so many are noted, or as many as are left; returns how many may be claimed now.

        Raises:
            ClaimLost: the invoking task is not this handler's any more.
        """
        context = self._context
        missing = wanted - context.claims_left_over()
        more = min(max(missing, BLOCK_ITEMS), self._not_noted)
        if missing > 0 and more > 0:
            claims, inside = context.claims_noted() + more, context.inside()
            # Not a checkpoint: that something is about to be claimed is no progress.
            event = ev.Progress(inside.work.fence, inside.lease_seconds)
            text = context.note_text(claims)
            await inside.call(Settlement(inside.work.seq, inside.work.fence, event, pipeline_state=text))
            context.note_stored(claims)
        return min(wanted, context.claims_left_over())

    def taken(self, claimed: int) -> None:
        """See :class:`ramet.engine.running.invocation.Allowed`."""
        self._context.claims_taken(claimed)


async def invoke(
    context: Context,
    kinds: Sequence[str | Handler],
    concurrency: int | None,
    queues: Sequence[str] | None,
    wait: bool,
) -> Invocation:
    """Run pulled tasks inside of the context's task: :meth:`ramet.Context.invoke`."""
    inside = context.inside()
    concurrency = inside.kind.limits.invocation_concurrency if concurrency is None else concurrency
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}: give at least 1")
    names = [kind.name for kind in _pulled(inside.registry, kinds)]
    limits, client = inside.kind.limits, context.client
    invoking = Invoking(
        inside,
        client,
        names,
        queues,
        allowed=Allowance(context, limits.invocation_items),
        times=_times(inside, limits.invocation_seconds, context.remaining_seconds),
        concurrency=min(concurrency, max(1, limits.invocation_items)),
        wait=wait,
        invoke=invoke,
    )
    context.on_drain(invoking.drain)
    if context.draining:
        invoking.drain()
    try:
        await invoking.run()
    finally:
        context.on_drain(None)
    if invoking.changed:
        work = inside.work
        await inside.call(Settlement(work.seq, work.fence, ev.Checkpoint(work.fence, inside.lease_seconds)))
    return Invocation(invoking.claimed, invoking.changed, await client.store.any_live(names))


def _times(inside: Inside, seconds: float, left: float) -> Times:
    """Of a handler that has so many of its seconds left."""
    end = inside.clock.monotonic() + left
    margin = min(seconds * MARGIN_SHARE, MARGIN_SECONDS_MAX)
    return Times(end - seconds * (1 - INVOCATION_SHARE), end - margin, end)


def _pulled(registry: Registry, kinds: Sequence[str | Handler]) -> list[Kind]:
    found = [registry.get(kind) for kind in kinds]
    if not found:
        raise ValueError("invoke needs at least one kind")
    for kind in found:
        kind.check_claimable()
        if not kind.how.pulled:
            raise ValueError(f"kind {kind.name!r} is not pulled, workers run it: register it with pulled=True")
    return found
