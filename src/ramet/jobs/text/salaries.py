"""What a listing pays a year, from a board's field or from the text.

A range of money is a salary unless the words before it say that it is a bonus, a stipend or the company's own money;
a single amount is one only where the words around it say so. An hour is 2,080th of a year, a day 260th, a week 52nd, a
month 12th. ``401k`` is no money: it has no currency.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ramet.jobs.text.markup import text_of

HOURS, DAYS, WEEKS, MONTHS = 2_080, 260, 52, 12
"""Of work in a year."""
_HOURLY_BELOW = 1_000
"""An amount without a period below this is for an hour, in currencies whose unit is worth about a dollar."""
_YEARLY_MIN = 12_000
_YEARLY_MAX = 3_000_000
_AROUND = 90
"""Characters before an amount in which its words stand."""

_SIGNS = {
    "us$": "USD", "u$s": "USD", "ca$": "CAD", "can$": "CAD", "c$": "CAD", "cad$": "CAD", "a$": "AUD", "au$": "AUD",
    "aud$": "AUD",
    "nz$": "NZD", "hk$": "HKD", "s$": "SGD", "sg$": "SGD", "r$": "BRL", "mx$": "MXN", "usd$": "USD", "€": "EUR",
    "£": "GBP",
    "₹": "INR", "¥": "JPY", "₪": "ILS", "zł": "PLN", "chf": "CHF", "fr.": "CHF", "rs.": "INR", "rs": "INR", "kr": "SEK",
    "₩": "KRW", "₱": "PHP", "₴": "UAH", "₺": "TRY", "kč": "CZK", "euros": "EUR", "euro": "EUR", "dollars": "USD",
}  # fmt: skip
_CODES = (
    "USD CAD AUD NZD HKD SGD BRL MXN EUR GBP INR JPY ILS PLN CHF SEK NOK DKK CZK HUF RON ZAR KRW PHP UAH TRY"
    " ARS COP CLP AED"
).split()
_SIGNS.update({code.lower(): code for code in _CODES})
_WORTH = {
    "INR": 80, "JPY": 150, "KRW": 1_300, "HUF": 350, "ARS": 1_000, "COP": 4_000, "CLP": 900, "MXN": 18, "CZK": 22,
    "PHP": 56,
    "UAH": 40, "TRY": 30, "ZAR": 18, "SEK": 10, "NOK": 10, "DKK": 7, "BRL": 5, "PLN": 4, "ILS": 3.5, "AED": 3.7,
    "RON": 4.5, "HKD": 8,
}  # fmt: skip
"""Roughly how many units are a dollar: only to tell what can be a year's pay. Others: one."""
_DOLLARS_OF = {"CA": "CAD", "AU": "AUD", "NZ": "NZD", "SG": "SGD", "HK": "HKD", "MX": "MXN"}
"""What ``$`` means in a country."""
_MONEY_OF = {
    **_DOLLARS_OF,
    **dict.fromkeys("DE FR AT NL BE LU ES PT IT IE FI GR SK SI HR EE LV LT CY MT".split(), "EUR"),
    "GB": "GBP", "CH": "CHF", "IN": "INR", "JP": "JPY", "IL": "ILS", "PL": "PLN", "SE": "SEK", "NO": "NOK",
    "DK": "DKK", "CZ": "CZK", "HU": "HUF", "RO": "RON", "ZA": "ZAR", "BR": "BRL",
}  # fmt: skip
"""What an amount without any sign is in; elsewhere dollars of the United States."""

