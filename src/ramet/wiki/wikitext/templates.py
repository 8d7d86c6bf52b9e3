"""Templates and parser functions that bear text: what a reader sees of them, from their arguments alone.

A page is read without its templates' sources, so a sentence would lose what they say: numbers of units, words of other
languages, names. Functions that need no template are computed. Of templates a table says what they show
(``text_templates.json``, by language); whatever it does not name shows nothing.

A rule is a text with places for arguments: ``{1}`` the first, ``{text}`` a named one, ``{-1}`` the last, ``{1|text}``
either. A part in brackets is left out where one of its own arguments is missing or empty. ``@name`` is a function of
this module, and ``=name`` another name's rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ramet.wiki.wikitext.plain_text import GONE
from ramet.wiki.wikitext.site import TEMPLATES, Site
from ramet.wiki.wikitext.titles import namespace_number

CONTENT_MAX = 4_000
"""Characters of a template whose text is looked for, what is in it included."""
ARGUMENTS_MAX = 200
_NAMED = re.compile(r"\s*([^\W\d][\w -]{0,40}|\d{1,3})\s*=(.*)", re.DOTALL)


class Call(NamedTuple):
    """A template or function with its arguments."""

    name: str
    positional: Mapping[int, str]
    named: Mapping[str, str]
    language: str

    def get(self, *names: str | int) -> str:
        """Return the first of these arguments that is there and not empty, else an empty text."""
        for name in names:
            value = self.positional.get(name, "") if isinstance(name, int) else self.named.get(name, "")
            if value.strip(f" \n{GONE}"):
                return value.strip()
        return ""

    @property
    def values(self) -> list[str]:
        """Positional arguments in order, without what is behind the last one that is there."""
        return [self.positional.get(number, "").strip() for number in range(1, max(self.positional, default=0) + 1)]


def shown(content: str, site: Site) -> str | None:
    """Return what ``{{content}}`` shows; None for nothing that is known here. Templates within are read already."""
    if len(content) > CONTENT_MAX:
        return None
    parts = _cut(content)
    head = parts[0].strip()
    function, colon, first = head.partition(":")
    if colon and (found := _FUNCTIONS.get(function.strip().lower())):
        return found([first, *parts[1:]], _language(site))
    if len(parts) > ARGUMENTS_MAX:
        return None
    if colon and namespace_number(function, site) == TEMPLATES:
        head = first
    name = " ".join(head.replace("_", " ").split()).lower()
    language = _language(site)
    rule = _rule(name, language)
    return None if rule is None else _apply(rule, _call(name, parts[1:], language))


def _language(site: Site) -> str:
    return site.language.partition("-")[0] or "en"


def _cut(content: str) -> list[str]:
    """Cut at each bar that is in no link."""
    if "[[" not in content:
        return content.split("|")
    parts: list[str] = []
    depth = 0
    for piece in content.split("|"):
        if depth > 0:
            parts[-1] += "|" + piece
        else:
            parts.append(piece)
            depth = 0
        depth += piece.count("[[") - piece.count("]]")
    return parts


def _call(name: str, arguments: Sequence[str], language: str) -> Call:
    positional: dict[int, str] = {}
    named: dict[str, str] = {}
    place = 0
    for argument in arguments:
        found = _NAMED.fullmatch(argument) if "=" in argument else None
        if found is None:
            place += 1
            positional[place] = argument
        elif found[1].isdecimal():
            positional[int(found[1])] = found[2]
        else:
            named[found[1].strip().lower()] = found[2]
    return Call(name, positional, named, language)


@cache
def _rules(language: str) -> Mapping[str, str]:
    text = (files("ramet.wiki.wikitext") / "text_templates.json").read_text(encoding="utf-8")
    told = json.loads(text)
    return {**told["*"], **told.get(language, {})}


def _rule(name: str, language: str) -> str | None:
    rules = _rules(language)
    rule = rules.get(name)
    for prefix in ("lang-", "langue-", "ipa-"):
        if rule is None and name.startswith(prefix):
            rule = rules.get(f"{prefix}*")
    while rule is not None and rule.startswith("="):
        rule = rules.get(rule[1:])
    return rule


def _apply(rule: str, call: Call) -> str | None:
    if rule.startswith("@"):
        return _SHOWN[rule[1:]](call) or None
    text, whole, _ = _fill(rule, 0, call)
    return text if whole else None


_PLACE = re.compile(r"\{([^{}]+)\}")


def _fill(rule: str, at: int, call: Call) -> tuple[str, bool, int]:
    """Fill a rule, or a part of it up to its bracket: (text, whether every argument is there, where it ends)."""
    pieces: list[str] = []
    whole = True
    while at < len(rule):
        letter = rule[at]
        if letter == "]":
            return "".join(pieces), whole, at + 1
        if letter == "[":
            text, there, at = _fill(rule, at + 1, call)
            pieces.append(text if there else "")
        elif place := _PLACE.match(rule, at):
            value = next(filter(None, (_argument(name, call) for name in place[1].split("|"))), "")
            whole = whole and bool(value)
            pieces.append(value)
            at = place.end()
        else:
            pieces.append(letter)
            at += 1
    return "".join(pieces), whole, at


def _argument(name: str, call: Call) -> str:
    if name == "-1":
        return next((value for value in reversed(call.values) if value), "")
    if name.startswith("#"):
        return format_number(call.get(int(name[1:])), call.language)
    return call.get(int(name) if name.isdecimal() else name)


# --- numbers ----------------------------------------------------------------------------------------------------

_SEPARATORS = {
    "de": (".", ","), "nl": (".", ","), "it": (".", ","), "es": ("\u00a0", ","), "pt": (".", ","), "da": (".", ","),
    "id": (".", ","), "tr": (".", ","), "el": (".", ","), "ro": (".", ","), "hr": (".", ","), "sl": (".", ","),
    "sr": (".", ","), "vi": (".", ","), "ca": (".", ","), "eu": (".", ","), "gl": (".", ","), "is": (".", ","),
    "fr": ("\u202f", ","), "ru": ("\u00a0", ","), "uk": ("\u00a0", ","), "pl": ("\u00a0", ","), "cs": ("\u00a0", ","),
    "sk": ("\u00a0", ","), "sv": ("\u00a0", ","), "no": ("\u00a0", ","), "nb": ("\u00a0", ","), "fi": ("\u00a0", ","),
    "hu": ("\u00a0", ","), "bg": ("\u00a0", ","), "lt": ("\u00a0", ","), "lv": ("\u00a0", ","), "et": ("\u00a0", ","),
    "be": ("\u00a0", ","), "eo": ("\u00a0", ","),
}  # fmt: skip
"""What parts thousands and decimals; of any other language it is as in English."""
_FIVE_DIGITS = frozenset({"es", "pt", "pl", "lt", "lv", "bg", "hu", "et", "eo"})
"""Languages that part thousands from five digits on."""
_NUMBER = re.compile(r"([-+\u2212]?)(\d{1,60})(\.\d{1,60})?")


def format_number(text: str, language: str) -> str:
    """Return a number as its language writes it; what is none stays as it is."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return text
    sign, whole, decimals = found.groups()
    thousands, point = _SEPARATORS.get(language, (",", "."))
    if len(whole) > 4 or (len(whole) == 4 and language not in _FIVE_DIGITS):
        whole = f"{int(whole):,}".replace(",", thousands) if not whole.startswith("0") else whole
    return sign.replace("-", "\u2212") + whole + (point + decimals[1:] if decimals else "")


