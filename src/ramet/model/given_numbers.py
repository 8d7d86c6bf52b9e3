"""Numbers as programs give them: checked where they come in, so that a wrong one is an error of whoever gave it.

What passes fits both databases: whole numbers 64 bits, all others are finite.
"""

from __future__ import annotations

import math
from numbers import Integral, Real

INTEGER_MAX = 2**63 - 1
"""Of a whole number in either database; the least is ``-INTEGER_MAX - 1``."""
INTEGER_DIGITS_MAX = 4_300
"""Of a whole number in a JSON value: what Python itself, and every reader here, takes."""


def finite_seconds(what: str, value: object) -> float:
    """A length of time in seconds, as it was given.

    Args:
        what: it is, for messages.

    Raises:
        TypeError: it is no number; text, None, ``Decimal`` and ``timedelta`` are none.
        ValueError: it is infinite, NaN, or beyond every clock.
    """
    if type(value) is float and math.isfinite(value):
        return value
    return _finite(what, value)


def _finite(what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{what} is a {type(value).__name__}: give a number of seconds")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{what} is not a finite number: give a number of seconds")
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
