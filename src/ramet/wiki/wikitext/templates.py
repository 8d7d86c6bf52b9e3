"""Text that a template or parser function shows, where that is known without asking a wiki. Pure, and never raises."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException

from ramet.wiki.wikitext.plain_text import GONE
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.words import Rule, digits_of, rule_of

CONTENT_MAX = 2_000
"""Most characters of a template that is shown. Templates within templates would else take a square of their depth."""
_NAME_MAX = 100
_PAD_MAX = 500
_TOKEN = re.compile(r"\[\[|\]\]|\|")
_NAMED = re.compile(r"\s*([^\[\]{}<>|='\"&\n]{1,60}?)\s*=")
_NUMBER = re.compile(r"([-+\u2212]?)([0-9]+)(\.[0-9]+)?(e[-+]?[0-9]{1,3})?", re.IGNORECASE)
_MONTHS = "January February March April May June July August September October November December".split()
_DASH, _TIMES, _SLASH = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}", "\N{FRACTION SLASH}"
_RANGES = {word: word for word in ("and", "to", "by", "or", "x", "+")} | {
    "to(-)": "to",
    "and(-)": "and",
    "-": _DASH,
    _DASH: _DASH,
    "+/-": "±",
    "±": "±",
    "*": _TIMES,
    _TIMES: _TIMES,
    "xx": _TIMES,
}


@dataclass(frozen=True, slots=True)
class Arguments:
    """A template's arguments: the unnamed ones without space around them, and the named ones by casefolded name."""

    unnamed: tuple[str, ...]
    named: Mapping[str, str]

    def first(self, *arguments: int | str) -> str:
        """Return the first of these arguments, by number from 1 or by casefolded name, that has text."""
        return next((text for argument in arguments if (text := self.at(argument))), "")

    def at(self, argument: int | str) -> str:
        """Return an argument's text; empty if there is none."""
        if (text := self.named.get(str(argument))) or isinstance(argument, str):
            return text or ""
        return self.unnamed[argument - 1] if 0 < argument <= len(self.unnamed) else ""


def known(start: str, site: Site) -> bool:
    """Return whether a template that begins with `start`, up to where the next braces are, may show text."""
    name = template_name(start)
    return rule_of(name, site.language) is not None or _function_name(name) in _FUNCTIONS


def shown_by(content: str, site: Site) -> str:
    """Return the wikitext that a template without its braces shows; `plain_text.GONE` if that is not known."""
    name = template_name(content)
    function = _FUNCTIONS.get(_function_name(name))
    if function is not None:
        parts = _split(content.partition(":")[2])
        return function([part.strip() for part in parts], site) or GONE
    rule = rule_of(name, site.language)
    if rule is None:
        return GONE
    written, *arguments = _split(content)
    if rule.own_name:
        return " ".join(written.replace("_", " ").split())
    return _by_rule(rule, _arguments(arguments), site) or GONE


def arguments_of(content: str) -> Arguments:
    """Return the arguments of a template without its braces."""
    return _arguments(_split(content)[1:])


def template_name(content: str) -> str:
    """Return the casefolded name of a template without its braces, with spaces for `_`."""
    name = content[:_NAME_MAX].partition("|")[0]
    return " ".join(name.replace("_", " ").split()).casefold()


def _function_name(name: str) -> str:
    before, colon, _ = name.partition(":")
    return before.rstrip() if colon else ""


def _split(content: str) -> list[str]:
    """Cut at each `|` that is in no link."""
    parts, depth, at = [], 0, 0
    for token in _TOKEN.finditer(content):
        if token[0] == "[[":
            depth += 1
        elif token[0] == "]]":
            depth = max(0, depth - 1)
        elif not depth:
            parts.append(content[at : token.start()])
            at = token.end()
    parts.append(content[at:])
    return parts


def _arguments(parts: list[str]) -> Arguments:
    unnamed, named = [], {}
    for part in parts:
        if name := _NAMED.match(part):
            named[name[1].casefold()] = part[name.end() :].strip()
        else:
            unnamed.append(part.strip())
    return Arguments(tuple(unnamed), named)


