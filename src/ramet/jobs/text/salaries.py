"""Pay of a listing for a year, from a board's field or from the text.

A range of money is a salary unless the words before it say that it is a bonus, a stipend or the company's own money;
a single amount is one only where the words around it say so. An hour is 2,080th of a year, a day 260th, a week 52nd, a
month 12th. ``401k`` is not money: it has no currency.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from ramet.jobs.posting import Pay, Period
from ramet.jobs.text import word_list
from ramet.jobs.text.languages import alternatives
from ramet.jobs.text.markup import text_of

_HOURLY_BELOW = 1_000
"""An amount without a period below this is for an hour, in currencies whose unit is worth about a dollar."""
_YEARLY_MIN = 12_000
"""Least dollars of pay for a year; less is a perk, a part, or pay for a shorter time."""
_YEARLY_MAX = 3_000_000
_AROUND = 90
"""Characters before an amount in which its words are looked for."""


class _Currency(NamedTuple):
    worth: float
    """Roughly how many units are a dollar."""
    least: float
    """Least pay for a year."""


def _read_currencies() -> tuple[dict[str, _Currency], dict[str, str], dict[str, str]]:
    """Return currencies by code, codes by sign and codes by country. The file tells its format."""
    currencies: dict[str, _Currency] = {}
    signs: dict[str, str] = {}
    countries: dict[str, str] = {}
    for entry in word_list("currencies")["currencies"]:
        head, _, written = entry.partition(": ")
        code, worth, *rest = head.split()
        least = float(rest.pop(0)) if rest and rest[0].isdigit() else _YEARLY_MIN * float(worth)
        currencies[code] = _Currency(float(worth), least)
        signs.update(dict.fromkeys(written.split("|"), code))
        signs[code.lower()] = code
        countries.update(dict.fromkeys(rest, code))
    return currencies, signs, countries


_CURRENCIES, _SIGNS, _MONEY_OF = _read_currencies()
_DOLLARS = frozenset("USD CAD AUD NZD SGD HKD MXN TWD JMD TTD BND NAD".split())
"""Currencies for which ``$`` is written in their own countries; elsewhere it means dollars of the United States."""
_USUAL = (
    "usd cad aud nzd gbp eur chf inr sek nok dkk pln czk brl jpy sgd hkd zar php ils huf ron mxn euros? dollars".split()
)
"""Codes and names that texts write in small letters, too; other codes have to be in capitals."""


def _alternatives(signs: Iterable[str]) -> str:
    return "|".join(re.escape(sign) for sign in sorted(signs, key=len, reverse=True))


_SIGN = (
    "(?:"
    + _alternatives([sign for sign in _SIGNS if not sign[-1].isalpha() and sign[-1] != "."] + ["$"])
    + r"|Rs\.?(?=\s?\d)|zł|(?-i:RM|Rp\.?)(?=\s?\d))"
)
_CODE = (
    rf"(?:(?-i:{'|'.join(code for code in _CURRENCIES if code != 'ALL')}|NIS|RMB|NTD)|{'|'.join(_USUAL)}"
    r"|zł|(?-i:zl)|kr\b|Kč|(?-i:Ft)\b|fr\.|€|£|元|원)"
)
_ENDS_OF_SIGNS = frozenset(
    sign[-2:]
    for sign in (*_SIGNS, *_USUAL, "$", "euro", "nis", "rmb", "ntd", "rs", "rs.", "rm", "rp", "rp.", "zl", "ft")
)
"""The last two characters, or the only one, of every sign and code, in lower case."""
_NUMBER = (
    r"\d{1,3}(?:[,. '\u2019\u00a0\u202f]\d{3}){1,3}(?:[.,]\d{1,2})?(?!\d)|\d{1,3}(?:,\d{2})+,\d{3}(?!\d)"
    r"|\d{1,7}(?:[.,]\d{1,2})?(?!\d)"
)
_SCALES = {
    "k": 1e3, "tsd": 1e3, "tys": 1e3, "teur": 1e3, "lakh": 1e5, "lac": 1e5, "lpa": 1e5, "l": 1e5, "crore": 1e7,
    "cr": 1e7, "万": 1e4, "万円": 1e4,
}  # fmt: skip
"""Word -> factor of the number before it: thousands, the lakh and crore of India, the ten thousand of Japan."""
_SCALE = r"(?:\s?[kK](?![A-Za-z])|\s?(?:lakhs?|lacs?|lpa|crores?|tsd\.?|tys\.?)(?!\w)|\s?(?-i:L|Cr)(?![\w/])|\s?万円?)"
_AMOUNT = rf"(?:{_NUMBER})(?:,-{{1,2}}(?!\d)|{_SCALE})?"
_PERIODS: dict[Period, str] = {
    "hour": r"hours?|hr|h|hourly", "day": r"days?|daily|diem", "week": r"weeks?|weekly|wk",
    "month": r"months?|monthly|mo|mth", "year": r"year|yr|annum|annually|annual|yearly|lpa",
}  # fmt: skip
_TIMES: dict[Period, int] = {"hour": 2_080, "day": 260, "week": 52, "month": 12, "year": 1}


def _period(prefix: str) -> str:
    """Return the expression of a period, a group for each, whose name begins with the prefix."""
    words = "|".join(
        rf"(?P<{prefix}{name}>(?:{english}|{alternatives('pay', name)})\b)" for name, english in _PERIODS.items()
    )
    return rf"(?:\s?(?:/|per|an?|each|p\.?|pro|por|al|par|im|je|all'|l'|na|za)\s?|\s|\)\s)(?:{words}|a\.)"


@cache
def _money() -> re.Pattern[str]:
    """Return the expression of an amount or a range; with the words of all languages, hence not before it is needed."""
    between = (
        r"\s?(?:-{1,2}|\u2013|—|―|\u2212|\u2011|~|〜|\uff5e|to|and|up to|through|\.\.\.?"
        r"|[,;|/]?\s?(?:mid(?:point)?:?\s?[$€£]?\s?[\d.,]+[kK]?[,;|/]?\s?)?(?:and )?max(?:imum)?(?: salary| pay)?:?"
        rf"|(?<=[kK])/(?=\s?[\d€£$])|{alternatives('pay', 'between')})\s?"
    )
    gross = rf"(?:\s?\(?(?:gross|{alternatives('pay', 'gross')})(?!\w)\)?)?"
    return re.compile(
        rf"(?P<before>(?:{_SIGN}|\b{_CODE}):?\s?)?(?<![A-Za-z\d_.,/])(?P<low>{_AMOUNT})\s?(?P<middle>(?:{_CODE}"
        rf"|{_SIGN})(?!\w)\s?)?"
        rf"(?:{gross}(?:{_period('l')})?{between}(?P<second>(?:{_SIGN}"
        rf"|{_CODE})\s?)?(?P<high>{_AMOUNT}))?"
        rf"(?P<plus>\+)?\s?(?P<after>(?:{_CODE}|{_SIGN})(?![\w$]))?{gross}(?:{_period('p')})?",
        re.IGNORECASE,
    )


_DIGIT = re.compile(r"\d")
_MONEYISH = re.compile(
    r"[$€£₹¥₪₩₱₴₺₽₦฿₫円万元원kK]|\d[,. '\u2019\u00a0\u202f]\d{3}|\d{4}|[A-Z]{3}|[dD]ollar|[eE]uro|zł|\br|[lL]a(?:kh|c)"
)
"""One of these is in or beside every amount of money."""
_TIMES_A_YEAR = re.compile(
    r"[\s(,]{0,3}(1[2-6])(?:[.,]\d)?\s?(?:x|\u00d7|mal|mensilit|pagas|monatsgeh|fois|maal)", re.IGNORECASE
)
"""How many months are paid in a year, right behind a month's pay."""
_MORE_AFTER = re.compile(
    r"\s?(?:[\w-]+ ){0,2}(?:bonus|benefits?|commission|equity|stock|options|pension|package|superannuation|car\b)",
    re.IGNORECASE,
)
"""Words behind a plus for pay beside the amount: ``\u00a365k + bonus``."""
_SIGNS_BEFORE = "$\u20ac\u00a3"
_SPACED_NUMBER = re.compile(rf"([{_SIGNS_BEFORE}]\s?\d{{1,3}}), (\d{{3}})(?![\d,])")
"""A number with a space behind its comma: ``$101, 125``."""
_PEOPLE_AFTER = re.compile(
    r"\s?\+?\s?(?:[a-z-]+ ){0,3}(?:fleet|drivers|partners|merchants|restaurants|stores|students|members|subscribers"
    r"|sellers|customers|users|employees|people|households|farmers|learners|orders|downloads|patients|outlets"
    r"|businesses|teachers|followers|sq\.?|hours (?:per|a|each) week|hours weekly|weekly)\b",
    re.IGNORECASE,
)
"""Nouns that a bare number counts: ``2 lakh independent drivers``."""
_BEFORE_PERIODS: tuple[tuple[Period, tuple[str, ...]], ...] = (
    ("month", ("月給", "月額")),
    ("year", ("年収", "年俸")),
    ("hour", ("時給",)),
    ("day", ("日給",)),
)
"""Japanese has the period before the amount."""


