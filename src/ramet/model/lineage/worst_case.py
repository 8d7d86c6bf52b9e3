"""What limits allow at worst: how often, how many, how long and for how much money in an hour. Computed, not copied.

It is about work that a schedule starts and that continues itself (DESIGN §8): in each cycle of the schedule one run
and ``max_chain_depth`` continuations, each an invocation that takes on ``invocation_items`` at most, each item a call
and its retries.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ramet.model.lineage.limits import CLAIMING_SHARE, Limits

HOUR_SECONDS = 3_600.0
RETRY_SECONDS = 0.5
"""Between a call and its first retry, doubled for each further one, as clients of providers do it."""
RETRY_SECONDS_MAX = 8.0


class WorstCase(NamedTuple):
    """The most that can happen in any hour, and what one stuck item holds up."""

    cycles: int
    invocations: int
    items_per_cycle: int
    items: int
    calls: int
    """Each item with all retries of its call."""
    item_seconds: float
    """Wall clock of one stuck item: all its calls time out, with the waits between them."""
    waiting_seconds: float
    """Of these: the waits."""
    item_seconds_within: float
    """What the invocation's own limit leaves of that."""
    claiming_seconds: float
    """In which an invocation takes items on."""
    call_seconds_in_time: float
    """How long a call may take, on average, for an invocation to get through its items; infinite where it has none."""
    overlapping: int
    """Runs of the schedule at once, if they were allowed to overlap and every invocation used its time up."""
    running_seconds: float
    """Time that invocations run, all together, if runs may overlap."""
    running_seconds_alone: float
    """The same where a run is skipped while the last one goes on, as schedules do unless told otherwise."""


class Bill(NamedTuple):
    """Money in the worst hour, nano-dollars."""

    call_price: int
    items: int
    """Every item is billed once."""
    calls: int
    """Every retry is billed like the first call."""


def worst_case(limits: Limits) -> WorstCase:
    """What these limits allow in an hour."""
    every = max(limits.schedule_seconds, 1.0)
    cycles = math.ceil(HOUR_SECONDS / every)
    runs = limits.max_chain_depth + 1
    per_cycle = runs * limits.invocation_items
    waiting = waits(limits.call_retries)
    item = (limits.call_retries + 1) * limits.call_seconds + waiting
    claiming = limits.invocation_seconds * CLAIMING_SHARE
    running = cycles * runs * limits.invocation_seconds
    in_time = (
        claiming * limits.invocation_concurrency / limits.invocation_items if limits.invocation_items else math.inf
    )
    return WorstCase(
        cycles=cycles,
        invocations=cycles * runs,
        items_per_cycle=per_cycle,
        items=cycles * per_cycle,
        calls=cycles * per_cycle * (limits.call_retries + 1),
        item_seconds=item,
        waiting_seconds=waiting,
        item_seconds_within=min(item, limits.invocation_seconds),
        claiming_seconds=claiming,
        call_seconds_in_time=in_time,
        overlapping=max(1, math.ceil(runs * limits.invocation_seconds / every)),
        running_seconds=running,
        running_seconds_alone=min(running, HOUR_SECONDS),
    )


def waits(retries: int) -> float:
    """Seconds between a call and all its retries, together."""
    return sum(min(RETRY_SECONDS * 2.0 ** min(number, 10), RETRY_SECONDS_MAX) for number in range(retries))


def bill(worst: WorstCase, call_price: int) -> Bill:
    """What the worst hour costs when a call costs ``call_price`` nano-dollars."""
    return Bill(call_price, worst.items * call_price, worst.calls * call_price)
