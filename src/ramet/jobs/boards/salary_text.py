"""A salary that a board tells in numbers, as a person would write it."""

from __future__ import annotations

import math

AMOUNT_MAX = 1e12
"""An amount from here on is no salary in any currency."""

_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
_PERIODS = (("hour", "an hour"), ("day", "a day"), ("week", "a week"), ("month", "a month"), ("year", "a year"))
_PERIOD_WORDS = {"annual": "a year", "yearly": "a year", "annum": "a year", "daily": "a day", "hr": "an hour"}


def salary_text(minimum: str, maximum: str, currency: str = "", period: str = "", divide: int = 1) -> str | None:
    """``$120,000 - $150,000 a year``, ``from 52,000 CHF a year``; None where there is no amount.

    Args:
        minimum, maximum: numbers as text; empty or zero: not told.
        currency: a code of three letters; empty: not told.
        period: in any of the boards' words (``per-year-salary``, ``1 HOUR``).
        divide: by what the numbers are divided.
    """
    lower, upper = _amount(minimum, divide), _amount(maximum, divide)
    if lower is None and upper is None:
        return None
    if lower is not None and upper is not None and lower > upper:
        lower, upper = upper, lower
    code = currency.strip().upper()[:3]
    if lower is not None and upper is not None and lower != upper:
        amounts = f"{_money(lower, code)} - {_money(upper, code)}"
    elif lower is not None and upper is None:
        amounts = f"from {_money(lower, code)}"
    elif upper is not None and lower is None:
        amounts = f"up to {_money(upper, code)}"
    else:
        amounts = _money(upper or 0, code)
    return f"{amounts} {_period(period)}".strip()


def _amount(text: str, divide: int) -> float | None:
    try:
        amount = float(text.replace(",", "").replace(" ", "")[:40]) / divide
    except ValueError:
        return None
    return amount if math.isfinite(amount) and 0 < amount < AMOUNT_MAX else None


def _money(amount: float, code: str) -> str:
    figure = f"{amount:,.0f}" if amount == int(amount) else f"{amount:,.2f}"
    sign = _SIGNS.get(code)
    return f"{sign}{figure}" if sign else f"{figure} {code}".strip()


def _period(words: str) -> str:
    lower = words.lower()
    for word, phrase in (*_PERIODS, *_PERIOD_WORDS.items()):
        if word in lower:
            return phrase
    return ""
