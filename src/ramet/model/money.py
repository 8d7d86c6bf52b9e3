"""Money as people and programs give it. It is kept in whole nano-dollars, so that sums are exact."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any, NamedTuple

NANO_DOLLARS = 1_000_000_000
"""One dollar."""
AMOUNT_MAX = 10**18
"""No single amount is larger: a thousand million dollars. Sums of them stay within what databases count in."""
DOLLARS_MAX = AMOUNT_MAX // NANO_DOLLARS
TEXT_CHARACTERS_MAX = 60
WANTED = (
    f"give whole nano-dollars from 0 to {AMOUNT_MAX} (one dollar is {NANO_DOLLARS}), a Decimal of dollars, "
    "text with a unit such as '$0.05', '5 cents', or dollars(0.05)"
)
_TEXT = re.compile(
    r"(?P<before>\$|usd)?\s*(?P<number>\d[\d,]*(\.\d+)?)\s*(?P<after>usd|dollars?|cents?|nano-?dollars?)?",
    re.IGNORECASE,
)
_UNITS = {"cent": NANO_DOLLARS // 100, "nanodollar": 1}


def dollars(amount: int | float | Decimal | str) -> int:
    """Return a number of dollars as the engine counts them: whole nano-dollars. ``Limits(max_cost=dollars(0.05))``.

    Args:
        amount: a number of dollars, or text of one; what is finer than a nano-dollar is rounded.

    Raises:
        ValueError: it is not a number, negative, or over a thousand million dollars.
    """
    try:
        found = Decimal(repr(amount)) if isinstance(amount, float) else Decimal(amount)
    except (InvalidOperation, ValueError, TypeError):
        found = Decimal("NaN")
    if isinstance(amount, bool) or not found.is_finite() or not 0 <= found <= DOLLARS_MAX:
        raise ValueError(f"{amount!r:.60} is not an amount of dollars: give a number from 0 to {DOLLARS_MAX:,}")
    return int((found * NANO_DOLLARS).to_integral_value(ROUND_HALF_EVEN))


def amount_of(given: object, what: str) -> int:
    """Return an amount of money in nano-dollars: a whole number of these, a Decimal of dollars, or text with a unit.

    Raises:
        ValueError: it is none of these, or out of range. A float is refused: it may be meant as either.
    """
    found: Decimal | int | None = None
    if type(given) is int:
        found = given
    elif isinstance(given, Decimal) and given.is_finite() and 0 <= given <= AMOUNT_MAX:
        found = given * NANO_DOLLARS
    elif isinstance(given, str) and len(given) <= TEXT_CHARACTERS_MAX:
        match = _TEXT.fullmatch(given.strip())
        unit = (match["after"] or "").lower().replace("-", "").removesuffix("s") if match else ""
        if match and (match["before"] or unit) and not (match["before"] and unit in _UNITS):
            found = Decimal(match["number"].replace(",", "")) * _UNITS.get(unit, NANO_DOLLARS)
    if found is None or found != int(found) or not 0 <= found <= AMOUNT_MAX:
        raise ValueError(f"{what} {given!r:.60}: {WANTED}")
    return int(found)


DAY_SECONDS = 86_400.0
SETTLING_SECONDS = 10.0
"""Seconds by which a task is put off that would have room once others have settled their reservations."""
DAY_SETTING = "cost.day_max"
GLOBAL_SETTING = "cost.global_max"
DAY_SOFT_SETTING = "cost.day_soft"
GLOBAL_SOFT_SETTING = "cost.global_soft"
SOFT_AND_HARD = (
    ("limits.soft_cost", "limits.max_cost"),
    (DAY_SOFT_SETTING, DAY_SETTING),
    (GLOBAL_SOFT_SETTING, GLOBAL_SETTING),
)
"""Settings of which the first may not be put above the second."""
ALL_DAYS = -1
"""Value in the place of a day for the sums over all of them."""


class ReserveRequest(NamedTuple):
    """Money that a claim wants to be kept for it."""

    id: str
    """Id chosen by the caller, so that asking again after a lost answer reserves once."""
    seq: int
    fence: int
    amount: int
    """Upper bound of what will be spent, nano-dollars."""
    named: bool = False
    """True where the id is that of a call: what an earlier claim of the task left open under it was perhaps spent, so
    it is booked in full, and this claim gets a reservation of its own."""
    provider_deduplicates: bool = False
    """True for a named call whose repetition costs nothing: this claim takes over what an earlier one left open."""


class ReserveResult(NamedTuple):
    """The answer to one request."""

    id: str
    """Id of the reservation: that of the request, unless an earlier claim reserved under the same name."""
    refused: str | None = None
    """None when the money is reserved; ``cost``, or why the claim is no longer current."""
    facts: Mapping[str, Any] = {}
    """Facts of the ceiling that left no room, and its sums; :func:`ramet.model.reasons.block_words` writes them out."""
    retry_seconds: float | None = None
    """Seconds after which asking again makes sense; None when it never will."""
    actual: int | None = None
    """Cost of the call, when this very reservation was settled before."""


class ActualCost(NamedTuple):
    """Actual cost of a reserved call."""

    id: str
    amount: int
    """Nano-dollars."""


class BookedCost(NamedTuple):
    """Booking of a reservation after it was settled."""

    id: str
    actual: int | None
    """Nano-dollars that the first settle booked; a later settle changes nothing. None for an unknown reservation."""
    over: int = 0
    """Nano-dollars by which it exceeded the reservation."""


class Charge(NamedTuple):
    """Money that was spent without a reservation; booked when the task's next settlement commits."""

    id: str
    amount: int
    """Nano-dollars."""


