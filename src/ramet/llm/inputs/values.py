"""Checks of single values of a row, each refused with words that say what it must be; templates over its columns."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from string import Formatter
from typing import Any, Protocol

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.llm.errors import LLM_EXTRA

DEPTH_MAX = 100
"""Levels of a row's value, at most."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WHOLE_MAX = 2**53
_SHOWN_MAX = 60


class InvalidRow(Exception):
    """A row is not valid; the words can follow its line number."""


def text(value: object, name: str) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str):
        raise InvalidRow(f"'{name}' must be a text, not {shown(value)}")
    if not value.strip():
        raise InvalidRow(f"'{name}' is empty")
    return value


def whole(value: object, name: str, least: int = -_WHOLE_MAX) -> int:
    """Return a whole number; ``1.0`` is one as well."""
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
    """Return a number of a range."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidRow(f"'{name}' must be a number, not {shown(value)}")
    if not least <= value <= most:
        raise InvalidRow(f"'{name}' must be from {least:g} to {most:g}, not {shown(value)}")
    return value


def flag(value: object, name: str) -> bool:
    """Return the value, which must be true or false."""
    if not isinstance(value, bool):
        raise InvalidRow(f"'{name}' must be true or false, not {shown(value)}")
    return value


def mapping(value: object, name: str) -> dict[str, Any]:
    """Return an object."""
    if not isinstance(value, dict):
        raise InvalidRow(f"'{name}' must be an object, not {shown(value)}")
    return value


def shown(value: object) -> str:
    """Return a value as a complaint shows it: short, and in letters that every terminal has."""
    try:
        words = ascii(value)
    except (ValueError, RecursionError):
        # A whole number of thousands of digits, or a value of thousands of levels.
        return f"a huge {type(value).__name__}"
    return words if len(words) <= _SHOWN_MAX else f"{words[: _SHOWN_MAX - 3]}..."


def unknown(name: str, known: Iterable[str], what: str = "key") -> InvalidRow:
    """Return the complaint about an unknown name, with the one that was probably meant."""
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
                raise InvalidRow(f"{place(path)} is not a number in JSON")
        elif type(part) is dict or isinstance(part, Mapping):
            for name, inner in part.items():
                if _UNSTORABLE.search(name):
                    raise InvalidRow(f"a key in {place(path)} holds a NUL or half of a surrogate pair; remove it")
                if type(inner) is str and inner.isprintable():
                    continue
                left.append((inner, (*path, name)))
        elif isinstance(part, list | tuple):
            left.extend((inner, (*path, index)) for index, inner in enumerate(part))


def place(path: tuple[str | int, ...]) -> str:
    """Return a place in a row for people: ``'messages[0].content'``."""
    if not path:
        return "the row"
    named = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return "'" + ascii(named)[1:-1][:_SHOWN_MAX] + "'"


class Template(Protocol):
    """Template that makes a prompt of a row's columns."""

    names: tuple[str, ...]
    """Names of the columns that it uses."""

    def fill(self, row: Mapping[str, Any]) -> str:
        """Return the prompt of a row.

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
        """Return the prompt of a row. Values that are no texts are written as JSON.

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


OUTPUT_MAX = 8_000_000
"""Characters of a prompt."""
_FILTERS = frozenset(
    "abs capitalize count d default first float int last length list lower max min round sort string sum title "
    "trim truncate unique upper wordcount".split()
)
"""Those of Jinja that make nothing much larger than what they are given; `tojson`, `join` and `replace` are our own."""
_STATEMENTS = ("Assign", "AssignBlock", "Block", "CallBlock", "Extends", "FilterBlock", "FromImport", "Import",
               "Include", "Macro", "With", "Call", "Getattr", "Mul", "Pow", "Mod")  # fmt: skip
"""Parts of the language that are refused: they reach out of the row, or make much of little. (``a.b`` is a field of
an object in the row, and reads as ``a['b']``.)"""


def template_of(words: str) -> Template:
    """Return the template in a text: of Jinja where it has ``{{`` or ``{%``, else in the short form ``{text}``.

    Raises:
        InvalidRow: it cannot be read.
        ExtraMissing: it is one of Jinja, which is not installed.
    """
    if "{{" not in words and "{%" not in words:
        return ShortTemplate(words)
    return JinjaTemplate(words)


