"""Read `words.toml`: the templates that show text, the numbers of languages, the words of pictures."""

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
        arguments: numbers of the argument that is shown: the first of them that has text.
        join: what stands between all unnamed arguments; None: they are not joined.
        skip: arguments, casefolded, that a join leaves out.
        around: what stands before and after an argument or a join.
        aside: whether the first argument is followed by the others in brackets.
        text: shown always, before an argument if there is one.
        kind: name of the function that shows it; empty if none.
    """

    arguments: tuple[int, ...] = ()
    join: str | None = None
    skip: frozenset[str] = frozenset()
    around: tuple[str, str] = ("", "")
    aside: bool = False
    text: str = ""
    kind: str = ""


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
    for told in _data().get(section, {}).values():
        argument = told.get("argument", ())
        rule = Rule(
            (argument,) if isinstance(argument, int) else tuple(argument),
            told.get("join"),
            frozenset(told.get("skip", ())),
            tuple(told.get("around", ("", ""))),
            "aside" in told,
            told.get("text", ""),
            told.get("kind", ""),
        )
        rules.update({name.casefold(): rule for name in told["names"]})
    return rules


def rule_of(name: str, language: str) -> Rule | None:
    """Return the rule of a template by its casefolded name without `_`; None if it is not known to show text."""
    parent = language.partition("-")[0]
    prefix = re.match(r"[^-]*-", name)
    for section in (parent, "any") if parent not in ("numbers", "pictures") else ("any",):
        rules = _rules(section)
        rule = rules.get(name) or (rules.get(f"{prefix[0]}*") if prefix else None)
        if rule is not None:
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