def _format_number(values: Sequence[str], language: str) -> str:
    number = values[0].strip()
    option = values[1].strip().lower() if len(values) > 1 else ""
    if option in ("r", "raw"):
        thousands, point = _SEPARATORS.get(language, (",", "."))
        return number.replace(thousands, "").replace(point, ".")
    return number if option == "nosep" else format_number(number, language)


# --- parser functions -------------------------------------------------------------------------------------------


def _value(values: Sequence[str], number: int) -> str:
    return values[number].strip() if number < len(values) else ""


def _if(values: Sequence[str], language: str) -> str:
    return _value(values, 1 if values[0].strip(f" \n{GONE}") else 2)


def _if_equal(values: Sequence[str], language: str) -> str | None:
    left, right = _value(values, 0), _value(values, 1)
    if GONE in left or GONE in right:
        return None
    return _value(values, 2 if _same(left, right) else 3)


def _same(left: str, right: str) -> bool:
    if left == right:
        return True
    return all(_NUMBER.fullmatch(one) for one in (left, right)) and float(left) == float(right)


def _switch(values: Sequence[str], language: str) -> str | None:
    wanted = _value(values, 0)
    if GONE in wanted:
        return None
    default, falls = "", False
    for number, case in enumerate(values[1:], start=1):
        name, equals, result = case.partition("=")
        if not equals:
            falls = falls or name.strip() == wanted
            if number == len(values) - 1:
                default = name.strip()
            continue
        if falls or name.strip() == wanted:
            return result.strip()
        if name.strip() == "#default":
            default = result.strip()
    return default


def _plural(values: Sequence[str], language: str) -> str:
    forms = [value for value in values[1:] if not re.match(r"\s*\d+\s*=", value)]
    for value in values[1:]:
        exact = re.match(r"\s*(\d+)\s*=(.*)", value, re.DOTALL)
        if exact and exact[1] == _value(values, 0):
            return exact[2].strip()
    one = _value(values, 0) in (("0", "1") if language == "fr" else ("1",))
    return _value(forms, 0 if one or len(forms) < 2 else len(forms) - 1)