class Ceiling(NamedTuple):
    """One of the sums that bound a reservation."""

    name: str
    """``branch``, ``lineage``, ``day`` or ``global``."""
    spent: int
    reserved: int
    most: int | None
    """The hard one: what is in flight is cancelled once more was spent. None when there is no such ceiling."""
    soft: int | None = None
    """Nothing is reserved above it; None: nothing is reserved above ``most``."""

    @property
    def reservable(self) -> int | None:
        """Most that may be spent and reserved together: the lower of the two."""
        return self.most if self.soft is None else self.soft if self.most is None else min(self.soft, self.most)

    @property
    def passed(self) -> bool:
        """More is booked as spent than the hard ceiling allows."""
        return self.most is not None and self.spent > self.most

    @property
    def is_soft(self) -> bool:
        """True when reservations meet the soft ceiling first."""
        return self.soft is not None and (self.most is None or self.soft < self.most)


class LineageCost(NamedTuple):
    """Cost of a lineage, nano-dollars."""

    tracking_id: str
    spent: int
    reserved: int
    max_cost: int | None
    under_reserved: int
    soft_cost: int | None = None


class KindCost(NamedTuple):
    """Cost of the tasks of a kind in a lineage, nano-dollars."""

    kind: str
    calls: int
    """Reservations and charges."""
    spent: int
    reserved: int


class TaskCost(NamedTuple):
    """Cost of one task, nano-dollars."""

    task_id: str
    kind: str
    key: str
    calls: int
    spent: int
    reserved: int


class Costs(NamedTuple):
    """Sums of a database, and of one lineage where it was asked for."""

    day: Ceiling
    """Cost of the present UTC day."""
    total: Ceiling
    lineages: tuple[LineageCost, ...] = ()
    """Lineages with a cost, the most expensive first."""
    kinds: tuple[KindCost, ...] = ()
    tasks: tuple[TaskCost, ...] = ()
    """Tasks with a cost, the most expensive first."""
    more: bool = False
    """True when kinds and tasks are those of the latest calls only: there were more than are looked at (20,000)."""


def day_of(now: float) -> int:
    """Return the UTC day of a moment, days since the epoch."""
    return int(now // DAY_SECONDS)


def as_usd(nano_dollars: int) -> str:
    """Return an amount as text such as `$0.05`: to the last digit that is not 0, but at least to the cent."""
    sign, whole = "-" if nano_dollars < 0 else "", abs(nano_dollars)
    cents = f"{whole % NANO_DOLLARS:09d}"
    return f"{sign}${whole // NANO_DOLLARS:,}.{cents[:2]}{cents[2:].rstrip('0')}"


def nothing_stuck(ceiling: Ceiling) -> int:
    """Return 0: the holder of a reservation under a ceiling can always give something back."""
    return 0


def refusal(
    amount: int, ceilings: Sequence[Ceiling], now: float, stuck_under: Callable[[Ceiling], int] = nothing_stuck
) -> tuple[dict[str, Any], float | None] | None:
    """Return the facts of the ceiling that has no room for an amount, and when to ask again; None when all have room.

    A ceiling of the day has room again tomorrow, one whose room is only reserved may have it soon; where an amount
    never fits, waiting for another ceiling would be in vain.

    Args:
        stuck_under: of a ceiling, how much of what is reserved belongs to tasks that themselves wait for money. Where
            that is all of it, it counts as spent: waiting for each other, none of them would give anything back.
    """
    found: list[tuple[float, Ceiling, bool]] = []
    for ceiling in ceilings:
        spent, most = ceiling.spent, ceiling.reservable
        if most is not None and spent + ceiling.reserved + amount > most:
            stuck = ceiling.reserved > 0 and stuck_under(ceiling) >= ceiling.reserved
            least = spent + amount + (ceiling.reserved if stuck else 0)
            found.append((_again(ceiling.name, least, amount, most, now), ceiling, stuck))
    if not found:
        return None
    seconds, worst, stuck = max(found, key=lambda one: (one[0], one[1].is_soft, one[1].name))
    facts: dict[str, Any] = {
        "ceiling": worst.name, "soft": worst.is_soft, "limit": worst.reservable, "spent": worst.spent,
        "reserved": worst.reserved, "wanted": amount,
    }  # fmt: skip
    if stuck:
        facts["stuck"] = True
    return facts, None if seconds == float("inf") else seconds


def ceiling_passed(ceiling: Ceiling) -> dict[str, Any]:
    """Return the facts of the end of a task whose call was in flight when a hard ceiling was passed."""
    return {"ceiling": ceiling.name, "limit": ceiling.most, "spent": ceiling.spent}


def _again(name: str, least: int, amount: int, most: int, now: float) -> float:
    """Seconds until there may be room: infinite when there never will be.

    Args:
        least: what would be spent if everybody else gave back what is reserved.
    """
    if least <= most:
        return SETTLING_SECONDS
    if name == "day" and amount <= most:
        return (day_of(now) + 1) * DAY_SECONDS - now
    return float("inf")