_SIGN = r"(?:US\$|U\$S|CAN?\$|C\$|CAD\$|AUD?\$|A\$|NZ\$|HK\$|SG?\$|R\$|MX\$|USD\$|[$€£₹¥₪₩₱₴₺]|Rs\.?(?=\s?\d)|zł)"
_CODE = r"(?:" + "|".join(_CODES) + r"|zł|kr\b|Kč|euros?\b|dollars\b|€|£)"
_NUMBER = (
    r"\d{1,3}(?:[,. '\u2019\u00a0\u202f]\d{3}){1,3}(?:[.,]\d{1,2})?(?!\d)|\d{1,3}(?:,\d{2})+,\d{3}(?!\d)"
    r"|\d{1,7}(?:[.,]\d{1,2})?(?!\d)"
)
_AMOUNT = rf"(?:{_NUMBER})(?:\s?[kK](?![A-Za-z]))?"
_PERIOD = (
    r"(?:\s?(?:/|per|an?|each|p\.?|pro|por|al|par|im)\s?|\s)"
    r"(?P<period>hours?|hr|h|hourly|days?|daily|weeks?|weekly|wk|months?|monthly|mo|mth|year|yr|annum|annually|annual"
    r"|yearly|a\.?"
    r"|stunde|tag|monat|jahr|hora|d[ií]a|mes|m[eê]s|año|ano|heure|jour|mois|an)\b"
)
_BETWEEN = r"\s?(?:-{1,2}|\u2013|—|―|\u2212|\u2011|~|to|and|bis|a|à|up to|through|\.\.\.?)\s?"
_MONEY = re.compile(
    rf"(?P<before>(?:{_SIGN}|\b{_CODE}):?\s?)?(?<![\w.,/])(?P<low>{_AMOUNT})\s?(?P<middle>(?:{_CODE}"
    rf"|{_SIGN})(?!\w)\s?)?"
    rf"(?:(?:{_PERIOD.replace('period', 'low_period')})?{_BETWEEN}(?P<second>(?:{_SIGN}"
    rf"|{_CODE})\s?)?(?P<high>{_AMOUNT}))?"
    rf"(?P<plus>\+)?\s?(?P<after>(?:{_CODE}|{_SIGN})(?![\w$]))?(?:\s?(?:gross|brutto|bruto|brut))?(?:{_PERIOD})?",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_MONEYISH = re.compile(r"[$€£₹¥₪₩₱₴₺kK]|\d[,. '\u2019\u00a0\u202f]\d{3}|\d{4}|[A-Z]{3}|[dD]ollar|[eE]uro|zł|\br")
"""One of these is in or beside every amount of money."""
_SALARY_WORDS = re.compile(
    r"salar|compensation|\bpay\b|\bpays\b|base\b|\bwage|\bOTE\b|on[- ]target|\brate\b|earn|remunerat|gehalt"
    r"|verg[uü]tung|sueldo"
    r"|r[eé]mun[eé]ration|\brange\b|stipendio|lohn|l[öo]n\b|wynagrodzeni|remunera",
    re.IGNORECASE,
)
_COMPANYS_MONEY = re.compile(
    r"rais(?:ed|ing)|funding|revenue|valu(?:ation|ed)|\bARR\b|\bGMV\b|\bAUM\b|quota|invest(?:ed|ment)|worth of"
    r"|deals?\b|portfolio|budgets?\b"
    r"|assets|transactions|contracts?\b|sign(?:ing|-on) bonus|projects?\b",
    re.IGNORECASE,
)
_PERKS = re.compile(
    r"bonus|stipend|allowance|reimburs|contribut|401|tuition|referral|insurance|credit|grant\b|saving|match(?:ing"
    r"|es)?\b|\bdeductible|discount"
    r"|wellness|donat|market\b|customers|users|per diem|relocation|learning|perks|volunteer|award",
    re.IGNORECASE,
)
_NO_PERK_FROM = 30_000
"""A range that begins here or higher is no perk, whatever words stand around it."""
_OTHER_AFTER = re.compile(
    r"\s?(?:-|in |of |an? |annual(?:ly)? |yearly |per year |one-time |USD )*(?:m\b|mm\b|mn\b|million|b\b|bn\b|billion"
    r"|trillion|sign|bonus|stipend|funding"
    r"|revenue|arr\b|budget|deal|acv|equity|stock|rsu|options|allowance|users|customers|employees|people|companies|%"
    r"|contract value|towards"
    r"|toward|credit|reimburs|referral|learning)",
    re.IGNORECASE,
)
_AT_MOST = re.compile(r"(?:up to|at most|max(?:imum)?(?: of)?|bis(?: zu)?|jusqu'à|hasta|até)[\s:]*$", re.IGNORECASE)
_AT_LEAST = re.compile(
    r"(?:from|starting(?: at| from)?|starts at|at least|min(?:imum)?(?: of)?|ab|à partir de|desde|a partir de)[\s:]*$",
    re.IGNORECASE,
)
_CENTS = re.compile(r"[.,]\d{1,2}$")


@dataclass(frozen=True, slots=True)
class Salary:
    """A year's pay before tax, in whole units of its currency. One bound may be unknown, never both."""

    minimum: int | None
    maximum: int | None
    currency: str
    """ISO 4217."""


@dataclass(frozen=True, slots=True)
class _Offer:
    low: float
    high: float | None
    """None: one amount only."""
    side: int
    """Of one amount: -1, "up to" it; 1, "from" it; 0, it."""
    currency: str
    said: bool
    """Whether words around it say that it is pay."""


def salary_of(field: str | None, text: str, country: str | None = None) -> Salary | None:
    """The pay that a board's field tells; without one, what the text tells.

    Where a text has several ranges (by place, by level) the widest is taken, from the lowest to the highest: which of
    them applies depends on the person, and a floor must not refuse what some reader of the listing would be paid. Where
    they differ in currency, those in dollars of the United States count, else those in the currency that comes first.

    Args:
        field: what the board's own field has, in whatever form.
        text: plain.
        country: ISO 3166 code of where the work is; tells which dollar ``$`` is.
    """
    if field:
        found = _widest(list(_offers(text_of(field), country, is_field=True)))
        if found is not None:
            return found
    return _widest(list(_offers(text, country, is_field=False)))


def _widest(offers: list[_Offer]) -> Salary | None:
    ranges = [offer for offer in offers if offer.high is not None] or offers
    said = [offer for offer in ranges if offer.said]
    ranges = [offer for offer in ranges if not said or any(_overlap(offer, other) for other in said)]
    if not ranges:
        return None
    currencies = [offer.currency for offer in ranges]
    currency = "USD" if "USD" in currencies else currencies[0]
    ranges = [offer for offer in ranges if offer.currency == currency]
    low = min(offer.low for offer in ranges)
    high = max(offer.high or offer.low for offer in ranges)
    sides = {offer.side for offer in ranges}
    return Salary(None if sides == {-1} else round(low), None if sides == {1} else round(high), currency)


def _overlap(one: _Offer, other: _Offer) -> bool:
    if one.currency != other.currency:
        return True
    return one.low <= (other.high or other.low) and other.low <= (one.high or one.low)


def _offers(text: str, country: str | None, *, is_field: bool) -> Iterator[_Offer]:
    """Every amount that can be pay."""
    position = 0
    while True:
        digit = _DIGIT.search(text, position)
        if digit is None:
            return
        # The pattern begins at a sign before the digit: a few characters back, never before what was read already.
        start = max(position, digit.start() - 8)
        if _MONEYISH.search(text, start, digit.start() + 24) is None:
            position = _after_digits(text, digit.start())
            continue
        money = _MONEY.search(text, start, min(len(text), digit.start() + 120))
        if money is None or money.start("low") > digit.start() + 8:
            position = _after_digits(text, digit.start())
            continue
        offer = _offer(text, money, country, is_field=is_field)
        if offer is not None:
            yield offer
        position = max(money.end(), _after_digits(text, digit.start()))


def _after_digits(text: str, position: int) -> int:
    while position < len(text) and text[position].isalnum():
        position += 1
    return position


def _offer(text: str, money: re.Match[str], country: str | None, *, is_field: bool) -> _Offer | None:
    sign = money["before"] or money["second"] or money["middle"] or money["after"]
    before = text[max(0, money.start() - _AROUND) : money.start()]
    before = before[max(before.rfind("\n\n"), before.rfind(". ")) + 1 :]
    said = is_field or _SALARY_WORDS.search(before) is not None or bool(money["period"] and money["high"])
    if sign is None and not (said and (money["high"] is not None or is_field)):
        return None
    if not is_field and _OTHER_AFTER.match(text, money.end()):
        return None
    if money["high"] is None and not (said or _is_yearly(money)):
        return None
    low, high = _number(money["low"]), _number(money["high"] or "")
    if low is None or (sign is None and not is_field and (high is None or low < 10 or _is_year(low, high))):
        return None
    if high is not None and low < 1_000 <= high and not money["low"].lower().endswith("k"):
        low *= 1_000
        if low > high:
            return None
    currency = _currency(money, country)
    factor = _factor(money["period"] or money["low_period"], high or low, currency, is_range=high is not None)
    if factor is None or (high is not None and high < low):
        return None
    low, high = low * factor, None if high is None else high * factor
    worth = _WORTH.get(currency, 1)
    if not _YEARLY_MIN * worth <= (high or low) <= _YEARLY_MAX * worth or (high is not None and high > low * 10 > 0):
        return None
    if not is_field and _is_other(before, may_be_perk=high is None or low < _NO_PERK_FROM * worth):
        return None
    side = 0 if high is not None else _side(before, money)
    return _Offer(low, high, side, currency, said)


def _side(before: str, money: re.Match[str]) -> int:
    """Whether a single amount is the most (-1), the least (1) or all (0) that is paid."""
    if _AT_MOST.search(before):
        return -1
    return 1 if money["plus"] or _AT_LEAST.search(before) else 0


def _is_other(before: str, *, may_be_perk: bool) -> bool:
    """Whether the words before an amount say that it is other money, after any word that says it is pay."""
    pay = max((match.end() for match in _SALARY_WORDS.finditer(before)), default=0)
    if _COMPANYS_MONEY.search(before, pay):
        return True
    return may_be_perk and _PERKS.search(before, pay) is not None


def _is_yearly(money: re.Match[str]) -> bool:
    return (money["period"] or "").lower()[:2] in {"ye", "yr", "an", "ho", "hr"}


def _is_year(low: float, high: float | None) -> bool:
    """Whether two bare numbers are years of the calendar."""
    return 1_900 <= low <= 2_100 and (high is None or 1_900 <= high <= 2_100)


def _number(written: str) -> float | None:
    """``120,000``, ``120.000``, ``94,550.00``, ``120k``, ``12,00,000``."""
    if not written:
        return None
    thousands = written[-1] in "kK"
    digits = written.rstrip("kK ").strip()
    cents = _CENTS.search(digits)
    whole = digits[: cents.start()] if cents is not None else digits
    number = float("".join(character for character in whole if character.isdigit()) or 0)
    if cents is not None:
        number += float("0." + cents.group()[1:])
    return number * 1_000 if thousands else number


def _currency(money: re.Match[str], country: str | None) -> str:
    is_signed = False
    for group in ("after", "middle", "before", "second"):
        sign = (money[group] or "").strip(" :\u00a0").lower()
        if sign and sign != "$":
            return _SIGNS.get(sign, "USD")
        is_signed = is_signed or bool(sign)
    return (_DOLLARS_OF if is_signed else _MONEY_OF).get(country or "", "USD")


def _factor(period: str | None, amount: float, currency: str, *, is_range: bool) -> float | None:
    """How often the amount is paid in a year; None where it cannot be told."""
    name = (period or "").lower()
    if name.startswith(("h", "stu")):
        return HOURS
    if name.startswith(("da", "día", "dia", "tag", "jour")):
        return DAYS
    if name.startswith(("we", "wk")):
        return WEEKS
    if name.startswith(("mo", "mt", "mê", "me")):
        return MONTHS
    if name:
        return 1
    worth = _WORTH.get(currency, 1)
    if amount < _HOURLY_BELOW and worth < 2 and amount >= 7:
        return HOURS
    if is_range and amount < _YEARLY_MIN * max(worth, 1) and amount * MONTHS >= _YEARLY_MIN * worth:
        return MONTHS
    return 1