_NO_GROUP = "".join(
    rf"(?<!{word} )"
    for word in "customer client user employee member subscriber partner merchant supplier installed asset fan"
    " knowledge code consumer talent".split()
)
"""Words that are not before "base" where it is pay: an "employee base" is people."""


@cache
def _salary_words() -> re.Pattern[str]:
    return re.compile(
        rf"salar|compensation|\bpay(?:s|ing)?\b|{_NO_GROUP}\bbase\b|\bwage|\bOTE\b|on[- ]target|\brate\b|earn|remunerat"
        r"|\brange\b|\bCTC\b"
        rf"|l[öo]n\b|\bgaji\b|gehalt|verg[uü]tung|lohn\b|entgelt|月給|月額|年収|年俸|時給|日給|給与|연봉"
        rf"|\b(?:{alternatives('pay', 'words')})",
        re.IGNORECASE,
    )


_COMPANYS_MONEY = re.compile(
    r"rais(?:ed|ing)|funding|revenue|valu(?:ation|ed)|\bARR\b|\bGMV\b|\bAUM\b|quota|invest(?:ed|ment)|worth of"
    r"|deals?\b|portfolio|budgets?\b"
    r"|assets|transactions|contracts?\b(?! (?:basis|role|position|to hire|work|rate|job|engagement))|\bsav(?:e|es"
    r"|ing|ings)\b|book of business|\bprocess(?:es|ing)?\b"
    r"|\bgenerat\w+|\bloans?\b|\bpremiums?\b(?!(?: plus)?:)|\bsum insured\b|\bcap of\b"
    r"|\bcover(?:age)? limit\b|\bspend|\bclaims\b|\bcosts?\b|sign(?:ing|-on) bonus|projects?\b",
    re.IGNORECASE,
)
_PERKS = re.compile(
    r"bonus|stipend|allowance|reimburs|contribut|401|tuition|referral|insurance|credit|grant\b|saving|match(?:ing"
    r"|es)?\b|\bdeductible|discount"
    r"|wellness|donat|market\b|customers|users|per diem|relocation|learning|perks|volunteer|award",
    re.IGNORECASE,
)
_NO_PERK_FROM = 30_000
"""Least beginning of a range that is not a perk, whatever words are around it."""
_OTHER_AFTER = re.compile(
    r"[ \u00a0]?(?:-|in |of |an? |annual(?:ly)? |yearly |per year |one-time |USD )*"
    r"(?:m\b|mm\b|mn\b|million|b\b|bn\b|billion|trillion|sign|bonus|stipend|funding"
    r"|revenue|arr\b|budget|deal|acv|equity|stock|rsu|options|allowance|users|customers|employees|people|companies|%"
    r"|contract value|towards"
    r"|toward|credit|reimburs|referral|learning)",
    re.IGNORECASE,
)


