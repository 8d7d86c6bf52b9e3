"""Pay in the fields of a board: as numbers, and as a text for people."""

from __future__ import annotations

import math
from typing import get_args

from ramet.jobs.posting import Pay, Period
from ramet.jobs.text.salaries import number_of

AMOUNT_MAX = 1e12
"""Least amount that is too large for a salary in any currency."""
HOURLY_MAX = 10_000
"""Upper bound of the pay for an hour, in a currency whose unit is worth about a dollar."""

_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
_PERIOD_WORDS: dict[str, Period] = {
    "annual": "year", "annum": "year", "dai": "day", "hr": "hour", "p1y": "year", "p1m": "month", "p1w": "week",
    "p1d": "day", "pt1h": "hour", "ann": "year", "jahr": "year", "monat": "month", "stunde": "hour", "mois": "month",
}  # fmt: skip
_SINGLE: dict[str, Period] = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}


def pay_of(minimum: str, maximum: str, currency: str = "", period: str = "", divide: int = 1) -> Pay | None:
    """Return the pay that fields have; None where there is no amount.

    Args:
        minimum, maximum: amounts as text, in any way to write one (``12,50``, ``45.000,00``, ``$120k``); empty or zero:
            unknown.
        currency: a code of three letters or a sign; empty: unknown.
        period: in any of the boards' words (``per-year-salary``, ``1 HOUR``); other words: unknown.
        divide: divisor of the numbers.
    """
    every = period_of(period)
    lower, upper = _amount(minimum, divide, every), _amount(maximum, divide, every)
    if lower is None and upper is None:
        return None
    if lower is not None and upper is not None and lower > upper:
        lower, upper = upper, lower
    written = currency.strip()
    code = written.upper()[:3] if written.isascii() and written.isalpha() else written[:5]
    return Pay(minimum=lower, maximum=upper, currency=code or None, period=every)


def salary_text(pay: Pay | None) -> str | None:
    """Return pay as a text for people: ``$120,000 - $150,000 a year``, ``from 52,000 CHF a year``; None: unknown."""
    if pay is None:
        return None
    lower, upper, code = pay.minimum, pay.maximum, pay.currency or ""
    if lower is not None and upper is not None and lower != upper:
        amounts = f"{_money(lower, code)} - {_money(upper, code)}"
    elif lower is not None and upper is None:
        amounts = f"from {_money(lower, code)}"
    elif upper is not None and lower is None:
        amounts = f"up to {_money(upper, code)}"
    else:
        amounts = _money(upper or 0, code)
    return amounts if pay.period is None else f"{amounts} {'an' if pay.period == 'hour' else 'a'} {pay.period}"


def period_of(words: str) -> Period | None:
    """Return the period that a board's word names."""
    lower = words.strip().lower()
    if lower in _SINGLE:
        return _SINGLE[lower]
    for name in get_args(Period):
        if name in lower:
            found: Period = name
            return found
    return next((period for word, period in _PERIOD_WORDS.items() if word in lower), None)


def _amount(text: str, divide: int, period: Period | None) -> float | None:
    written = text.strip()[:40]
    try:
        plain = float(written)
    except ValueError:
        plain = None
    amount = plain if plain is not None and "." not in written else number_of(written)
    if plain is not None and amount is not None and "." in written:
        # "45.000" is 45 thousand for a year, and 15.125 an hour's pay; ".125" of any longer number are decimals.
        is_decimal = len(written.rpartition(".")[2]) != 3 or (period == "hour" and amount >= HOURLY_MAX)
        amount = plain if is_decimal else amount
    if amount is None or written.startswith("-"):
        return None
    amount /= divide
    return amount if math.isfinite(amount) and 0 < amount < AMOUNT_MAX else None


def _money(amount: float, code: str) -> str:
    figure = f"{amount:,.0f}" if amount == int(amount) else f"{amount:,.2f}"
    sign = _SIGNS.get(code)
    return f"{sign}{figure}" if sign else f"{figure} {code}".strip()
