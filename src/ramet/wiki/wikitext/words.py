"""Words of `words.toml`: the templates that show text, the numbers of languages, the words of pictures."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Rule:
    """The text that a template shows.

    Attributes:
        arguments: numbers or casefolded names of the argument that is shown: the first of them that has text.
        join: text between all unnamed arguments; None: they are not joined.
        skip: arguments, casefolded, that a join leaves out.
        around: texts before and after an argument or a join.
        aside: whether the first argument is followed by the others in brackets.
        text: shown always, before an argument if there is one.
        alone: shown where the argument is missing.
        own_name: whether the template's name is shown, as the page writes it.
        kind: name of the function that shows it; empty if none.
    """

    arguments: tuple[int | str, ...] = ()
    join: str | None = None
    skip: frozenset[str] = frozenset()
    around: tuple[str, str] = ("", "")
    aside: bool = False
    text: str = ""
    alone: str = ""
    own_name: bool = False
    kind: str = ""


_NO_LANGUAGES = ("any", "countries", "infobox", "numbers", "pictures")
_DIGITS = re.compile(r"[0-9]+")


class Digits(NamedTuple):
    """The marks of numbers: between groups of three digits, before decimals; the least digits to be grouped."""

    group: str
    decimal: str
    least: int


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))


@cache
def _rules(section: str) -> Mapping[str, Rule]:
    rules: dict[str, Rule] = {}
    for title, entry in _data().get(section, {}).items():
        if title == "texts":
            rules.update({name.casefold(): Rule(text=text) for name, text in entry.items()})
            continue
        if title == "labels":
            labelled = {code: Rule(arguments=(1,), around=(f"{label}: ", "")) for code, label in entry.items()}
            rules.update({f"{name}-{code}": rule for code, rule in labelled.items() for name in ("lang", "vol")})
            continue
        argument = entry.get("argument", [])
        rule = Rule(
            arguments=tuple(argument) if isinstance(argument, list) else (argument,),
            join=entry.get("join"),
            skip=frozenset(entry.get("skip", ())),
            around=tuple(entry.get("around", ("", ""))),
            aside="aside" in entry,
            text=entry.get("text", ""),
            alone=entry.get("alone", ""),
            own_name="own_name" in entry,
            kind=entry.get("kind", ""),
        )
        rules.update({name.casefold(): rule for name in entry["names"]})
    return rules


@cache
def _countries(language: str) -> Mapping[str, Rule]:
    """Return the templates that show a country's name, by its code and by the name."""
    rules: dict[str, Rule] = {}
    for country in filter(None, _data()["countries"].get(language, "").split("; ")):
        name, _, codes = country.partition("=")
        rules.update(dict.fromkeys((name.casefold(), *codes.split()), Rule(text=name)))
    return rules


def rule_of(name: str, language: str) -> Rule | None:
    """Return the rule of a template by its casefolded name without `_`; None if it is not known to show text."""
    parent = "en" if language in ("", "simple") else language.partition("-")[0]
    before, hyphen, _ = name.partition("-")
    spellings = (name, _DIGITS.sub("#", name), f"{before}-*" if hyphen else name)
    known: tuple[Mapping[str, Rule], ...] = () if parent in _NO_LANGUAGES else (_rules(parent), _countries(parent))
    for rules in (*known, _rules("any")):
        for spelling in spellings:
            if (rule := rules.get(spelling)) is not None:
                return rule
    return None


def digits_of(language: str) -> Digits:
    """Return the marks of a language's numbers; those of English where it is not known."""
    numbers = _data()["numbers"]
    return Digits(*numbers.get(language.partition("-")[0], numbers["default"]))


@cache
def framed_words() -> frozenset[str]:
    """Return the casefolded words that put a picture in a frame, with its caption below it."""
    return frozenset(_data()["pictures"]["framed"].split())


@cache
def picture_option() -> re.Pattern[str]:
    """Return the pattern of a picture's options, which no caption matches."""
    pictures = _data()["pictures"]
    words = "|".join(map(re.escape, (*pictures["framed"].split(), *pictures["other"].split())))
    pixels = "|".join(map(re.escape, pictures["pixels"].split()))
    return re.compile(
        rf"[^\W\d]++=.*|[0-9]{{0,5}}x?[0-9]{{1,5}} ?(?:{pixels})?(?:px)?|(?:{words})|", re.DOTALL | re.IGNORECASE
    )


@cache
def _infobox() -> re.Pattern[str]:
    names = _data()["infobox"]["names"]
    return re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in names), re.DOTALL)


def is_infobox(name: str) -> bool:
    """Return whether a template of this casefolded name is an infobox."""
    return _infobox().fullmatch(name) is not None


@cache
def coordinate_fields() -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Return the fields of infoboxes that state a latitude and those that state its longitude, in their order."""
    pairs = _data()["infobox"]["coordinates"]
    return tuple((tuple(latitude), tuple(longitude)) for latitude, longitude in pairs)