@cache
def _sides() -> tuple[tuple[int, re.Pattern[str]], ...]:
    """Return the expressions before an amount that is the most (-1) or the least (1) that is paid."""
    most, least = alternatives("pay", "at_most"), alternatives("pay", "at_least")
    return (
        (
            -1,
            re.compile(
                rf"(?:\b|(?-i:(?<=[a-z])(?=U)))(?:up to|at most|max(?:imum)?(?: of)?|{most})[\s:]*$", re.IGNORECASE
            ),
        ),
        (
            1,
            re.compile(
                rf"\b(?:from|starting(?: at| from)?|starts at|at least|min(?:imum)?(?: of)?|{least})[\s:]*$"
                r"|\b(?:minimum|mindest)[- ]?(?:(?:gross|annual|yearly|monthly|base) )*"
                r"(?:salary|pay|wage|gehalt|entgelt)\b[^.\n]{0,60}?\b(?:is|of|ist|von|betr\u00e4gt|at|:)\s?$",
                re.IGNORECASE,
            ),
        ),
    )


_OR_MORE = re.compile(
    r"[^.\n]{0,25}\b(?:and (?:up|above)|or (?:more|above)|upwards|aufwärts|y más|et plus)\b"
    r"|[^\n]{0,160}\b(?:überzahlung|überbezahlung|over-?payment)\b",
    re.IGNORECASE,
)
"""Words behind the least that is paid; in Austria the agreed least, with a readiness to pay more."""


