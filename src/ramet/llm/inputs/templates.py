"""Prompts made of a row's columns by Jinja, in a sandbox: a template reaches what the row says and nothing else.

There is no access to attributes, no call, no loop without a list of the row, and what comes out is bounded.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.llm.errors import LLM_EXTRA
from ramet.llm.inputs.values import InvalidRow, ShortTemplate, Template, shown

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
    """The template that a person wrote: of Jinja where it has ``{{`` or ``{%``, else in the short form ``{text}``.

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
        """The prompt of a row.

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
