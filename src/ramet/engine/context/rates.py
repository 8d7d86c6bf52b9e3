"""Rates in a handler's hands: take from shared buckets before a call, tell what its response said (DESIGN §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ramet.engine.context.ports import HasClaim
from ramet.model.flow.resources import NAME_LENGTH_MAX, Told
from ramet.model.flow.shares import TakeRequest
from ramet.model.values import finite, seconds_from_now
from ramet.store.answers import Settled
from ramet.store.store import Store


class AsyncRates:
    """The verbs, awaited."""

    async def take(self, amounts: Mapping[str, float]) -> float:
        """Take so much of each of these resources' rates, all or nothing, before a call; commits at once.

        The buckets are in the database: all workers share them, and lineages get equal shares of what is scarce. An
        amount above a burst is given when that bucket is full, and the next ones wait until it is paid.

        Args:
            amounts: by name of resource, in the units of its rate: requests, tokens.

        Returns:
            0.0 when all was taken. Else nothing was, and so many seconds from now there may be room: wait here if
            they are few (what you asked for is left to this lineage for 5 s from then), or
            ``return ctx.snooze(seconds, "rate")``. 300 when a resource is switched off until a person closes its
            breaker.

        Raises:
            ClaimLost: the claim is not this handler's any more; nothing was taken.
            ValueError: no name of a resource, or an amount below 0.
        """
        return await _take(cast(HasClaim, self), amounts)

    async def adapt(
        self,
        name: str,
        *,
        limit_per_minute: float | None = None,
        remaining: float | None = None,
        reset_seconds: float | None = None,
    ) -> None:
        """Tell what a response's headers said about a resource's limit: all workers keep to it from now on.

        It makes a resource slower, never faster than its policy says. Nothing remaining until a reset, without a
        limit, is a refusal: a pause for so long, and half the rate. Commits at once, and writes only what is new.

        Args:
            name: of the resource.
            limit_per_minute: units that the server allows in a minute.
            remaining: units that are left.
            reset_seconds: until nothing of the limit is used.

        Raises:
            ValueError: no name of a resource, a limit of 0, or a number below 0.
        """
        told = Told(limit_per_minute, remaining, reset_seconds)
        await _adapt(cast(HasClaim, self), name, told)


class SyncRates:
    """The verbs for plain handlers and programs."""

    def take(self, amounts: Mapping[str, float]) -> float:
        """See :meth:`Context.take`."""
        seconds: float = cast(Any, self)._wait_for(_take(cast(HasClaim, self), amounts))
        return seconds

    def adapt(
        self,
        name: str,
        *,
        limit_per_minute: float | None = None,
        remaining: float | None = None,
        reset_seconds: float | None = None,
    ) -> None:
        """See :meth:`Context.adapt`."""
        told = Told(limit_per_minute, remaining, reset_seconds)
        cast(Any, self)._wait_for(_adapt(cast(HasClaim, self), name, told))


async def _take(context: HasClaim, amounts: Mapping[str, float]) -> float:
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
        context._accepted(Settled(work.seq, None, refused))
    return float(seconds)


async def _adapt(context: HasClaim, name: str, told: Told) -> None:
    _check_name(name)
    numbers: list[float | None] = []
    for field, value in told._asdict().items():
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


async def adapt(store: Store, name: str, told: Sequence[float | None]) -> None:
    """Write down what a response said."""
    await store.adapt(name, Told(*told))