@cache
def _monthly() -> re.Pattern[str]:
    """Return the expression of the words before an amount that say that it is a month's."""
    return re.compile(
        rf"\bmonthly (?:\w+ )?(?:salary|pay|wage|gross|rate|income)|(?:salary|pay|wage) (?:per|a) month"
        rf"|\b(?:brutto|bruto ?)?(?:{alternatives('pay', 'month')})(?:gehalt|lohn|verdienst|salaris|loon)?\w*",
        re.IGNORECASE,
    )


_TOP = 600
"""Characters of a text in which an amount by itself is pay."""
_FIRST_LINES = 120
_UP_TO = re.compile(r"[Uu]p to $")
"""Words before an amount at the end of a title: ``Analytics Engineer, London, up to \u00a360,000``."""
_LINE_OF_PAY = re.compile(
    r"[^\w\n#]*(?:(?:up to|circa|c\.?|from|ca\.?|salary)\s?)?#"
    r"\s?(?:p\.?\s?a\.?|pa|per annum|gross|depending on experience|doe)?\s?(?:[+&(,\u2022|].{0,60})?",
    re.IGNORECASE,
)
"""The line of an amount, with ``#`` in place of the amount."""
_TARGET = re.compile(r"\b(?:OTE|on[- ]target earnings)(?! or base)\b[^.\n]{0,25}$", re.IGNORECASE)
_CENTS = re.compile(r"[.,]\d{1,2}$")
_WRITTEN = re.compile(r"\d[\d,.'\u2019\u00a0\u202f ]*")
_SCALE_WORD = re.compile(r"\d\s?(k|tsd|tys|lakh|lac|lpa|crore|cr|l|万)(?![b-jm-oq-rt-z])", re.IGNORECASE)
_MONTHLY_FROM = 3
"""Units for a dollar from which pay without a period is for a month."""
_ROUNDED = 0.05
"""How far an amount may be off that was made of another and rounded."""
_TABLE = 600
"""Characters between the ranges of one table, a range for each place or level."""
_THOUSANDS_FROM = 10_000
"""The end of a range from which on its beginning is meant in thousands, too: ``120-150,000``."""


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
    """Side of a single amount: -1, "up to" it; 1, "from" it; 0, it."""
    currency: str
    said: bool
    """Whether words around it say that it is pay."""
    at: int
    """Offset in the text, in characters."""
    times: float
    """Number of times a year that the written amount is paid."""
    is_target: bool
    """Whether it is the pay, base and commission, for reaching the targets."""


