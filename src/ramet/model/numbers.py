"""Numbers that come from outside: finite and bounded, checked by one rule wherever they come in (I6, I7).

An infinite delay would make a lineage that never ends, and a path that nobody else may ever use.
"""

from __future__ import annotations

import math

SECONDS_MAX = 100 * 365.25 * 86_400.0
"""No delay, deadline, limit of time or extension is longer: a century."""
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
        InvalidNumber: it is no number from ``least`` to ``most``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidNumber(f"{what} is {_shown(value)}: give a number of seconds from {least:g} to {most:,.0f}")
    return float(value)


def whole(what: str, value: object, *, least: int = 0, most: int = COUNT_MAX) -> int:
    """A whole number.

    Raises:
        InvalidNumber: it is none from ``least`` to ``most``.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidNumber(f"{what} is {_shown(value)}: give a whole number from {least:,} to {most:,}")
    return value


def priority(what: str, value: object) -> int:
    """A priority.

    Raises:
        InvalidNumber: it is no whole number, or out of range.
    """
    return whole(what, value, least=-PRIORITY_MAX, most=PRIORITY_MAX)


def _shown(value: object) -> str:
    if isinstance(value, int) and abs(value) > 10**30:
        return f"a number of about {math.log10(abs(value)):.0f} digits"
    return f"{value!r:.60}"
