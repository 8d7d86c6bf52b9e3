"""Checks of single values of a row, each refused with words that say what it must be."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any, Protocol

DEPTH_MAX = 100
"""How deep the value of a row may nest."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WHOLE_MAX = 2**53
_SHOWN_MAX = 60


class InvalidRow(Exception):
    """What is wrong with a row, in words that can follow its line number."""


def text(value: object, name: str) -> str:
    """A text that is not empty."""
    if not isinstance(value, str):
        raise InvalidRow(f"'{name}' must be a text, not {shown(value)}")
    if not value.strip():
        raise InvalidRow(f"'{name}' is empty")
    return value


def whole(value: object, name: str, least: int = -_WHOLE_MAX) -> int:
    """A whole number; ``1.0`` is one as well."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidRow(f"'{name}' must be a whole number, not {shown(value)}")
    if not least <= value <= _WHOLE_MAX:
        raise InvalidRow(
            f"'{name}' must be {least} or more, not {shown(value)}" if value < least else f"'{name}' is too big"
        )
    return value


def number(value: object, name: str, least: float, most: float) -> float:
    """A number of a range."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidRow(f"'{name}' must be a number, not {shown(value)}")
    if not least <= value <= most:
        raise InvalidRow(f"'{name}' must be from {least:g} to {most:g}, not {shown(value)}")
    return value


def flag(value: object, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InvalidRow(f"'{name}' must be true or false, not {shown(value)}")
    return value


def mapping(value: object, name: str) -> dict[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise InvalidRow(f"'{name}' must be an object, not {shown(value)}")
    return value


def shown(value: object) -> str:
    """A value as a complaint shows it: short, and in letters that every terminal has."""
    try:
        words = ascii(value)
    except (ValueError, RecursionError):
        # A whole number of thousands of digits, or a value of thousands of levels.
        return f"a huge {type(value).__name__}"
    return words if len(words) <= _SHOWN_MAX else f"{words[: _SHOWN_MAX - 3]}..."


def unknown(name: str, known: Iterable[str], what: str = "key") -> InvalidRow:
    """The complaint about a name that nobody knows, with the one that was probably meant."""
    names = sorted(known)
    near = difflib.get_close_matches(name[:_SHOWN_MAX], names, 1, 0.6)
    said = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(names)}"
    return InvalidRow(f"unknown {what} {shown(name)}; {said}")


def check_storable(value: object) -> None:
    """Refuse what no database can keep or no JSON can say: NUL, halves of surrogate pairs, infinity, deep nesting.

    Raises:
        Wrong: there is such a thing; the message names where.
    """
    left: list[tuple[object, tuple[str | int, ...]]] = [(value, ())]
    while left:
        part, path = left.pop()
        if len(path) > DEPTH_MAX:
            raise InvalidRow(f"nests deeper than {DEPTH_MAX} levels")
        if isinstance(part, str):
            if _UNSTORABLE.search(part):
                raise InvalidRow(f"{place(path)} holds a NUL or half of a surrogate pair; remove it")
        elif isinstance(part, float):
            if not math.isfinite(part):
                raise InvalidRow(f"{place(path)} is no number of JSON")
        elif type(part) is dict or isinstance(part, Mapping):
            for name, inner in part.items():
                if _UNSTORABLE.search(name):
                    raise InvalidRow(f"a key in {place(path)} holds a NUL or half of a surrogate pair; remove it")
                left.append((inner, (*path, name)))
        elif isinstance(part, list | tuple):
            left.extend((inner, (*path, index)) for index, inner in enumerate(part))


def place(path: tuple[str | int, ...]) -> str:
    """A place in a row for people: ``'messages[0].content'``."""
    if not path:
        return "the row"
    named = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return "'" + ascii(named)[1:-1][:_SHOWN_MAX] + "'"


class Template(Protocol):
    """What makes a prompt of a row's columns."""

    names: tuple[str, ...]
    """Of the columns that it wants."""

    def fill(self, row: Mapping[str, Any]) -> str:
        """The prompt of a row.

        Raises:
            InvalidRow: the row lacks a column, or has no value there.
        """
        ...


class ShortTemplate:
    """A template that was read.

    A place holds nothing but the name of a column: no index, attribute or format is looked into, so that a template
    reaches what the row says and nothing else.

    Raises:
        Wrong: it cannot be read, or has no place for a column.
    """

    def __init__(self, words: str) -> None:
        self._parts: list[tuple[str, str | None]] = []
        try:
            for literal, name, form, conversion in Formatter().parse(words):
                if form or conversion:
                    raise InvalidRow(f"the template's place for {shown(name)} may hold only the name of a column")
                self._parts.append((literal, name))
        except ValueError as error:
            raise InvalidRow(
                f"the template cannot be read ({error}); with braces in it write columns as {{{{ text }}}}"
            ) from error
        self.names = tuple(dict.fromkeys(name for _, name in self._parts if name is not None))
        if not self.names:
            raise InvalidRow("the template has no place for a column, such as {prompt}: every row would ask the same")

    def fill(self, row: Mapping[str, Any]) -> str:
        """The prompt of a row. Values that are no texts are written as JSON.

        Raises:
            Wrong: the row lacks a column, or has no value there.
        """
        pieces: list[str] = []
        for literal, name in self._parts:
            pieces.append(literal)
            if name is not None:
                pieces.append(_value(row, name))
        return "".join(pieces)


def _value(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        raise InvalidRow(f"the template wants {unknown(name, row, 'column')}")
    value = row[name]
    if value is None or value == "":
        raise InvalidRow(f"the template wants '{name}', which is empty")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