def salary_of(field: str | None, text: str, country: str | None = None, pay: Pay | None = None) -> Salary | None:
    """Return the pay in a board's fields; without them, that in the text.

    Where a text has several ranges (by place, by level) the widest is taken, from the lowest to the highest: which of
    them applies depends on the person, and a floor must not refuse what some reader of the listing would be paid. Where
    they differ in currency, those in dollars of the United States count, else those in the currency that comes first.

    Args:
        field: value of the board's own field, in whatever form.
        text: plain.
        country: ISO 3166 code of the place of work; decides which dollar ``$`` is.
        pay: numbers of the board's fields; values in them are not looked for anywhere else.
    """
    if pay is not None:
        found = salary_of_pay(pay, country)
        if found is not None:
            return found
    if field and pay is None:
        found = _widest(list(_offers(text_of(field), country, is_field=True)))
        if found is not None:
            return found
    if any(sign in text for sign in _SIGNS_BEFORE):
        text = _SPACED_NUMBER.sub(r"\1,\2", text)
    return _widest(list(_offers(text, country, is_field=False)))


def salary_of_pay(pay: Pay, country: str | None = None) -> Salary | None:
    """Return the pay of a board's numbers for a year; None where they cannot be a year's pay of any work.

    A currency that the board names is the currency, wherever the work is.
    """
    bounds = sorted(bound for bound in (pay.minimum, pay.maximum) if bound)
    if not bounds:
        return None
    code = _code_of(pay.currency or "", country)
    factor = _factor(pay.period, bounds[-1], code, is_range=len(bounds) == 2 and bounds[0] < bounds[1])
    low, high = bounds[0] * factor, bounds[-1] * factor
    if not _is_a_year(low, high, code):
        return None
    return Salary(round(low) if pay.minimum else None, round(high) if pay.maximum else None, code)


def _code_of(written: str, country: str | None) -> str:
    """Return the ISO 4217 code of what a field of currencies has."""
    sign = written.strip().lower()
    if len(sign) == 3 and sign.isalpha() and sign not in _SIGNS:
        return sign.upper()
    return _SIGNS.get(sign) or _money_of(country, is_dollar=sign == "$")


def _money_of(country: str | None, *, is_dollar: bool) -> str:
    """Return the currency of an amount that has no sign, or the sign ``$``."""
    code = _MONEY_OF.get(country or "", "USD")
    return code if not is_dollar or code in _DOLLARS else "USD"


def _is_a_year(low: float, high: float, code: str) -> bool:
    currency = _CURRENCIES.get(code, _Currency(1, _YEARLY_MIN))
    return currency.least <= low and high <= min(_YEARLY_MAX * max(currency.worth, 1), low * 10)


def _widest(offers: list[_Offer]) -> Salary | None:
    ranges = [offer for offer in offers if offer.high is not None] or offers
    ranges = [offer for offer in ranges if not any(_is_again(offer, one) for one in ranges)]
    ranges = [offer for offer in ranges if not offer.is_target] or ranges
    said = [offer for offer in ranges if offer.said]
    ranges = [offer for offer in ranges if not said or any(_belongs(offer, other) for other in said)]
    if not ranges:
        return None
    currencies = [offer.currency for offer in ranges]
    currency = "USD" if "USD" in currencies else currencies[0]
    ranges = [offer for offer in ranges if offer.currency == currency]
    low = min(offer.low for offer in ranges)
    high = max(offer.high or offer.low for offer in ranges)
    sides = {offer.side for offer in ranges}
    return Salary(None if sides == {-1} else round(low), None if sides == {1} else round(high), currency)


def _is_again(one: _Offer, before: _Offer) -> bool:
    """Return whether pay is that beside it for another period, rounded: ``$120k - $190k ($58 - $91 an hour)``."""
    if (one.high is None) != (before.high is None) or not 0 < abs(one.at - before.at) < _AROUND:
        return False
    if one.times < before.times or (one.times == before.times and one.at < before.at):
        return False
    ends = ((one.low, before.low), (one.high or one.low, before.high or before.low))
    return all(abs(end - other) < _ROUNDED * other for end, other in ends)


def _belongs(one: _Offer, other: _Offer) -> bool:
    """Return whether a range is of the same pay as one that is known to be pay: by overlap, or in one table with it."""
    if one.high is not None and abs(one.at - other.at) < _TABLE and other.low / 2 <= one.low <= other.low * 2:
        return True
    if one.currency != other.currency:
        return True
    return one.low <= (other.high or other.low) and other.low <= (one.high or one.low)


