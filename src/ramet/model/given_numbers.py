"""Numbers as programs give them: checked where they come in, so that a wrong one is an error of whoever gave it.

What passes fits both databases: whole numbers 64 bits, all others are finite.
"""

from __future__ import annotations

import math
from numbers import Integral, Real

INTEGER_MAX = 2**63 - 1
"""Of a whole number in either database; the least is ``-INTEGER_MAX - 1``."""
SECONDS_MAX = 100 * 365.25 * 86_400.0
"""A hundred years: the longest that anything is put off, and moments so far ahead can still be written as dates."""
PRIORITY_MAX = 2**31 - 1
"""Of a task, and the least is its negative: beyond, ranks of classes would meet (:mod:`ramet.model.ordering`)."""
INTEGER_DIGITS_MAX = 4_300
"""Of a whole number in a JSON value: what Python itself, and every reader here, takes."""
INTEGER_BITS_MAX = 14_280
"""Of one that surely has no more digits than that."""


def finite_seconds(what: str, value: object) -> float:
    """A length of time in seconds, as it was given.

    Args:
        what: it is, for messages.

    Raises:
        TypeError: it is not a number; text, None, ``Decimal`` and ``timedelta`` are refused too.
        ValueError: it is infinite, NaN, or longer than ``SECONDS_MAX``.
    """
    if type(value) is float and -SECONDS_MAX <= value <= SECONDS_MAX:
        return value
    seconds = finite_number(what, value)
    if abs(seconds) > SECONDS_MAX:
        raise ValueError(f"{what} is over a hundred years: give a number of seconds")
    return seconds


def finite_number(what: str, value: object) -> float:
    """A number, as it was given.

    Raises:
        TypeError: it is not a number; text, None and ``Decimal`` are refused too.
        ValueError: it is infinite, NaN, or too large for a float.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{what} is a {type(value).__name__}: give a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{what} is not finite: give a number")
    return number


def whole_number(what: str, value: object, *, at_least: int = -INTEGER_MAX - 1, at_most: int = INTEGER_MAX) -> int:
    """A whole number within 64 bits, as it was given.

    Raises:
        TypeError: it is not a whole number.
        ValueError: it is out of range.
    """
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise TypeError(f"{what} is a {type(value).__name__}: give a whole number")
    number = int(value)
    if not at_least <= number <= at_most:
        raise ValueError(f"{what} is out of range: give {at_least} to {at_most}")
    return number


def shown(value: object) -> str:
    """A value for a message: a whole number may have more digits than Python itself writes."""
    if isinstance(value, int) and abs(value) > INTEGER_MAX:
        return "a number beyond 64 bits"
    return repr(value)[:100]