def _pad(values: Sequence[str], *, left: bool) -> str:
    text, length, filler = _value(values, 0), _value(values, 1), _value(values, 2) or "0"
    if not length.isdecimal():
        return text
    missing = min(int(length), 500) - len(text)
    padding = (filler * missing)[: max(0, missing)]
    return padding + text if left else text + padding


_SUM = re.compile(r"[\d.+*/() -]{1,100}")


def _compute(values: Sequence[str], language: str) -> str | None:
    """Sums of plain numbers, from left to right by rank; nothing else."""
    text = values[0].strip()
    if not _SUM.fullmatch(text) or "(" in text or "**" in text or "//" in text:
        return None
    numbers = re.findall(r"\d+(?:\.\d+)?|\.\d+|[-+*/]", text)
    if "".join(numbers) != text.replace(" ", "") or not numbers or len(numbers) % 2 == 0:
        return None
    try:
        terms = [float(numbers[0])]
        for sign, number in zip(numbers[1::2], numbers[2::2], strict=True):
            match sign:
                case "+" | "-":
                    terms.append(float(sign + number))
                case "*":
                    terms[-1] *= float(number)
                case _:
                    terms[-1] /= float(number)
    except (ValueError, ZeroDivisionError):
        return None
    return f"{sum(terms):.12g}"


_FUNCTIONS: Mapping[str, Callable[[Sequence[str], str], str | None]] = {
    "formatnum": _format_number,
    "lc": lambda values, _: values[0].strip().lower(),
    "uc": lambda values, _: values[0].strip().upper(),
    "lcfirst": lambda values, _: values[0].strip()[:1].lower() + values[0].strip()[1:],
    "ucfirst": lambda values, _: values[0].strip()[:1].upper() + values[0].strip()[1:],
    "#if": _if,
    "#ifeq": _if_equal,
    "#switch": _switch,
    "#expr": _compute,
    "#iferror": lambda values, _: _value(values, 2) or _value(values, 0),
    "plural": _plural,
    "padleft": lambda values, _: _pad(values, left=True),
    "padright": lambda values, _: _pad(values, left=False),
    "urlencode": lambda values, _: None,
}
"""By name in small letters; the first value is what stands behind the colon."""


# --- templates whose text is more than their arguments ----------------------------------------------------------

_RANGE = {
    "-": "\u2013", "\u2013": "\u2013", "to": " to ", "and": " and ", "or": " or ", "by": " by ", "x": " \u00d7 ",
    "\u00d7": " \u00d7 ", "*": " \u00d7 ", "xx": " \u00d7 ", "+/-": " ± ", "±": " ± ", "to(-)": " to ",
    "and(-)": " and ", "-to-": " to ", "+": " + ", ",": ", ", "e": " e ", "et": " et ", "à": " à ", "y": " y ",
    "a": " a ", "und": " und ", "bis": " bis ",
}  # fmt: skip
"""What stands between two values of a range."""
_UNITS = {
    "sqmi": "sq mi", "sqft": "sq ft", "cuft": "cu ft", "acre": "acres", "ft": "ft", "inch": "in", "c": "°C", "f": "°F",
    "°c": "°C", "°f": "°F", "mph": "mph", "usgal": "US gal", "impgal": "imp gal", "mi": "mi", "k": "K", "deg": "°",
    "foot": "ft", "mile": "mi", "sqkm": "km2", "sqm": "m2", "cc": "cc", "nmi": "nmi", "kn": "kn", "ozt": "ozt",
}  # fmt: skip


def _convert(call: Call) -> str:
    """A value or a range of them, with its unit as it is written; what it is in other units is left to the reader."""
    values = [value.removesuffix("+") for value in call.values]
    pieces: list[str] = []
    for number, value in enumerate(values):
        if number % 2 == 0:
            if not re.match(r"[-+\u2212\d.,e/ ]+$", value):
                return ""
            pieces.append(format_number(value.replace(",", ""), call.language))
        elif value.lower() in _RANGE and number + 1 < len(values):
            pieces.append(_RANGE[value.lower()])
        else:
            unit = _UNITS.get(value.lower(), value)
            return "".join(pieces) + (unit if unit.startswith("°") else f" {unit}")
    return ""


_FRACTION = {2: "{0}\u2044{1}", 3: "{0} {1}\u2044{2}"}


def _fraction(call: Call) -> str:
    values = list(filter(None, call.values))
    if len(values) == 1:
        values = ["1", *values]
    return _FRACTION[len(values)].format(*values) if len(values) in _FRACTION else ""


def _joined(call: Call) -> str:
    return "".join(call.values)


def _listed(call: Call) -> str:
    return ", ".join(filter(None, call.values))


def _spaced(call: Call) -> str:
    return " ".join(filter(None, call.values))