def _offers(text: str, country: str | None, *, is_field: bool) -> Iterator[_Offer]:
    """Yield every amount that can be pay."""
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
        money = _money_at(text, start, digit.start())
        if money is None:
            position = _after_digits(text, digit.start())
            continue
        offer = _offer(text, money, country, is_field=is_field)
        if offer is not None:
            yield offer
        position = max(money.end(), _after_digits(text, digit.start()))


def _money_at(text: str, start: int, digit: int) -> re.Match[str] | None:
    """Return the amount whose number begins at a digit, with the sign before it: few places are tried, not a line."""
    match = _money().match
    end = min(len(text), digit + 120)
    before = text[start:digit].lower()
    sign = (before[:-1] if before[-1:].isspace() else before).removesuffix(":")
    if sign[-1:] not in _ENDS_OF_SIGNS and sign[-2:] not in _ENDS_OF_SIGNS:
        start = digit
    for place in range(start, digit + 1):
        money = match(text, place, end)
        if money is not None and money.start("low") == digit:
            return money
    return None


def _after_digits(text: str, position: int) -> int:
    while position < len(text) and text[position].isalnum():
        position += 1
    return position


def _offer(text: str, money: re.Match[str], country: str | None, *, is_field: bool) -> _Offer | None:
    sign = money["before"] or money["second"] or money["middle"] or money["after"]
    before = text[max(0, money.start() - _AROUND) : money.start()]
    before = before[max(before.rfind("\n\n"), before.rfind(". ")) + 1 :]
    period = _period_of(money, before)
    if sign is None and not (money["high"] is not None or is_field or _scale(money["low"]) > 1e3):
        return None
    is_a_line = _is_a_line(text, money)
    said = is_field or is_a_line or bool(sign and period and money["high"])
    said = said or _salary_words().search(before) is not None
    if sign is None and not said:
        return None
    if sign is None and not is_field and _PEOPLE_AFTER.match(text, money.end("high" if money["high"] else "low")):
        return None
    has_more = bool(money["plus"]) and _MORE_AFTER.match(text, money.end()) is not None
    if not (is_field or has_more) and "\n" not in money[0][-2:] and _OTHER_AFTER.match(text, money.end()):
        return None
    if money["high"] is None and not (said or period is not None):
        return None
    low, high = _range(money)
    if low is None or (sign is None and not is_field and not (low >= 10 and not _is_year(low, high))):
        return None
    currency = _currency(money, country)
    factor = float(_factor(period, high or low, currency, is_range=high is not None))
    if period is None and factor == 1 and low < _CURRENCIES[currency].least and _monthly().search(before):
        factor = _TIMES["month"]
    times = _TIMES_A_YEAR.match(text, money.end())
    if times and (period == "month" or (period is None and factor in {1, 12})):
        factor = int(times[1])
    low, high = low * factor, None if high is None else high * factor
    if (high is not None and high < low) or not _is_a_year(low, high or low, currency):
        return None
    worth = _CURRENCIES[currency].worth
    if not (is_field or is_a_line) and _is_other(before, may_be_perk=high is None or low < _NO_PERK_FROM * worth):
        return None
    after = text[money.end() : money.end() + 2 * _AROUND]
    side = 0 if high is not None else _side(before, after, has_plus=bool(money["plus"]) and not has_more)
    return _Offer(low, high, side, currency, said, money.start(), factor, _TARGET.search(before) is not None)


def _is_a_line(text: str, money: re.Match[str]) -> bool:
    """Return whether an amount with a sign is a line near the top, as recruiters write: ``UP TO \u00a365,000``."""
    if money.start() > _TOP or not (money["before"] or money["after"]):
        return False
    stop = money.start() + len(money[0].rstrip(" \n+"))
    begin, end = text.rfind("\n", 0, money.start()) + 1, text.find("\n", stop)
    if begin < _FIRST_LINES and _UP_TO.search(text, begin, money.start()):
        begin = money.start()
    rest = f"{text[begin : money.start()]}#{text[stop : end if end >= 0 else len(text)]}"
    return _LINE_OF_PAY.fullmatch(rest) is not None