class JinjaTemplate:
    """A template that was read.

    Raises:
        InvalidRow: it cannot be read, has no place for a column, or reaches for what is not in a row.
        ExtraMissing: Jinja is not installed.
    """

    def __init__(self, words: str) -> None:
        jinja = import_extra("jinja2", LLM_EXTRA)
        environment = _environment()
        try:
            tree = environment.parse(words)
            _check(tree, jinja.nodes)
            names = import_extra("jinja2.meta", LLM_EXTRA).find_undeclared_variables(tree)
            self._template = environment.from_string(words)
        except jinja.TemplateError as error:
            line = getattr(error, "lineno", None)
            where = f" in line {line}" if line else ""
            raise InvalidRow(f"the template cannot be read{where} ({one_line(error)})") from error
        if not names:
            raise InvalidRow(
                "the template has no place for a column, such as {{ prompt }}: every row would ask the same"
            )
        self.names = tuple(sorted(names))
        self._error = jinja.TemplateError

    def fill(self, row: Mapping[str, Any]) -> str:
        """Return the prompt of a row.

        Raises:
            InvalidRow: the row lacks a column that is written, or has no value there, or the prompt is too long.
        """
        pieces: list[str] = []
        size = 0
        try:
            for piece in self._template.generate(row):
                pieces.append(piece)
                size += len(piece)
                if size > OUTPUT_MAX:
                    raise InvalidRow(f"the template makes a prompt of over {OUTPUT_MAX:,} characters of it")
        except self._error as error:
            raise InvalidRow(self._why(row, one_line(error))) from error
        except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise InvalidRow(f"the template fails on it: {one_line(error)[:200]}") from error
        text = "".join(pieces)
        if not text.strip():
            raise InvalidRow("the template makes an empty prompt of it")
        return text

    def _why(self, row: Mapping[str, Any], words: str) -> str:
        empty = [name for name in self.names if name in row and row[name] in (None, "")]
        missing = [name for name in self.names if name not in row]
        if missing:
            near = difflib.get_close_matches(missing[0], list(row), 1, 0.6)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(sorted(row))[:200]}"
            return f"the template wants unknown column {shown(missing[0])}; {hint}"
        if empty:
            return f"the template wants '{empty[0]}', which is empty; write {{{{ {empty[0]} | default('...', true) }}}}"
        return f"the template fails on it: {words[:200]}"


@cache
def _environment() -> Any:
    sandbox = import_extra("jinja2.sandbox", LLM_EXTRA)

    class Columns(sandbox.ImmutableSandboxedEnvironment):  # type: ignore[misc, name-defined]
        """Reads fields of a row's values, and no attribute of theirs."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            try:
                return obj[argument] if isinstance(obj, dict | list | str) else self.undefined(obj=obj, name=argument)
            except (LookupError, TypeError):
                return self.undefined(obj=obj, name=argument)

        def is_safe_callable(self, obj: object) -> bool:
            return False

    environment = Columns(
        autoescape=False, finalize=_written, keep_trailing_newline=True,
        auto_reload=False, cache_size=0,
    )  # fmt: skip
    environment.globals.clear()
    environment.filters = {name: one for name, one in environment.filters.items() if name in _FILTERS}
    environment.filters |= {"tojson": _json, "join": _joined, "replace": _replaced}
    return environment


def _check(tree: Any, nodes: Any) -> None:
    refused = tuple(getattr(nodes, name) for name in _STATEMENTS if name != "Getattr")
    for node in tree.find_all(refused):
        kind = type(node).__name__.lower()
        raise InvalidRow(
            f"the template has a '{kind}' in line {node.lineno}: use columns, filters, 'if' and 'for' only"
        )


def _written(value: Any) -> Any:
    """How a value is written: a text as it is, anything else as JSON, and none not at all."""
    jinja = import_extra("jinja2", LLM_EXTRA)
    if value is None or value == "" or isinstance(value, jinja.Undefined):
        raise jinja.TemplateRuntimeError("a place of it is empty")
    return value if isinstance(value, str) or not isinstance(value, dict | list | bool) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _joined(values: Any, between: str = "") -> str:
    words = [value if isinstance(value, str) else _json(value) for value in values]
    if len(words) * len(between) > OUTPUT_MAX:
        raise ValueError("the text would be too long after 'join'")
    return between.join(words)


def _replaced(text: Any, old: str, new: str) -> str:
    words = str(text)
    if words.count(old) * len(new) > OUTPUT_MAX:
        raise ValueError("the text would be too long after 'replace'")
    return words.replace(old, new)
