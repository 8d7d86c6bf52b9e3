"""Money as people and programs give it. It is kept in whole nano-dollars, so that sums are exact."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

NANO_DOLLARS = 1_000_000_000
"""One dollar."""
AMOUNT_MAX = 10**18
"""No single amount is larger: a thousand million dollars. Sums of them stay within what databases count in."""
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
    """So many dollars as the engine counts them: whole nano-dollars. ``Limits(max_cost=dollars(0.05))``.

    Args:
        amount: a number of dollars, or text of one; what is finer than a nano-dollar is rounded.

    Raises:
        ValueError: it is no number, negative, or over a thousand million dollars.
    """
    try:
        found = Decimal(repr(amount)) if isinstance(amount, float) else Decimal(amount)
    except (InvalidOperation, ValueError, TypeError):
        found = Decimal("NaN")
    if isinstance(amount, bool) or not found.is_finite() or not 0 <= found <= AMOUNT_MAX // NANO_DOLLARS:
        raise ValueError(
            f"{amount!r:.60} is no amount of dollars: give a number from 0 to {AMOUNT_MAX // NANO_DOLLARS:,}"
        )
    return int((found * NANO_DOLLARS).to_integral_value(ROUND_HALF_EVEN))


def amount_of(given: object, what: str) -> int:
    """An amount of money in nano-dollars: a whole number of these, a Decimal of dollars, or text with a unit.

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