def _range(money: re.Match[str]) -> tuple[float | None, float | None]:
    """Return both ends as they are meant: in ``120-150k`` and ``6 to 9 lakh`` the scale is that of both ends."""
    low, high = number_of(money["low"]), number_of(money["high"] or "")
    if low is None or high is None:
        return low, high
    scale = _scale(money["high"])
    if low < 1_000 and _scale(money["low"]) == 1:
        if scale > 1 and low * scale <= high:
            low *= scale
        elif scale == 1 and high >= _THOUSANDS_FROM and low * 1_000 <= high:
            low *= 1_000
    return low, high


def _period_of(money: re.Match[str], before: str) -> Period | None:
    for name in _PERIODS:
        if money[f"p{name}"] or (money["high"] and money[f"l{name}"]):
            return name
    if "lpa" in money[0].lower():
        return "year"
    if not before.isascii():
        return next((period for period, words in _BEFORE_PERIODS if any(word in before for word in words)), None)
    return None


def _side(before: str, after: str, *, has_plus: bool) -> int:
    """Whether a single amount is the most (-1), the least (1) or all (0) that is paid."""
    if has_plus or _OR_MORE.match(after):
        return 1
    return next((side for side, words in _sides() if words.search(before)), 0)


def _is_other(before: str, *, may_be_perk: bool) -> bool:
    """Return whether the words before an amount say that it is other money, after any word that says it is pay."""
    pay = max((match.end() for match in _salary_words().finditer(before)), default=0)
    if _COMPANYS_MONEY.search(before, pay):
        return True
    return may_be_perk and _PERKS.search(before, pay) is not None


def _is_year(low: float, high: float | None) -> bool:
    """Return whether two bare numbers are years of the calendar."""
    return 1_900 <= low <= 2_100 and (high is None or 1_900 <= high <= 2_100)


def number_of(written: str) -> float | None:
    """Return the number in ``120,000``, ``94,550.00``, ``120k``, ``12,00,000``, ``12,50`` or ``6 lakh``; None: none."""
    match = _WRITTEN.search(written)
    if match is None:
        return None
    digits = match[0].strip()
    cents = _CENTS.search(digits)
    whole = digits[: cents.start()] if cents is not None else digits
    number = float("".join(character for character in whole if character.isdigit()) or 0)
    if cents is not None:
        number += float("0." + cents.group()[1:])
    return number * _scale(written)


def _scale(written: str) -> float:
    """Return the factor of the word behind a number; 1 without one."""
    word = _SCALE_WORD.search(written)
    if word is None:
        return 1
    return _SCALES[word[1].lower()]


def _currency(money: re.Match[str], country: str | None) -> str:
    is_signed = False
    for group in ("after", "middle", "before", "second"):
        sign = (money[group] or "").strip().rstrip(":.").rstrip().lower()
        if sign and sign != "$":
            return _SIGNS.get(sign) or _SIGNS.get(f"{sign}.") or _money_of(country, is_dollar=False)
        is_signed = is_signed or bool(sign)
    if country is None and money[0].endswith("万円"):
        return "JPY"
    if not is_signed and re.search(r"lakh|lac|lpa|crore", money[0], re.IGNORECASE):
        return "INR"
    return _money_of(country, is_dollar=is_signed)


def _factor(period: Period | None, amount: float, currency: str, *, is_range: bool) -> int:
    """Return the number of times a year that the amount is paid, by its period; without one, by its size."""
    if period is not None:
        return _TIMES[period]
    known = _CURRENCIES.get(currency, _Currency(1, _YEARLY_MIN))
    if 7 <= amount < _HOURLY_BELOW and known.worth < 2:
        return _TIMES["hour"]
    is_monthly = is_range or known.worth >= _MONTHLY_FROM
    if is_monthly and amount < known.least and amount * _TIMES["month"] >= known.least:
        return _TIMES["month"]
    return 1