def _by_rule(rule: Rule, arguments: Arguments, site: Site) -> str:
    if rule.kind:
        return KINDS[rule.kind](arguments, site)
    before, after = rule.around
    if rule.aside:
        first, others = arguments.at(1), [text for text in arguments.unnamed[1:] if text]
        bracketed = f"({', '.join(others)})" if others else ""
        return " ".join(filter(None, (first, bracketed)))
    if rule.join is not None:
        texts = [text.replace("_", " ") for text in arguments.unnamed if text and text.casefold() not in rule.skip]
        return f"{before}{rule.join.join(texts)}{after}" if texts else ""
    text = arguments.named.get("text", "") or arguments.first(*rule.arguments) if rule.arguments else ""
    if rule.arguments and not text:
        return rule.alone
    return f"{rule.text}{before}{text}{after}"


def _grouped(number: str, site: Site) -> str:
    """Return a number as the site's language writes it; anything else as it is."""
    found = _NUMBER.fullmatch(number.replace(",", ""))
    if found is None:
        return number
    sign, whole, decimals, exponent = found.groups()
    digits = digits_of(site.language)
    if len(whole) >= digits.least:
        head = len(whole) % 3 or 3
        whole = digits.group.join((whole[:head], *(whole[at : at + 3] for at in range(head, len(whole), 3))))
    return f"{sign}{whole}{decimals.replace('.', digits.decimal) if decimals else ''}{exponent or ''}"


def _quantity(arguments: Arguments, site: Site) -> str:
    """Return the value and the unit as they are written; the converted ones are left out."""
    values, shown_ = arguments.unnamed, []
    at = 0
    while at < len(values):
        shown_.append(_grouped(values[at], site))
        word = _RANGES.get(values[at + 1].casefold()) if at + 2 < len(values) else None
        at += 1
        if word is None:
            break
        shown_.append(word)
        at += 1
    unit = values[at] if at < len(values) else ""
    text = " ".join(filter(None, (*shown_, unit)))
    return text.replace(f" {_DASH} ", _DASH)


def _value(arguments: Arguments, site: Site) -> str:
    """Return a measured value, with its uncertainty, power of ten and unit."""
    number = _grouped(arguments.at(1), site)
    error = arguments.at(2) if _NUMBER.fullmatch(arguments.at(2)) else ""
    power = arguments.named.get("e", "")
    unit = arguments.named.get("u", "") or arguments.named.get("ul", "")
    parts = (number, f"±{_grouped(error, site)}" if error else "", f"{_TIMES}10{power}" if power else "")
    return " ".join(filter(None, ("".join(parts), unit)))


def _fraction(arguments: Arguments, site: Site) -> str:
    parts = [text for text in arguments.unnamed if text][:3]
    if len(parts) < 2:
        return f"1{_SLASH}{parts[0]}" if parts else ""
    *whole, above, below = parts
    return f"{whole[0]}+{above}{_SLASH}{below}" if whole else f"{above}{_SLASH}{below}"


def _date(arguments: Arguments, site: Site) -> str:
    """Return the date alone: an age would be another one every year."""
    year, month, day = (arguments.at(number) for number in (1, 2, 3))
    name = _month(month)
    if not year and name:
        return f"{name} {day}".rstrip()
    if not name or not year.isdecimal():
        return year
    if not day.isdecimal():
        return f"{name} {year}"
    first = arguments.named.get("df", "").casefold() in ("y", "yes", "1", "true")
    return f"{int(day[:2])} {name} {year}" if first else f"{name} {int(day[:2])}, {year}"


def _date_day_first(arguments: Arguments, site: Site) -> str:
    """Return the day, month and year as they are written."""
    return " ".join(text for number in (1, 2, 3) if (text := arguments.at(number)))


def _date_old_style(arguments: Arguments, site: Site) -> str:
    """Return a date of the Gregorian calendar and, in brackets, of the Julian."""
    new = " ".join(text for number in (1, 2, 3) if (text := arguments.at(number)))
    old = " ".join(text for number in (4, 5, 6) if (text := arguments.at(number)))
    return f"{new} ({old})" if old else new