_NO_PHONEMES = frozenset(("lang", "pron", "audio", "us", "uk", "also", "-"))


def _phonemes(call: Call) -> str:
    values = [
        value for value in call.values if value and value not in ("lang", "pron", "audio", "us", "uk", "also", "-")
    ]
    return f"/{''.join(values)}/" if values else ""


def _respelled(call: Call) -> str:
    return "-".join(filter(None, call.values)).replace("-_-", " ").replace("-'-", "")


_MONTHS = (
    "January February March April May June July August September October November December".split()
)  # fmt: skip


def _date(call: Call) -> str:
    """A date of numbers: the first of a template, which of "death date and age" is the death's."""
    year, month, day = (call.get(number) for number in (1, 2, 3))
    if not year.isdecimal():
        return year
    if not month.isdecimal() or not 1 <= int(month) <= len(_MONTHS):
        return year
    name = _MONTHS[int(month) - 1]
    if not day.isdecimal():
        return f"{name} {year}"
    if call.get("df") or call.get("dmy"):
        return f"{int(day)} {name} {year}"
    return f"{name} {int(day)}, {year}"


def _as_of(call: Call) -> str:
    year, month, day = (call.get(number) for number in (1, 2, 3))
    if not year:
        return ""
    if month.isdecimal() and 1 <= int(month) <= len(_MONTHS):
        month = _MONTHS[int(month) - 1]
    moment = " ".join(filter(None, (str(int(day)) if day.isdecimal() else day, month, year)))
    if alternative := call.get("alt"):
        return alternative
    beginning = "Since" if call.get("since") else "As of"
    beginning = beginning.lower() if call.get("lc") else beginning
    return f"{beginning} {moment}"


_DIRECTIONS = frozenset("NSEWO")


def _coordinates(call: Call) -> str:
    """Where they stand in the text; those of the page's title are no part of it."""
    if "inline" not in call.get("display", "") and call.get("display", ""):
        return ""
    values = call.values
    pieces: list[str] = []
    marks = iter("°\u2032\u2033")
    for value in values[:8]:
        if value.upper() in _DIRECTIONS:
            pieces.append(f"{value.upper()} ")
            marks = iter("°\u2032\u2033")
        elif re.fullmatch(r"[-+\u2212]?\d{1,3}(?:\.\d{1,12})?", value):
            pieces.append(value + next(marks, ""))
        elif value:
            break
    return "".join(pieces).strip()


def _value_with_unit(call: Call) -> str:
    number = call.get(1)
    if not number:
        return ""
    text = format_number(number, call.language)
    if tolerance := call.get(2):
        text += f" ± {tolerance}" if re.match(r"[\d.]", tolerance) else ""
    if exponent := call.get("e"):
        text += f"\u00d710{exponent}"
    return " ".join(filter(None, (text, call.get("u", "ul", "up"))))


_LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "ga": "Irish", "gd": "Scottish Gaelic", "grc": "Ancient Greek", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ka": "Georgian", "ko": "Korean", "la": "Latin", "lt": "Lithuanian", "lv": "Latvian",
    "mk": "Macedonian", "ms": "Malay", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sa": "Sanskrit", "sk": "Slovak", "sl": "Slovene", "sq": "Albanian",
    "sr": "Serbian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "vi": "Vietnamese", "yi": "Yiddish", "zh": "Chinese", "az": "Azerbaijani", "ang": "Old English",
}  # fmt: skip


def _of_language(call: Call) -> str:
    """``{{lang-de|Wort}}`` and ``{{langx|de|Wort}}``: the language's name, where it is known, and the word."""
    code, word = call.name.replace("langue-", "lang-").removeprefix("lang-").strip(), call.get(1)
    if call.name in ("langx", "lang-x"):
        code, word = call.get(1), call.get(2)
    name = _LANGUAGES.get(code.partition("-")[0].lower()) if call.language == "en" else None
    if call.get("label").lower() == "none" or (call.get("links").lower() == "no" and not name):
        name = None
    return f"{name}: {word}" if name and word else word


def _ship(call: Call) -> str:
    prefix, name, number = (call.name.upper(), call.get(1), call.get(2))
    if call.name == "ship":
        prefix, name, number = call.get(1), call.get(2), call.get(3)
    return " ".join(filter(None, (prefix, name, f"({number})" if number else "")))


_SHOWN: Mapping[str, Callable[[Call], str]] = {
    "convert": _convert,
    "fraction": _fraction,
    "joined": _joined,
    "listed": _listed,
    "spaced": _spaced,
    "phonemes": _phonemes,
    "respelled": _respelled,
    "date": _date,
    "as of": _as_of,
    "coordinates": _coordinates,
    "value": _value_with_unit,
    "of language": _of_language,
    "ship": _ship,
}
"""What a rule names by ``@name``."""
