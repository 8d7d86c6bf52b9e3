"""Calls that cost money, each for a random price under a random upper bound, by handlers that die in between.

After a death the next claim of the same task asks the provider what the call cost that its reservation was made for,
and settles that: as a pipeline does that never repeats a call blindly.
"""

from __future__ import annotations

import os
import random
import signal

from ramet import App, Context, Limits
from tests.crash.pids import say_who_runs
from tests.faults import paid_calls

AMOUNT_MAX = 100
DEATHS = ("reserved", "called", "settled")
"""After which step a handler may take its whole process with it."""
DIES = {81: "reserved", 84: "called", 87: "settled"}
"""Of every 160 items these do, of the lineage whose money suffices."""

app = App(limits=Limits(max_attempts=4))


def amount_of(number: int) -> int:
    """The upper bound of an item's price, nano-dollars."""
    return random.Random(f"amount {number}").randint(1, AMOUNT_MAX)


def price_of(number: int) -> int:
    """What its call really costs."""
    return random.Random(f"price {number}").randint(0, amount_of(number))


def dies_after(number: int) -> str | None:
    """The step after which the handler of this item kills its process, the first time that it comes there."""
    return DIES.get(number % 160)


def step(number: int, name: str) -> None:
    """A step is done."""
    if dies_after(number) == name and paid_calls.once(f"{number}-{name}"):
        os.kill(os.getpid(), signal.SIGKILL)


@app.task("pay", key=str)
async def pay(ctx: Context, number: int) -> int:
    # The provider knows what it was asked: a repeated call has no price.
    reservation = await ctx.reserve(amount_of(number), name="call", provider_deduplicates=True)
    step(number, "reserved")
    price = paid_calls.find(reservation.id)
    if price is None:
        price = paid_calls.call(reservation.id, price_of(number))
        step(number, "called")
    await reservation.settle(price)
    step(number, "settled")
    return price


say_who_runs()