def _centuries(arguments: Arguments, site: Site) -> str:
    """Return French centuries, `XVII|e|et|XVIII|e` or `XVII|e|XVIII|e`: Roman numbers, their endings, words between."""
    texts = [text for text in arguments.unnamed if text]
    shown_, ending = "", ""
    for text in texts:
        if text in ("e", "er"):
            shown_, ending = f"{shown_}{text}", text
        else:
            shown_ = f"{shown_} {'et ' if ending and text.isupper() and shown_.endswith(ending) else ''}{text}"
            ending = "" if not text.isupper() else ending
    return f"{shown_.strip()} siècle{'s' if len(texts) > 2 else ''}" if texts else ""


def _hours(arguments: Arguments, site: Site) -> str:
    """Return hours and minutes, as French writes them."""
    return f"{arguments.at(1)} h {arguments.at(2)}".strip() if arguments.at(1) else ""


def _measure(arguments: Arguments, site: Site) -> str:
    """Return a number, and a unit whose prefix is an argument of its own."""
    number, *unit = (arguments.at(number) for number in (1, 2, 3))
    return f"{number} {''.join(unit)}".strip()


def _month(text: str) -> str:
    if text.isdecimal() and len(text) <= 2 and 1 <= int(text) <= 12:
        return _MONTHS[int(text) - 1]
    return text if text in _MONTHS else ""


def _as_of(arguments: Arguments, site: Site) -> str:
    if alternative := arguments.named.get("alt"):
        return alternative
    words = "since" if arguments.named.get("since") else "as of"
    words = words if arguments.named.get("lc") else words.capitalize()
    year, month, day = arguments.at(1), _month(arguments.at(2)), arguments.at(3)
    return " ".join(filter(None, (words, day if month else "", month, year)))


def _coordinates(arguments: Arguments, site: Site) -> str:
    if "title" in (place := arguments.named.get("display", "inline")) and "inline" not in place:
        return ""
    parts = []
    for text in arguments.unnamed:
        if ":" in text:
            break
        parts.append(text)
    marks = dict(enumerate(("\N{DEGREE SIGN}", "\N{PRIME}", "\N{DOUBLE PRIME}")))
    shown_, number = "", 0
    for part in parts:
        if part in ("N", "S", "E", "W", "O"):
            shown_, number = f"{shown_}{part} ", 0
        else:
            shown_ += f"{part}{marks.get(number, '')}"
            number += 1
    if parts and not shown_.endswith(" "):
        return ", ".join(parts)
    return shown_.strip()


def _circa(arguments: Arguments, site: Site) -> str:
    years = [text for text in arguments.unnamed if text][:2]
    return f"c. {_DASH.join(years)}" if years else "c."


def _chinese(arguments: Arguments, site: Site) -> str:
    words = [arguments.named.get(key, "") for key in ("c", "s", "t", "v", "p", "w", "j", "y", "b", "l")]
    return "; ".join(filter(None, (*arguments.unnamed[:1], *words)))


def _sic(arguments: Arguments, site: Site) -> str:
    """Return the words that are meant, and that they are as in the source."""
    hidden = arguments.named.get("hide") or arguments.named.get("nolink") == "hide"
    words = "".join(text for text in arguments.unnamed[:2])
    return " ".join(filter(None, (words, "" if hidden else "[sic]")))


KINDS: Mapping[str, Callable[[Arguments, Site], str]] = {
    "quantity": _quantity,
    "value": _value,
    "fraction": _fraction,
    "date": _date,
    "as_of": _as_of,
    "circa": _circa,
    "centuries_french": _centuries,
    "date_day_first": _date_day_first,
    "date_old_style": _date_old_style,
    "hours": _hours,
    "measure": _measure,
    "sic": _sic,
    "chinese": _chinese,
    "coordinates": _coordinates,
}
"""Function by the name that `words.toml` gives."""


