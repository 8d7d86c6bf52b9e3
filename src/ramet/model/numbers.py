"""Numbers as people, programs and handlers give them: finite and bounded, by one rule wherever they come in (I6, I7).

An infinite delay would make a lineage that never ends, and a path that nobody else may ever use. What passes fits both
databases: whole numbers 64 bits, all others are finite.
"""

from __future__ import annotations

import math
from numbers import Integral, Real

INTEGER_MAX = 2**63 - 1
"""Of a whole number in either database; the least is ``-INTEGER_MAX - 1``."""
INTEGER_DIGITS_MAX = 4_300
"""Of a whole number in a JSON value: what Python itself, and every reader here, takes."""
INTEGER_BITS_MAX = 14_280
"""Of one that surely has no more digits than that."""
SECONDS_MAX = 100 * 365.25 * 86_400.0
"""No delay, deadline, limit of time or extension is longer: a century. Such moments can still be written as dates."""
RESERVED_DELAY_SECONDS_MAX = 30 * 86_400.0
"""A task that takes its place on a path before it is due holds others back: for at most so long, as a pause does."""
COUNT_MAX = 10**18
"""No limit of size is larger: sums of them stay within what databases count in."""
PRIORITY_MAX = 999_999
"""The largest priority, and without its sign the smallest: below what a level of depth weighs in a breadth queue."""


class InvalidNumber(ValueError):
    """Raised for a number that is none, is not finite, or is out of range; one line says what to give."""


def seconds(what: str, value: object, *, least: float = 0.0, most: float = SECONDS_MAX) -> float:
    """A length of time.

    Raises:
        InvalidNumber: it is no number from ``least`` to ``most``; ``Decimal`` and ``timedelta`` are none either.
    """
    if type(value) is float and least <= value <= most:
        return value
    if not _is_number(value, Real) or not least <= value <= most:  # type: ignore[operator]
        raise InvalidNumber(f"{what} is {shown(value)}: give a number of seconds from {least:,.7g} to {most:,.0f}")
    return float(value)  # type: ignore[arg-type]


def seconds_from_now(what: str, value: object) -> float:
    """A moment as seconds from now; what is past is given with a minus.

    Raises:
        InvalidNumber: as :func:`seconds`.
    """
    return seconds(what, value, least=-SECONDS_MAX)


def finite(what: str, value: object) -> float:
    """Any number that a float can hold.

    Raises:
        InvalidNumber: it is none.
    """
    try:
        number = float(value) if _is_number(value, Real) else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidNumber(f"{what} is {shown(value)}: give a number")
    return number


def whole(what: str, value: object, *, least: int = 0, most: int = COUNT_MAX) -> int:
    """A whole number.

    Raises:
        InvalidNumber: it is none from ``least`` to ``most``.
    """
    if not _is_number(value, Integral) or not least <= value <= most:  # type: ignore[operator]
        raise InvalidNumber(f"{what} is {shown(value)}: give a whole number from {least:,} to {most:,}")
    return int(value)  # type: ignore[call-overload,no-any-return]


def integer(what: str, value: object) -> int:
    """Any whole number that both databases hold.

    Raises:
        InvalidNumber: it is none.
    """
    return whole(what, value, least=-INTEGER_MAX - 1, most=INTEGER_MAX)


def priority(what: str, value: object) -> int:
    """A priority.

    Raises:
        InvalidNumber: it is no whole number, or out of range.
    """
    return whole(what, value, least=-PRIORITY_MAX, most=PRIORITY_MAX)


def shown(value: object) -> str:
    """A value for a message: a whole number may have more digits than Python itself writes."""
    if isinstance(value, int) and abs(value) > INTEGER_MAX:
        return f"a number of about {math.log10(abs(value)):.0f} digits"
    return f"{value!r:.60}"


def _is_number(value: object, of: type) -> bool:
    return isinstance(value, of) and not isinstance(value, bool)
