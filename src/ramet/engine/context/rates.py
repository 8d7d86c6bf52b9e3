"""Rates in a handler's hands: take from shared buckets before a call, tell what its response said (DESIGN §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ramet.engine.context.ports import HasClaim
from ramet.model.flow.resources import NAME_LENGTH_MAX, ResponseLimits
from ramet.model.flow.shares import TakeRequest
from ramet.model.values import finite, seconds_from_now
from ramet.store.answers import SettleResult
from ramet.store.store import Store


async def take_units(context: HasClaim, amounts: Mapping[str, float]) -> float:
    """Take units of rates for a context's task: :meth:`ramet.Context.take`."""
    wanted = []
    for name, amount in sorted(amounts.items()):
        _check_name(name)
        units = finite(f"the amount of {name}", amount)
        if units < 0:
            raise ValueError(f"{amount} of {name} cannot be taken: give a number of at least 0")
        if units:
            wanted.append([name, units])
    work = context._work
    seconds, refused = await context._desk.ask("take", work.seq, work.fence, wanted)
    if refused is not None:
        context._accepted(SettleResult(work.seq, None, refused))
    return float(seconds)


async def adapt_rate(context: HasClaim, name: str, limits: ResponseLimits) -> None:
    """Write down what a response said of a resource: :meth:`ramet.Context.adapt`."""
    _check_name(name)
    numbers: list[float | None] = []
    for field, value in limits._asdict().items():
        number = None if value is None else _number(f"{field} of {name}", field, value)
        least = "above 0" if field == "limit_per_minute" else "of at least 0"
        if number is not None and not (number > 0 or (number == 0 and field != "limit_per_minute")):
            raise ValueError(f"{field} of {name} is {value}: give a number {least}, or nothing")
        numbers.append(number)
    await context._desk.ask("adapt", name, numbers)


def _number(what: str, field: str, value: object) -> float:
    return seconds_from_now(what, value) if field == "reset_seconds" else finite(what, value)


def _check_name(name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a resource's name is a {type(name).__name__}: give text")
    if not 0 < len(name) <= NAME_LENGTH_MAX or not name.isprintable():
        raise ValueError(f"resource {name[:50]!r}: give a name of 1 to {NAME_LENGTH_MAX} printable characters")


# --- errands, where the database is


async def take(store: Store, seq: int, fence: int, amounts: Sequence[Sequence[Any]]) -> list[Any]:
    """Take for a claim: the seconds, and why the claim may not."""
    request = TakeRequest(seq, fence, tuple((name, amount) for name, amount in amounts))
    [answer] = await store.take([request])
    return list(answer)


async def adapt(store: Store, name: str, limits: Sequence[float | None]) -> None:
    """Write down what a response said."""
    await store.adapt(name, ResponseLimits(*limits))