def _format_number(parts: list[str], site: Site) -> str:
    flags = {part.upper() for part in parts[1:]}
    if "R" in flags:
        digits = digits_of(site.language)
        return parts[0].replace(digits.group, "").replace("\u202f", "").replace(digits.decimal, ".")
    if "NOSEP" in flags:
        return parts[0]
    return _grouped(parts[0], site)


def _if(parts: list[str], site: Site) -> str:
    if GONE in parts[0] and not parts[0].strip(f" \n{GONE}"):
        return ""  # what the condition is depends on a template that is not known
    return _part(parts, 1 if parts[0] else 2)


def _if_equal(parts: list[str], site: Site) -> str:
    if GONE in parts[0] or GONE in _part(parts, 1):
        return ""
    return _part(parts, 2 if _equal(parts[0], _part(parts, 1)) else 3)


def _equal(one: str, other: str) -> bool:
    if _NUMBER.fullmatch(one) and _NUMBER.fullmatch(other):
        return math.isclose(float(one.replace("\u2212", "-")), float(other.replace("\u2212", "-")), rel_tol=1e-15)
    return one == other


def _switch(parts: list[str], site: Site) -> str:
    if GONE in parts[0]:
        return ""
    found, default = False, ""
    for number, case in enumerate(parts[1:], 1):
        key, equals, value = case.partition("=")
        key = key.strip()
        found = found or _equal(parts[0], key)
        if equals and found:
            return value.strip()
        if equals and key == "#default":
            default = value.strip()
        elif not equals and number == len(parts) - 1:
            default = case
    return default


def _plural(parts: list[str], site: Site) -> str:
    """Return one form for 1, another for the rest, as in English; of languages with more forms nothing is shown."""
    number = parts[0].replace(",", "")
    if not number.lstrip("-").isdecimal() or len(parts) > 3:
        return ""
    return _part(parts, 1 if number in ("1", "-1") or len(parts) == 2 else 2)


_PLUS_MINUS = re.compile(r"\s*([-+*/])?\s*([-+]?[0-9]{1,30}(?:\.[0-9]{1,30})?)\s*")


def _expression(parts: list[str], site: Site) -> str:
    """Return the value of plain numbers with + - * /; of anything else nothing is shown."""
    terms: list[Decimal] = []
    text, at = parts[0], 0
    try:
        while at < len(text):
            found = _PLUS_MINUS.match(text, at)
            if found is None or (not found[1] if terms else found[1] in ("*", "/")):
                return ""
            number = Decimal(found[2])
            if found[1] == "*":
                terms[-1] *= number
            elif found[1] == "/":
                terms[-1] /= number
            else:
                terms.append(-number if found[1] == "-" else number)
            at = found.end()
        total = round(sum(terms, Decimal(0)), 12).normalize()
    except DecimalException:
        return ""
    return f"{total:f}" if terms else ""


def _pad(parts: list[str], *, left: bool) -> str:
    width = int(_part(parts, 1)[:4]) if _part(parts, 1).isascii() and _part(parts, 1).isdecimal() else 0
    fill = (_part(parts, 2) if len(parts) > 2 else "0")[:10]
    missing = min(width, _PAD_MAX) - len(parts[0])
    if missing <= 0 or not fill:
        return parts[0]
    padding = (fill * missing)[:missing]
    return padding + parts[0] if left else parts[0] + padding


def _part(parts: list[str], number: int) -> str:
    return parts[number] if number < len(parts) else ""


_FUNCTIONS: Mapping[str, Callable[[list[str], Site], str]] = {
    "formatnum": _format_number,
    "lc": lambda parts, _: parts[0].lower(),
    "uc": lambda parts, _: parts[0].upper(),
    "lcfirst": lambda parts, _: parts[0][:1].lower() + parts[0][1:],
    "ucfirst": lambda parts, _: parts[0][:1].upper() + parts[0][1:],
    "#if": _if,
    "#ifeq": _if_equal,
    "#switch": _switch,
    "#expr": _expression,
    "plural": _plural,
    "padleft": lambda parts, _: _pad(parts, left=True),
    "padright": lambda parts, _: _pad(parts, left=False),
}
