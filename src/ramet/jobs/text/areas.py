"""Places from where work may be done: countries, their parts and parts of the world, as texts and fields name them.

A mark is one of these in a form that is stored: ``US``, ``US-CA``, ``europe``, or ``world`` for everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from ramet.jobs.text import word_list
from ramet.jobs.text.places import names_of_countries, names_of_regions

WORLD = "world"
_SHORT = frozenset("us usa uk eu eea e.u. u.s. u.s.a. u.k. uae dach uki nam usca mena amer emea emeia apac".split())
"""Short names that are names only in capitals: ``join us``."""
_BETWEEN_NAMES = r"(?:\s?,?\s?(?:\bor\b|\band\b|\band/or\b|&|/|\+|,|;|\|)\s?)(?:the\s|in\s|from\s)?"
_BEFORE_NAMES = (
    r"(?:the\s|any(?:where)?\s(?:of\s|in\s)?(?:the\s)?|(?:either|one|any)\sof\s(?:the\s)?(?:following\s)?(?:countries|states"
    r"|locations)?:?\s?|(?:the\s)?following\s(?:countries|states|locations):?\s?|(?:[A-Z][\w.]+\s?){1,3},\s){0,2}"
)
_DIVIDED = re.compile(r"[,;|/\n\u2022]| and | or | & ")
_HOW = re.compile(
    r"\b(?:remote|only|based|time ?zones?|hybrid|the|in|within|from|anywhere|candidates|fully)\b", re.IGNORECASE
)


@cache
def areas() -> dict[str, frozenset[str]]:
    """Return the countries of each part of the world, by each of its names in lower case."""
    known: dict[str, frozenset[str]] = {}
    for entry in word_list("areas")["areas"]:
        names, _, members = entry.partition(": ")
        codes: set[str] = set()
        for member in re.findall(r"@[a-z ]+[a-z]|[A-Z]{2}", members):
            codes |= known[member[1:]] if member.startswith("@") else {member}
        for name in names.split("|"):
            known[name] = frozenset(codes)
    return known


@cache
def _marks() -> dict[str, str]:
    """Return the mark of each name in lower case."""
    marks = {name: name for name in areas()} | dict.fromkeys(word_list("areas")["world"], WORLD)
    marks |= {name: f"{country}-{region}" for name, (country, region) in names_of_regions().items()}
    return marks | {name: code for name, code in names_of_countries().items() if len(name) > 3 or name in _SHORT}


def _any_of(names: Iterable[str]) -> str:
    """Return an expression for any of these names, a longer one first; by their letters, so that few are tried."""
    followers: dict[str, list[str]] = {}
    for name in names:
        followers.setdefault(name[:1], []).append(name[1:])
    is_end = followers.pop("", None) is not None
    branches = [re.escape(letter) + _any_of(rest) for letter, rest in followers.items()]
    if not branches:
        return ""
    return f"(?:{'|'.join(branches)}){'?' * is_end}" if len(branches) > 1 or is_end else branches[0]


@cache
def name_pattern() -> str:
    """Return an expression for one such name: short ones only in capitals."""
    long = _any_of(name for name in _marks() if name not in _SHORT)
    short = _any_of(name.upper() for name in _marks() if name in _SHORT)
    return rf"(?<!\w)(?:(?i:{long})|{short})(?!\w)"


@cache
def names_pattern() -> str:
    """Return an expression for a list of such names: ``the US, Canada or Mexico``."""
    name = rf"{name_pattern()}(?:-based)?"
    return rf"{_BEFORE_NAMES}{name}(?:{_BETWEEN_NAMES}{name})*"


@cache
def _name() -> re.Pattern[str]:
    return re.compile(name_pattern())


def marks_of(written: str) -> tuple[str, ...]:
    """Return the marks of all names in a few words, in their order, each once."""
    return tuple(dict.fromkeys(_marks()[found[0].lower()] for found in _name().finditer(written)))


def is_everywhere(written: str) -> bool:
    """Return whether a field of places says that any place does: ``Worldwide``, ``Anywhere in the World``."""
    words = " ".join(re.split(r"[^a-z]+", written.lower())).replace("remote", " ").split()
    return _marks().get(" ".join(words)) == WORLD


def listed_marks(location: str) -> tuple[str, ...]:
    """Return the marks of a field of places that lists countries and parts of the world and nothing else.

    ``USA, Canada, USA timezones``: of such a list the commas divide places, not the parts of one place.
    """
    pieces = [_HOW.sub(" ", piece).strip(" .()-") for piece in _DIVIDED.split(location)]
    pieces = [piece for piece in pieces if piece]
    if not all(_name().fullmatch(piece) and "-" not in _marks()[piece.lower()] for piece in pieces):
        return ()
    return marks_of(location)


def countries_of(marks: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the countries that marks stand for, each with its part where only that is meant."""
    for mark in marks:
        if mark in areas():
            yield from ((code, None) for code in sorted(areas()[mark]))
        elif mark != WORLD:
            country, _, region = mark.partition("-")
            yield country, region or None


@cache
def _benefit() -> tuple[re.Pattern[str], dict[str, str]]:
    countries = {
        word: entry.partition(": ")[0]
        for entry in word_list("benefits")["benefits"]
        for word in entry.partition(": ")[2].split("|")
    }
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, countries))})(?!\w)"), countries


def words_of_benefits(text: str) -> tuple[str, ...]:
    """Return the words of a text for benefits that only one country has, in their order, each once."""
    return tuple(dict.fromkeys(match[0] for match in _benefit()[0].finditer(text.lower())))


def country_of_benefits(text: str) -> str | None:
    """Return the one country whose benefits a text names; None for none and for several."""
    found = {_benefit()[1][word] for word in words_of_benefits(text)}
    return found.pop() if len(found) == 1 else None
